"""nnfast as a delegate of LiteRT: what it takes, that the numbers are LiteRT's, and what becomes of everything else."""

import ctypes
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from helpers.litert_models import DATA, stateful
from helpers.processes import environment
from helpers.service_process import stop
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.samples import detections
from helpers.tree import ROOT
from nnfast.litert.delegates import LIBRARY

RNG = np.random.default_rng(5)
MOST = 2e-5
"""Largest difference of floats, as a share of the largest value."""


def weights(*shape):
    return RNG.uniform(-0.5, 0.5, shape).astype(np.float32)


def network():
    """A small convolutional network of floats."""
    tensors = [
        Tensor("image", (1, 8, 8, 3)), Tensor.of("w0", weights(4, 3, 3, 3)), Tensor.of("b0", weights(4)),
        Tensor("conv", (1, 8, 8, 4)), Tensor.of("w1", weights(1, 3, 3, 4)), Tensor.of("b1", weights(4)),
        Tensor("depthwise", (1, 8, 8, 4)), Tensor("sum", (1, 8, 8, 4)), Tensor("pool", (1, 4, 4, 4)),
        Tensor("mean", (1, 1, 1, 4)), Tensor.of("flat", np.int32([1, 4])), Tensor("row", (1, 4)),
        Tensor.of("w2", weights(5, 4)), Tensor.of("b2", weights(5)), Tensor("scores", (1, 5)), Tensor("y", (1, 5))]
    window = {"StrideW": 1, "StrideH": 1}
    ops = [Op("CONV_2D", ["image", "w0", "b0"], ["conv"], "Conv2DOptions",
              {**window, "DilationWFactor": 1, "DilationHFactor": 1, "FusedActivationFunction": 3}),
           Op("DEPTHWISE_CONV_2D", ["conv", "w1", "b1"], ["depthwise"], "DepthwiseConv2DOptions",
              {**window, "DepthMultiplier": 1, "DilationWFactor": 1, "DilationHFactor": 1}),
           Op("ADD", ["conv", "depthwise"], ["sum"], "AddOptions", {"FusedActivationFunction": 1}),
           Op("MAX_POOL_2D", ["sum"], ["pool"], "Pool2DOptions",
              {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2, "Padding": 1}),
           Op("AVERAGE_POOL_2D", ["pool"], ["mean"], "Pool2DOptions",
              {"StrideW": 4, "StrideH": 4, "FilterWidth": 4, "FilterHeight": 4, "Padding": 1}),
           Op("RESHAPE", ["mean", "flat"], ["row"]),
           Op("FULLY_CONNECTED", ["row", "w2", "b2"], ["scores"], "FullyConnectedOptions"),
           Op("SOFTMAX", ["scores"], ["y"], "SoftmaxOptions", {"Beta": 1.0})]
    return build(tensors, ops, ["image"], ["y"])


def split(shape=(1, 4), signature=None):
    """EXP and ABS around an RNN, which keeps a variable."""
    one = (shape[0], 4)
    tensors = [
        Tensor("x", shape, signature=signature), Tensor("e", shape), Tensor.of("w", weights(4, 4)),
        Tensor.of("r", weights(4, 4)), Tensor.of("b", weights(4)), Tensor("h", one, variable=True), Tensor("s", one),
        Tensor("y", one)]
    return build(tensors, [Op("EXP", ["x"], ["e"]),
                           Op("RNN", ["e", "w", "r", "b", "h"], ["s"], "RNNOptions", {"FusedActivationFunction": 4}),
                           Op("ABS", ["s"], ["y"])], ["x"], ["y"])


def check(row, parts, integers=False):
    assert "error" not in row, row["error"]
    assert row["parts"] == parts and row["outputs"]
    for call in row["outputs"]:
        for is_equal, difference, largest, same_shape in call:
            assert same_shape and (is_equal if integers else difference <= MOST * max(largest, 1e-3)), row


def test_a_float_network_is_taken_whole(run):
    check(run(network(), options={"allow_fallback": "false"}), 1)


def test_integers_are_those_of_the_reference(run):
    row = run((DATA / "digits_int8.tflite").read_bytes(), options={"allow_fallback": "false"}, calls=4)
    check(row, 1, integers=True)


@pytest.mark.parametrize("threads", ["0", "1"])
def test_results_are_right_however_they_are_waited_for(threads, run):
    row = run((DATA / "digits_int8.tflite").read_bytes(), options={"num_threads": threads}, calls=60)
    check(row, 1, integers=True)


def test_what_keeps_a_variable_stays_with_litert(run):
    check(run(split(), calls=3), 2)
    check(run(stateful(), calls=3), 0)


def test_other_shapes_are_compiled_anew(run):
    tensors = [Tensor("x", (1, 3), signature=(-1, 3)), Tensor.of("y", np.float32([1, 2, 3])),
               Tensor("z", (1, 3), signature=(-1, 3))]
    content = build(tensors, [Op("ADD", ["x", "y"], ["z"], "AddOptions")], ["x"], ["z"])
    check(run(content, shapes=[[5, 3]]), 1)
    check(run(content), 1)


