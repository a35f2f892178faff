import functools
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import vector_files
from helpers.commands import ROOT, assert_one_error_line, call, outside
from helpers.fake_models import entry
from helpers.pages import Page
from nnfast import conformance
from nnfast.bench import peak
from nnfast.cli import info
from nnfast.cli import main as command
from nnfast.conformance import coverage
from nnfast.conformance.vectors import read
from nnfast.model.types import OperationType
from nnfast.ops import registry


@pytest.fixture
def vectors(tmp_path):
    return vector_files.write(tmp_path / "add.json.gz", vector_files.add_test())


@pytest.fixture
def on_device(monkeypatch):
    def choose(name):
        monkeypatch.setattr(conformance, "run",
                            functools.partial(conformance.run, device=f"helpers.fake_devices:{name}"))
    return choose


@pytest.fixture
def classifier(fake_model):
    return fake_model([entry("x", (1, 12))], [entry("scores", (1, 12))], lambda arrays: [arrays[0] * 1])


# -- the command itself ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("args", [[], ["nonsense"], ["run"], ["vts"], ["run", "m", "--top", "0"],
                                  ["run", "m", "--image", "a", "--input", "b"], ["explain", "m", "--threads", "x"]])
def test_wrong_usage(capsys, args):
    assert call(*args) == 2
    assert_one_error_line(capsys, "--help")


def test_help_names_all_commands(capsys):
    assert call("--help") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in command.COMMANDS)


def test_module_entry_point_refuses_in_one_line(tmp_path):
    done = outside("vts", tmp_path / "nowhere")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"nnfast: error: {tmp_path / 'nowhere'}: no such file or folder\n"


def test_interrupt(monkeypatch, capsys, vectors):
    def interrupted(*args, **options):
        raise KeyboardInterrupt
    monkeypatch.setattr(conformance, "run", interrupted)
    assert call("vts", vectors) == 130
    assert capsys.readouterr().err == "nnfast: interrupted\n"


def test_reader_that_goes_away_is_no_error(tmp_path):
    tests = [vector_files.add_test(f"t{i}", min_hal="unknown") for i in range(3000)]
    path = vector_files.write(tmp_path / "x.json.gz", *tests, source="experimental/x")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([sys.executable, "-m", "nnfast", "vts", str(path), "--json", "-"], stdout=writer,
                              stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=600)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_errors_with_line_breaks_become_one_line():
    assert command.one_line("a\n  b\tc") == "a b c"
    assert command.one_line(FileNotFoundError(2, "No such file", "m.tflite")) == "m.tflite: No such file"


# -- vts -------------------------------------------------------------------------------------------------------------
def test_vts_exit_code_tables_and_json(capsys, tmp_path, vectors, on_device):
    on_device("Strict")
    assert call("vts", vectors, "--json", tmp_path / "r.json") == 0
    text = capsys.readouterr().out
    assert "6 passed, 0 failed, 0 skipped, 0 not applicable" in text and "TENSOR_FLOAT32" in text
    assert "dynamic: insufficient" in text
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["passed"] == 6 and len(document["tests"]) == 6


def test_vts_counts_mutations(capsys, tmp_path, vectors, on_device):
    on_device("OverlooksScales")
    assert call("vts", vectors, "--kind", "validation", "--json", tmp_path / "r.json") == 1
    mutations = json.loads((tmp_path / "r.json").read_text())["mutations"]
    assert mutations["operand scale"] == {"tried": 4, "refused": 0, "accepted": 4, "crashed": 0}
    total = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("all "))
    assert [int(word) for word in total.split()[1:]] == [
        sum(row[name] for row in mutations.values()) for name in ("tried", "refused", "accepted", "crashed")]


def test_vts_failure(capsys, vectors, on_device):
    on_device("OffByOne")
    assert call("vts", vectors, "--kind", "general") == 1
    text = capsys.readouterr().out
    assert "FAILED V1_0/add add [general]: execute, timing NO: output 0 TENSOR_FLOAT32: element [0] is 5.0" in text
    assert "0 passed, 1 failed" in text


def test_vts_page(capsys, tmp_path, vectors, on_device):
    for device, code, words in (("Strict", 0, "all good"), ("OffByOne", 1, "1 failed")):
        on_device(device)
        assert call("vts", vectors, "--kind", "general", "--html", tmp_path / "v.html") == code
        page = Page((tmp_path / "v.html").read_text())
        assert page.faults == [] and words in page.text and str(vectors) in page.text
        assert page.rows[:2] == [["kind", "passed", "failed", "skipped", "not applicable"],
                                 ["general", str(1 - code), str(code), "0", "0"]]
        assert ("element [0] is 5.0" in page.text) == bool(code)
    capsys.readouterr()
    assert call("vts", vectors, "--html", tmp_path) == 2
    assert_one_error_line(capsys, "is a folder")


