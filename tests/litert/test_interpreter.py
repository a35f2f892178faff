"""nnfast.litert.Interpreter beyond LiteRT's habits: what it says, what it keeps, and its own numbers."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import nnfast
import nnfast.litert as tflite
from helpers import example_models, litert_models
from helpers.shared import SHARED
from helpers.tflite.file_builder import Op, Tensor, build

SMALL = 300_000
"""Bytes of the largest of other people's files that run here."""


@pytest.fixture
def digits(tmp_path):
    return str(litert_models.write(tmp_path) / "digits.tflite")


def ready(source, **options):
    """An allocated Interpreter of a path or bytes."""
    kind = "model_content" if isinstance(source, bytes) else "model_path"
    interpreter = tflite.Interpreter(**{kind: source}, **options)
    interpreter.allocate_tensors()
    return interpreter


def test_the_names_of_all_three_modules():
    from nnfast.litert.interpreter import Interpreter, OpResolverType, load_delegate

    assert nnfast.Interpreter is tflite.Interpreter is Interpreter
    assert tflite.OpResolverType is OpResolverType is tflite.experimental.OpResolverType
    assert tflite.experimental.load_delegate is load_delegate
    assert nnfast.litert is tflite


def test_importing_nnfast_does_not_import_it():
    code = "import sys, nnfast; assert 'nnfast.litert' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_results_are_those_of_the_native_face(digits):
    interpreter = ready(digits)
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(digits))
    source, result = (d[0]["index"] for d in (interpreter.get_input_details(), interpreter.get_output_details()))
    for seed in range(3):
        x = np.random.default_rng(seed).integers(-128, 128, (1, 8, 8, 1), np.int8)
        interpreter.set_tensor(source, x)
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_tensor(result), prepared.run([x])[0])
        np.testing.assert_array_equal(interpreter.get_tensor(source), x)


def test_all_tensors_where_asked_for(digits):
    interpreter = ready(digits, experimental_preserve_all_tensors=True)
    x = np.arange(64, dtype=np.int8).reshape(1, 8, 8, 1)
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    for tensor in interpreter.get_tensor_details():
        value = interpreter.get_tensor(tensor["index"])
        assert value.shape == tuple(tensor["shape"]) and value.dtype == tensor["dtype"]
    names = {d["name"]: d["index"] for d in interpreter.get_tensor_details()}
    pooled, conv = (interpreter.get_tensor(names[name]) for name in ("maxpool3", "conv2"))
    np.testing.assert_array_equal(pooled, conv.reshape(1, 4, 2, 4, 2, 32).max((2, 4)))
    with pytest.raises(ValueError, match="allocate_tensors"):
        ready(digits).get_tensor(names["conv2"])


def test_constants_are_those_of_the_file(digits):
    interpreter = ready(digits)
    interpreter.invoke()
    names = {d["name"]: d["index"] for d in interpreter.get_tensor_details()}
    model = nnfast.load(digits)
    weights = next(o for o in model.main.operands if o.name == "conv4/weight")
    np.testing.assert_array_equal(interpreter.get_tensor(names["conv4/weight"]), weights.data)
    with pytest.raises(ValueError, match="constant of the file"):
        interpreter.set_tensor(names["conv4/weight"], weights.data)
    assert not interpreter.tensor(names["conv4/weight"])().flags.writeable


def test_boolean_constants_are_booleans():
    """As an output, too."""
    tensors = [Tensor("x", (2,)), Tensor.of("c", np.array([True, False])), Tensor("y", (2,))]
    interpreter = ready(build(tensors, [Op("NEG", ["x"], ["y"])], ["x"], ["c", "y"]))
    interpreter.invoke()
    found = interpreter.get_tensor(1)
    assert found.dtype == bool and found.tolist() == [True, False]
    assert interpreter.tensor(1)().dtype == bool and not interpreter.tensor(1)().flags.writeable
    with pytest.raises(ValueError, match="constant of the file"):
        interpreter.set_tensor(1, ~found)


def test_types_that_the_model_holds_otherwise():
    """bool tensors are bytes in NNAPI, single values tensors of one element."""
    tensors = [Tensor("a", (), "float32"), Tensor("b", (3,), "float32"), Tensor("less", (3,), "bool"),
               Tensor("most", (3,), "float32")]
    data = build(tensors, [Op("LESS", ["a", "b"], ["less"]), Op("MAXIMUM", ["a", "b"], ["most"])], ["a", "b"],
                 ["less", "most"])
    interpreter = ready(data)
    assert [d["shape"].tolist() for d in interpreter.get_input_details()] == [[], [3]]
    interpreter.set_tensor(0, np.float32(2))
    interpreter.set_tensor(1, np.array([1, 2, 3], np.float32))
    interpreter.invoke()
    less = interpreter.get_tensor(2)
    assert less.dtype == np.bool_ and less.tolist() == [False, False, True]
    assert interpreter.get_tensor(3).tolist() == [2, 2, 3]
    assert interpreter.get_tensor(0).shape == ()


def test_custom_operators_tell_shapes_that_the_file_leaves_out():
    data = example_models.detection()
    for count in ((), (1,)):
        interpreter = ready(example_models.detection(count))
        assert interpreter.get_output_details()[3]["shape"].tolist() == [1]
    assert data == example_models.detection((1,))


