"""Operators of int16 tensors, against real formulas; curves of codes by tables."""

from zlib import crc32

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.running import Const, One
from nnfast.model.quant import mbqm, quantize_multiplier

RANDOM = np.random.default_rng(13)
SCALE = 2.0**-15


def codes(kind, *shape):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return RANDOM.integers(low, high + 1, shape).astype(kind)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(("name", "curve"), [("LOGISTIC", sigmoid), ("TANH", np.tanh)])
@pytest.mark.parametrize("scale", [0.0003, 2.0**-12, 2.0**-11, 1e-5, 0.01])
def test_logistic_and_tanh(name, curve, scale):
    x = codes("int16", 500)
    one = One(name, [x], [((500,), "int16")], quants={"i0": (scale, 0), "o0": (SCALE, 0)})
    # The table ends at 10.6.
    np.testing.assert_allclose(one.run()[0] * SCALE, curve(x * scale), atol=1e-4)


def test_logistic_goes_to_steps_of_two_to_the_minus_15():
    with pytest.raises(nnfast.UnsupportedOperator, match="must be 1 / 32768"):
        One("LOGISTIC", [codes("int16", 5)], [((5,), "int16")], quants={"i0": (0.1, 0), "o0": (0.1, 0)}).model()


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("scale", [0.00003, 0.001])
def test_softmax(scale):
    x = codes("int16", 5, 30)
    one = One("SOFTMAX", [x], [((5, 30), "int16")], "SoftmaxOptions", {"Beta": 1.0},
              {"i0": (scale, 0), "o0": (SCALE, 0)})
    np.testing.assert_allclose(one.run()[0] * SCALE, softmax(x * scale), atol=3e-3)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_softmax_from_8_bits_begins_at_the_lowest_code(kind):
    x = codes(kind, 5, 30)
    quants = {"i0": (0.07, 3), "o0": (1 / 65536, -32768)}
    one = One("SOFTMAX", [x], [((5, 30), "int16")], "SoftmaxOptions", {"Beta": 1.0}, quants)
    np.testing.assert_allclose((one.run()[0] + 32768.0) / 65536, softmax(x * 0.07), atol=2e-5)


