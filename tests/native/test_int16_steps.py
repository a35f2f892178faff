"""Native steps of int16 tensors against their numpy definitions: every level, one and two threads."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import flag, floats, ints, omitted, operand, out
from nnfast.ops import tfl_int16, tfl_int16_binary, tfl_int16_pool, tfl_quantized_unary, tfl_requantize

RANDOM = np.random.default_rng(16)
SHAPES = [((37,), (37,)), ((3, 5, 33), (33,)), ((4, 1, 17), (1, 6, 1)), ((2, 3, 1), (1,)), ((1,), (70000,))]


def words(shape, dtype=np.int16):
    info = np.iinfo(dtype)
    made = RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)
    made.reshape(-1)[:2] = (info.min, info.max)[:made.size]
    return made


def q16(values, scale):
    return operand("Q16S", values, scale)


# -- ADD, SUB, MUL ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize(("scales", "shifts"), [((3e-4, 1.7e-4, 4e-4), False), ((2e-5, 3e-4, 1e-6), False),
                                                ((2**-15, 2**-12, 2**-12), True), ((2**-15, 2**-40, 2**-15), True)])
@pytest.mark.parametrize("op", [tfl_int16_binary.TFL_INT16_ADD, tfl_int16_binary.TFL_INT16_SUB])
def test_sums(op, scales, shifts, shapes):
    x, y = map(words, shapes)
    for activation in (0, 1):
        made = make(op, [q16(x, scales[0]), q16(y, scales[1]), *ints(activation), flag(shifts)], out("Q16S", scales[2]))
        check_all_ways(made, [x, y])


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("scales", [(3e-4, 1.7e-4, 4e-4), (0.5, 1.7e-4, 2e-3)])
def test_products(scales, shapes):
    x, y = map(words, shapes)
    inputs = [q16(x, scales[0]), q16(y, scales[1]), *ints(3)]
    made = make(tfl_int16_binary.TFL_INT16_MUL, inputs, out("Q16S", scales[2]))
    check_all_ways(made, [x, y])


def test_a_multiplier_beyond_32_bits_is_left_to_numpy():
    inputs = [q16(words(4), 2.0**20), q16(words(4), 2.0**20), *ints(0)]
    made = make(tfl_int16_binary.TFL_INT16_MUL, inputs, out("Q16S", 2**-9))
    assert run_native(made, words(4)) == (None, "left shift of 50 bits, native up to 31")


# -- pools -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scheme", [1, 2])
@pytest.mark.parametrize("channels", [1, 5, 8, 13, 64, 131])
@pytest.mark.parametrize("name", ["AVERAGE", "MAX"])
def test_pools(name, channels, scheme):
    op = getattr(tfl_int16_pool, f"TFL_INT16_{name}_POOL_2D")
    for taps, stride in (((1, 1), (1, 1)), ((2, 2), (2, 2)), ((3, 5), (1, 2)), ((9, 7), (2, 3))):
        x = words((2, 11, 9, channels))
        for activation in (0, 1, 3):
            numbers = ints(scheme, *stride, *taps, activation)
            check_all_ways(make(op, [q16(x, 3e-4), *numbers, flag(False)], out("Q16S", 2e-4)), [x])


def test_every_mean_of_a_large_window_is_exact():
    """Sums around boundaries between two codes."""
    n, codes = 32768, np.concatenate([np.arange(-32768, -32700), np.arange(-50, 50), np.arange(32700, 32767)])
    data = np.empty((1, 128, 256, len(codes)), np.int16)
    inputs = [operand("Q16S", shape=data.shape, scale=0.1), *ints(2, 1, 1, 256, 128, 0), flag(False)]
    node = make(tfl_int16_pool.TFL_INT16_AVERAGE_POOL_2D, inputs, out("Q16S", 0.1))
    flat = data.reshape(n, -1)
    for more in (n // 2 - 1, n // 2, n // 2 + 1):
        flat[:more], flat[more:] = codes + 1, codes
        check_all_ways(node, [data])


# -- other quantizations ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 15, 16, 40000])
@pytest.mark.parametrize(("source", "target", "zeros"), [
    ("Q16S", "Q16S", (0, 0)), ("Q16S", "Q8S", (0, -7)), ("Q16S", "I32", (0, 0)), ("Q8S", "Q16S", (11, 0)),
    ("I32", "Q16S", (-5, 0)), ("I32", "Q8S", (1000, 3))])
def test_requantized(source, target, zeros, count):
    x = words(count, operand(source, shape=(1,)).dtype)
    scales = {"I32": 3e-8, "Q8S": 0.02}
    made = make(tfl_requantize.TFL_REQUANTIZE, [
        operand(source, x, scales.get(source, 1e-4), zeros[0] if source == "Q8S" else 0),
        operand("f32", scales.get(source, 1e-4)), *ints(zeros[0]), operand("f32", scales.get(target, 1.3e-4)),
        *ints(zeros[1])], out(target, 0.02, zeros[1] if target == "Q8S" else 0))
    check_all_ways(made, [x])


@pytest.mark.parametrize("zero", [2**31 - 1, -2**31])
@pytest.mark.parametrize("source", ["Q8S", "I32"])
def test_a_zero_point_far_beyond_the_codes_is_left_to_numpy(source, zero):
    made = make(tfl_requantize.TFL_REQUANTIZE, [operand(source, shape=(4,), scale=0.02 if source == "Q8S" else 0.0),
                                                operand("f32", 0.02), *ints(0), operand("f32", 0.01), *ints(zero)],
                out("Q16S", 0.01))
    assert run_native(made, words(4, made.inputs[0].dtype)) == (
        None, f"zero point is {zero}, native within {2**30} of 0")


@pytest.mark.parametrize("zero", [2**30, -2**30])
def test_far_zero_points(zero):
    x = words(1003, np.int32)
    made = make(tfl_requantize.TFL_REQUANTIZE, [operand("I32", x), operand("f32", 1.0), *ints(0), operand("f32", 0.7),
                                                *ints(zero)], out("Q16S", 0.01))
    check_all_ways(made, [x])


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.5, -0.3])
def test_leaky_relu(alpha):
    x = words(1003)
    made = make(tfl_requantize.TFL_REQUANTIZE_LEAKY_RELU, [q16(x, 1e-4), operand("f32", alpha)], out("Q16S", 1.7e-4))
    check_all_ways(made, [x])


@pytest.mark.parametrize("activation", [1, 2, 3])
def test_relu(activation):
    x = words(1003)
    made = make(tfl_requantize.TFL_REQUANTIZE_RELU, [q16(x, 3e-4), *ints(activation)], out("Q16S", 2e-4))
    check_all_ways(made, [x])


@pytest.mark.parametrize("scale", [1e-4, 3e-4])
def test_sizes(scale):
    x = words(1003)
    check_all_ways(make(tfl_requantize.TFL_REQUANTIZE_ABS, [q16(x, 1e-4)], out("Q16S", scale)), [x])


@pytest.mark.parametrize("count", [0, 1, 15, 40001])
def test_reals(count):
    x = (RANDOM.normal(0, 20, count)).astype(np.float32)
    x[:5] = np.float32([np.nan, np.inf, -np.inf, 2.5e-3, -1.5e-3])[:count]
    check_all_ways(make(tfl_int16.TFL_QUANTIZE_INT16, [floats(x)], out("Q16S", 1e-3)), [x])
    codes = words(count)
    check_all_ways(make(tfl_int16.TFL_DEQUANTIZE_INT16, [q16(codes, 1.3e-3)], out("F32")), [codes])


# -- curves ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["EXP", "LOG", "GELU", "RSQRT"])
def test_curves(name):
    x = np.arange(-1 << 15, 1 << 15).astype(np.int16)
    more = [flag(True)] if name == "GELU" else []
    made = make(getattr(tfl_quantized_unary, f"TFL_QUANTIZED_{name}"), [q16(x, 2e-4), *more], out("Q16S", 3e-4))
    check_all_ways(made, [x])


@pytest.mark.parametrize("scale", [2**-12, 2**-11, 2**-15, 3.1e-4, 2e-5, 4.0, 1e4])
@pytest.mark.parametrize("name", ["LOGISTIC", "TANH"])
def test_logistic_and_tanh(name, scale):
    x = np.arange(-1 << 15, 1 << 15).astype(np.int16)
    made = make(getattr(tfl_quantized_unary, f"TFL_INT16_{name}"), [q16(x, scale)], out("Q16S", 2**-15))
    check_all_ways(made, [x])


# -- products --------------------------------------------------------------------------------------------------------
def weights(shape, dim=None):
    values = RANDOM.integers(-127, 128, shape).astype(np.int8)
    values.reshape(-1)[:2] = -128, 127
    if dim is None:
        return operand("Q8S", values, 0.01)
    return operand("PC", values, scales=RANDOM.uniform(0.001, 0.02, shape[dim]), dim=dim)


def biases(kind, units):
    if kind is None:
        return omitted("I64", (units,))
    return operand(kind, RANDOM.integers(-10**6, 10**6, units) * (1000 if kind == "I64" else 1))


def window(stride=(1, 1), dilation=(1, 1), scheme=1):
    """The scalars behind a bias: SAME (1) or VALID (2), strides and dilation of width and height, RELU, NHWC."""
    return [*ints(scheme, *stride), *ints(1), flag(False), *ints(*dilation)]


@pytest.mark.parametrize("bias", ["I64", "I32", None])
@pytest.mark.parametrize("dim", [None, 0])
@pytest.mark.parametrize(("image", "filter_", "geometry"), [
    ((1, 9, 8, 5), (7, 3, 3, 5), window()), ((2, 6, 7, 16), (33, 1, 1, 16), window()),
    ((2, 9, 8, 6), (8, 3, 2, 3), window((2, 1))), ((1, 1, 40, 32), (16, 1, 3, 32), window((1, 1), (2, 1), 2)),
    ((3, 1, 1, 4), (5, 1, 1, 4), window()), ((1, 30, 30, 64), (40, 3, 3, 64), window())])
def test_convolutions(image, filter_, geometry, dim, bias):
    x = words(image)
    made = make(tfl_int16.TFL_INT16_CONV_2D, [q16(x, 1e-4), weights(filter_, dim), biases(bias, filter_[0]), *geometry],
                out("Q16S", 3e-3))
    check_all_ways(made, [x])


@pytest.mark.parametrize("bias", ["I64", "I32"])
@pytest.mark.parametrize(("image", "filter_", "geometry"), [
    ((1, 9, 8, 5), (1, 3, 3, 5), window()), ((2, 9, 8, 6), (1, 3, 2, 12), window((2, 2), scheme=2)),
    ((1, 28, 28, 64), (1, 3, 3, 64), window()), ((2, 11, 9, 131), (1, 3, 5, 131), window((1, 2))),
    ((1, 20, 20, 8), (1, 3, 3, 8), window(dilation=(3, 2))), ((1, 40, 40, 1), (1, 3, 3, 9), window((2, 2)))])
def test_depthwise_convolutions(image, filter_, geometry, bias):
    x = words(image)
    made = make(tfl_int16.TFL_INT16_DEPTHWISE_CONV_2D, [
        q16(x, 1e-4), weights(filter_, 3), biases(bias, filter_[3]), *geometry], out("Q16S", 1e-3))
    check_all_ways(made, [x])


@pytest.mark.parametrize(("filter_", "steps"), [((7, 73), 2), ((16, 32), 3)])
def test_the_largest_sums_of_a_depthwise_convolution(filter_, steps):
    """Words up to 511 taps, halves beyond."""
    x = np.full((1, *filter_, 9), -32768, np.int16)
    lowest = operand("Q8S", np.full(x.shape, -128, np.int8), 0.01)
    made = make(tfl_int16.TFL_INT16_DEPTHWISE_CONV_2D, [
        q16(x, 1e-4), lowest, operand("I64", np.arange(9) * 10**9), *window(scheme=2)], out("Q16S", 0.1))
    check_all_ways(made, [x])
    assert len(run_native(made, x)[1]) == steps


@pytest.mark.parametrize("bias", ["I64", "I32", None])
@pytest.mark.parametrize("dim", [None, 0])
@pytest.mark.parametrize(("rows", "size", "units"), [(1, 37, 19), (5, 64, 8), (1, 300, 100)])
def test_dense(rows, size, units, dim, bias):
    x = words((rows, size))
    made = make(tfl_int16.TFL_INT16_FULLY_CONNECTED, [
        q16(x, 1e-4), weights((units, size), dim), biases(bias, units), *ints(0), flag(False)], out("Q16S", 1e-3))
    check_all_ways(made, [x])


@pytest.mark.parametrize("extreme", [2**63 - 1, -2**63, 2**52])
def test_a_bias_beyond_float64_is_left_to_numpy(extreme):
    bias = operand("I64", np.array([0, extreme, 0]))
    made = make(tfl_int16.TFL_INT16_FULLY_CONNECTED, [
        q16(words((1, 8)), 1e-4), weights((3, 8)), bias, *ints(0), flag(False)], out("Q16S", 1e-3))
    assert run_native(made, words((1, 8))) == (
        None, "a bias is beyond 52 bits, native where sums are exact in float64")


@pytest.mark.parametrize("extreme", [2**63 - 1, -2**63, 2**52])
def test_sums_of_64_bits_wrap(extreme):
    x, bias = words((1, 3, 3, 4)), operand("I64", np.full(5, extreme))
    made = make(tfl_int16.TFL_INT16_CONV_2D, [q16(x, 1e-4), weights((5, 2, 2, 4)), bias, *window()],
                out("Q16S", 1e-3))
    check_all_ways(made, [x])
