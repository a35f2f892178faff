"""nnfast.model.fixedpoint against the standard's check values and against real arithmetic."""

import math

import numpy as np
import pytest

from nnfast.model.fixedpoint import (
    WORD16,
    WORD32,
    input_radius,
    inv_sqrt,
    multiplier_above_one,
    multiplier_below_one,
)

# raw F3 word -> (logistic, tanh) [NN 15.4].
CHECK_VALUES_16 = {
    -32768: (11, -32767), -8192: (3901, -31596), -100: (16183, -792), -1: (16383, -8), 1: (16384, 8),
    4096: (23952, 24964), 20000: (32524, 32767), 32767: (32756, 32767),
}


@pytest.mark.parametrize(("raw", "expected"), CHECK_VALUES_16.items())
def test_16_bit_functions_reproduce_check_values(raw, expected):
    assert (int(WORD16.logistic(raw, 3)), int(WORD16.tanh(raw, 3))) == expected


def test_zero_maps_to_the_middle():
    assert int(WORD16.logistic(0, 3)) == 1 << 14
    assert int(WORD32.logistic(0, 4)) == 1 << 30
    assert int(WORD32.tanh(0, 4)) == 0
    assert int(WORD32.exp_neg(0, 5)) == 2**31 - 1


def words(width, integer_bits, count):
    edge = 1 << (width - 1)
    raw = np.unique(np.linspace(-edge, edge - 1, count).astype(np.int64))
    return raw, raw / 2.0 ** (width - 1 - integer_bits)


@pytest.mark.parametrize(("word", "bound"), [(WORD32, 3e-7), (WORD16, 4e-4)])
@pytest.mark.parametrize("integer_bits", [0, 3, 4, 6])
def test_functions_approximate_their_real_twins(word, bound, integer_bits):
    raw, real = words(word.width, integer_bits, 4001)
    one = 2.0 ** (word.width - 1)
    assert np.abs(word.logistic(raw, integer_bits) / one - 1 / (1 + np.exp(-real))).max() < bound
    assert np.abs(word.tanh(raw, integer_bits) / one - np.tanh(real)).max() < bound
    assert np.abs(word.exp_neg(-np.abs(raw), integer_bits) / one - np.exp(-np.abs(real))).max() < bound


def test_recip1p_over_its_range():
    raw = np.linspace(0, 2**31 - 1, 4001).astype(np.int64)
    assert np.abs(WORD32.recip1p(raw) / 2.0**31 - 1 / (1 + raw / 2.0**31)).max() < 1e-8


@pytest.mark.parametrize("word", [WORD32, WORD16])
def test_tanh_is_odd_and_results_fit_the_word(word):
    raw, _ = words(word.width, 3, 999)
    raw = raw[raw > word.min]
    np.testing.assert_array_equal(word.tanh(-raw, 3), -word.tanh(raw, 3))
    for result in (word.tanh(raw, 3), word.logistic(raw, 3)):
        assert word.min <= result.min() and result.max() <= word.max


def test_rescale_saturates_to_fewer_and_rounds_to_more_integer_bits():
    assert WORD16.rescale([16384, 16383, -16384, -16383, 3], 1, 0).tolist() == [32767, 32766, -32768, -32766, 6]
    assert WORD16.rescale([3, -3, 5, -5], 0, 1).tolist() == [2, -2, 3, -3]


def test_mul_saturates_the_only_product_that_does_not_fit():
    assert int(WORD32.mul(-(2**31), -(2**31))) == 2**31 - 1
    assert int(WORD16.mul(-32768, -32768)) == 32767
    assert WORD16.mul([16384, -16384], [1, 1]).tolist() == [1, 0]  # ties go up


def test_input_radius():
    assert input_radius(4, 20) == (15 * 2**27) >> 20
    assert input_radius(5, 40) == 0


@pytest.mark.parametrize("value", [0.0, 1.0, 1 - 2**-40, -0.5, math.inf, math.nan])
def test_multiplier_below_one_refuses(value):
    assert multiplier_below_one(value) is None


def test_multiplier_below_one():
    assert multiplier_below_one(0.5) == (1 << 30, 0)
    assert multiplier_below_one(0.375) == (3 << 29, 1)


@pytest.mark.parametrize("value", [1.0, 0.5, 0.0, math.inf, math.nan])
def test_multiplier_above_one_refuses(value):
    assert multiplier_above_one(value) is None


def test_multiplier_above_one():
    assert multiplier_above_one(3.0) == (3 << 29, 2)


def test_inv_sqrt():
    values = np.unique(np.concatenate([
        np.arange(2, 5000), 2 ** np.arange(1, 31), 2 ** np.arange(2, 31) - 1,
        np.random.default_rng(3).integers(2, 2**31, 5000), [2**31 - 1, 2**36 + 12345],
    ]))
    multiplier, exponent = inv_sqrt(values)
    assert exponent.max() <= 0
    assert multiplier.min() > 0
    assert multiplier.max() <= 2**31 - 1
    # Five Newton steps from 1 leave an error of 1.3e-6 where the root is furthest away.
    np.testing.assert_allclose(multiplier / 2.0**31 * 2.0**exponent, values**-0.5, rtol=1.3e-6)


def test_inv_sqrt_of_the_smallest():
    multiplier, exponent = inv_sqrt([[0, 1]])
    assert multiplier.tolist() == [[2**31 - 1] * 2]
    assert exponent.tolist() == [[0, 0]]


def plain_inv_sqrt(v):
    """(multiplier, exponent) by the steps of [NN 13.5], with Python integers."""
    if v <= 1:
        return 2**31 - 1, 0
    s = 11
    while v >= 2**29:
        v, s = v // 4, s + 1
    p = (32 - v.bit_length() - 1) // 2 - 1
    s, v = s - p, v << 2 * p

    def srdhm(a, b):
        product = a * b + (2**30 if a * b >= 0 else 1 - 2**30)
        return product // 2**31 if product >= 0 else -(-product // 2**31)

    def fewer_bits(x, shift):
        limit = 2 ** (31 - shift) - 1
        return 2**31 - 1 if x > limit else -(2**31) if x < -limit else x << shift

    argument = v >> 1
    half, x = (argument >> 1) + (argument & 1), 2**28
    for _ in range(5):
        cube = fewer_bits(srdhm(srdhm(x, x), x), 6)
        x = fewer_bits(srdhm(2**28 + 2**27, x) - srdhm(half, cube), 3)
    m = srdhm(x, 1518500250)
    return (m << -s, 0) if s < 0 else (m, -s)


def test_inv_sqrt_to_the_bit():
    # Values below 0 come from rounded variances of the 8-bit LSTM and count as 0.
    values = [-(2**20), -5, 0, 1, 2, 3, 4, 5, 2**27 - 1, 2**27, 2**29 - 1, 2**29, 2**30, 2**31 - 1]
    values += (2 ** np.random.default_rng(2).uniform(1, 31, 400)).astype(int).tolist()
    multiplier, exponent = inv_sqrt(values)
    pairs = list(zip(multiplier.tolist(), exponent.tolist(), strict=True))
    assert pairs == [plain_inv_sqrt(v) for v in values]
