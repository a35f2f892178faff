"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION."""

import math

import numpy as np
import pytest

from helpers import scalar_reference as scalar
from helpers.nodes import operand, out, refuses, run, signed_codes, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.normalization import INSTANCE_NORMALIZATION, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION

X = np.random.default_rng(29).normal(0, 3, (2, 3, 4, 5)).astype(np.float32)
UNSIGNED, SIGNED = out("Q8", 1 / 128, 128), out("Q8S", 1 / 128, 0)


def i32(value):
    return operand("i32", value)


# -- L2_NORMALIZATION --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", range(-4, 4))
def test_l2_float(axis):
    wide = X.astype(np.float64)
    expected = wide / np.linalg.norm(wide, axis=axis, keepdims=True)
    np.testing.assert_allclose(run(L2_NORMALIZATION, [operand("F32", X), i32(axis)]), expected, rtol=1e-7)


def test_l2_float_of_nothing_and_of_much():
    assert run(L2_NORMALIZATION, [operand("F32", [[0, 0], [3e38, 3e38], [3e-7, -4e-7]])]).tolist() == [
        [0, 0], [np.float32(0.5**0.5)] * 2, [np.float32(np.float64(np.float32(v)) / 1e-6) for v in (3e-7, -4e-7)],
    ]
    assert run(L2_NORMALIZATION, [operand("F16", [60000, 0, -60000])]).tolist() == [
        np.float16(0.5**0.5), 0, np.float16(-(0.5**0.5))]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("zero_point", [0, 3, 128, 255])
def test_l2_quantized_is_near_the_real_one_and_its_twin(axis, zero_point):
    """At most one step, in 2 % of the values, lies between real and fixed-point arithmetic [NN 13.5]."""
    codes = np.random.default_rng(zero_point).integers(0, 256, (7, 6, 50))
    inputs = [operand("Q8", codes, 0.3, zero_point), i32(axis)]
    actual = run(L2_NORMALIZATION, inputs, UNSIGNED).astype(int)
    real = (codes - zero_point) / np.linalg.norm(codes - float(zero_point), axis=axis, keepdims=True)
    expected = np.clip(np.floor(real * 128 + 0.5) + 128, 0, 255)
    assert np.abs(actual - expected).max() <= 1
    assert np.mean(actual != expected) < 0.05
    twin = run(L2_NORMALIZATION, [operand("Q8S", signed_codes(codes), 0.3, zero_point - 128), i32(axis)], SIGNED)
    difference = np.abs(twin.astype(int) + 128 - actual)
    if axis == -1:
        assert difference.max() <= 1
        assert np.mean(difference) < 0.05
    else:
        assert not difference.any()


def scalar_inv_sqrt(value):
    """(multiplier, exponent) of one value, as [NN 13.5] writes it."""
    if value <= 1:
        return 2**31 - 1, 0
    shift = 11
    while value >= 2**29:
        value, shift = value // 4, shift + 1
    pairs = (31 - value.bit_length()) // 2 - 1
    value, shift = value << 2 * pairs, shift - pairs
    half, x = scalar.rdbpot(value >> 1, 1), 2**28
    for _ in range(5):
        cube = scalar.srdhm(scalar.srdhm(x, x), x) << 6
        x = (scalar.srdhm(2**28 + 2**27, x) - scalar.srdhm(half, cube)) << 3
    return scalar.srdhm(x, 1518500250) << max(-shift, 0), min(-shift, 0)


def scalar_l2(row, zero_point, signed_last):
    centred = [code - zero_point for code in row]
    multiplier, exponent = scalar_inv_sqrt(sum(d * d for d in centred))
    if signed_last:
        return [min(max(scalar.mbqm(d, multiplier, exponent + 7), -128), 127) for d in centred]
    return [min(max(scalar.rdbpot(scalar.srdhm(128 * d, multiplier), -exponent), -128), 127) for d in centred]


@pytest.mark.parametrize("length", [1, 2, 3, 17, 1000])
def test_l2_quantized_equals_scalar_arithmetic(length):
    rng = np.random.default_rng(length)
    codes = np.clip(rng.normal(0, np.exp(rng.uniform(0, 6, (20, 1))), (20, length)) + 100, 0, 255).astype(int)
    expected = [[step + 128 for step in scalar_l2(row, 100, False)] for row in codes.tolist()]
    for axis, turn in ((1, np.asarray), (0, np.transpose)):
        actual = run(L2_NORMALIZATION, [operand("Q8", turn(codes), 0.3, 100), i32(axis)], UNSIGNED)
        np.testing.assert_array_equal(actual, turn(expected))
    signed = signed_codes(codes)
    actual = run(L2_NORMALIZATION, [operand("Q8S", signed.T, 0.3, -28), i32(0)], SIGNED)
    np.testing.assert_array_equal(actual.T, signed_codes(expected))
    last = [scalar_l2(row, -28, True) for row in signed.tolist()]
    np.testing.assert_array_equal(run(L2_NORMALIZATION, [operand("Q8S", signed, 0.3, -28)], SIGNED), last)


