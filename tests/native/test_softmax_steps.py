"""Softmax steps against float64 and, for codes, against the fixed-point definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand, out
from helpers.steps import at_level, every_level, run_all_ways
from nnfast._native.reduction import SoftmaxF32, SoftmaxQ8
from nnfast.model.quant import rdbpot, srdhm
from nnfast.ops import tfl_quantized_unary

SIZES = st.sampled_from([1, 2, 7, 8, 9, 31, 33, 255, 256, 1001])
ROWS = st.one_of(st.integers(1, 9), st.sampled_from([14, 31, 48, 700]))


@every_level
@given(rows=ROWS, n=SIZES, spread=st.sampled_from([0, 1, 30]), beta=st.sampled_from([1, 0.3, 2]),
       seed=st.integers(0, 99))
@settings(max_examples=30)
def test_float(level, rows, n, spread, beta, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, (rows, n)).astype(np.float32)
    (found,) = run_all_ways(lambda: [SoftmaxF32((0, 1), rows, n, beta)], [x], [(x.shape, np.float32)], level)
    wide = x.astype(np.float64)
    power = np.exp((wide - wide.max(axis=1, keepdims=True)) * beta)
    # The float32 difference is off by half a unit: 60 * 2 * 2^-24 relative after exp.
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=8e-6, atol=1.2e-38)


@every_level
@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize("n", range(1, 34))
def test_many_rows_of_few_values_are_taken_together(n, logarithm, level):
    # Some have a NaN, an infinity or values that are all as low as can be: their neighbours must not notice.
    x = np.random.default_rng(n).normal(0, 3, (801, n)).astype(np.float32)
    x[5, -1], x[50, n // 2], x[333, 0], x[800] = np.nan, np.inf, -np.inf, -np.inf
    (found,) = run_all_ways(lambda: [SoftmaxF32((0, 1), 801, n, 0.5, logarithm)], [x], [(x.shape, np.float32)], level)
    with at_level(level):
        one = SoftmaxF32((0, 1), 1, n, 0.5, logarithm).kernel
        many = SoftmaxF32((0, 1), 801, n, 0.5, logarithm).kernel
    assert "narrow" not in one and ("narrow" in many) == (n <= 32 and level != "scalar")
    with np.errstate(all="ignore"):
        logits = x * np.float64(0.5)
        logits -= logits.max(axis=1, keepdims=True)
        total = np.exp(logits).sum(axis=1, keepdims=True)
        wanted = logits - np.log(total) if logarithm else np.exp(logits) / total
    np.testing.assert_allclose(found, wanted, rtol=1e-7 if logarithm else 2e-6, atol=5e-7 if logarithm else 1e-40)


@every_level
@pytest.mark.parametrize("mask", [-104.5, -150, -3e38, -np.inf])
def test_what_a_mask_hides_is_zero(mask, level):
    x = np.random.default_rng(3).uniform(-0.1, 0.1, (3, 77)).astype(np.float32)
    x[:, 20:60] += np.float32(mask)
    (found,) = run_all_ways(lambda: [SoftmaxF32((0, 1), 3, 77, 1.0)], [x], [(x.shape, np.float32)], level)
    power = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.float64))
    assert not found[:, 20:60].any()
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=1e-6, atol=1.2e-38)


@every_level
@pytest.mark.parametrize(("rows", "n"), [(3, 4001), (500, 8)])
def test_what_would_be_subnormal_is_zero(rows, n, level):
    x = np.float32(-120) * np.random.default_rng(4).random((rows, n), np.float32)
    x[:, :2] = 0                                                # so that normal powers have subnormal parts of the sum
    (found,) = run_all_ways(lambda: [SoftmaxF32((0, 1), rows, n, 1.0)], [x], [(x.shape, np.float32)], level)
    power = np.exp(x.astype(np.float64))
    wanted, least = power / power.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny
    assert np.count_nonzero(wanted < least) > 100 and np.count_nonzero((wanted < least) & (power > least)) > 5
    assert not found[wanted < least * 0.999].any() and not np.any((found > 0) & (found < least))
    np.testing.assert_allclose(found[wanted > least * 1.001], wanted[wanted > least * 1.001], rtol=8e-6)


@every_level
@given(rows=ROWS, n=SIZES, spread=st.sampled_from([0, 1, 30, 1e20]), beta=st.sampled_from([1, 0.3, -2, 0]),
       seed=st.integers(0, 99))
@settings(max_examples=30)
def test_logarithm(level, rows, n, spread, beta, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, (rows, n)).astype(np.float32)
    (found,) = run_all_ways(lambda: [SoftmaxF32((0, 1), rows, n, beta, True)], [x], [(x.shape, np.float32)], level)
    logits = x.astype(np.float64) * np.float32(beta)
    logits -= logits.max(axis=1, keepdims=True)
    wanted = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=5e-7)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("beta", [1.0, -0.5, 0.0])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_logarithm_with_odd_values_along_any_axis(odd, beta, axis):
    x = np.random.default_rng(3).normal(size=(5, 19, 3)).astype(np.float32)
    x[2, 7, 1] = odd
    x[:, 4, 0] = -np.inf
    node = make("LOG_SOFTMAX", [operand(T.TENSOR_FLOAT32, shape=x.shape), operand(T.FLOAT32, np.float32(beta)),
                                *ints(axis)], operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x], rtol=1e-7, atol=5e-7)


def saturate(x, bits):
    limit = (1 << (31 - bits)) - 1
    return np.where(x > limit, (1 << 31) - 1, np.where(x < -limit, -(1 << 31), x << bits))


def definition(x, power):
    """Unsigned codes of rows of unsigned codes [NN 14.25], from the powers on."""
    powers = power.astype(np.int64)[x.max(axis=1, keepdims=True).astype(np.int64) - x]
    total = rdbpot(powers, 12).sum(axis=1, keepdims=True)
    zeros = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    fraction = np.where(zeros >= 0, total << np.maximum(zeros, 0), total >> np.maximum(-zeros, 0)) - (1 << 31)
    half = (fraction + (1 << 31)) >> 1
    scale = 1515870810 + srdhm(half, -1010580540)
    for _ in range(3):
        scale = scale + saturate(srdhm(scale, (1 << 29) - srdhm(half, scale)), 2)
    return np.clip(rdbpot(srdhm(saturate(scale, 1), powers), 12 - zeros + 23), 0, 255)


@every_level
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@given(rows=st.integers(1, 9), n=SIZES, decay=st.sampled_from([0.0, 0.01, 0.2, 1.5]), low=st.sampled_from([0, 200]),
       seed=st.integers(0, 99))
@settings(max_examples=30)
def test_codes(level, dtype, rows, n, decay, low, seed):
    x = np.random.default_rng(seed).integers(low, 256, (rows, n))
    power = np.minimum(np.exp(-decay * np.arange(256)) * 2.0**31, 2**31 - 1).astype(np.int64)
    power[230:] = 0
    flip = 128 if dtype is np.int8 else 0
    codes = (x - flip).astype(dtype)
    (found,) = run_all_ways(lambda: [SoftmaxQ8((0, 1), dtype is np.int8, rows, n, power)], [codes],
                            [(x.shape, dtype)], level)
    assert np.array_equal(found.astype(np.int64) + flip, definition(x, power))


@every_level
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("rows", [1, 3, 4, 6, 7, 15, 16, 17, 1500])
@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9, 19, 32])
def test_many_rows_of_few_codes_are_taken_together(n, rows, dtype, level):
    random = np.random.default_rng(n)
    power = np.minimum(np.exp(-0.02 * np.arange(256)) * 2.0**31, 2**31 - 1).astype(np.int64)
    power[230:] = 0
    flip = 128 if dtype is np.int8 else 0
    x = random.integers(0, 256, (rows, n)) // (random.integers(0, 2, (rows, 1)) * 31 + 1)
    (found,) = run_all_ways(lambda: [SoftmaxQ8((0, 1), dtype is np.int8, rows, n, power)], [(x - flip).astype(dtype)],
                            [(x.shape, dtype)], level)
    assert np.array_equal(found.astype(np.int64) + flip, definition(x, power))
    with at_level(level):
        kernel = SoftmaxQ8((0, 1), dtype is np.int8, rows, n, power).kernel
    assert ("narrow" in kernel) == (level.startswith("avx") and rows >= (4 if n <= 8 else 7))


@every_level
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_all_pairs_of_codes(level, dtype):
    x = np.stack([codes.reshape(-1) for codes in np.meshgrid(np.arange(256), np.arange(256))], axis=1)
    power = np.minimum(np.exp(-0.02 * np.arange(256)) * 2.0**31, 2**31 - 1).astype(np.int64)
    power[230:] = 0
    flip = 128 if dtype is np.int8 else 0
    (found,) = run_all_ways(lambda: [SoftmaxQ8((0, 1), dtype is np.int8, 1 << 16, 2, power)],
                            [(x - flip).astype(dtype)], [(x.shape, dtype)], level)
    assert np.array_equal(found.astype(np.int64) + flip, definition(x, power))


def test_sum_beyond_32_bits():
    x = np.zeros((1, 9000), np.uint8)
    power = np.full(256, 2**31 - 1)
    (found,) = run_all_ways(lambda: [SoftmaxQ8((0, 1), False, 1, 9000, power)], [x], [(x.shape, np.uint8)], None)
    assert np.array_equal(found, definition(x.astype(np.int64), power))


@pytest.mark.parametrize("type_, dtype, lowest", [
    (T.TENSOR_FLOAT32, np.float32, 0), (T.TENSOR_QUANT8_ASYMM, np.uint8, 0),
    (T.TENSOR_QUANT8_ASYMM_SIGNED, np.int8, -128),
])
@given(shape=st.lists(st.sampled_from([0, 1, 2, 5, 17]), min_size=1, max_size=4), data=st.data())
@settings(max_examples=40)
def test_any_axis(type_, dtype, lowest, shape, data):
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    real = type_ == T.TENSOR_FLOAT32
    x = random.normal(size=shape).astype(dtype) if real else random.integers(0, 256, shape).astype(np.uint8).view(dtype)
    source = operand(type_, shape=x.shape, scale=0.0 if real else 0.1)
    node = make("SOFTMAX", [source, operand(T.FLOAT32, np.float32(0.7)), *ints(axis)],
                operand(type_, scale=0.0 if real else 1 / 256, zero_point=lowest))
    check_all_ways(node, [x], rtol=8e-6 if real else 0)


@pytest.mark.parametrize("shape", [(1, 2), (3, 1), (2, 5, 300), (7, 0), (0, 3)])
@pytest.mark.parametrize(("kind", "scale"), [("Q16S", 1e-4), ("Q16S", 2e-3), ("Q8S", 0.1), ("Q8", 0.02)])
def test_words(kind, scale, shape):
    source = operand(kind, shape=shape)
    info = np.iinfo(source.dtype)
    x = np.random.default_rng(3).integers(info.min, info.max + 1, shape).astype(source.dtype)
    made = make(tfl_quantized_unary.TFL_INT16_SOFTMAX, [operand(kind, x, scale), operand("f32", 1.0)],
                out("Q16S", 2**-15))
    check_all_ways(made, [x])
