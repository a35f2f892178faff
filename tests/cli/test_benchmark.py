"""`nnfast benchmark` on the shipped models, with and without a peer."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import nnfast
from helpers.commands import assert_one_error_line, call, drawing
from nnfast._native import bench as native_peak
from nnfast.bench import peak, peers, throughput
from nnfast.cli import benchmark
from nnfast.cli.output import console
from nnfast.driver import capabilities

MODEL = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"
SHAPE = [8, 8, 1]
LIMITS = {"threads": [1], "arithmetic": [{**row, "unit": peak.UNITS[row["types"]], "rates": {1: 10.0}}
                                         for row in native_peak.peak_rows()],
          "reads": [{"level": level, "bytes": 1, "rates": {1: 10.0}} for level in ("L1", "L2", "L3", "memory")]}


class FakeInterpreter:
    """Answers what nnfast answers, plus `offset`."""

    offset = 0

    def __init__(self, path, num_threads):
        self.prepared = nnfast.Device(num_threads).prepare(nnfast.load(path))

    def allocate_tensors(self):
        self.inputs = {}

    def get_input_details(self):
        return [{"index": 7, "shape": self.prepared.inputs[0].shape}]

    def get_output_details(self):
        return [{"index": 9}]

    def set_tensor(self, index, array):
        self.inputs[index] = array

    def invoke(self):
        self.output, = self.prepared.run([self.inputs[7]])

    def get_tensor(self, index):
        return self.output.astype(np.int16) + self.offset


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.setattr(peers, "find", lambda: None)


@pytest.fixture
def peer(monkeypatch):
    module = type("module", (), {"Interpreter": type("Interpreter", (FakeInterpreter,), {})})
    monkeypatch.setattr(peers, "find", lambda: (module, "no-such-package"))
    return module.Interpreter


def test_alone(capsys, tmp_path, alone):
    assert call("benchmark", MODEL, "--runs", 6, "--threads", 1, "--json", tmp_path / "b.json") == 0
    text = capsys.readouterr().out
    assert "digits_int8.tflite" in text and "LiteRT is not installed" in text and "1 of" in text
    document = json.loads((tmp_path / "b.json").read_text())
    assert document["threads"] == 1 and document["cpu"] and document["level"] and "limits" not in document
    engine, = document["models"][0]["engines"]
    assert engine["engine"] == "nnfast" and engine["runs"] == len(engine["times_ms"]) == 6
    assert 0 < engine["min_ms"] <= engine["median_ms"] and engine["prepare_ms"] > 0
    assert "operations" not in document["models"][0]


def test_beside_a_peer(capsys, tmp_path, peer):
    peer.offset = 2
    assert call("benchmark", MODEL, MODEL, "--runs", 3, "--json", tmp_path / "b.json") == 0
    assert capsys.readouterr().out.count("LiteRT") == 4
    models = json.loads((tmp_path / "b.json").read_text())["models"]
    assert [[engine["engine"].strip() for engine in model["engines"]] for model in models] == [["nnfast", "LiteRT"]] * 2
    assert models[0]["engines"][1]["difference"] == 2 and models[0]["engines"][1]["runs"] == 3


def test_figures_are_there_in_a_narrow_terminal(capsys, tmp_path, peer):
    """80 columns hold every figure of the runs, however long the model's name is."""
    model = tmp_path / ("a_model_with_quite_a_long_name_" * 3 + ".tflite")
    model.write_bytes(Path(MODEL).read_bytes())
    assert call("benchmark", model, "--runs", 2, "--via", "burst", "--json", tmp_path / "b.json") == 0
    document = json.loads((tmp_path / "b.json").read_text())
    narrow = Console(file=io.StringIO(), width=80)
    narrow.print(*benchmark.tables_of_models(document))
    text = narrow.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80 and "\u2026" not in text
    for engine in document["models"][0]["engines"]:
        for key in ("median_ms", "min_ms", "load_ms", "first_ms"):
            assert benchmark.milliseconds(engine[key]) in text


def test_a_peer_that_does_not_run_the_model(capsys, peer):
    def refuse(self):
        raise RuntimeError("no\nsuch operator")
    peer.allocate_tensors = refuse
    assert call("benchmark", MODEL, "--runs", 2) == 0
    assert "LiteRT does not run it: no such operator" in capsys.readouterr().out


