"""Translation of convolutions and dense layers: weights, biases, scales."""

import numpy as np
import pytest

from helpers.tflite.file_builder import Op, Tensor
from helpers.tflite.translated import f32, named, q8, refused, show, translate
from nnfast.model.types import LifeTime, OperandType

T = OperandType
RNG = np.random.default_rng(5)


# -- convolutions --------------------------------------------------------------------------------------------------
CONV = {"Padding": 0, "StrideW": 2, "StrideH": 1, "FusedActivationFunction": 3}


def conv_file(fields=CONV, kind="CONV_2D", filter_shape=(4, 3, 3, 2), bias=True, y_size=(8, 4)):
    count = filter_shape[3] if kind == "DEPTHWISE_CONV_2D" else filter_shape[0]
    tensors = [Tensor("x", (1, 8, 8, 2)), Tensor.of("w", f32(*filter_shape)), Tensor("y", (1, *y_size, count))]
    names = ["x", "w"]
    if bias:
        tensors.append(Tensor.of("b", f32(count)))
        names.append("b")
    options = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}[kind]
    return tensors, [Op(kind, names, ["y"], options, dict(fields))], ["x"], ["y"]


def test_conv_2d():
    parts = conv_file()
    model = translate(*parts)
    assert show(model) == [("CONV_2D", ["x", "w", "b", 1, 2, 1, 3], ["y"])]
    w = named(model, "w")
    assert w.type == T.TENSOR_FLOAT32 and w.dims == (4, 3, 3, 2)
    np.testing.assert_array_equal(w.data, parts[0][1].data)
    assert not w.data.flags.writeable
    assert named(model, "y").lifetime == LifeTime.SUBGRAPH_OUTPUT and named(model, "y").dims == (1, 8, 4, 4)


def test_conv_2d_dilated_valid_and_without_bias():
    fields = CONV | {"Padding": 1, "DilationWFactor": 3, "DilationHFactor": 2}
    model = translate(*conv_file(fields, bias=False, y_size=(4, 1)))
    assert show(model) == [("CONV_2D", ["x", "w", [0.0] * 4, 2, 2, 1, 3, 0, 3, 2], ["y"])]


def test_depthwise_takes_the_multiplier_from_the_shapes():
    model = translate(*conv_file(CONV | {"DepthMultiplier": 7}, "DEPTHWISE_CONV_2D", (1, 3, 3, 6)))
    assert show(model) == [("DEPTHWISE_CONV_2D", ["x", "w", "b", 1, 2, 1, 3, 3], ["y"])]
    model = translate(*conv_file(CONV | {"DilationHFactor": 2}, "DEPTHWISE_CONV_2D", (1, 3, 3, 2)))
    assert show(model) == [("DEPTHWISE_CONV_2D", ["x", "w", "b", 1, 2, 1, 1, 3, 0, 1, 2], ["y"])]


@pytest.mark.parametrize("fields, text", [
    ({"StrideW": 0}, "stride_w is 0"), ({"Padding": 2}, "padding is 2"), ({"FusedActivationFunction": 6}, "is 6"),
    ({"DilationHFactor": 0}, "dilation_h is 0"),
])
def test_conv_2d_refuses_parameters(fields, text):
    refused(*conv_file(CONV | fields), text)


def test_conv_2d_in_groups():
    model = translate(*conv_file(filter_shape=(4, 3, 3, 1)))
    assert show(model) == [("GROUPED_CONV_2D", ["x", "w", "b", 1, 2, 1, 2, 3, 0], ["y"])]
    refused(*conv_file(filter_shape=(3, 3, 3, 1)), "no groups")


def quant_conv(dtype, w_scale, bias_scale, kind="CONV_2D", w_dim=0, w_zero=0, bias=True, x_scale=0.5):
    shape = (4, 1, 1, 2) if kind == "CONV_2D" else (1, 3, 3, 4)
    w = Tensor.of("w", RNG.integers(1, 9, shape).astype(dtype), scale=w_scale, zero_point=w_zero, dim=w_dim)
    tensors = [q8("x", (1, 8, 8, 2), dtype, x_scale), w, q8("y", (1, 8, 8, 4), dtype, 2.0, 7)]
    names = ["x", "w"]
    if bias:
        tensors.append(Tensor.of("b", np.arange(4, dtype=np.int32), scale=bias_scale))
        names.append("b")
    options = "Conv2DOptions" if kind == "CONV_2D" else "DepthwiseConv2DOptions"
    return tensors, [Op(kind, names, ["y"], options, {"StrideW": 1, "StrideH": 1})], ["x"], ["y"]


