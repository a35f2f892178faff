"""What an Interpreter tells of other people's files, before they are allocated: LiteRT's words."""

import json

import numpy as np
import pytest

import nnfast.litert
from helpers import litert_details, litert_models
from helpers.shared import SHARED
from helpers.tflite.file_builder import Op, Tensor, build

FILES = sorted(map(str, (SHARED / "real").glob("*.tflite"))) if (SHARED / "real").is_dir() else []


@pytest.mark.skipif(not FILES, reason=f"no files in {SHARED / 'real'} (NNFAST_SHARED)")
@pytest.mark.skipif(not litert_models.litert_python(), reason="ai_edge_litert is not installed and "
                                                              "NNFAST_LITERT_PYTHON not set")
def test_details_of_real_files():
    told = json.loads(litert_models.run_litert(litert_details.__file__, "ai_edge_litert.interpreter", *FILES))
    compared = 0
    for path, theirs in zip(FILES, told):
        ours = json.loads(json.dumps(litert_details.details(nnfast.litert, path)))
        if ours is not None and theirs is not None:
            assert ours == theirs, path
            compared += 1
    assert compared > 100


def test_details_of_the_files_that_come_along():
    for name in ("digits_int8", "digits_float32"):
        signatures, inputs, outputs, tensors = litert_details.details(nnfast.litert,
                                                                      str(litert_models.DATA / f"{name}.tflite"))
        assert signatures == {} and len(inputs) == len(outputs) == 1 and len(tensors) == 1
        assert [row["index"] for row in tensors[0]] == list(range(len(tensors[0])))
        assert {"name", "index", "shape", "shape_signature", "dtype", "quantization", "quantization_parameters",
                "sparsity_parameters"} == set(inputs[0])


def test_zero_points_beyond_32_bits_wrap_as_in_litert():
    data = build([Tensor("x", (2,), "int8", scale=0.5, zero_point=1 << 32 | 7), Tensor("y", (2,), "int8", scale=0.5)],
                 [Op("RELU", ["x"], ["y"])], ["x"], ["y"])
    detail, = nnfast.litert.Interpreter(model_content=data).get_input_details()
    assert detail["quantization_parameters"]["zero_points"].tolist() == [7]
    assert detail["quantization"] == (0.5, 7)


def test_an_input_may_be_without_elements():
    data = build([Tensor("x", (0, 5, 4)), Tensor("y", (0, 5, 4))], [Op("LOGISTIC", ["x"], ["y"])], ["x"], ["y"])
    interpreter = nnfast.litert.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(1).shape == (0, 5, 4)


@pytest.mark.parametrize(("kind", "options", "fields", "shape"), [
    ("NEG", None, {}, (1,)), ("SUM", "ReducerOptions", {}, ()),
])
def test_results_of_unknown_rank(kind, options, fields, shape):
    """Of one element: of the rank of the input where the operator keeps it."""
    tensors = [Tensor("x", (1,)), Tensor("y", (), has_rank=False), Tensor.of("axis", np.array([0], np.int32))]
    op = Op(kind, ["x", "axis"] if kind == "SUM" else ["x"], ["y"], options, fields)
    interpreter = nnfast.litert.Interpreter(model_content=build(tensors, [op], ["x"], ["y"]))
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([5]))
    interpreter.invoke()
    assert interpreter.get_tensor(1).shape == shape
