"""Weights with a scale for each channel that are computed, not constants of the file: the same numbers."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.cases_layers import grouped, requantized
from helpers.tflite.file_builder import Op, Tensor, build

RANDOM = np.random.default_rng(31)
SCALES = [0.01, 0.02, 0.005, 0.03]
QUANTS = {"int8": (0.05, 3), "int16": (0.001, 0), "float32": (None, 0)}
LAYERS = {
    "CONV_2D": ((2, 5, 4, 3), (4, 2, 2, 3), 0, (2, 5, 4, 4), "Conv2DOptions", {"StrideW": 1, "StrideH": 1}),
    "DEPTHWISE_CONV_2D": ((2, 5, 4, 4), (1, 2, 2, 4), 3, (2, 5, 4, 4), "DepthwiseConv2DOptions",
                          {"StrideW": 1, "StrideH": 1, "DepthMultiplier": 1}),
    "FULLY_CONNECTED": ((3, 6), (4, 6), 0, (3, 4), "FullyConnectedOptions", {}),
    "TRANSPOSE_CONV": ((2, 4, 3, 3), (4, 2, 2, 3), 0, (2, 8, 6, 4), "TransposeConvOptions",
                       {"StrideW": 2, "StrideH": 2}),
}


def values(dtype, shape):
    if dtype == "float32":
        return RANDOM.normal(0, 1, shape).astype(dtype)
    return RANDOM.integers(-99, 100, shape).astype(dtype)


def layer(kind, dtype, weights=None, turned=False):
    """File of a layer x, w -> y with a bias; weights: constant ones; turned: w comes out of a RESHAPE."""
    shape, filter_, dim, result, options, fields = LAYERS[kind]
    scale, point = QUANTS[dtype]
    fused = {"FusedActivationFunction": 1}
    wide = {"int8": np.int32, "int16": np.int64, "float32": np.float32}[dtype]
    scales = None if scale is None else (np.float32(scale) * np.float32(SCALES)).tolist()
    tensors = [Tensor("x", shape, dtype, scale=scale, zero_point=point),
               Tensor("w", filter_, "int8", weights, SCALES, 0, dim),
               Tensor.of("b", np.array([300, -700, 20, 900], wide), scale=scales),
               Tensor("y", result, dtype, scale=None if scale is None else 4 * scale, zero_point=-point)]
    inputs, operators = ["x", "w", "b"], []
    if turned:
        flat = (int(np.prod(filter_)) // 4, 4) if dim else (4, int(np.prod(filter_)) // 4)
        tensors += [Tensor("flat", flat, "int8", None, SCALES, 0, 1 if dim else 0),
                    Tensor.of("shape", np.int32(filter_))]
        operators.append(Op("RESHAPE", ["flat", "shape"], ["w"]))
    if kind == "TRANSPOSE_CONV":
        tensors.append(Tensor.of("size", np.int32(result)))
        inputs = ["size", "w", "x", "b"]
    operators.append(Op(kind, inputs, ["y"], options, fields | fused))
    return build(tensors, operators, ["x"] if weights is not None else ["x", "flat" if turned else "w"], ["y"])


def run(data, *arrays):
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(data))
    assert "numpy" not in {row["kernel"] for row in prepared.explain().rows}
    return prepared.run(arrays)[0]


@pytest.mark.parametrize("dtype", QUANTS)
@pytest.mark.parametrize("kind", LAYERS)
def test_computed_weights_are_as_good_as_constant_ones(kind, dtype, tmp_path):
    x, w = values(dtype, LAYERS[kind][0]), values("int8", LAYERS[kind][1])
    wanted = run(layer(kind, dtype, w), x)
    assert np.ptp(wanted.astype(np.float64)) > 0
    same = np.testing.assert_array_equal if dtype != "float32" else \
        lambda found, wanted: np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    same(run(layer(kind, dtype), x, w), wanted)
    flat = w.reshape(-1, 4) if LAYERS[kind][2] else w.reshape(4, -1)
    same(run(layer(kind, dtype, turned=True), x, flat), wanted)
    theirs = litert_outputs(tmp_path, layer(kind, dtype), [[x, w]])
    if theirs is not None:
        same(theirs[0][0], wanted)


def test_a_convolution_is_the_sum_of_products_in_the_scale_of_its_channel():
    x, w = values("int8", (2, 5, 4, 3)), values("int8", (4, 2, 2, 3))
    padded = np.pad(x.astype(np.int64) - 3, ((0, 0), (0, 1), (0, 1), (0, 0)))
    sums = grouped(padded, w.astype(np.int64), 1) + [300, -700, 20, 900]
    wanted = np.stack([requantized(sums[..., k], 0.05, SCALES[k], (0.2, -3), "int8") for k in range(4)], 3)
    np.testing.assert_array_equal(run(layer("CONV_2D", "int8"), x, w), np.maximum(wanted, -3))


@pytest.mark.parametrize(("dtype", "points"), [("int8", 0), ("int8", [1, -2, 3, 0]), ("uint8", [9, 128, 3, 200])])
def test_dequantize_by_channels(dtype, points, tmp_path):
    x = RANDOM.integers(0, 100, (2, 4, 3)).astype(dtype)
    tensors = [Tensor("x", x.shape, dtype, None, SCALES, points, 1), Tensor("y", x.shape)]
    data = build(tensors, [Op("DEQUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    centred = x.astype(np.float32) - np.broadcast_to(np.float32(points), 4)[:, None]
    wanted = centred * np.float32(SCALES)[:, None]
    np.testing.assert_array_equal(run(data, x), wanted)
    theirs = litert_outputs(tmp_path, data, [[x]])
    if theirs is not None:
        np.testing.assert_array_equal(theirs[0][0], wanted)


def test_what_takes_one_scale_refuses_several():
    tensors = [Tensor("x", (2, 4), "int8", None, SCALES, 0, 1),
               Tensor("y", (2, 4), "int8", scale=1 / 256, zero_point=-128)]
    with pytest.raises(nnfast.UnsupportedOperator, match="scale for each channel"):
        nnfast.load(build(tensors, [Op("LOGISTIC", ["x"], ["y"])], ["x"], ["y"]))


def test_open_channels_are_as_many_as_their_scales():
    tensors = [Tensor("x", (2, 4), "int8", None, SCALES, 0, 1, signature=(-1, -1)),
               Tensor("y", (2, 4), signature=(-1, -1))]
    data = build(tensors, [Op("DEQUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    model = nnfast.load(data)
    assert model.main.operands[model.main.inputs[0]].dims == (0, 4)
    assert run(data, np.ones((3, 4), np.int8)).tolist() == [np.float32(SCALES).tolist()] * 3