def test_shapes_that_only_values_tell(run):
    tensors = [Tensor("x", (6,)), Tensor.of("zero", np.float32(0)), Tensor("is_above", (6,), "bool"),
               Tensor("at", (1, 1), "int64", signature=(-1, 1)), Tensor("y", (1, 1), "int32", signature=(-1, 1))]
    content = build(tensors, [Op("GREATER", ["x", "zero"], ["is_above"]), Op("WHERE", ["is_above"], ["at"]),
                              Op("CAST", ["at"], ["y"])], ["x"], ["at", "y", "is_above"])
    check(run(content, calls=4), 1, integers=True)


def test_results_of_custom_operators_have_the_shapes_that_these_give(run):
    row = run(detections(False), options={"allow_fallback": "false"})
    assert "error" not in row and row["parts"] == 1
    assert all(same_shape for call in row["outputs"] for *_, same_shape in call), row


def test_several_threads_and_priorities(run):
    check(run(network(), options={"num_threads": "1", "priority": "low", "device": "nnapi-reference"}), 1)


@pytest.mark.parametrize("options,precision,without_passes", [
    ({}, None, set()), ({"precision": "exact", "device": "nnfast"}, None, set()),
    ({"precision": "bf16"}, "bf16", set()),
    ({"device": "nnapi-reference"}, None, {"native_kernels"})])
def test_devices_and_precisions(options, precision, without_passes, run_all, served, tmp_path):
    variables, devices = served
    path = tmp_path / "model.tflite"
    path.write_bytes(network())
    (row,), _ = run_all([{"path": str(path), "options": options}], **variables)
    assert "error" not in row and row["parts"] == 1
    assert [(device.precision, device.without_passes) for device in devices] == [(precision, without_passes)]


@pytest.mark.parametrize("options", [{}, {"precision": "bf16"}, {"num_threads": "1"}, {"device": "nnapi-reference"}],
                         ids=str)
def test_a_compiled_graph_is_found_again(options, run_all, served, tmp_path, monkeypatch):
    """Also by a process that comes later; graphs of other bytes, shapes or options have files of their own."""
    monkeypatch.setenv("NNFAST_KEY", str(tmp_path / "key"))
    variables, prepared = served
    folder, path = tmp_path / "cache", tmp_path / "model.tflite"
    folder.mkdir()
    path.write_bytes(network())
    job = {"path": str(path), "options": {"cache_dir": str(folder), **options}, "calls": 2}
    loaded = [run_all([job], **variables)[0][0] for _ in range(2)]
    assert len(prepared) == 1 and len(list(folder.iterdir())) == 2
    assert [row["outputs"] for row in loaded] == [loaded[0]["outputs"]] * 2 and loaded[0]["parts"] == 1
    run_all([{**job, "options": {**job["options"], "priority": "low"}}], **variables)
    assert len(prepared) == 2 and len(list(folder.iterdir())) == 4
    for file in folder.iterdir():
        file.write_bytes(b"something else")
    row = run_all([job], **variables)[0][0]
    assert row["outputs"] == loaded[0]["outputs"] and len(prepared) == 3


def test_a_folder_that_is_not_there_is_passed_over(run, tmp_path):
    check(run(network(), options={"cache_dir": str(tmp_path / "none")}), 1)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_files_are_named_by_sha256(size, sha256):
    data = np.random.default_rng(size).bytes(size)
    assert sha256(data) == hashlib.sha256(data).digest()


def test_a_graph_that_is_not_taken_whole_may_be_refused(run):
    error = run(split(), options={"allow_fallback": "false"})["error"]
    assert "allow_fallback is false: node 1 (RNN) keeps a variable" in error or "delegate" in error.lower()


@pytest.mark.parametrize("options,words", [
    ({"threads": "2"},
     "there is no option 'threads'; there are device, num_threads, precision, priority, cache_dir, allow_fallback"),
    ({"num_threads": "many"}, "option num_threads is 'many', must be a number"),
    ({"priority": "urgent"}, "must be low, medium or high"), ({"device": "gpu"}, "must be nnfast or nnapi-reference"),
    ({"precision": "fp16"}, "must be exact or bf16"), ({"allow_fallback": "maybe"}, "must be true or false"),
    ({"cache_dir": ""}, "option cache_dir is '', must be a folder")])
def test_unknown_options_are_refused_with_those_there_are(options, words):
    said = []
    assert create(options, said) is None
    line, = said
    assert line.startswith("nnfast: ") and words in line


def create(options, said=None):
    """A delegate as LiteRT's load_delegate makes one; said: gets what it reports."""
    library = ctypes.PyDLL(str(LIBRARY))
    report = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    make = library.tflite_plugin_create_delegate
    make.restype, make.argtypes = ctypes.c_void_p, [ctypes.POINTER(ctypes.c_char_p)] * 2 + [ctypes.c_size_t, report]
    sides = [(ctypes.c_char_p * len(options))(*(text.encode() for text in side))
             for side in (options.keys(), options.values())]
    return make(*sides, len(options), report(lambda text: said.append(text.decode())))