@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize(("activation", "low", "high"), [(0, -32768, 32767), (1, 0, 32767), (3, 0, 20000)])
def test_pools(name, activation, low, high):
    x = codes("int16", 2, 4, 6, 3)
    fields = {"Padding": 1, "StrideW": 2, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 3,
              "FusedActivationFunction": activation}
    one = One(name, [x], [((2, 2, 3, 3), "int16")], "Pool2DOptions", fields, {"i0": (3e-4, 0), "o0": (3e-4, 0)})
    parts = [x[:, i:i + 2, j::2].astype(int) for i in range(3) for j in range(2)]
    sums = sum(parts)
    wanted = np.maximum.reduce(parts) if name == "MAX_POOL_2D" else np.sign(sums) * ((np.abs(sums) + 3) // 6)
    np.testing.assert_array_equal(one.run()[0], np.clip(wanted, low, high))


@pytest.mark.parametrize(("name", "high"), [("RELU", 32767), ("RELU6", 12000)])
def test_relu(name, high):
    x = codes("int16", 400)
    one = One(name, [x], [((400,), "int16")], quants={"i0": (3e-4, 0), "o0": (5e-4, 0)})
    wanted = mbqm(x, *quantize_multiplier(float(np.float32(3e-4) / np.float32(5e-4))))
    np.testing.assert_array_equal(one.run()[0], np.clip(wanted, 0, high))


@pytest.mark.parametrize("zero", [0, 4])
@pytest.mark.parametrize("is_known", [True, False])
def test_prelu_with_int8_slopes(zero, is_known):
    x, slopes = codes("int16", 2, 30, 8), codes("int8", 8)
    one = One("PRELU", [x, Const(slopes) if is_known else slopes], [(x.shape, "int16")],
              quants={"i0": (1e-3, 0), "i1": (0.01, zero), "o0": (12e-4, 0)})
    factors = np.where(x >= 0, 1, (slopes.astype(int) - zero) * 0.01)
    assert np.abs(one.run()[0] - np.clip(x * factors * 1e-3 / 12e-4, -32768, 32767)).max() <= 1


def test_prelu_refuses_int16_slopes():
    x = codes("int16", 2, 8)
    with pytest.raises(nnfast.UnsupportedOperator, match="int16"):
        One("PRELU", [x, Const(x[0])], [(x.shape, "int16")],
            quants=dict.fromkeys(("i0", "i1", "o0"), (1e-3, 0))).model()


@pytest.mark.parametrize(("align", "half"), [(False, False), (True, False), (False, True)])
def test_resize_nearest(align, half):
    x = codes("int16", 1, 4, 6, 2)
    one = One("RESIZE_NEAREST_NEIGHBOR", [x, Const(np.int32([8, 12]))], [((1, 8, 12, 2), "int16")],
              "ResizeNearestNeighborOptions", {"AlignCorners": align, "HalfPixelCenters": half},
              {"i0": (3e-4, 0), "o0": (3e-4, 0)})

    def places(size):
        at = np.arange(2 * size)
        if align:
            return np.floor(at * (size - 1) / (2 * size - 1) + 0.5).astype(int)
        return at // 2

    np.testing.assert_array_equal(one.run()[0][0], x[0][places(4)][:, places(6)])


def test_resize_bilinear_rounds_half_away():
    x = np.int16([[[[-30001], [-30002]]]])
    one = One("RESIZE_BILINEAR", [x, Const(np.int32([1, 4]))], [((1, 1, 4, 1), "int16")], "ResizeBilinearOptions",
              quants={"i0": (3e-4, 0), "o0": (3e-4, 0)})
    assert one.run()[0].reshape(-1).tolist() == [-30001, -30002, -30002, -30002]


@pytest.mark.parametrize(("name", "function"), [
    ("MAXIMUM", np.maximum), ("MINIMUM", np.minimum), ("LESS", np.less), ("LESS_EQUAL", np.less_equal),
    ("GREATER", np.greater), ("GREATER_EQUAL", np.greater_equal)])
def test_codes_are_compared_as_they_are(name, function):
    x, y = codes("int16", 300) // 3000, codes("int16", 300) // 3000
    chooses = name in ("MAXIMUM", "MINIMUM")
    one = One(name, [x, y], [((300,), "int16" if chooses else "bool")], "MaximumMinimumOptions" if chooses else None,
              quants={"i0": (3e-4, 0), "i1": (5e-4, 0), "o0": (3e-4, 0)} if chooses else {"i0": (3e-4, 0),
                                                                                          "i1": (5e-4, 0)})
    np.testing.assert_array_equal(one.run()[0].astype(int), function(x, y).astype(int))


@pytest.mark.parametrize(("name", "curve", "scale"), [
    ("EXP", np.exp, 0.0005), ("LOG", lambda x: np.log(np.maximum(x, 1e-9)), 0.0004)])
def test_curves_by_tables(name, curve, scale):
    x = codes("int16", 500)
    if name == "LOG":
        x = np.maximum(x, 2000)
    one = One(name, [x], [((500,), "int16")], quants={"i0": (1e-4, 0), "o0": (scale, 0)})
    wanted = np.clip(curve(x * 1e-4) / scale, -32768, 32767)
    # Between two entries of the table, 128 codes apart, values lie on a line.
    np.testing.assert_allclose(one.run()[0], wanted, rtol=5e-3, atol=4)
    x = codes("int8", 400)
    one = One(name, [x], [((400,), "int8")], quants={"i0": (0.01, 3), "o0": (0.02, -5)})
    with np.errstate(all="ignore"):
        wanted = curve((x.astype(int) - 3) * 0.01) / 0.02 - 5
    assert np.abs(one.run()[0] - np.clip(wanted, -128, 127)).max() <= 0.51


@pytest.mark.parametrize("kind", ["int8", "int16"])
@pytest.mark.parametrize("scale", [3e-4, 5e-4])
def test_abs(kind, scale):
    x, zero = codes(kind, 400), 0 if kind == "int16" else 7
    one = One("ABS", [x], [(x.shape, kind)], quants={"i0": (3e-4, zero), "o0": (scale, zero)})
    real = np.abs(x.astype(int) - zero) * (3e-4 / scale) + zero
    assert np.abs(one.run()[0] - np.clip(real, np.iinfo(kind).min, np.iinfo(kind).max)).max() <= 0.51


def test_squeeze_of_all_dimensions():
    x = codes("int16", 1, 4, 1, 6)
    one = One("SQUEEZE", [x], [((4, 6), "int16")], "SqueezeOptions", quants={"i0": (0.1, 0), "o0": (0.1, 0)})
    np.testing.assert_array_equal(one.run()[0], x[0, :, 0])


def test_gelu_of_int16():
    x = codes("int16", 400)
    quants = {"i0": (1e-4, 0), "o0": (1e-4, 0)}
    one = One("GELU", [x], [((400,), "int16")], "GeluOptions", {"Approximate": True}, quants)
    real = x * 1e-4
    wanted = 0.5 * real * (1 + np.tanh(0.7978845608 * (real + 0.044715 * real**3)))
    np.testing.assert_allclose(one.run()[0] * 1e-4, wanted, atol=1e-3)


@pytest.mark.parametrize(("scales", "approximate", "wanted"), [
    ((1.9864479327225126e-05, 3.137539169983938e-05), True, 1909912575),
    ((0.0001015612215269357, 8.777987386565655e-05), False, 2453553294),
])
def test_gelu_of_all_int16_codes_reckons_in_float32(scales, approximate, wanted, tmp_path):
    """128 codes of these differ by one where the curve is computed in double; checksums of what LiteRT gives."""
    x = np.arange(-32768, 32768).astype(np.int16)
    one = One("GELU", [x], [(x.shape, "int16")], "GeluOptions", {"Approximate": approximate},
              {"i0": (scales[0], 0), "o0": (scales[1], 0)})
    (found,) = one.run()
    assert crc32(found.tobytes()) == wanted
    theirs = litert_outputs(tmp_path, one.file(), [[x]])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])