def test_uint8_conv_gets_the_exact_bias_scale():
    product = float(np.float32(0.1) * np.float32(0.3))
    model = translate(*quant_conv("uint8", 0.3, product * (1 + 1e-6), w_zero=128, x_scale=0.1))
    assert show(model) == [("CONV_2D", ["x", "w", "b", 1, 1, 1, 0], ["y"])]
    assert named(model, "b").scale == product and named(model, "b").type == T.TENSOR_INT32
    w = named(model, "w")
    assert (w.type, w.scale, w.zero_point) == (T.TENSOR_QUANT8_ASYMM, float(np.float32(0.3)), 128)
    y = named(model, "y")
    assert (y.type, y.scale, y.zero_point) == (T.TENSOR_QUANT8_ASYMM, 2.0, 7)


def test_uint8_conv_refuses_a_wrong_bias_scale():
    refused(*quant_conv("uint8", 0.3, 0.5), "bias scale is 0.5")
    refused(*quant_conv("uint8", 0.3, None), "bias scale is 0.0")


def test_uint8_conv_without_bias():
    model = translate(*quant_conv("uint8", 0.25, None, bias=False))
    bias = model.main.operands[model.main.operations[0].inputs[2]]
    assert bias.type == T.TENSOR_INT32 and bias.scale == 0.125 and bias.data.tolist() == [0] * 4


@pytest.mark.parametrize("kind, dim", [("CONV_2D", 0), ("DEPTHWISE_CONV_2D", 3)])
def test_int8_conv_is_per_channel(kind, dim):
    model = translate(*quant_conv("int8", [0.1, 0.2, 0.3, 0.4], [0.1] * 4, kind, dim))
    w = named(model, "w")
    assert w.type == T.TENSOR_QUANT8_SYMM_PER_CHANNEL and w.scale == 0 and w.zero_point == 0
    assert w.channel_quant.dim == dim
    np.testing.assert_array_equal(np.float32(w.channel_quant.scales), np.float32([0.1, 0.2, 0.3, 0.4]))
    assert named(model, "b").scale == 0
    assert named(model, "x").type == T.TENSOR_QUANT8_ASYMM_SIGNED


def test_int8_conv_with_one_scale_repeats_it():
    # A bias scale far off does not matter: TFLite's int8 convolution never looks at it.
    model = translate(*quant_conv("int8", 0.25, 9.0))
    w = named(model, "w")
    assert w.type == T.TENSOR_QUANT8_SYMM_PER_CHANNEL and w.channel_quant.scales == (0.25,) * 4
    assert named(model, "b").scale == 0


def test_int8_conv_refusals():
    refused(*quant_conv("int8", [0.1] * 4, [0.1] * 4, "CONV_2D", 0, w_zero=[0, 0, 1, 0]), "zero points of 0")
    refused(*quant_conv("int8", [0.1, 0.2], [0.1] * 4, "CONV_2D", 3), "along dimension 3, must be 0")
    refused(*quant_conv("uint8", [0.1] * 4, [0.1] * 4), "4 scales")


def test_computed_int8_filter_stays_signed():
    tensors = [q8("x", (1, 4, 4, 2), "int8"), q8("w", (4, 1, 1, 2), "int8", 0.25, 0),
               q8("y", (1, 4, 4, 4), "int8", 2.0)]
    model = translate(tensors, [Op("CONV_2D", ["x", "w"], ["y"], "Conv2DOptions", {"StrideW": 1, "StrideH": 1})],
                      ["x", "w"], ["y"])
    assert named(model, "w").type == T.TENSOR_QUANT8_ASYMM_SIGNED
    assert model.main.operands[model.main.operations[0].inputs[2]].scale == 0.125


# -- fully connected -----------------------------------------------------------------------------------------------
def dense(x_shape, y_shape, fields=(), bias=True, y_rank=True):
    tensors = [Tensor("x", x_shape), Tensor.of("w", f32(5, 6)), Tensor("y", y_shape, has_rank=y_rank)]
    names = ["x", "w", None]
    if bias:
        tensors.append(Tensor.of("b", f32(5)))
        names[2] = "b"
    return tensors, [Op("FULLY_CONNECTED", names, ["y"], "FullyConnectedOptions", dict(fields))], ["x"], ["y"]


def test_fully_connected():
    model = translate(*dense((2, 6), (2, 5), {"FusedActivationFunction": 1}))
    assert show(model) == [("FULLY_CONNECTED", ["x", "w", "b", 1], ["y"])]
    model = translate(*dense((1, 1, 1, 6), (1, 5), bias=False))
    assert show(model) == [("FULLY_CONNECTED", ["x", "w", [0.0] * 5, 0], ["y"])]