def test_vts_json_on_stdout_is_all_there_is(capsys, vectors, on_device):
    on_device("ClaimsNothing")
    assert call("vts", vectors, "--kind", "general,dynamic", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 2


def test_vts_says_why_it_skipped(capsys, vectors, on_device):
    on_device("ClaimsNothing")
    call("vts", vectors, "--kind", "general,dynamic")
    text = capsys.readouterr().out
    assert "\n2 skipped: not every operation is supported" in text and "[NN 16.2]" in text


@pytest.mark.parametrize("args, words", [
    (["--ops", "ADD,FOO"], "no operation FOO"),
    (["--hal", "7"], "hal is '7'"),
    (["--via", "pigeon"], "via is 'pigeon'"),
    (["--kind", "general,speed"], "kind is 'speed'"),
    (["-k", "["], "not a regular expression"),
    (["-k", "absent"], "no test matches"),
    (["--kind", "failure"], "no test matches"),
    (["--json", "absent/r.json"], "folder absent does not exist"),
    (["--jobs", "0"], "not a whole number"),
])
def test_vts_bad_options(capsys, vectors, on_device, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    on_device("Right")
    assert call("vts", vectors, *args) == 2
    assert_one_error_line(capsys, words)


def test_vts_file_that_is_no_vector_file(capsys, tmp_path):
    (tmp_path / "x.json.gz").write_text("hello")
    assert call("vts", tmp_path) == 2
    assert_one_error_line(capsys, "x.json.gz", "Not a gzipped file")


# -- run -------------------------------------------------------------------------------------------------------------
def test_run_on_random_input_says_so(capsys, classifier):
    assert call("run", "m.tflite", "--threads", "3") == 0
    text = capsys.readouterr().out
    assert "random values (seed 0)" in text and "ms per run" in text
    assert classifier.threads == 3


def test_run_shows_labels_and_writes_files(capsys, tmp_path, classifier):
    values = np.zeros((1, 12), np.float32)
    values[0, 4], values[0, 2] = 0.75, 0.5
    np.save(tmp_path / "x.npy", values)
    (tmp_path / "labels.txt").write_text("\n".join(f"class {chr(97 + i)}" for i in range(12)) + "\n")
    assert call("run", "m.tflite", "--input", tmp_path / "x.npy", "--labels", tmp_path / "labels.txt", "--top", 2,
                "--output", tmp_path / "out", "--json", tmp_path / "r.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[-2:]] == [["4", "0.75", "class", "e"], ["2", "0.5", "class", "c"]]
    np.testing.assert_array_equal(np.load(tmp_path / "out")["output_0"], values)
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["top"][0] == {"class": 4, "score": 0.75, "label": "class e"}
    assert document["median_ms"] > 0 and document["outputs"][0]["max"] == 0.75


def test_run_feeds_a_sequence_through_a_stream(capsys, tmp_path, fake_model):
    fake_model([entry("x", (1, 3))], [entry("y", (1, 2))], None)
    np.savez(tmp_path / "x.npz", input=np.ones((4, 1, 3), np.float32), calls=4)
    assert call("run", "m", "--input", tmp_path / "x.npz", "--output", tmp_path / "o.npz") == 0
    assert "4 calls" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load(tmp_path / "o.npz")["output_0"][:, 0, 0], [3, 6, 9, 12])


def test_run_summarises_other_outputs(capsys, fake_model):
    fake_model([entry("x", (2, 2))], [entry("boxes", (2, 2))], lambda arrays: [np.float32([[1, 2], [3, 6]])])
    assert call("run", "m") == 0
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert (row[0], row[-3:]) == ("boxes", ["1", "6", "3"])


@pytest.mark.parametrize("name, content, words", [
    ("labels", "a\nb\n", "2 labels for 12 classes"), ("labels", b"\xff\xfe\xff", "not a text file"),
    ("labels", None, "No such file"), ("input", b"junk", "not a .npy"), ("input", None, "No such file"),
    ("image", b"junk", "input x: shape is [1, 12], a picture needs"),
])
def test_run_bad_files(capsys, tmp_path, classifier, name, content, words):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert call("run", "m", f"--{name}", path) == 2
    assert_one_error_line(capsys, words)


def test_run_picture_that_is_none(capsys, tmp_path, fake_model):
    fake_model([entry("x", (1, 4, 4, 3))], [entry("y", (1, 12))], None)
    (tmp_path / "x.png").write_text("hello")
    assert call("run", "m", "--image", tmp_path / "x.png") == 2
    assert_one_error_line(capsys, "x.png: not a picture")


def test_run_labels_are_for_classifiers(capsys, tmp_path, fake_model):
    fake_model([entry("x", (2, 2))], [entry("y", (2, 2))], lambda arrays: [arrays[0]])
    (tmp_path / "labels").write_text("a\n")
    assert call("run", "m", "--labels", tmp_path / "labels") == 2
    assert_one_error_line(capsys, "--labels is for classifiers")


@pytest.mark.parametrize("option", ["--output", "--json"])
def test_targets_are_checked_before_the_work(capsys, tmp_path, classifier, option):
    assert call("run", "m", option, tmp_path / "no" / "file") == 2
    assert_one_error_line(capsys, "does not exist")
    assert call("run", "m", option, tmp_path) == 2
    assert_one_error_line(capsys, "is a folder")
    assert classifier.seen == []


# -- explain and info ------------------------------------------------------------------------------------------------
def test_explain_shows_steps_and_weight_bytes(capsys, tmp_path, fake_model):
    test = vector_files.add_test()
    test["model"]["referenced"].append({"operands": [vector_files.operand("TENSOR_FLOAT32", "CONSTANT_REFERENCE",
                                                                          np.zeros(300))],
                                        "operations": [], "inputs": [], "outputs": []})
    fake_model([], [], None, read(vector_files.write(tmp_path / "x.json.gz", test))[0].case().model)
    assert call("explain", "m.tflite", "--json", tmp_path / "e.json") == 0
    assert capsys.readouterr().out.splitlines() == ["0  CONV_2D  a_kernel", "weights 1,204 B in the model"]
    assert json.loads((tmp_path / "e.json").read_text()) == {"rows": [{"kernel": "a_kernel"}], "weight_bytes": 1204}


def test_info_shows_level_knobs_and_kernels(capsys, monkeypatch):
    monkeypatch.setenv("NNFAST_NUM_THREADS", "1")
    assert call("info", "--kernels") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["threads", "1", "by"] in [line[:3] for line in lines]
    assert any(line[:2] == ["NNFAST_NUM_THREADS", "1"] for line in lines)
    picked = [line for line in lines if line[-1:] == ["yes"]]
    assert picked and len({line[0] for line in picked}) == len(picked)


def test_info_counts_the_ways_of_operations(capsys, monkeypatch):
    native, plain = SimpleNamespace(lower=len), SimpleNamespace(lower=None)
    monkeypatch.setattr(registry, "lookup", lambda code: native if code == OperationType.CONV_2D else plain)
    assert call("info") == 0
    count = sum(map(len, registry.FAMILIES.values()))
    assert f"operations  {count}: 1 native, {count - 1} numpy; 0 not built" in capsys.readouterr().out.splitlines()


WAYS = {"ADD": {"TENSOR_FLOAT32": "native", "TENSOR_INT32": "numpy"}, "CAST": {"TENSOR_FLOAT32": "part"},
        "RANK": {"TENSOR_QUANT16_ASYMM": "native", "TENSOR_QUANT16_SYMM": "numpy"}}


def test_info_shows_operations_by_type(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(coverage, "native_types", lambda progress: WAYS)
    assert call("info", "--ops", "--json", tmp_path / "i.json") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["operation", "f32", "f16", "s32", "b8", "qu8", "qs8", "qs8z", "qs8c", "q16"] in lines
    assert ["ADD", "native", "-", "numpy", *"------"] in lines
    assert ["CAST", "part", *"--------"] in lines and ["RANK", *"--------", "part"] in lines
    assert ["part", "2", "native", "in", "some", "forms"] in lines
    assert "IF and WHILE: control flow, of any type" in map(" ".join, lines)
    assert json.loads((tmp_path / "i.json").read_text())["types"] == WAYS


def test_operations_by_type_fit_a_narrow_terminal():
    found = {"UNIDIRECTIONAL_SEQUENCE_LSTM": dict.fromkeys(sum(info.COLUMNS.values(), ()), "native"), **WAYS}
    wide, narrow = info.types_table(found, 120), info.types_table(found, 80)
    assert wide == info.types_table(found) and max(map(len, wide.splitlines())) > 80
    assert max(map(len, narrow.splitlines())) <= 80
    assert ["UNIDIRECTIONAL_SEQUENCE_LSTM", *["nat"] * 9] in [line.split() for line in narrow.splitlines()]


def test_info_shows_the_limits_of_the_machine(capsys, monkeypatch, tmp_path):
    found = {"threads": [1, 2],
             "arithmetic": [{"types": "f32", "isa": "avx2", "unit": "GFLOP/s", "rates": {1: 100.0, 2: 190.0}}],
             "reads": [{"level": "L3", "bytes": 1 << 20, "rates": {1: 20.0, 2: 30.0}}]}
    monkeypatch.setattr(peak, "limits", lambda progress: found)
    assert call("info", "--peak", "--json", tmp_path / "i.json") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["f32", "avx2", "GFLOP/s", "100.0", "190.0", "1.90x"] in lines
    assert ["L3", "1,024", "KiB", "GB/s", "20.0", "30.0", "1.50x"] in lines
    assert json.loads((tmp_path / "i.json").read_text())["peak"]["arithmetic"][0]["rates"] == {"1": 100.0, "2": 190.0}


def test_info_refuses_a_bad_knob(capsys, monkeypatch):
    monkeypatch.setattr(registry, "lookup", lambda code: SimpleNamespace(lower=None))
    monkeypatch.setenv("NNFAST_NUM_THREADS", "many")
    assert call("info") == 2
    assert_one_error_line(capsys, "NNFAST_NUM_THREADS", "many")


# -- with the driver itself ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, content", [("absent.tflite", None), ("text.tflite", b"not a model"), ("empty", b""),
                                           ("zeros.tflite", bytes(4096))])
@pytest.mark.parametrize("verb", ["run", "explain"])
def test_file_that_is_no_model(tmp_path, verb, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = outside(verb, tmp_path / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nnfast: error: ") and done.stderr.count("\n") == 1 and name in done.stderr


def test_more_threads_than_the_device_takes(vectors):
    done = outside("vts", vectors, "--threads", 10**6)
    assert done.returncode == 2
    assert done.stderr.startswith("nnfast: error: Device num_threads: is 1000000") and done.stderr.count("\n") == 1


def test_shipped_model_runs_and_is_explained(tmp_path):
    model = ROOT / "nnfast" / "data" / "digits_int8.tflite"
    done = outside("run", model, "--json", tmp_path / "r.json", "--top", 3, "--output", tmp_path / "o.npz")
    assert (done.returncode, done.stderr) == (0, "")
    scores = np.load(tmp_path / "o.npz")["output_0"]
    best = json.loads((tmp_path / "r.json").read_text())["top"]
    assert len(best) == 3 and best[0]["class"] == scores[0].argmax()
    done = outside("explain", model)
    assert done.returncode == 0 and "CONV_2D" in done.stdout and "arena" in done.stdout


def test_passes_left_out(tmp_path):
    model = ROOT / "nnfast" / "data" / "digits_int8.tflite"
    outputs = []
    for name, options in (("all", ()), ("some", ("--without-passes", "row_fusion,share_memory"))):
        done = outside("run", model, "--output", tmp_path / f"{name}.npz", *options)
        assert (done.returncode, done.stderr) == (0, "")
        outputs.append(np.load(tmp_path / f"{name}.npz")["output_0"])
    np.testing.assert_array_equal(*outputs)
    done = outside("explain", model, "--without-passes", "row_fusion,share_memory", "--json", "-")
    explained = json.loads(done.stdout)
    assert explained["without_passes"] == ["row_fusion", "share_memory"] and "share_memory" not in explained["passes"]
    done = outside("benchmark", model, "--runs", 1, "--without-passes", "row_fusion", "--via", "service", "--json", "-")
    assert json.loads(done.stdout)["without_passes"] == ["row_fusion"]


@pytest.mark.parametrize("verb, options, words", [
    ("run", ("row_fusion,other",), "without_passes: element 1 is 'other', must be one of barrier_elimination, "),
    ("explain", ("",), "without_passes: element 0 is '', must be one of "),
])
def test_passes_that_cannot_be_left_out(verb, options, words):
    done = outside(verb, ROOT / "nnfast" / "data" / "digits_int8.tflite", "--without-passes", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and done.stderr.count("\n") == 1