def test_operations_and_page(capsys, tmp_path, alone, monkeypatch):
    monkeypatch.setattr(peak, "limits", lambda counts, progress: LIMITS)
    assert call("benchmark", MODEL, "--runs", 2, "--per-op", "--threads", 1, "--json", tmp_path / "b.json",
                "--html", tmp_path / "b.html") == 0
    text = capsys.readouterr().out
    assert "CONV_2D" in text and "GOP/s" in text
    model = json.loads((tmp_path / "b.json").read_text())["models"][0]
    assert sum(row["share"] for row in model["operations"]) == pytest.approx(1)
    assert ("% of the machine's limit" in text) == model["total"]["usable"]
    assert ("busy: beyond" in " ".join(text.split())) == (not all(row["usable"] for row in model["operations"]))
    assert {"us", "rate", "unit", "bound", "percent", "percents", "kernel"} <= set(model["operations"][0])
    assert {row["types"] for row in model["peaks"]} == {row["types"] for row in native_peak.peak_rows()} & {"s8"}
    assert all(row["rate"] > 0 and row["isa"] in text for row in model["peaks"])
    page = (tmp_path / "b.html").read_text()
    operations = json.loads((tmp_path / "b.json").read_text())["models"][0]["operations"]
    assert page.count("<table>") == 3 and page.count("<tr>") == 5 + len(operations) and ">SOFTMAX</td>" in page
    assert page.count('class="n b"') == 2 + len(operations) and "--w:100.0%" in page
    assert not re.search(r"(src|href)=|@import|url\(|https?:", page) and "prefers-color-scheme: dark" in page


def test_a_busy_machine_s_shares_are_not_shown():
    from nnfast.bench import operations

    row = {"index": 0, "operation": "CONV_2D", "shape": [1], "kernel": "k", "us": 1.0, "share": 1.0,
           "operations": 10**6, "bytes": 0, "packed_bytes": 0, "types": "f32", "possible": {"avx2": 12848.0}}
    rows = operations.compare([row], LIMITS, 1)
    out = console()
    out.print(benchmark.table_of_operations({"model": "m", "operations": rows, "total": operations.total(rows),
                                             "peaks": []}, {}))
    text = " ".join(out.file.getvalue().split())
    assert "7,783" not in text and "7783" not in text and " busy " in text
    assert "the machine was busy: no share of its limit" in text and "measure again" in text


def test_via_bursts_and_a_driver_s_process(capsys, tmp_path, alone):
    for ways, names in ((["burst"], ["nnfast, burst"]), (["service"], ["nnfast, service"]),
                        (["burst", "service"], ["nnfast, burst", "nnfast, service", "nnfast, service, burst"])):
        options = [word for way in ways for word in ("--via", way)]
        assert call("benchmark", MODEL, "--runs", 3, *options, "--threads", 1, "--json", tmp_path / "b.json") == 0
        assert names[-1] in capsys.readouterr().out
        engines = json.loads((tmp_path / "b.json").read_text())["models"][0]["engines"]
        assert [engine["engine"] for engine in engines] == ["nnfast", *names]
        assert all(engine["runs"] == 3 and engine["first_ms"] > 0 for engine in engines)


def is_running(pid):
    """Whether there is such a process that has not ended, even if nobody has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_driver_s_process_outlives_nobody():
    """Killed in the middle of it, the benchmark cannot end the process that it has started; it ends by itself."""
    code = f"""