def test_l2_quantized_edges():
    for codes, expected in (([9, 9], [128, 128]), ([10, 9], [255, 128]), ([8, 9], [0, 128])):
        assert run(L2_NORMALIZATION, [operand("Q8", codes, 0.3, 9)], UNSIGNED).tolist() == expected
        twin = [operand("Q8S", signed_codes(codes), 0.3, 9 - 128)]
        assert run(L2_NORMALIZATION, twin, SIGNED).tolist() == signed_codes(expected).tolist()
    long = run(L2_NORMALIZATION, [operand("Q8", np.full(40000, 255), 0.3, 0)], UNSIGNED)
    assert np.unique(long).tolist() == [128 + round(128 / 200)]


# -- LOCAL_RESPONSE_NORMALIZATION --------------------------------------------------------------------------------------
def lrn(x, radius, bias, alpha, beta, axis=None):
    """One element at a time, along the given axis."""
    rows = np.moveaxis(x.astype(np.float64), -1 if axis is None else axis, -1)
    result_ = np.empty_like(rows)
    for place in np.ndindex(rows.shape):
        *outer, i = place
        window = rows[tuple(outer)][max(0, i - radius):i + radius + 1]
        result_[place] = rows[place] * (bias + alpha * math.fsum(v * v for v in window)) ** -beta
    return np.moveaxis(result_, -1, -1 if axis is None else axis)


@pytest.mark.parametrize("radius", [0, 1, 2, 4, 5, 2**31 - 1])
@pytest.mark.parametrize("axis", [None, 0, 1, -2, 3])
def test_lrn_float(radius, axis):
    scalars = [operand("f32", v) for v in (1.5, 0.25, 0.75)]
    tail = [] if axis is None else [i32(axis)]
    actual = run(LOCAL_RESPONSE_NORMALIZATION, [operand("F32", X), i32(radius), *scalars, *tail])
    np.testing.assert_allclose(actual, lrn(X, radius, 1.5, 0.25, 0.75, axis), rtol=1e-6)


def test_lrn_float16_and_negative_beta():
    x = np.float16([[300, -2, 0.5]])
    scalars = [operand("f16", v) for v in (0.5, 2, -1)]
    actual = run(LOCAL_RESPONSE_NORMALIZATION, [operand("F16", x), i32(1), *scalars])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(actual, lrn(x, 1, 0.5, 2, -1).astype(np.float16))


# -- INSTANCE_NORMALIZATION --------------------------------------------------------------------------------------------
def instance(abbreviation, x, gamma, beta, epsilon, nchw=0):
    scalars = [operand(abbreviation.lower(), v) for v in (gamma, beta, epsilon)]
    return run(INSTANCE_NORMALIZATION, [operand(abbreviation, x), *scalars, operand("bool", nchw)])


def test_instance():
    expected = np.empty(X.shape)
    for n, c in np.ndindex(2, 5):
        plane = X[n, :, :, c].astype(np.float64)
        expected[n, :, :, c] = (plane - plane.mean()) * 2 / math.sqrt(plane.var() + 0.125) - 3
    np.testing.assert_allclose(instance("F32", X, 2, -3, 0.125), expected, rtol=1e-6, atol=1e-6)
    turned = instance("F32", X.transpose(0, 3, 1, 2), 2, -3, 0.125, 1)
    np.testing.assert_allclose(turned.transpose(0, 2, 3, 1), expected, rtol=1e-6, atol=1e-6)


def test_instance_without_spread():
    flat = np.full((1, 2, 2, 1), 7.0)
    assert instance("F32", flat, 2, 5, 0.5).reshape(-1).tolist() == [5] * 4
    assert np.isnan(instance("F32", flat, 2, 5, 0)).all()
    # The squares of 60000 leave float16, but the result does not.
    assert instance("F16", np.reshape([60000, -60000], (1, 1, 2, 1)), 1, 0, 0).reshape(-1).tolist() == [1, -1]


# -- rules -------------------------------------------------------------------------------------------------------------
def test_rules():
    x, deep, unit = operand("F32", np.ones((2, 3))), operand("F32", np.ones((1,) * 5)), operand("f32", 1)
    for op, rest in ((L2_NORMALIZATION, []), (LOCAL_RESPONSE_NORMALIZATION, [i32(1), unit, unit, unit])):
        refuses(op, [deep, *rest], " input 0 (input): rank is 5, must be 1 to 4")
        for axis in (2, -3):
            refuses(op, [x, *rest, i32(axis)], f" input {len(rest) + 1} (axis): is {axis}, must be in [-2, 2)")
    refuses(LOCAL_RESPONSE_NORMALIZATION, [x, i32(-1), unit, unit, unit], " input 1 (radius): is -1, must be >= 0")
    refuses(INSTANCE_NORMALIZATION, [x, unit, unit, unit, operand("bool", 0)], " input 0 (input): rank is 2, must be 4")


def test_versions():
    unit = operand("f32", 1)
    for op, rest in ((L2_NORMALIZATION, []), (LOCAL_RESPONSE_NORMALIZATION, [i32(1), unit, unit, unit])):
        for shape, since in (((1, 1, 1, 1), "1.0"), ((1, 1), "1.2"), (None, "1.2")):
            assert version(op, [operand("F32", shape=shape), *rest]) == since
        assert version(op, [operand("F32", shape=(1, 1, 1, 1)), *rest, i32(-1)]) == "1.2"


def test_vectors():
    check_vectors("LOCAL_RESPONSE_NORMALIZATION", "INSTANCE_NORMALIZATION")
    check_vectors("L2_NORMALIZATION")
    check_coupling("L2_NORMALIZATION", steps=1)