def test_open_dimensions_start_as_the_file_has_them():
    tensors = [Tensor("x", (1, 4), signature=(-1, 4)), Tensor("y", (1, 4), signature=(-1, 4))]
    interpreter = ready(build(tensors, [Op("RELU", ["x"], ["y"])], ["x"], ["y"]))
    assert interpreter.get_input_details()[0]["shape"].tolist() == [1, 4]
    assert interpreter.get_output_details()[0]["shape_signature"].tolist() == [-1, 4]
    for batch in (1, 5, 2):
        interpreter.resize_tensor_input(0, [batch, 4], strict=True)
        interpreter.allocate_tensors()
        assert interpreter.get_output_details()[0]["shape"].tolist() == [batch, 4]
        interpreter.tensor(0)().fill(-batch)
        interpreter.invoke()
        assert interpreter.get_tensor(1).tolist() == [[0] * 4] * batch
    with pytest.raises(RuntimeError, match="dimension 1 of tensor 0 with value 4 to 5"):
        interpreter.resize_tensor_input(0, [1, 5], strict=True)
    with pytest.raises(RuntimeError, match="rank"):
        interpreter.resize_tensor_input(0, [4], strict=True)


def test_what_nnfast_cannot_run_is_told_by_allocate_tensors():
    data = build([Tensor("x", (1, 4)), Tensor("y", (1, 4))], [Op("Mystery", ["x"], ["y"])], ["x"], ["y"])
    interpreter = tflite.Interpreter(model_content=data)
    assert interpreter.get_input_details()[0]["name"] == "x"
    with pytest.raises(RuntimeError, match="Mystery") as caught:
        interpreter.allocate_tensors()
    assert isinstance(caught.value.__cause__, nnfast.UnsupportedOperator)
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()


def test_delegates_are_refused_by_a_clear_word(digits):
    with pytest.raises(ValueError, match="without one"):
        tflite.load_delegate("libedgetpu.so.1")
    with pytest.raises(ValueError, match="without one"):
        tflite.Delegate("libedgetpu.so.1", {"device": "usb"})
    with pytest.raises(ValueError, match="without one"):
        tflite.Interpreter(digits, experimental_delegates=[object()])
    ready(digits, experimental_delegates=[])


def test_resources_keep_their_value_where_variables_are_reset():
    """A counter in a resource, which another subgraph sets to 5 at the start."""
    handle = Tensor("r", (), "resource")
    first = ([handle, Tensor.of("five", np.array([5], np.float32))],
             [Op("VAR_HANDLE", [], ["r"], "VarHandleOptions"),
              Op("ASSIGN_VARIABLE", ["r", "five"], [], "AssignVariableOptions")], [], [])
    tensors = [Tensor("x", (1,)), handle, Tensor("v", (1,)), Tensor("y", (1,))]
    ops = [Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
           Op("VAR_HANDLE", [], ["r"], "VarHandleOptions"),
           Op("READ_VARIABLE", ["r"], ["v"], "ReadVariableOptions"), Op("ADD", ["v", "x"], ["y"], "AddOptions"),
           Op("ASSIGN_VARIABLE", ["r", "y"], [], "AssignVariableOptions")]
    interpreter = ready(build(tensors, ops, ["x"], ["y"], others=[first]))
    interpreter.tensor(0)().fill(2)
    found = []
    for _ in range(3):
        interpreter.invoke()
        found.append(interpreter.get_tensor(3).tolist())
        interpreter.reset_all_variables()
    assert found == [[7], [9], [11]]


def test_operators_as_the_file_has_them(digits):
    rows = tflite.Interpreter(digits)._get_ops_details()
    assert rows[0]["op_name"] == "CONV_2D" and rows[0]["inputs"].tolist() == [0, 1, 2]
    assert rows[-1]["op_name"] == "SOFTMAX" and rows[-1]["result_types"] == [np.int8]


def test_zero_points_compressed_where_asked_for(digits):
    whole, short = (tflite.Interpreter(digits, experimental_compress_quantization_zero_points=flag)
                    for flag in (False, True))
    points = [i.get_tensor_details()[1]["quantization_parameters"]["zero_points"].tolist() for i in (whole, short)]
    assert points == [[0] * 16, [0]]
    assert short.experimental_compress_quantization_zero_points


def test_interpreters_do_not_share_their_memory(digits):
    first, second = ready(digits), ready(digits)
    first.tensor(0)().fill(1)
    second.tensor(0)().fill(2)
    assert first.get_tensor(0).max() == 1 and second.get_tensor(0).min() == 2
    view = first.tensor(0)()
    second.invoke()
    del view


def test_nothing_is_printed_or_warned_of(digits, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ready(digits, experimental_preserve_all_tensors=True).invoke()
    assert capfd.readouterr() == ("", "")


def test_folded_results_have_values():
    tensors = [Tensor("x", (2, 3)), Tensor("dims", (2,), "int32"), Tensor("y", (2, 3))]
    content = build(tensors, [Op("SHAPE", ["x"], ["dims"], "ShapeOptions", {"OutType": 2}),
                              Op("RESHAPE", ["x", "dims"], ["y"], "ReshapeOptions")], ["x"], ["y"])
    interpreter = nnfast.Interpreter(model_content=content, experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(1).dtype == np.int32 and interpreter.get_tensor(1).tolist() == [2, 3]


@pytest.mark.skipif(not (SHARED / "real").is_dir(), reason=f"no files in {SHARED / 'real'} (NNFAST_SHARED)")
def test_whatever_runs_keeps_intermediate_results():
    ran = 0
    for path in sorted((SHARED / "real").glob("*.tflite")):
        if path.stat().st_size < SMALL:
            try:
                plain = tflite.Interpreter(path)
                plain.allocate_tensors()
            except (RuntimeError, ValueError):
                continue
            keeping = tflite.Interpreter(path, experimental_preserve_all_tensors=True)
            for interpreter in (plain, keeping):
                interpreter.allocate_tensors()
                interpreter.invoke()
            for row in plain.get_output_details():
                np.testing.assert_allclose(keeping.get_tensor(row["index"]), plain.get_tensor(row["index"]), 1e-4, 1e-5)
            ran += 1
    assert ran > 20