def test_gelu_of_codes():
    x = codes("int8", 400)
    one = One("GELU", [x], [((400,), "int8")], "GeluOptions", {"Approximate": True},
              {"i0": (0.03, 3), "o0": (0.02, -50)})
    real = (x.astype(int) - 3) * 0.03
    wanted = 0.5 * real * (1 + np.tanh(0.7978845608 * (real + 0.044715 * real**3))) / 0.02 - 50
    assert np.abs(one.run()[0] - np.clip(wanted, -128, 127)).max() <= 0.51


def test_elu_of_codes(tmp_path):
    x = np.tile(np.arange(-128, 128), 4).astype(np.int8)
    one = One("ELU", [x], [(x.shape, "int8")], quants={"i0": (0.031, 3), "o0": (0.0173, -50)})
    real = np.float32(0.031) * (x.astype(int) - 3)
    wanted = np.where(real < 0, np.expm1(real), real) / 0.0173 - 50
    found, = one.run()
    assert np.abs(found - np.clip(wanted, -128, 127)).max() <= 0.5001
    theirs = litert_outputs(tmp_path, one.file(), [[x]])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])


@pytest.mark.parametrize("has_bias", [False, True])
def test_int16_weights_are_rescaled_once_by_16_bits(has_bias, tmp_path):
    x, w = codes("int16", 40, 16), RANDOM.integers(-3000, 3000, (7, 16)).astype(np.int16)
    bias = RANDOM.integers(-30_000_000, 30_000_000, 7).astype(np.int32)
    quants = {"i0": (0.001, 0), "i1": (0.001, 0), "i2": (1e-6, 0), "o0": (0.07, 0)}
    one = One("FULLY_CONNECTED", [x, Const(w), *([Const(bias)] if has_bias else [])], [((40, 7), "int16")],
              "FullyConnectedOptions", {}, quants)
    sums = x.astype(object) @ w.T.astype(object) + (bias.astype(object) if has_bias else 0)
    multiplier, exponent = quantize_multiplier(float(np.float32(0.001)) ** 2 / float(np.float32(0.07)))
    shift = 15 - exponent
    wanted = [[sum_ * ((multiplier + (1 << 15)) >> 16) + (1 << shift - 1) >> shift for sum_ in row] for row in sums]
    found, = one.run()
    np.testing.assert_array_equal(found, np.clip(wanted, -32768, 32767))
    theirs = litert_outputs(tmp_path, one.file(), [[x]])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])
