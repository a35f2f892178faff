"""Translation of operators without weights: structure of the result, and what is refused."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor
from helpers.tflite.translated import f32, named, q8, refused, show, translate
from nnfast.model.types import LifeTime, OperandType

T = OperandType
RNG = np.random.default_rng(5)


# -- pooling, arithmetic, activations ------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pool(kind):
    fields = {"Padding": 1, "StrideW": 1, "StrideH": 2, "FilterWidth": 3, "FilterHeight": 4,
              "FusedActivationFunction": 2}
    op = Op(kind, ["x"], ["y"], "Pool2DOptions", fields)
    model = translate([Tensor("x", (1, 8, 8, 2)), Tensor("y", (1, 3, 6, 2))], [op], ["x"], ["y"])
    assert show(model) == [(kind, ["x", 2, 1, 2, 3, 4, 2], ["y"])]


@pytest.mark.parametrize("kind", ["ADD", "MUL", "SUB"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "float16", "int32"])
def test_arithmetic(kind, dtype):
    scale = 0.5 if dtype in ("uint8", "int8") else None
    tensors = [Tensor("x", (2, 3), dtype, scale=scale), Tensor("y", (2, 3), dtype, scale=scale),
               Tensor("z", (2, 3), dtype, scale=scale)]
    op = Op(kind, ["x", "y"], ["z"], f"{kind.title()}Options", {"FusedActivationFunction": 1})
    if dtype == "int32":
        op.fields = {}
    model = translate(tensors, [op], ["x", "y"], ["z"])
    assert show(model) == [(kind, ["x", "y", 0 if dtype == "int32" else 1], ["z"])]


def test_arithmetic_with_a_single_value_and_of_unknown_rank():
    value = Tensor.of("c", np.array(3, np.uint8), scale=0.01)
    model = translate([q8("x", (2, 3)), value, q8("z", (), has_rank=False)],
                      [Op("MUL", ["x", "c"], ["z"], "MulOptions")], ["x"], ["z"])
    assert named(model, "c").dims == (1,) and named(model, "c").data.tolist() == [3]
    assert named(model, "z").dims == (2, 3)


def test_arithmetic_refusals():
    op = Op("MUL", ["x", "y"], ["z"], "MulOptions")
    refused([q8("x", (2,)), q8("y", (2,)), q8("z", (2,), scale=1e-6)], [op], ["x", "y"], ["z"], "more than 15 bits")
    op = Op("ADD", ["x", "y"], ["z"], "AddOptions")
    refused([q8("x", (2,), scale=9e3), q8("y", (2,)), q8("z", (2,), scale=1e-4)], [op], ["x", "y"], ["z"], "too small")
    refused([q8("x", (2,)), q8("y", (2,), "int8"), q8("z", (2,))], [op], ["x", "y"], ["z"], "uint8, int8, uint8")


@pytest.mark.parametrize("kind, code", [
    ("RELU", "RELU"), ("RELU_N1_TO_1", "RELU1"), ("RELU6", "RELU6"), ("LOGISTIC", "LOGISTIC"), ("TANH", "TANH"),
    ("HARD_SWISH", "HARD_SWISH"),
])
def test_unary(kind, code):
    model = translate([Tensor("x", (2, 3)), Tensor("y", (), has_rank=False)], [Op(kind, ["x"], ["y"])], ["x"], ["y"])
    assert show(model) == [(code, ["x"], ["y"])] and named(model, "y").dims == (2, 3)


@pytest.mark.parametrize("kind, dtype, quant", [
    ("LOGISTIC", "uint8", (1 / 256, 0)), ("LOGISTIC", "int8", (1 / 256, -128)), ("TANH", "uint8", (1 / 128, 128)),
    ("TANH", "int8", (1 / 128, 0)), ("SOFTMAX", "uint8", (1 / 256, 0)), ("SOFTMAX", "int8", (1 / 256, -128)),
])
def test_fixed_output_quantization(kind, dtype, quant):
    options = ("SoftmaxOptions", {"Beta": 0.5}) if kind == "SOFTMAX" else (None, {})
    op = Op(kind, ["x"], ["y"], *options)
    model = translate([q8("x", (2, 3), dtype), q8("y", (2, 3), dtype, *quant)], [op], ["x"], ["y"])
    assert show(model) == [(kind, ["x"] + [0.5] * (kind == "SOFTMAX"), ["y"])]
    other = [q8("x", (2, 3), dtype), q8("y", (2, 3), dtype, 0.1, quant[1])], [op], ["x"], ["y"]
    if kind in ("LOGISTIC", "TANH"):
        for arithmetic in ("litert", "nnapi"):
            assert show(translate(*other, arithmetic=arithmetic)) == [(f"TFL_QUANTIZED_{kind}", ["x"], ["y"])]
    elif (kind, dtype) == ("SOFTMAX", "uint8"):
        assert [row[0] for row in show(translate(*other))] == ["SOFTMAX", "TFL_BITCAST"]
        with pytest.raises(nnfast.UnsupportedOperator, match="fixes it to"):
            translate(*other, arithmetic="nnapi")
    else:
        refused(*other, "fixes it to")


def test_softmax_needs_beta():
    refused([Tensor("x", (2, 3)), Tensor("y", (2, 3))], [Op("SOFTMAX", ["x"], ["y"])], ["x"], ["y"], "beta is 0.0")


def test_quantized_relu_keeps_quantization():
    op = Op("RELU", ["x"], ["y"])
    assert show(translate([q8("x", (2,)), q8("y", (2,))], [op], ["x"], ["y"])) == [("RELU", ["x"], ["y"])]
    model = translate([q8("x", (2,)), q8("y", (2,), zero_point=4)], [op], ["x"], ["y"])
    assert show(model) == [("TFL_REQUANTIZE_RELU", ["x", 1], ["y"])]


def test_prelu():
    model = translate([Tensor("x", (1, 4, 4, 3)), Tensor.of("a", f32(1, 1, 3)), Tensor("y", (1, 4, 4, 3))],
                      [Op("PRELU", ["x", "a"], ["y"])], ["x"], ["y"])
    assert show(model) == [("PRELU", ["x", "a"], ["y"])] and named(model, "a").dims == (1, 1, 3)


# -- moving values -------------------------------------------------------------------------------------------------
def test_reshape_from_tensor_and_options():
    shape = Tensor.of("s", np.array([3, -1], np.int32))
    model = translate([Tensor("x", (2, 6)), shape, Tensor("y", (3, 4))],
                      [Op("RESHAPE", ["x", "s"], ["y"], "ReshapeOptions", {"NewShape": [9, 9]})], ["x"], ["y"])
    assert show(model) == [("RESHAPE", ["x", [3, -1]], ["y"])]
    op = Op("RESHAPE", ["x"], ["y"], "ReshapeOptions", {"NewShape": [12]})
    assert show(translate([Tensor("x", (2, 6)), Tensor("y", (12,))], [op], ["x"], ["y"]))[0][1] == ["x", [12]]


def test_reshape_to_a_single_value():
    op = Op("RESHAPE", ["x"], ["y"], "ReshapeOptions", {"NewShape": [0]})
    model = translate([Tensor("x", (1, 1)), Tensor("y", ())], [op], ["x"], ["y"])
    assert show(model)[0][1] == ["x", [1]] and named(model, "y").dims == (1,)
    # A shape tensor without elements is neither constant nor written by anyone.
    model = translate([Tensor("x", (1, 1)), Tensor("s", (0,), "int32"), Tensor("y", ())],
                      [Op("RESHAPE", ["x", "s"], ["y"])], ["x"], ["y"])
    assert show(model)[0][1] == ["x", [1]]


def test_reshape_by_a_computed_shape():
    model = translate([Tensor("x", (2, 6)), Tensor("s", (2,), "int32"), Tensor("y", (), has_rank=False)],
                      [Op("RESHAPE", ["x", "s"], ["y"])], ["x", "s"], ["y"])
    assert show(model) == [("RESHAPE", ["x", "s"], ["y"])] and named(model, "y").dims == ()


def test_reshape_refusals():
    refused([Tensor("x", (2, 6)), Tensor("y", (12,))], [Op("RESHAPE", ["x"], ["y"])], ["x"], ["y"], "no shape")
    op = Op("RESHAPE", ["x"], ["y"], "ReshapeOptions", {"NewShape": [-1, -1]})
    refused([Tensor("x", (2, 6)), Tensor("y", (12,))], [op], ["x"], ["y"], "one -1 at most")


def test_squeeze_is_a_reshape():
    model = translate([Tensor("x", (1, 4, 1, 3)), Tensor("y", (4, 3))], [Op("SQUEEZE", ["x"], ["y"])], ["x"], ["y"])
    assert show(model) == [("RESHAPE", ["x", [4, 3]], ["y"])]


def test_concatenation():
    tensors = [q8("x", (2, 3)), q8("y", (2, 4), scale=0.25), q8("z", (2, 7))]
    op = Op("CONCATENATION", ["x", "y"], ["z"], "ConcatenationOptions", {"Axis": -1})
    assert show(translate(tensors, [op], ["x", "y"], ["z"])) == [("CONCATENATION", ["x", "y", 1], ["z"])]
    op.fields = {"Axis": 2}
    refused(tensors, [op], ["x", "y"], ["z"], "axis is 2")
    op.fields = {"Axis": 1, "FusedActivationFunction": 1}
    refused(tensors, [op], ["x", "y"], ["z"], "NNAPI takes none")


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_pad(dtype):
    pads = np.array([[0, 0], [1, 2]], dtype)
    tensors = [Tensor("x", (2, 3)), Tensor.of("p", pads), Tensor("y", (2, 6))]
    op = Op("PAD", ["x", "p"], ["y"])
    assert show(translate(tensors, [op], ["x"], ["y"])) == [("PAD", ["x", [[0, 0], [1, 2]]], ["y"])]
    tensors[1] = Tensor.of("p", np.array([[0, 0], [1, -2]], dtype))
    refused(tensors, [op], ["x"], ["y"], "at least 0")


def test_transpose():
    tensors = [Tensor("x", (2, 3, 4)), Tensor.of("p", np.array([2, 0, -2], np.int32)), Tensor("y", (), has_rank=False)]
    op = Op("TRANSPOSE", ["x", "p"], ["y"])
    model = translate(tensors, [op], ["x"], ["y"])
    assert show(model) == [("TRANSPOSE", ["x", [2, 0, 1]], ["y"])] and named(model, "y").dims == (4, 2, 3)
    tensors[1] = Tensor.of("p", np.array([2, 0, 0], np.int32))
    refused(tensors, [op], ["x"], ["y"], "each dimension once")


@pytest.mark.parametrize("keep, dims", [(False, (2, 5)), (True, (2, 1, 1, 5))])
def test_mean(keep, dims):
    tensors = [Tensor("x", (2, 3, 4, 5)), Tensor.of("a", np.array([1, -2], np.int32)), Tensor("y", (), has_rank=False)]
    op = Op("MEAN", ["x", "a"], ["y"], "ReducerOptions", {"KeepDims": keep})
    model = translate(tensors, [op], ["x"], ["y"])
    assert show(model) == [("MEAN", ["x", [1, -2], int(keep)], ["y"])] and named(model, "y").dims == dims


def test_mean_of_everything_and_refusals():
    axis = Tensor.of("a", np.array(0, np.int32))
    op = Op("MEAN", ["x", "a"], ["y"], "ReducerOptions")
    model = translate([Tensor("x", (4,)), axis, Tensor("y", ())], [op], ["x"], ["y"])
    assert show(model) == [("MEAN", ["x", [0], 0], ["y"])] and named(model, "y").dims == (1,)
    refused([Tensor("x", (4,)), Tensor.of("a", np.array([1], np.int32)), Tensor("y", ())], [op], ["x"], ["y"], "rank")


@pytest.mark.parametrize("fields, more", [
    ({}, []), ({"AlignCorners": True}, [0, 1, 0]), ({"HalfPixelCenters": True}, [0, 0, 1]),
])
def test_resize_bilinear_has_the_width_first(fields, more):
    tensors = [Tensor("x", (1, 4, 4, 2)), Tensor.of("s", np.array([6, 9], np.int32)), Tensor("y", (1, 6, 9, 2))]
    op = Op("RESIZE_BILINEAR", ["x", "s"], ["y"], "ResizeBilinearOptions", fields)
    assert show(translate(tensors, [op], ["x"], ["y"])) == [("RESIZE_BILINEAR", ["x", 9, 6, *more], ["y"])]


# -- changes of quantization ---------------------------------------------------------------------------------------
def test_float16_weights_are_folded_once():
    half = f32(5, 6).astype(np.float16)
    tensors = [Tensor("x", (2, 6)), Tensor.of("h", half), Tensor("w", (5, 6)), Tensor("y", (2, 5))]
    ops = [Op("DEQUANTIZE", ["h"], ["w"]), Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions")]
    model = translate(tensors, ops, ["x"], ["y"])
    assert show(model) == [("FULLY_CONNECTED", ["x", "w", [0.0] * 5, 0], ["y"])]
    w = named(model, "w")
    assert w.is_constant and w.type == T.TENSOR_FLOAT32
    np.testing.assert_array_equal(w.data, half.astype(np.float32))


def test_dequantize():
    model = translate([q8("x", (2,)), Tensor("y", (2,))], [Op("DEQUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    assert show(model) == [("DEQUANTIZE", ["x"], ["y"])]
    model = translate([Tensor("x", (2,), "float16"), Tensor("y", (2,))], [Op("DEQUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    assert show(model) == [("CAST", ["x"], ["y"])]
    w = Tensor.of("w", np.ones((2, 3), np.int8), scale=[0.1, 0.2])
    model = translate([w, Tensor("y", (2, 3))], [Op("DEQUANTIZE", ["w"], ["y"])], [], ["y"])
    assert named(model, "w").channel_quant.dim == 0
    refused([Tensor("x", (2,), "int32"), Tensor("y", (2,))], [Op("DEQUANTIZE", ["x"], ["y"])], ["x"], ["y"], "8-bit")


@pytest.mark.parametrize("source, target", [("int8", "uint8"), ("uint8", "int8")])
def test_quantize_between_signs_at_the_border(source, target):
    shift = 128 if source == "int8" else -128
    zero = -3 if source == "int8" else 125
    model = translate([q8("x", (2,), source, 0.1, zero), q8("y", (2,), target, 0.1, zero + shift)],
                      [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    scale = float(np.float32(0.1))
    assert show(model) == [("TFL_REQUANTIZE", ["x", scale, zero, scale, zero + shift], ["y"])]


def test_quantize_floats_and_aliases():
    model = translate([Tensor("x", (2,)), q8("y", (2,), "int8")], [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    assert show(model) == [("QUANTIZE", ["x"], ["y"])]
    ops = [Op("QUANTIZE", ["x"], ["m"]), Op("RELU", ["m"], ["y"])]
    model = translate([q8("x", (2,), "int8"), q8("m", (2,), "int8"), q8("y", (2,), "int8")], ops, ["x"], ["y"])
    assert show(model) == [("RELU", ["x"], ["y"])]


def test_quantize_alias_as_output_is_a_copy():
    model = translate([q8("x", (2, 3), "int8"), q8("y", (2, 3), "int8")], [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    assert show(model) == [("RESHAPE", ["x", [2, 3]], ["y"])]
    y = named(model, "y")
    assert y.lifetime == LifeTime.SUBGRAPH_OUTPUT and (y.scale, y.zero_point) == (0.5, 3)


def test_quantize_refusals():
    tensors = [q8("x", (2,), "int8", 1e9, 0), q8("y", (2,), "int8", 0.0246, 5)]
    refused(tensors, [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"], "more than 31 bits")
    model = translate([Tensor("x", (2,)), Tensor("y", (2,), "int16", scale=0.1)], [Op("QUANTIZE", ["x"], ["y"])], ["x"],
                      ["y"])
    assert show(model) == [("TFL_QUANTIZE_INT16", ["x"], ["y"])]