import os, signal, nnfast
from nnfast.bench import ways
ways.IDLE_SECONDS = 1.0
with ways.opened(["service"], nnfast.Device(1)) as entries:
    (_, run, _), = entries(nnfast.load({str(MODEL)!r}), None)
    print(run.__self__.session.welcome.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    driver = int(killed.stdout)
    try:
        until = time.monotonic() + 600
        while is_running(driver) and time.monotonic() < until:
            time.sleep(0.05)
        assert not is_running(driver)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(driver, signal.SIGKILL)


def test_json_on_stdout_is_all_there_is(capsys, alone):
    assert call("benchmark", MODEL, "--runs", 2, "--json", "-") == 0
    assert len(json.loads(capsys.readouterr().out)["models"]) == 1


@pytest.mark.parametrize("args, words", [(["absent.tflite"], ["absent.tflite"]), ([MODEL, "--runs", 0], ["--help"]),
                                         ([MODEL, "--via", "cache"], ["--help"]),
                                         ([MODEL, "--html", "absent/x"], ["folder absent does not exist"])])
def test_bad_input(capsys, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    assert call("benchmark", *args) == 2
    assert_one_error_line(capsys, *words)


def test_a_model_without_fixed_shapes(capsys, tmp_path, monkeypatch):
    b = nnfast.ModelBuilder()
    b.operation("RELU", [b.input("TENSOR_FLOAT32", (0, 4), name="x")], [b.output("TENSOR_FLOAT32", (0, 4))])
    monkeypatch.chdir(tmp_path)
    b.build().save("open.nnapi")
    assert call("benchmark", "open.nnapi") == 2
    assert_one_error_line(capsys, "open.nnapi", "is not fixed")
    assert call("benchmark", "open.nnapi", "--runs", 1, "--shape", "x=2,4") == 0


def test_processor(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: A Fine CPU\n")
    assert capabilities.processor(tmp_path / "cpuinfo") == "A Fine CPU"
    assert capabilities.processor(tmp_path / "absent")


def test_three_figures():
    assert [benchmark.milliseconds(v) for v in (None, 0.1234, 12.345, 1234.5)] == ["-", "0.123", "12.35", "1,234"]


# -- rings -------------------------------------------------------------------------------------------------------------
@drawing
def test_rings(capsys, tmp_path):
    assert call("benchmark", "--rings", "--runs", 1, "--json", tmp_path / "r.json", "--plot", tmp_path / "r.png",
                "--html", tmp_path / "r.html") == 0
    text = capsys.readouterr().out
    assert "ring, sleeping" in text and "multiprocessing.Queue" in text and "the bare futex" in text
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["cpu"] and document["futex_ratio"] > 0 and len(document["rows"]) >= 5
    with Image.open(tmp_path / "r.png") as image:
        assert image.format == "PNG" and len(image.convert("L").getcolors()) > 4
    assert "Unix socket" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("args, words", [([], ["name a model file, or --rings"]),
                                         ([MODEL, "--rings"], ["--rings: runs no models"]),
                                         ([MODEL, "--plot", "x.png"], ["--plot: needs --rings"]),
                                         (["--rings", "--plot", "absent/x.png"], ["folder absent does not exist"]),
                                         (["--rings", "--plot", "x"], ["x is not the name of a picture"])])
def test_bad_input_of_rings(capsys, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    assert call("benchmark", *args) == 2
    assert_one_error_line(capsys, *words)


# -- throughput --------------------------------------------------------------------------------------------------------
@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(throughput, "TURN_SECONDS", 0.001)
    monkeypatch.setattr(peers, "find_openvino", lambda: None)
    monkeypatch.setattr(peers, "find_onnxruntime", lambda: None)


def test_throughput_of_all_ways(capsys, tmp_path, alone, short):
    assert call("benchmark", MODEL, "--throughput", "--runs", 2, "--threads", 2, "--json", tmp_path / "t.json") == 0
    text = capsys.readouterr().out
    assert "items/s" in text and "LiteRT is not installed" in text
    model, = json.loads((tmp_path / "t.json").read_text())["models"]
    assert [(row["batch"], row["clients"], row["threads"]) for row in model["rows"]] == [
        (1, 1, 1), *((batch, *way) for batch in (1, 2, 4, 8, 16, 32) for way in ((1, 2), (2, 1)))]
    assert all(row["engine"] == "nnfast" and row["turns"] == 2 for row in model["rows"])
    assert all(0 < row["items_per_second"] <= row["best"] for row in model["rows"])


class ResizedInterpreter(FakeInterpreter):
    """Takes any batch; counts how many are made for each."""

    made = {}

    def resize_tensor_input(self, index, shape):
        self.made[shape[0]] = self.made.get(shape[0], 0) + 1
        model = nnfast.load(MODEL)
        self.prepared = nnfast.Device(1).prepare(model, input_shapes={0: shape})


def test_throughput_beside_a_peer(tmp_path, monkeypatch, short):
    module = type("module", (), {"Interpreter": ResizedInterpreter})
    monkeypatch.setattr(peers, "find", lambda: (module, "no-such-package"))
    monkeypatch.setattr(ResizedInterpreter, "made", {})
    prepared = nnfast.Device(2).prepare(model := nnfast.load(MODEL))
    inputs = [np.zeros(prepared.inputs[0].shape, prepared.inputs[0].dtype)]
    found, notes = throughput.measure(str(MODEL), prepared, inputs, turns=1, batches=(1, 4))
    assert [(row.engine.split()[0], row.batch, row.clients) for row in found] == [
        ("nnfast", 1, 1),
        *((engine, batch, clients) for batch in (1, 4) for engine in ("nnfast", "LiteRT") for clients in (1, 2))]
    assert notes == ["ONNX Runtime is not installed", "OpenVINO is not installed"]
    assert model is not None and ResizedInterpreter.made == {4: 3}


def test_throughput_beside_openvino(tmp_path, alone, short, monkeypatch):
    openvino = pytest.importorskip("openvino")
    monkeypatch.setattr(peers, "find_openvino", lambda: openvino)
    model = nnfast.load(MODEL)
    prepared = nnfast.Device(2).prepare(model)
    inputs = [np.zeros(prepared.inputs[0].shape, prepared.inputs[0].dtype)]
    found, notes = throughput.measure(str(MODEL), prepared, inputs, turns=1, batches=(1, 4))
    assert [row.batch for row in found if row.engine.startswith("OpenVINO ")] == [1, 4], notes


def test_throughput_without_batches(alone, short):
    b = nnfast.ModelBuilder("all")
    x, y = b.input("TENSOR_FLOAT32", (3, 4), name="x"), b.output("TENSOR_FLOAT32", (1, 4), name="y")
    b.operation("REDUCE_SUM", [x, b.constant(np.zeros(1, np.int32)), b.scalar(True)], [y])
    prepared = nnfast.Device(1).prepare(model := b.build())
    found, notes = throughput.measure("sum", prepared, [np.ones((3, 4), np.float32)], turns=1)
    assert [(row.batch, row.clients, row.threads) for row in found] == [(1, 1, 1)] and model is not None
    assert notes[3].startswith("no batches: ")


class FakeSession:
    """Of ONNX Runtime: one input of batches of 1 or of any batch, and a state; counts its runs."""

    batch, runs = 1, 0

    def __init__(self, path, options, providers):
        assert options.intra_op_num_threads >= 1 and providers == ["CPUExecutionProvider"]

    def get_inputs(self):
        return [SimpleNamespace(name="x", shape=[self.batch, *SHAPE]), SimpleNamespace(name="state", shape=[1, 4])]

    def run(self, names, feed):
        assert names is None and list(feed) == ["x", "state"] and not feed["state"].any()
        type(self).runs += 1
        return [feed["x"]]


@pytest.mark.parametrize("any_batch", [False, True])
def test_throughput_beside_onnxruntime(tmp_path, alone, short, monkeypatch, any_batch):
    session = type("Session", (FakeSession,), {"batch": "n" if any_batch else 1})
    module = SimpleNamespace(__version__="9.1", InferenceSession=session, SessionOptions=SimpleNamespace)
    monkeypatch.setattr(peers, "find_onnxruntime", lambda: module)
    path = tmp_path / MODEL.name
    path.write_bytes(MODEL.read_bytes())
    prepared = nnfast.Device(2).prepare(model := nnfast.load(path))
    inputs = [np.zeros(prepared.inputs[0].shape, prepared.inputs[0].dtype)]
    _, notes = throughput.measure(str(path), prepared, inputs, turns=1, batches=(1,))
    assert "ONNX Runtime has no .onnx of the model's name to run" in notes and session.runs == 0
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / f"{MODEL.stem}.onnx").touch()
    found, notes = throughput.measure(str(path), prepared, inputs, turns=1, batches=(1, 4))
    rows = [(row.engine, row.batch, row.clients) for row in found if row.engine.startswith("ONNX")]
    assert rows == [("ONNX Runtime 9.1", batch, clients) for batch in (1, 4)[:1 + any_batch] for clients in (1, 2)]
    assert session.runs > 0 and model is not None
    refused = f"ONNX Runtime does not run batches of 4: input x has the shape [1, {SHAPE[0]}, {SHAPE[1]}, {SHAPE[2]}]"
    assert any(note.startswith(refused) for note in notes) != any_batch


@pytest.mark.parametrize("broken", ["__init__", "run"])
def test_onnxruntime_that_fails_does_not_end_the_rest(tmp_path, alone, short, monkeypatch, broken):
    class Fail(Exception):
        pass

    def fail(*_arguments, **_options):
        raise Fail("a node\nis unknown")

    session = type("Session", (FakeSession,), {broken: fail})
    module = SimpleNamespace(__version__="9.1", InferenceSession=session, SessionOptions=SimpleNamespace)
    monkeypatch.setattr(peers, "find_onnxruntime", lambda: module)
    monkeypatch.setattr(peers, "onnx_file", lambda path: "model.onnx")
    prepared = nnfast.Device(1).prepare(model := nnfast.load(MODEL))
    inputs = [np.zeros(prepared.inputs[0].shape, prepared.inputs[0].dtype)]
    found, notes = throughput.measure(str(MODEL), prepared, inputs, turns=1, batches=(1, 2))
    assert [row.engine for row in found] == ["nnfast"] * 2 and model is not None
    assert "ONNX Runtime does not run batches of 1: a node is unknown" in notes


def test_throughput_takes_no_other_ways(capsys):
    assert call("benchmark", MODEL, "--throughput", "--per-op") == 2
    assert_one_error_line(capsys, "--throughput: leave out --via, --per-op and --trace")
