"""SOFTMAX, LOG_SOFTMAX."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from helpers.nodes import operand, out, refuses, run, signed_codes, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.softmax import LOG_SOFTMAX, SOFTMAX

UNSIGNED, SIGNED = out("Q8", 1 / 256), out("Q8S", 1 / 256, -128)


def beta(value=1.0):
    return operand("f32", value)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("factor", [1.0, 0.01, 3.5])
def test_float_along_every_axis(shape, factor):
    x = np.random.default_rng(3).normal(0, 4, shape).astype(np.float32)
    for axis in range(-len(shape), len(shape)):
        actual = run(SOFTMAX, [operand("F32", x), beta(factor), operand("i32", axis)])
        np.testing.assert_allclose(actual, softmax(x.astype(np.float64) * np.float32(factor), axis), rtol=1e-6)
    last = run(SOFTMAX, [operand("F32", x), beta(factor)])
    np.testing.assert_array_equal(last, actual)


def test_float_does_not_overflow():
    assert run(SOFTMAX, [operand("F32", [[3e38, -3e38, 3e38]]), beta()]).tolist() == [[0.5, 0, 0.5]]


def test_float16():
    x = np.float16([[1, 2, 3], [-60000, 0, 60000]])
    actual = run(SOFTMAX, [operand("F16", x), operand("f16", 0.5)])
    np.testing.assert_array_equal(actual, softmax(x.astype(np.float64) * 0.5, -1).astype(np.float16))


@pytest.mark.parametrize(("scale", "factor"), [(0.1, 1.0), (1.0, 0.3), (0.004, 10.0), (5.0, 2.0), (1e-3, 1.0)])
@pytest.mark.parametrize("classes", [2, 10, 1001])
def test_quantized_is_the_rounded_real_one(scale, factor, classes):
    """Both are known to agree on every one of 8357 outputs [NN 13.5]."""
    codes = np.random.default_rng(classes).integers(0, 256, (4, classes))
    real = softmax(codes * float(np.float32(scale)) * float(np.float32(factor)), -1)
    expected = np.clip(np.floor(real * 256 + 0.5), 0, 255)
    actual = run(SOFTMAX, [operand("Q8", codes, scale, 9), beta(factor)], UNSIGNED)
    assert np.abs(actual - expected).max() <= 1
    assert np.count_nonzero(actual != expected) <= 1
    twin = run(SOFTMAX, [operand("Q8S", signed_codes(codes), scale, -119), beta(factor)], SIGNED)
    np.testing.assert_array_equal(twin, signed_codes(actual))


def test_quantized_along_an_inner_axis():
    codes = np.random.default_rng(5).integers(0, 256, (2, 6, 3))
    moved = run(SOFTMAX, [operand("Q8", np.moveaxis(codes, 1, -1), 0.1), beta()], UNSIGNED)
    actual = run(SOFTMAX, [operand("Q8", codes, 0.1), beta(), operand("i32", 1)], UNSIGNED)
    np.testing.assert_array_equal(actual, np.moveaxis(moved, -1, 1))


@pytest.mark.parametrize("classes", [1, 2, 3, 255, 256, 4096, 5000, 10000])
def test_quantized_equal_inputs_share_evenly(classes):
    actual = run(SOFTMAX, [operand("Q8", np.full((1, classes), 200), 0.5), beta()], UNSIGNED)
    assert np.unique(actual).tolist() == [min(255, int(256 / classes + 0.5))]


def test_quantized_far_below_the_maximum_gives_the_lowest_code():
    # A step of 16 is exp(-16) = 1e-7; steps beyond 31 leave the fixed-point range and must vanish, not wrap.
    assert run(SOFTMAX, [operand("Q8", [[0, 1, 2, 255]], 16.0), beta()], UNSIGNED).tolist() == [[0, 0, 0, 255]]
    assert run(SOFTMAX, [operand("Q8", [[5, 5, 4]], 1e9), beta(1e9)], UNSIGNED).tolist() == [[128, 128, 0]]


def test_zero_sized():
    assert run(SOFTMAX, [operand("F32", np.empty((0, 4))), beta()]).shape == (0, 4)
    assert run(SOFTMAX, [operand("Q8", np.empty((4, 0)), 0.1), beta()], UNSIGNED).shape == (4, 0)


def test_rules():
    x = operand("F32", np.ones((2, 3)))
    for value, text in ((0, "0"), (-1, "-1"), (np.nan, "nan")):
        refuses(SOFTMAX, [x, beta(value)], f" input 1 (beta): is {text}, must be greater than 0")
    for axis in (2, -3):
        refuses(SOFTMAX, [x, beta(), operand("i32", axis)], f" input 2 (axis): is {axis}, must be in [-2, 2)")
    refuses(SOFTMAX, [operand("F32", np.ones((1,) * 5)), beta()], " input 0 (input): rank is 5, must be 1 to 4")
    refuses(SOFTMAX, [operand("Q8", [[1]], 2.0**-26), beta()], " input 1 (beta): 1 times the input scale"
            " 1.49011612e-08 is too small, must exceed 2**-26", UNSIGNED)


def test_versions():
    for rank, since in ((1, "1.2"), (2, "1.0"), (3, "1.2"), (4, "1.0")):
        assert version(SOFTMAX, [operand("F32", np.ones((1,) * rank)), beta()]) == since
    assert version(SOFTMAX, [operand("F32", [[1]]), beta(), operand("i32", -1)]) == "1.2"
    assert version(SOFTMAX, [operand("F32", shape=None), beta()]) == "1.0"


def test_vectors():
    check_vectors("SOFTMAX")
    check_coupling("SOFTMAX")


@pytest.mark.parametrize("shape", [(7,), (2, 3, 4, 5), (2, 1, 3, 2, 1, 2)])
@pytest.mark.parametrize("factor", [1.0, 0.01, 3.5, 0.0, -2.0])
def test_log_softmax_along_every_axis(shape, factor):
    x = np.random.default_rng(4).normal(0, 4, shape).astype(np.float32)
    for axis in range(-len(shape), len(shape)):
        actual = run(LOG_SOFTMAX, [operand("F32", x), beta(factor), operand("i32", axis)])
        expected = log_softmax(x.astype(np.float64) * np.float32(factor), axis)
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-12)


def test_log_softmax_extremes():
    def log(x, factor=1.0):
        return run(LOG_SOFTMAX, [operand("F32", x), beta(factor), operand("i32", 0)]).tolist()

    assert log([3e38, -np.inf]) == [0, -np.inf]
    assert log([-1000, -1000], 2.0) == [np.float32(-np.log(2))] * 2
    assert log([-300, 300], -1.0) == [0, -600]
    half = run(LOG_SOFTMAX, [operand("F16", [1, 60000]), operand("f16", 1), operand("i32", -1)])
    assert half.tolist() == [float(np.float16(-59999)), 0]


def test_log_softmax_rules():
    x = operand("F32", np.ones((2, 3)))
    for axis in (2, -3):
        refuses(LOG_SOFTMAX, [x, beta(), operand("i32", axis)], f" input 2 (axis): is {axis}, must be in [-2, 2)")
    refuses(LOG_SOFTMAX, [x, beta()], ": has 2 inputs, must have 3")
    assert version(LOG_SOFTMAX, [x, beta(), operand("i32", 0)]) == "1.2"


def test_log_softmax_vectors():
    check_vectors("LOG_SOFTMAX")