FOREIGN = """
import ctypes, sys
library = ctypes.PyDLL(sys.argv[1])
library.tflite_plugin_create_delegate.restype = ctypes.c_void_p
delegate = library.tflite_plugin_create_delegate(None, None, ctypes.c_size_t(0), None)
prepare = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
    ctypes.cast(delegate, ctypes.POINTER(ctypes.c_void_p))[1])
words = 64
for fill in (0, 1, 8, 0x7fffffffffff, -1):
    context = (ctypes.c_int64 * words)(*[fill] * words)
    assert prepare(ctypes.addressof(context), delegate) == 2
assert prepare(None, delegate) == 2 and prepare(16, delegate) == 2
# Functions where they should be, and tensors that are none.
code = ctypes.cast(library.tflite_plugin_destroy_delegate, ctypes.c_void_p).value
for tensors in (16, ctypes.addressof(context)):
    context = (ctypes.c_int64 * words)(*[code] * words)
    context[0], context[2], context[9] = 3, tensors, 1
    assert prepare(ctypes.addressof(context), delegate) == 2
library.tflite_plugin_destroy_delegate(ctypes.c_void_p(delegate))
"""


def test_a_runtime_that_does_not_fit_is_refused_without_a_crash():
    done = subprocess.run([sys.executable, "-c", FOREIGN, str(LIBRARY)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("nnfast: this runtime is refused: ") == 9


def test_without_a_driver_the_graph_stays_with_litert(run_all, tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(network())
    jobs = [{"path": str(path)}, {"path": str(path), "options": {"allow_fallback": "false"}}]
    (kept, refused), said = run_all(jobs, NNFAST_SOCKET=str(tmp_path / "none"), NNFAST_DRIVER=str(tmp_path / "none"))
    check(kept, 0)
    assert said.count("nnfast: the graph stays with LiteRT: ") == 1 and "no driver's process can be reached" in said
    assert "the graph cannot be compiled: " in refused["error"]
    assert "no driver's process can be reached" in refused["error"]


DYING = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[3])
from delegate_runs import runtime
tflite = runtime()
interpreter = tflite.Interpreter(sys.argv[1], experimental_delegates=[tflite.load_delegate(sys.argv[2])])
interpreter.allocate_tensors()
place, = (detail["index"] for detail in interpreter.get_input_details())
for step in range(3):
    interpreter.set_tensor(place, np.ones((1, 8, 8, 3), np.float32))
    try:
        interpreter.invoke()
        print("ran", flush=True)
    except RuntimeError as error:
        print("failed", "the driver's process has ended" in str(error), flush=True)
    sys.stdin.readline()
"""


def test_a_driver_that_dies_fails_one_run(litert, tmp_path, driver):
    path, socket = tmp_path / "m.tflite", str(tmp_path / "s")
    path.write_bytes(network())
    variables = environment() | driver | {"NNFAST_SOCKET": socket}
    variables.pop("PYTHONPATH")
    with subprocess.Popen([litert, "-c", DYING, str(path), str(LIBRARY), str(ROOT / "tests" / "helpers")], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables) as client:
        assert client.stdout.readline() == "ran\n"
        stop(socket)
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline().startswith("failed")
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "ran\n"  # compiled anew, in a driver that it started
        client.communicate("\n", timeout=300)
    stop(socket)


# -- from Python -------------------------------------------------------------------------------------------------------
def loaded(folder, name, code, **variables):
    """What nnfast.litert.delegate makes of a module of this name; variables: arguments."""
    package = folder.joinpath(*name.split(".")[:-1])
    package.mkdir(parents=True)
    for parent in [package, *package.parents]:
        if parent == folder:
            break
        (parent / "__init__.py").touch()
    (package / f"{name.split('.')[-1]}.py").write_text(code)
    program = f"import json, nnfast.litert; print(json.dumps(nnfast.litert.delegate(**{variables!r})))"
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                          env=environment(PYTHONPATH=paths))
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1]


CODE = "def load_delegate(library, options=None):\n    return [__name__, library, options]\n"


@pytest.mark.parametrize("name", ["ai_edge_litert.interpreter", "tflite_runtime.interpreter",
                                  "tensorflow.lite.experimental"])
def test_python_gets_what_load_delegate_gives(tmp_path, name):
    if name != "ai_edge_litert.interpreter" and __import__("importlib.util").util.find_spec("ai_edge_litert"):
        pytest.skip("the real one is found first")
    assert loaded(tmp_path, name, CODE, num_threads=2, priority=None) == [name, str(LIBRARY), {"num_threads": 2}]


def test_without_a_runtime_the_message_says_how_to_get_one(tmp_path):
    hidden = "import sys\nfor name in 'ai_edge_litert', 'tflite_runtime', 'tensorflow':\n    sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    assert loaded(tmp_path, "nothing.at_all", "").endswith("pip install ai-edge-litert")
