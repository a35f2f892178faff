"""What an Interpreter tells of other people's files, before they are allocated: LiteRT's words."""

import json

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


def test_an_input_without_elements_is_a_runtime_error():
    data = build([Tensor("x", (0, 5, 4)), Tensor("y", (0, 5, 4))], [Op("LOGISTIC", ["x"], ["y"])], ["x"], ["y"])
    interpreter = nnfast.litert.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match=r"shape is \[0, 5, 4\]"):
        interpreter.invoke()
