"""Forms that LiteRT's kernels take and converters write seldom: scales for channels, other types of results, batches.

Numbers follow from formulas written out here; where LiteRT is installed, its reference kernels must give the same.
"""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One
from nnfast.tflite import load

RANDOM = np.random.default_rng(29)


def reals(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def codes(kind, *shape):
    return RANDOM.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)


def away(values):
    """Rounded, halves away from zero."""
    return np.sign(values) * np.floor(np.abs(values) + 0.5)


def run(data, *inputs):
    return nnfast.Device().prepare(load(data)).run(list(inputs))[0]


def compare(folder, data, inputs, found):
    """LiteRT gives the same, if it is installed."""
    theirs = litert_outputs(folder, data, [inputs])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])


# -- QUANTIZE ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_quantize_with_scales_for_channels(kind, axis, tmp_path):
    x = reals(2, 3, 4)
    size = x.shape[axis]
    shape = [size if k == axis else 1 for k in range(3)]
    scales = np.float32([0.01 * (k + 1) for k in range(size)])
    points = np.arange(size) * (kind != "int16")
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    wanted = np.clip(away(x / scales.reshape(shape)) + points.reshape(shape), low, high).astype(kind)
    data = build([Tensor("x", x.shape), Tensor("y", x.shape, kind, None, scales, points, dim=axis)],
                 [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    found = run(data, x)
    np.testing.assert_array_equal(found, wanted)
    compare(tmp_path, data, [x], found)


def test_quantize_along_a_dimension_that_the_input_lacks():
    data = build([Tensor("x", (2, 3)), Tensor("y", (2, 3, 3), "uint8", None, [0.5, 1, 2], 3, dim=2)],
                 [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"])
    with pytest.raises(nnfast.UnsupportedOperator, match="QUANTIZE"):
        load(data)


# -- codes that move --------------------------------------------------------------------------------------------------
def numbers(*values):
    return Const(np.int32(values))


PADDINGS = numbers([1, 0], [0, 2])
MOVES = {
    "PAD": ([PADDINGS], None, {}, lambda x, point: [np.pad(x, PADDINGS.array, constant_values=point)]),
    "SLICE": ([numbers(1, 1), numbers(1, 3)], None, {}, lambda x, _: [x[1:, 1:4]]),
    "STRIDED_SLICE": ([numbers(0, 0), numbers(2, 5), numbers(1, 2)], "StridedSliceOptions", {},
                      lambda x, _: [x[:, ::2]]),
    "TILE": ([numbers(2, 1)], None, {}, lambda x, _: [np.tile(x, (2, 1))]),
    "GATHER": ([numbers(4, 0)], "GatherOptions", {"Axis": 1}, lambda x, _: [x[:, [4, 0]]]),
    "GATHER_ND": ([numbers([1], [0])], None, {}, lambda x, _: [x[::-1]]),
    "SPLIT_V": ([numbers(2, 3), Const(np.int32(1))], "SplitVOptions", {"NumSplits": 2},
                lambda x, _: [x[:, :2], x[:, 2:]]),
    "REDUCE_MAX": ([numbers(1)], "ReducerOptions", {}, lambda x, _: [x.max(1)]),
}


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("name", MOVES)
def test_codes_move_whatever_the_outputs_declare(name, kind, tmp_path):
    x, (constants, options, fields, move) = codes(kind, 2, 5), MOVES[name]
    point = 0 if kind == "int16" else 3
    wanted = move(x, 2 * point)
    quants = {"i0": (0.5, point)} | {f"o{k}": (0.25 + k, 2 * point) for k in range(len(wanted))}
    one = One(name, [x, *constants], [(y.shape, kind) for y in wanted], options, fields, quants)
    found = one.run()
    for y, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(y, expected)
    theirs = None if name == "REDUCE_MAX" else litert_outputs(tmp_path, one.file(), [[x]])  # refused by its reference
    for y, expected in zip(found, theirs[0] if theirs else wanted, strict=True):
        np.testing.assert_array_equal(y, expected)
    with pytest.raises(nnfast.UnsupportedOperator, match=name):
        nnfast.load(one.file(), arithmetic="nnapi")


def test_codes_that_replace_others_keep_their_numbers(tmp_path):
    x, y = codes("int8", 4, 6), codes("int8", 2, 2)
    wanted = x.copy()
    wanted[1:3, 3:5] = y
    one = One("DYNAMIC_UPDATE_SLICE", [x, y, numbers(1, 3)], [((4, 6), "int8")],
              quants={"i0": (0.5, 3), "i1": (0.25, -7), "o0": (0.125, 9)})
    (found,) = one.run()
    np.testing.assert_array_equal(found, wanted)
    compare(tmp_path, one.file(), [x, y], found)


# -- FULLY_CONNECTED ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_bytes_into_int16(kind, tmp_path):
    """LiteRT takes int8 codes for uint8 ones here."""
    x, w, bias = codes(kind, 3, 6), codes(kind, 5, 6), RANDOM.integers(-500, 500, 5).astype(np.int32)
    scale = np.float32(0.1) * np.float32(0.05)
    one = One("FULLY_CONNECTED", [x, Const(w), Const(bias)], [((3, 5), "int16")], "FullyConnectedOptions",
              quants={"i0": (0.1, 3), "i1": (0.05, 7 if kind == "uint8" else 0), "i2": (float(scale), 0),
                      "o0": (0.01, 0)})
    sums = (x.view(np.uint8).astype(int) - 3) @ (w.view(np.uint8).astype(int) - (7 if kind == "uint8" else 0)).T + bias
    (found,) = one.run()
    np.testing.assert_allclose(found, np.clip(sums * 0.5, -32768, 32767), atol=0.51)
    compare(tmp_path, one.file(), [x], found)


def test_bytes_into_int16_need_a_bias():
    """Without one LiteRT crashes."""
    one = One("FULLY_CONNECTED", [codes("uint8", 3, 6), Const(codes("uint8", 5, 6))], [((3, 5), "int16")],
              "FullyConnectedOptions", quants={"i0": (0.1, 3), "i1": (0.05, 7), "o0": (0.01, 0)})
    with pytest.raises(nnfast.UnsupportedOperator, match="without a bias, must have one"):
        one.model()


def test_a_fused_tanh_behind_int8_weights(tmp_path):
    x, w, bias = reals(2, 3), codes("int8", 4, 3), reals(4)

    def one(activation):
        return One("FULLY_CONNECTED", [x, Const(w), Const(bias)], [((2, 4), "float32")], "FullyConnectedOptions",
                   {"FusedActivationFunction": activation}, {"i1": (0.01, 0)})

    (found,) = one(4).run()
    np.testing.assert_allclose(found, np.tanh(one(0).run()[0]), rtol=1e-6)
    theirs = litert_outputs(tmp_path, one(4).file(), [[x]])
    if theirs is not None:
        np.testing.assert_allclose(found, theirs[0][0], rtol=1e-6)


# -- PRELU -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_slopes_without_scales_give_0(kind, tmp_path):
    """LiteRT takes a scale of 0 for one that is not there."""
    x = codes(kind, 2, 3, 4)
    one = One("PRELU", [x, Const(codes(kind, 3, 1))], [(x.shape, kind)])
    (found,) = one.run()
    np.testing.assert_array_equal(found, np.zeros_like(x))
    compare(tmp_path, one.file(), [x], found)
    with pytest.raises(nnfast.UnsupportedOperator, match="PRELU"):
        One("PRELU", [x, Const(codes(kind, 5, 3, 1, 1))], [(x.shape, kind)]).model()


# -- BATCH_MATMUL ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("second", [(7, 5), (1, 1, 7, 5), (3, 7, 5), (2, 3, 7, 5), (2, 1, 7, 5)])
def test_hybrid_products_of_several_batch_dimensions(second, is_asymmetric, tmp_path):
    """LiteRT takes scales and zero points of the matrix whose number is the sum of its places, unless the last batch
    dimension of the second matrices is 1.
    """
    x, y = reals(2, 3, 4, 7), codes("int8", *second)
    x *= np.float32(10) ** np.arange(-1, 2, dtype=np.float32)[:, None, None]
    one = One("BATCH_MATMUL", [x, Const(y)], [((2, 3, 4, 5), "float32")], "BatchMatMulOptions",
              {"AsymmetricQuantizeInputs": is_asymmetric}, {"i1": (0.02, 0)})
    (found,) = one.run()
    if not is_asymmetric:
        largest = np.abs(x).max(-1, keepdims=True)
        rows = away(x * (np.float32(127) / largest))
        steps = largest / 127
        if second[-3:-2] != (1,):
            places = np.add.outer(np.arange(2), np.arange(3))
            steps = steps.reshape(6, 4, 1)[places]
        np.testing.assert_allclose(found, rows @ y.astype(float) * steps * 0.02, rtol=1e-4, atol=1e-4)
    compare(tmp_path, one.file(), [x], found)


# -- weights with zero points -----------------------------------------------------------------------------------------
def taps(kind, x, w):
    """Sums of a depthwise convolution of filters of 3 x 3, and of one transposed with strides of 2."""
    if kind == "DEPTHWISE_CONV_2D":
        return sum(x[:, row:row + 3, column:column + 3] * w[0, row, column] for row in range(3) for column in range(3))
    sums = np.zeros((1, 7, 7, 3), int)
    for row in range(3):
        for column in range(3):
            sums[:, row:row + 5:2, column:column + 5:2] += x @ w[:, row, column].T
    return sums


def of_weights(kind, x, w, scales, point):
    points = [point] * len(scales) if isinstance(scales, list) else point
    quants, fields = {"i1": (scales, points), "o0": (2.0, -3)}, {"Padding": 1, "StrideW": 1, "StrideH": 1}
    if kind == "TRANSPOSE_CONV":
        return One(kind, [Const(np.int32([1, 7, 7, 3])), w, x], [((1, 7, 7, 3), "int8")], "TransposeConvOptions",
                   fields | {"StrideW": 2, "StrideH": 2}, quants | {"i2": (0.5, 3)})
    options, more = ("Conv2DOptions", {}) if kind == "CONV_2D" else ("DepthwiseConv2DOptions", {"DepthMultiplier": 1})
    return One(kind, [x, w], [((1, 3, 3, 3), "int8")], options, fields | more, quants | {"i0": (0.5, 3)},
               dims={"i1": 0 if kind == "CONV_2D" else 3})


@pytest.mark.parametrize("kind", ["DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"])
@pytest.mark.parametrize("scales", [0.02, [0.01, 0.02, 0.03]])
@pytest.mark.parametrize("kept", [Const, np.asarray])
def test_zero_points_of_int8_weights_do_not_count(kind, scales, kept, tmp_path):
    """LiteRT's kernels do not look at them; NNAPI does."""
    is_turned = kind == "TRANSPOSE_CONV"
    x, w = codes("int8", 1, *((3, 3, 4) if is_turned else (5, 5, 3))), codes("int8", 3 if is_turned else 1, 3, 3,
                                                                             4 if is_turned else 3)
    one = of_weights(kind, x, kept(w), scales, 5)
    (found,) = one.run()
    sums = taps(kind, x.astype(int) - 3, w.astype(int)) * (0.5 * np.array(scales) / 2)
    np.testing.assert_allclose(found, np.clip(sums - 3, -128, 127), atol=0.51)
    np.testing.assert_array_equal(found, of_weights(kind, x, kept(w), scales, 0).run()[0])
    compare(tmp_path, one.file(), [x] if kept is Const else [w, x] if is_turned else [x, w], found)
    if kept is Const:
        with pytest.raises(nnfast.UnsupportedOperator, match="zero points of 0"):
            nnfast.load(one.file(), arithmetic="nnapi")


@pytest.mark.parametrize("kept", [Const, np.asarray])
def test_zero_points_of_int8_weights_are_refused_where_litert_refuses_them(kept):
    one = of_weights("CONV_2D", codes("int8", 1, 5, 5, 3), kept(codes("int8", 3, 3, 3, 3)), 0.02, 5)
    with pytest.raises(nnfast.UnsupportedOperator, match="zero points of 0"):
        one.model()


# -- 4 bits ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("is_real", [False, True])
def test_rows_of_4_bits(is_real, tmp_path):
    """What is computed of 4-bit constants is of 8 bits, as LiteRT hands it out."""
    table = RANDOM.integers(-8, 8, (6, 10)).astype(np.int8)
    halves = table.reshape(-1).view(np.uint8) & 15
    tensors = [Tensor("w", (6, 10), "int4", halves[::2] | halves[1::2] << 4, 0.5, 0), Tensor("k", (3,), "int32"),
               Tensor("y", (3, 10), "int4", None, 0.5, 0), Tensor("z", (3, 10))]
    ops = [Op("GATHER", ["w", "k"], ["y"], "GatherOptions", {"Axis": 0}), Op("DEQUANTIZE", ["y"], ["z"])]
    places = np.int32([5, 0, 2])
    data = build(tensors, ops, ["k"], ["z"]) if is_real else build(tensors[:3], ops[:1], ["k"], ["y"])
    found = run(data, places)
    np.testing.assert_array_equal(found, table[places] * (0.5 if is_real else 1))
    compare(tmp_path, data, [places], found)