def test_fully_connected_infers_an_unknown_output_rank():
    model = translate(*dense((3, 2, 6), (), y_rank=False))
    assert named(model, "y").dims == (6, 5)


def test_fully_connected_keeps_dimensions_by_a_reshape():
    model = translate(*dense((3, 2, 6), (3, 2, 5), {"KeepNumDims": True}))
    assert show(model) == [("FULLY_CONNECTED", ["x", "w", "b", 0], ["y_flat"]),
                           ("RESHAPE", ["y_flat", [3, 2, 5]], ["y"])]
    assert named(model, "y_flat").dims == (6, 5)


def test_fully_connected_of_a_vector():
    model = translate(*dense((6,), (1, 5)))
    assert show(model)[0] == ("RESHAPE", ["x", [1, 6]], [""])
    assert [row[0] for row in show(model)] == ["RESHAPE", "FULLY_CONNECTED"]


@pytest.mark.parametrize("keep, shape", [(True, (1, 2, 1, 3, 2, 5)), (False, (12, 5))])
def test_fully_connected_of_rank_5_and_more_by_reshapes_of_our_own(keep, shape):
    model = translate(*dense((1, 2, 1, 3, 2, 6), shape, {"KeepNumDims": keep}))
    assert show(model) == [("TFL_RESHAPE", ["x", [12, 6]], [""]),
                           ("FULLY_CONNECTED", ["", "w", "b", 0], ["y_flat" if keep else "y"]),
                           *[("TFL_RESHAPE", ["y_flat", [*shape]], ["y"])] * keep]


def test_fully_connected_refusals():
    tensors, ops, ins, outs = dense((2, 6), (2, 5), {"WeightsFormat": 1})
    refused(tensors, ops, ins, outs, "shuffled")
    tensors, ops, ins, outs = dense((2, 7), (2, 5))
    refused(tensors, ops, ins, outs, "multiple of 6")


def quant_dense(w_scale, dim=0, keep=False, x_shape=(2, 6), y_shape=(2, 5)):
    w = Tensor.of("w", RNG.integers(-9, 9, (5, 6)).astype(np.int8), scale=w_scale, dim=dim)
    bias_scale = np.float32(0.5) * np.float32(w_scale)
    bias = Tensor.of("b", np.arange(5, dtype=np.int32), scale=None if np.ndim(w_scale) else bias_scale)
    tensors = [q8("x", x_shape, "int8"), w, bias, q8("y", y_shape, "int8", 2.0, -5)]
    fields = {"FusedActivationFunction": 1, "KeepNumDims": keep}
    return tensors, [Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnectedOptions", fields)], ["x"], ["y"]


def test_int8_fully_connected_per_tensor():
    model = translate(*quant_dense(0.1))
    assert show(model) == [("FULLY_CONNECTED", ["x", "w", "b", 1], ["y"])]
    w = named(model, "w")
    assert (w.type, w.scale, w.zero_point) == (T.TENSOR_QUANT8_ASYMM_SIGNED, float(np.float32(0.1)), 0)
    assert named(model, "b").scale == float(np.float32(0.5) * np.float32(0.1))


def test_int8_fully_connected_per_channel():
    parts = quant_dense([0.1, 0.2, 0.3, 0.4, 0.5])
    assert show(translate(*parts)) == [("TFL_FULLY_CONNECTED", ["x", "w", "b", 1], ["y"])]
    model = translate(*parts, arithmetic="nnapi")
    assert show(model) == [
        ("RESHAPE", ["x", [2, 1, 1, 6]], [""]), ("CONV_2D", ["", "w", "b", 2, 1, 1, 1], ["y_flat"]),
        ("RESHAPE", ["y_flat", [2, 5]], ["y"]),
    ]
    w = named(model, "w")
    assert w.type == T.TENSOR_QUANT8_SYMM_PER_CHANNEL and w.dims == (5, 1, 1, 6) and w.channel_quant.dim == 0
    np.testing.assert_array_equal(w.data.reshape(5, 6), parts[0][1].data)
    flat = named(model, "y_flat")
    assert flat.dims == (2, 1, 1, 5) and (flat.scale, flat.zero_point) == (2.0, -5)
    refused(*quant_dense([0.1] * 6, 1), "along dimension 1")


def test_int8_fully_connected_per_channel_keeps_dimensions():
    model = translate(*quant_dense([0.1, 0.2, 0.3, 0.4, 0.5], keep=True, x_shape=(3, 2, 6), y_shape=(3, 2, 5)),
                      arithmetic="nnapi")
    assert show(model)[0][1] == ["x", [6, 1, 1, 6]] and show(model)[2] == ("RESHAPE", ["y_flat", [3, 2, 5]], ["y"])
