"""The MLTS benchmark from end to end on small models: accuracy, goldens, baselines, compilation, what goes wrong."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import nnfast
from helpers import fake_litert, litert_models, mlts_data
from nnfast import config
from nnfast.batch import image
from nnfast.bench.mlts import baseline, compilation, manifest, results, sequences, suite
from nnfast.bench.mlts.baseline import LiteRT, Reference
from nnfast.bench.mlts.driver import Driver
from nnfast.bench.mlts.suite import Options, Suite


def run(entries, via="local", beside=None, **options):
    """Results of entries; a path is read first."""
    entries = entries if isinstance(entries, list) else manifest.read(entries)
    with Driver(via, 1) as driver:
        return Suite(driver, Options(**{"seconds": 0, **options}), beside).run(entries)


@pytest.fixture
def digits(tmp_path):
    mlts_data.model(tmp_path, "digits")
    mlts_data.photos(tmp_path / "photos")
    return tmp_path


def ranks(folder, kind):
    """Place of the true class of each photo among the scores, worked out apart from the suite."""
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(folder / f"{kind}.tflite"))
    info, found = prepared.inputs[0], []
    for place, true in enumerate(mlts_data.digits(12)[1]):
        pixels = image.resize(image.crop(image.load(folder / "photos" / f"digit-{place}.png", "L")), 8, 8)
        real = pixels.astype(np.float32) * np.float32(2) / np.float32(255) - np.float32(1)
        if info.dtype != np.float32:
            codes = np.trunc(real / np.float32(info.scale) + np.float32(info.zero_point + 128)).astype(int) % 256
            real = (codes - 128).astype(np.int8)
        values = prepared.run([real[None]])[0][0].tolist()
        found.append(sum(v > values[true] or v == values[true] and k < true for k, v in enumerate(values)))
    return np.array(found)


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_photos(kind, tmp_path):
    mlts_data.model(tmp_path, kind, kind)
    mlts_data.photos(tmp_path / "photos")
    result, = run(tmp_path)
    assert result.problems == [] and result.verdict == "good" and result.unit == "photos"
    assert (result.sequences, result.steps, result.latency.count) == (12, 12, 12)
    found = ranks(tmp_path, kind)
    assert result.values == {f"top_{k}": pytest.approx((found < k).mean()) for k in range(1, 6)}
    assert 0 < result.values["top_5"]


@pytest.mark.parametrize("limit, verdict", [(None, "failed"), (3, "good")])
def test_what_was_published_is_no_limit_for_a_part(limit, verdict, digits):
    row = {"evaluator": {"className": "TopK", "expectedTop1": 0.99}}
    result, = run(mlts_data.listed(digits / "list.json", row), limit=limit)
    assert result.verdict == verdict and (verdict == "good" or "top-1 is" in result.problems[0])


def test_inputs_too_large_to_keep_are_made_in_turn(digits, monkeypatch):
    kept, = run(digits, beside=Reference(1))
    monkeypatch.setattr(sequences, "KEPT_BYTES", 100)
    made, = run(digits, beside=Reference(1))
    assert made.verdict == "good" and made.values == kept.values and made.beside.difference == kept.beside.difference


def test_state_begins_anew_with_each_sequence(tmp_path):
    mlts_data.sequences(tmp_path)
    for via in ("local", "service"):
        result, = run(tmp_path, via)
        assert result.verdict == "good", result.problems
        assert result.golden.relative < 1e-5 and (result.sequences, result.steps) == (2, 8)
        assert result.values == {"max_phone_error_rate": 0}


def test_a_burst_carries_no_state(tmp_path):
    mlts_data.sequences(tmp_path)
    result, = run(tmp_path, "burst")
    assert result.verdict == "skipped" and "state" in result.skipped


def test_photos_through_a_burst_and_a_service(digits):
    found = [run(digits, via)[0] for via in ("local", "burst", "service")]
    assert [result.verdict for result in found] == ["good"] * 3
    assert found[0].values == found[1].values == found[2].values


def test_photos_and_states_through_the_c_library(digits, tmp_path_factory):
    """By the command: a process has the library once."""
    mlts_data.sequences(digits)
    out = tmp_path_factory.mktemp("out") / "found.json"
    done = subprocess.run([sys.executable, "-m", "nnfast", "mlts", "--models", str(digits), "--via", "ndk", "--seconds",
                           "0.01", "--json", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    assert found["via"] == "ndk" and [model["verdict"] for model in found["models"]] == ["good"] * len(found["models"])
    by_name = {model["name"]: model for model in found["models"]}
    assert by_name["digits"]["unit"] == "photos"
    assert {name: model["values"] for name, model in by_name.items()} == {r.entry.name: r.values for r in run(digits)}
    assert by_name["asr_small"]["steps"] == 8 and by_name["asr_small"]["golden"]["max_relative_error"] < 1e-5
    assert all(set(compilation.KINDS) < set(model["compilation"]) for model in found["models"])


def test_other_outputs_than_the_golden_ones(tmp_path):
    mlts_data.sequences(tmp_path, change=lambda values: values + np.float32([[0.01, 0, 0, 0]]))
    result, = run(tmp_path)
    assert result.verdict == "failed" and "not what is expected" in result.problems[0]
    assert result.golden.largest == pytest.approx(0.01, abs=1e-5)


def test_data_runs_again_until_the_time_is_over(digits):
    result, = run(digits, seconds=0.05)
    assert result.latency.count > 12 and result.sequences == 12
    assert result.latency.times_ms.sum() >= 50


# -- baselines ---------------------------------------------------------------------------------------------------------
def test_beside_the_scalar_kernels(digits):
    mlts_data.model(digits, "quantized", "int8")
    mlts_data.sequences(digits)
    asr, floats, quantized = run(digits, beside=Reference(1))
    assert [result.verdict for result in (asr, floats, quantized)] == ["good"] * 3
    assert quantized.beside.difference.equal == 12 and quantized.beside.values == quantized.values
    assert floats.beside.difference.relative <= 2e-5 and asr.beside.latency.count == 8


def test_beside_litert(digits, tmp_path_factory, monkeypatch):
    mlts_data.model(digits, "quantized", "int8")
    mlts_data.sequences(digits)
    fake_litert.install(tmp_path_factory.mktemp("litert"), monkeypatch)
    monkeypatch.setattr(baseline, "CHUNK_BYTES", 600)  # several processes for each model
    asr, floats, quantized = found = run(digits, beside=LiteRT())
    assert [result.problems for result in found] == [[], [], []]
    assert quantized.beside.difference.equal == 12 and floats.beside.name == "ai-edge-litert 9.9, BUILTIN_REF"
    assert asr.beside.difference.equal == 2 and asr.beside.values == asr.values and asr.beside.latency.count == 8


@pytest.mark.parametrize("kind, words", [("int8", "not those of ai-edge-litert 9.9, BUILTIN_REF on 12 of 12 photos"),
                                         ("float32", "differ by up to")])
def test_a_litert_with_other_outputs(kind, words, digits, tmp_path_factory, monkeypatch):
    (digits / "digits.tflite").unlink()
    mlts_data.model(digits, kind, kind)
    output = manifest.ModelFile(digits / f"{kind}.tflite").graph(0).outputs[0]
    fake_litert.install(tmp_path_factory.mktemp("litert"), monkeypatch, BUILTIN_REF={str(output): 3})
    result, = run(digits, beside=LiteRT())
    assert result.verdict == "failed" and words in result.problems[0]


def test_no_litert_is_a_reason_and_no_failure(digits, tmp_path):
    python = fake_litert.python(tmp_path, """echo '{"missing": true}'""")
    result, = run(digits, beside=LiteRT(str(python)))
    assert result.verdict == "good" and "LiteRT is not installed" in result.beside.reason


def test_a_baseline_that_fails_is_a_reason_too(digits, monkeypatch):
    mlts_data.model(digits, "quantized", "int8")
    whole = Reference.run
    monkeypatch.setattr(Reference, "run", lambda self, path, sequences: 1 / 0 if path.stem == "digits" else
                        whole(self, path, sequences))
    one, two = run(digits, beside=Reference(1))
    assert one.verdict == "good" and one.beside.reason.startswith("ZeroDivisionError: ")
    assert two.beside.difference.equal == 12


@pytest.mark.skipif(not litert_models.litert_python(), reason="ai_edge_litert is not installed and "
                                                              "NNFAST_LITERT_PYTHON not set")
def test_beside_the_real_litert(digits):
    mlts_data.model(digits, "quantized", "int8")
    mlts_data.sequences(digits)
    found = run(digits, beside=LiteRT(litert_models.litert_python()))
    assert [result.problems for result in found] == [[], [], []]
    assert found[2].beside.difference.equal == 12 and "BUILTIN_REF" in found[0].beside.name


# -- compilation and levels --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("via", ["local", "service"])
def test_compilation(via, digits):
    result, = run(digits, via)
    made = result.compilation
    assert set(made.times) == set(compilation.KINDS) and made.size > 1000 and made.note == ""
    assert all(latency.count == 1 for latency in made.times.values())


def test_a_damaged_file_that_loads_is_a_problem(digits, monkeypatch):
    monkeypatch.setattr(compilation, "_damage", lambda path: None)
    result, = run(digits)
    assert result.verdict == "failed" and "changed bit was loaded" in result.problems[0]


def test_a_folder_of_compiled_models_is_left_alone(digits, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("NNFAST_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    assert config.get("NNFAST_CACHE_DIR")
    result, = run(digits)
    assert "without_cache" not in result.compilation.times and "NNFAST_CACHE_DIR" in result.compilation.note


def test_levels(digits):
    from nnfast._native import kernels

    before = kernels.level()
    result, = run(digits, levels=True)
    assert list(result.levels)[0] == "scalar" and before in result.levels and kernels.level() == before
    assert all(latency.count for latency in result.levels.values())


# -- what goes wrong ---------------------------------------------------------------------------------------------------
def test_one_model_fails_and_the_others_go_on(digits):
    (digits / "a_broken.tflite").write_bytes(b"TFL3 no model")
    (digits / "photos" / "digit-3.png").write_bytes(b"no picture")
    (digits / "photos" / "digit-5.png").unlink()
    broken, found = run(digits)
    assert broken.verdict == "failed" and "a_broken.tflite" in broken.problems[0] and broken.latency is None
    assert found.verdict == "failed" and found.sequences == 10 and "top_1" in found.values
    assert "photos are missing" in found.problems[0] and "digit-3.png" in found.problems[1]


def test_other_labels(digits):
    (digits / "photos" / "labels.txt").write_text("\n".join(f"digit {number}" for number in range(11)))
    result, = run(digits)
    assert result.problems == [f"{digits}/photos/labels.txt: has 11 labels, the model has 10 classes"]
    (digits / "photos" / "labels.txt").write_text("\n".join("cat"))
    assert "must be a line of labels.txt" in run(digits)[0].problems[0]


def on_files(evaluator=None, **pair):
    """What an entry with raw files has instead of photos."""
    return {"dataset": None, "inputOutputs": [pair], "evaluator": evaluator}


@pytest.mark.parametrize("row, words", [
    ({"inputSize": [1, 9, 9, 1]}, "shape [1, 8, 8, 1], inputSize is [1, 9, 9, 1]"),
    ({"inputSize": [8, 8]}, "inputSize is [8, 8]"),
    ({"dataSize": 1}, "its input is float32, dataSize is 1"),
    ({"modelFile": "absent"}, "absent.tflite"),
    ({"dataset": {"inputPath": "photos", "groundTruth": "absent.txt"}}, "absent.txt: No such file"),
    ({"dataset": {"inputPath": "absent", "groundTruth": "photos/ground_truth_labels.txt", "labels":
      "photos/labels.txt"}}, "absent: no such folder"),
    (on_files(input="absent"), "absent: No such file"),
    (on_files(input="short"), "short: has 12 bytes, must be a multiple of the 256"),
    (on_files(input="odd"), "odd: has 10 bytes, must be a multiple of the 4 of float32"),
    (on_files(input="two", output="forty"), "forty: has 10 values, must have 2 steps of [1, 10]"),
    (on_files(input="two", outputs=["forty", "forty"]), "has 2 files of expected outputs, the model has 1"),
    (on_files({"className": "TopK"}, input="two"), "needs a dataset"),
    (on_files({"className": "PhoneErrorRate"}, input="two"), "needs expected outputs"),
    (on_files({"className": "MelCepLogF0", "outputMeanStdDev": "forty"}, input="one", output="forty"),
     "forty: has 10 values, must have 2 for"),
    (on_files({"className": "MelCepLogF0"}, input="one", output="forty"), "needs frames of 49"),
])
def test_models_that_do_not_fit_their_entry(row, words, digits):
    for name, count in (("odd", 10), ("short", 12), ("one", 256), ("two", 512), ("forty", 40)):
        (digits / name).write_bytes(bytes(count))
    wrong, right = run(mlts_data.listed(digits / "list.json", row, {}))
    assert wrong.verdict == "failed" and words in wrong.problems[0], wrong.problems
    assert right.verdict == "good"


def test_a_driver_that_dies_in_the_middle_is_started_anew(digits, monkeypatch):
    for name in ("other", "third"):
        mlts_data.model(digits, name)
    with Driver("service", 1) as driver:
        walks, whole = [], suite.walk

        def walk(*args):
            walks.append(driver.device.pid)
            if len(walks) == 4:  # the second model's measured run
                os.kill(driver.device.pid, signal.SIGKILL)
            return whole(*args)

        monkeypatch.setattr(suite, "walk", walk)
        found = Suite(driver, Options(seconds=0)).run(manifest.read(digits))
    assert [result.verdict for result in found] == ["good", "failed", "good"], [r.problems for r in found]
    assert "the driver's process ended" in found[1].problems[0] and len(set(walks)) == 2


# -- files -------------------------------------------------------------------------------------------------------------
def test_csv(digits):
    mlts_data.sequences(digits)
    (digits / "a_broken.tflite").write_bytes(b"no model")
    found = run(digits, beside=Reference(1))
    results.write_csv(digits / "r.csv", found, "a machine, and a version", "nnfast_local")
    first, columns, *rows = (digits / "r.csv").read_text().splitlines()
    assert first.endswith("a machine  and a version") and columns.startswith("# name, backend")
    assert [row.split(",")[:2] for row in rows] == [["asr_small", "nnfast_local"], ["asr_small", "scalar kernels"],
                                                    ["digits", "nnfast_local"], ["digits", "scalar kernels"]]
    cells = rows[2].split(",")
    count, total, buckets = int(cells[2]), float(cells[3]), int(cells[6])
    assert (count, buckets) == (12, 32) and sum(map(int, cells[7:39])) == 12
    assert total == pytest.approx(found[2].latency.times_ms.sum() / 1e3)
    test_set, keys, errors = map(int, cells[40:43])
    assert (test_set, keys, errors) == (12, 5, 0) and cells[43:48] == [f"top_{k}" for k in range(1, 6)]
    assert [float(cell) for cell in cells[48:53]] == pytest.approx(list(found[2].values.values()))
    assert cells[53] == cells[54 + 37] == cells[55 + 2 * 37] == "true" and int(cells[-1]) == found[2].compilation.size


def test_documents_are_json_whatever_is_in_them(digits):
    mlts_data.sequences(digits, change=lambda values: values * np.float32(np.nan))
    for result in run(digits, beside=Reference(1)):
        document = json.loads(json.dumps(results.document_of(result, times=True), allow_nan=False))
        assert len(document["latency"]["times_ms"]) == result.latency.count
    assert run(digits)[0].verdict == "failed"
