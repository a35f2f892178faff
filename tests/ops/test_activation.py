"""RELU, RELU1, RELU6, LOGISTIC, TANH, HARD_SWISH, PRELU."""

import math

import numpy as np
import pytest
from scipy.special import expit

from helpers import scalar_reference as scalar
from helpers.nodes import all_codes, execute, node, operand, out, refuses, run, signed_codes, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.activation import ELU, HARD_SWISH, LOGISTIC, PRELU, RELU, RELU1, RELU6, TANH, table

RELUS, FIXED_SCALE = [RELU, RELU1, RELU6], [LOGISTIC, TANH]
UNARY = [*RELUS, *FIXED_SCALE, HARD_SWISH]
CLAMPS = {"RELU": (0, np.inf), "RELU1": (-1, 1), "RELU6": (0, 6)}
FIXED = {"LOGISTIC": (1 / 256, 0), "TANH": (1 / 128, 128)}
REAL = {"LOGISTIC": expit, "TANH": np.tanh, "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6}
SCALES = [(0.05, 128), (0.0117, 3), (0.5, 255), (2.3, 0), (1e-6, 100)]


def run_all(op, scale, zero_point, output, signed=False):
    """The operation over all codes in ascending order."""
    if signed:
        output = out("Q8S", output[0], output[1] - 128)
        return run(op, [operand("Q8S", np.arange(-128, 128), scale, zero_point - 128)], output)
    return run(op, [operand("Q8", np.arange(256), scale, zero_point)], out("Q8", *output))


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
@pytest.mark.parametrize(("scale", "zero_point"), SCALES)
def test_signed_is_unsigned_shifted(op, scale, zero_point):
    output = FIXED.get(op.name, (scale, zero_point))
    unsigned = run_all(op, scale, zero_point, output)
    np.testing.assert_array_equal(run_all(op, scale, zero_point, output, signed=True), signed_codes(unsigned))


@pytest.mark.parametrize("op", RELUS, ids=lambda op: op.name)
@pytest.mark.parametrize(("scale", "zero_point"), SCALES)
def test_quantized_clamps(op, scale, zero_point):
    low, high = CLAMPS[op.name]
    low = zero_point + np.round(low / np.float32(scale)).astype(np.float64)
    high = zero_point + np.round(high / np.float32(scale)).astype(np.float64)
    expected = np.clip(np.arange(256), max(low, 0), min(high, 255))
    np.testing.assert_array_equal(run_all(op, scale, zero_point, (scale, zero_point)), expected)


@pytest.mark.parametrize("op", FIXED_SCALE, ids=lambda op: op.name)
@pytest.mark.parametrize(("scale", "zero_point"), SCALES)
def test_fixed_point_curve_is_the_rounded_real_one(op, scale, zero_point):
    """Both are known to agree on every one of 51200 points [NN 13.5]."""
    out_scale, out_zero_point = FIXED[op.name]
    real = REAL[op.name]((np.arange(256) - zero_point) * float(np.float32(scale)))
    expected = np.clip(np.floor(real / out_scale + 0.5) + out_zero_point, 0, 255)
    np.testing.assert_array_equal(run_all(op, scale, zero_point, FIXED[op.name]), expected)


def srdhm16(a, b):
    product = a * b
    return min(int((product + (2**14 if product >= 0 else 1 - 2**14)) / 2**15), 32767)


def reference_hard_swish(code, scale, zero_point, out_scale, out_zero_point):
    """One element as the standard writes it."""
    def to_int16(multiplier):
        return 32767 if multiplier >= 2**31 - 1 - 2**15 else (multiplier + 2**15) >> 16

    def saturated(x):
        return min(max(x, -32768), 32767)

    fine = np.float32(scale) / np.float32(128)
    out_multiplier, out_exponent = scalar.quantize_multiplier(float(fine / np.float32(out_scale)))
    relu_multiplier, relu_exponent = scalar.quantize_multiplier(float(fine / np.float32(3 / 32768)))
    value = (code - zero_point) * 128
    product, gate = srdhm16(value, to_int16(out_multiplier)), value
    if relu_exponent > 0:
        gate = saturated(gate << (relu_exponent - 1))
    gate = srdhm16(gate, to_int16(relu_multiplier))
    if relu_exponent > 0:
        gate = saturated(gate << 1)
    elif relu_exponent < 0:
        gate = scalar.rdbpot(gate, -relu_exponent)
    gate = (gate + 32768) >> 1
    total = scalar.rdbpot(int(gate * product / 32768), -out_exponent) + out_zero_point
    return min(max(total, 0), 255)


@pytest.mark.parametrize("output", [(0.05, 5), (0.5, 128), (3.0, 0)])
@pytest.mark.parametrize(("scale", "zero_point"), [s for s in SCALES if s[0] < 2])
def test_hard_swish_equals_scalar_arithmetic(scale, zero_point, output):
    actual = run_all(HARD_SWISH, scale, zero_point, output)
    expected = [reference_hard_swish(code, scale, zero_point, *output) for code in range(256)]
    np.testing.assert_array_equal(actual, expected)
    real = REAL["HARD_SWISH"]((np.arange(256) - zero_point) * scale) / output[0] + output[1]
    assert np.abs(actual - np.clip(np.round(real), 0, 255)).max() <= 1


@pytest.mark.parametrize("abbreviation", ["Q8", "Q8S"])
def test_table_is_indexed_by_the_raw_byte(abbreviation):
    codes = all_codes(abbreviation)
    source = operand(abbreviation, codes, 0.04, int(codes[128]))
    output = out(abbreviation, *((1 / 128, 128) if abbreviation == "Q8" else (1 / 128, 0)))
    rows = table(node(TANH, [source], output))
    assert (rows.dtype, rows.shape) == (np.uint8, (256,))
    np.testing.assert_array_equal(rows, run(TANH, [source], output).view(np.uint8))


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
@pytest.mark.parametrize(("abbreviation", "dtype", "bound"), [("F32", np.float32, 1e-7), ("F16", np.float16, 5e-4)])
def test_float(op, abbreviation, dtype, bound):
    x = np.linspace(-9, 9, 1001).astype(dtype).reshape(7, 11, 13)
    low, high = CLAMPS.get(op.name, (None, None))
    expected = np.clip(x, low, high) if op.name in CLAMPS else REAL[op.name](x.astype(np.float64))
    actual = run(op, [operand(abbreviation, x)])
    assert (np.abs(actual - expected) <= bound * np.maximum(1, np.abs(expected))).all()


def test_float_extremes_stay_finite():
    x = operand("F32", [-1e30, -200, 200, 1e30])
    assert run(LOGISTIC, [x]).tolist() == [0, pytest.approx(1.4e-87, abs=1e-40), 1, 1]
    assert run(TANH, [x]).tolist() == [-1, -1, 1, 1]
    assert run(HARD_SWISH, [x]).tolist() == [0, 0, 200, np.float32(1e30)]


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_zero_sized(op):
    assert run(op, [operand("F32", np.empty((0, 3)))]).shape == (0, 3)
    output = out("Q8", *FIXED.get(op.name, (0.5, 9)))
    assert run(op, [operand("Q8", np.empty((2, 0)), 0.5, 9)], output).shape == (2, 0)


def test_rules():
    deep = operand("F32", np.ones((1,) * 5))
    for op in (*RELUS, *FIXED_SCALE):
        refuses(op, [deep], " input 0 (input): rank is 5, must be 1 to 4")
    assert run(HARD_SWISH, [deep]).shape == (1,) * 5
    tiny = operand("Q8", [1], 2.0**-27)
    refuses(LOGISTIC, [tiny], " input 0 (input): scale 7.4505806e-09 is out of range, must be greater than 2**-27",
            out("Q8", 1 / 256))
    refuses(HARD_SWISH, [operand("Q8", [1], 128.0)],
            " output 0: scale 0.5 is too small, must be greater than the input scale / 128, 1", out("Q8", 0.5))
    refuses(HARD_SWISH, [operand("Q8", [1], 1e38)],
            " output 0: scale 1e-30 is out of range for an input scale of 9.99999968e+37", out("Q8", 1e-30))


def test_a_scale_so_large_that_only_the_zero_point_is_in_range():
    # The radius is 0 then, and the reference tests the lower end first.
    assert run(LOGISTIC, [operand("Q8", [6, 7, 8], 2.0**40, 7)], out("Q8", 1 / 256)).tolist() == [0, 0, 255]


@pytest.mark.parametrize("op", FIXED_SCALE, ids=lambda op: op.name)
def test_curves_with_the_arithmetic_of_litert(op):
    """Tables in float32 exist for any scale, however small."""
    scale, zero_point = FIXED[op.name]
    for unit in (1e-30, 2.0**-27, 0.05, 2.0, 2.0**40):
        made = node(op, [operand("Q8", np.arange(256), unit, 100)], out("Q8", scale, zero_point))
        made.arithmetic = "litert"
        real = REAL[op.name]((np.arange(256) - 100) * float(np.float32(unit))) / scale + zero_point
        (got,) = execute(made)
        assert np.abs(got - np.clip(real, 0, 255)).max() < 0.501 and got[100] == 128
        np.testing.assert_array_equal(table(made), got)


def test_versions():
    assert version(TANH, [operand("Q8", [1], 0.1)], out("Q8", 1 / 128, 128)) == "1.2"
    assert version(LOGISTIC, [operand("Q8", [1], 0.1)], out("Q8", 1 / 256)) == "1.0"
    assert version(HARD_SWISH, [operand("F32", [1])]) == "1.3"


@pytest.mark.parametrize(("scale", "slope", "unit"), [(0.3, 0.02, 0.25), (0.011, 0.7, 0.9), (2.0, 0.5, 0.01)])
def test_quantized_prelu_equals_scalar_arithmetic(scale, slope, unit):
    codes, alphas = np.arange(256), np.arange(3, 256, 31)
    inputs = [operand("Q8", codes[:, None], scale, 121), operand("Q8", alphas, slope, 60)]
    actual = run(PRELU, inputs, out("Q8", unit, 77))
    scale, slope, unit = np.float32(scale), np.float32(slope), np.float32(unit)
    expected = np.empty(actual.shape, np.int64)
    for (row, column), _ in np.ndenumerate(expected):
        x, alpha = int(codes[row]) - 121, int(alphas[column]) - 60
        value, real = (x, scale / unit) if x >= 0 else (x * alpha, float(scale * slope) / float(unit))
        value = scalar.mbqm(value, *scalar.quantize_multiplier(float(real))) + 77
        expected[row, column] = min(max(value, 0), 255)
    np.testing.assert_array_equal(actual, expected)
    twins = [operand("Q8S", signed_codes(codes[:, None]), scale, -7), operand("Q8S", signed_codes(alphas), slope, -68)]
    np.testing.assert_array_equal(run(PRELU, twins, out("Q8S", unit, -51)), signed_codes(expected))


def test_float_prelu_broadcasts_beyond_rank_4():
    x = np.array([-2, -0.0, 3, np.nan], np.float32).reshape(1, 1, 1, 1, 4)
    actual = run(PRELU, [operand("F32", x), operand("F32", [[0.5], [-1]])])
    np.testing.assert_array_equal(actual, np.float32([[-1, 0, 3, np.nan], [2, 0, 3, np.nan]]).reshape(1, 1, 1, 2, 4))


def test_prelu_rules():
    x = operand("F32", np.ones((2, 3)))
    refuses(PRELU, [x, operand("F32", np.ones(2))], " input 1 (alpha): shape [2] does not broadcast with [2, 3]")
    huge = operand("Q8", [1], 1e30)
    refuses(PRELU, [huge, huge], " output 0: scale 1 is out of range for input scales of 1.00000002e+30 and"
            " 1.00000002e+30", out("Q8", 1.0))


@pytest.mark.parametrize("name", ["RELU", "RELU1", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "PRELU"])
def test_vectors(name):
    check_vectors(name)
    check_coupling(name)


@pytest.mark.parametrize(("abbreviation", "dtype"), [("F32", np.float32), ("F16", np.float16)])
@pytest.mark.parametrize("alpha", [1.0, 0.25, 0.0, -2.0])
def test_elu(abbreviation, dtype, alpha):
    x = np.array([-np.inf, -20, -1e-4, -0.0, 0, 0.5, 3, 100], dtype)
    actual = run(ELU, [operand(abbreviation, x), operand(abbreviation.lower(), alpha)])
    expected = [max(v, 0.0) + min(0.0, alpha * math.expm1(v)) for v in x.astype(float).tolist()]
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(actual, np.array(expected).astype(dtype), rtol=1e-7)


def test_elu_extremes():
    x = operand("F32", [1e4, np.inf, np.nan])
    for alpha in (0.0, 1.0):
        np.testing.assert_array_equal(run(ELU, [x, operand("f32", alpha)]), np.float32([1e4, np.inf, np.nan]))
    assert run(ELU, [operand("F32", np.empty((0,) + (1,) * 5)), operand("f32", 1)]).shape == (0, 1, 1, 1, 1, 1)
    assert version(ELU, [x, operand("f32", 1)]) == "1.3"
    refuses(ELU, [x, operand("f16", 1)], " input 1 (alpha): type FLOAT16, must be FLOAT32")


def test_elu_vectors():
    check_vectors("ELU")
