"""MEAN, REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_SUM."""

import numpy as np
import pytest

from helpers.nodes import operand, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.reduce import MEAN, REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_SUM

X = np.random.default_rng(11).normal(0, 3, (2, 3, 4, 5)).astype(np.float32)


def mean(source, axes, keep=0):
    return run(MEAN, [source, operand("I32", axes), operand("i32", keep)])


@pytest.mark.parametrize("axes", [[0], [1, 2], [-1], [3, -4], [1, 1, -3], [2, 0, 1]])
@pytest.mark.parametrize("keep", [0, 1])
def test_float(axes, keep):
    expected = X.mean(axis=tuple({axis % 4 for axis in axes}), dtype=np.float64, keepdims=bool(keep))
    np.testing.assert_allclose(mean(operand("F32", X), axes, keep), expected, rtol=1e-7)


def test_all_axes():
    assert mean(operand("F32", X), [0, 1, 2, 3]).shape == (1,)
    assert mean(operand("F32", X), [0, 1, 2, 3], 1).shape == (1, 1, 1, 1)
    assert mean(operand("F32", X), [0], -1).shape == (3, 4, 5)  # only a positive keep_dims keeps


def test_float16_rounds_once():
    # A running sum in float16 would stop at 2048, where 1 is less than half a step.
    assert mean(operand("F16", np.ones(5000)), [0]).tolist() == [1]
    assert mean(operand("F16", [60000, 60000]), [0]).tolist() == [60000]


@pytest.mark.parametrize(("abbreviation", "low", "high"), [("Q8", 0, 256), ("Q8S", -128, 128)])
def test_quantized_cuts_the_raw_quotient_towards_zero(abbreviation, low, high):
    codes = np.random.default_rng(low + 1000).integers(low, high, (40, 7))
    actual = mean(operand(abbreviation, codes, 0.5, 3), [1])
    assert actual.tolist() == [int(row.sum() / 7) for row in codes]
    assert mean(operand(abbreviation, [low, low + 1], 0.5, 3), [0]).tolist() == [int((2 * low + 1) / 2)]


def test_rules():
    x, keep = operand("F32", np.ones((2, 3))), operand("i32", 0)
    for axis in (2, -3):
        refuses(MEAN, [x, operand("I32", [0, axis]), operand("i32", 1)],
                f" input 1 (axes): holds {axis}, must be in [-2, 2)")
    refuses(MEAN, [x, operand("I32", []), keep], " input 1 (axes): has no elements, must have at least one")
    refuses(MEAN, [x, operand("I32", [[0]]), keep], " input 1 (axes): rank is 2, must be 1")
    refuses(MEAN, [operand("F32", np.ones((1,) * 5)), operand("I32", [0]), keep],
            " input 0 (input): rank is 5, must be 1 to 4")


def test_versions():
    rest = [operand("I32", [0]), operand("i32", 0)]
    assert version(MEAN, [operand("Q8", [1], 0.5), *rest]) == "1.1"
    assert version(MEAN, [operand("F16", [1]), *rest]) == "1.2"


def test_vectors():
    check_vectors("MEAN")
    check_coupling("MEAN", steps=1)


# -- REDUCE_* ----------------------------------------------------------------------------------------------------------
REDUCTIONS = {
    REDUCE_ALL: ("B8", np.all), REDUCE_ANY: ("B8", np.any), REDUCE_MAX: ("F32", np.max), REDUCE_MIN: ("F32", np.min),
    REDUCE_PROD: ("F32", np.prod), REDUCE_SUM: ("F32", np.sum),
}


def reduce(op, source, axes, keep=0):
    return run(op, [source, operand("I32", axes), operand("bool", keep)])


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
@pytest.mark.parametrize("axes", [[0], [1, 2], [-1], [3, -4], [1, 1, -3], [0, 1, 2, 3]])
@pytest.mark.parametrize("keep", [0, 1])
def test_reductions(op, axes, keep):
    abbreviation, whole = REDUCTIONS[op]
    x = {REDUCE_ALL: (np.abs(X) < 5) * 3, REDUCE_ANY: (np.abs(X) > 5) * 3}.get(op, X)
    expected = whole(x.astype(np.float64), axis=tuple({axis % 4 for axis in axes}), keepdims=bool(keep))
    actual = reduce(op, operand(abbreviation, x), axes, keep)
    np.testing.assert_allclose(actual, np.reshape(expected, expected.shape or (1,)), rtol=1e-7)
    if abbreviation == "B8" and axes == [0]:
        assert np.unique(actual).tolist() == [0, 1]


@pytest.mark.parametrize(("abbreviation", "low"), [("Q8", 0), ("Q8S", -128)])
def test_extremes_of_codes(abbreviation, low):
    codes = np.random.default_rng(5).integers(low, low + 256, (9, 30))
    source = operand(abbreviation, codes, 0.5, 3)
    np.testing.assert_array_equal(reduce(REDUCE_MAX, source, [1]), codes.max(axis=1))
    np.testing.assert_array_equal(reduce(REDUCE_MIN, source, [1]), codes.min(axis=1))


@pytest.mark.parametrize(("abbreviation", "dtype"), [("F32", np.float32), ("F16", np.float16)])
def test_extremes_start_from_the_finite_range(abbreviation, dtype):
    limit = np.finfo(dtype).max
    x = operand(abbreviation, [[-np.inf, -np.inf], [np.inf, np.inf], [np.nan, 1], [np.nan, np.nan]])
    assert reduce(REDUCE_MAX, x, [1]).tolist() == [-limit, np.inf, 1, -limit]
    assert reduce(REDUCE_MIN, x, [1]).tolist() == [-np.inf, limit, 1, limit]


def test_one_zero_makes_a_product_zero():
    x = operand("F32", [[0, np.inf], [np.nan, 0], [np.inf, 2], [-3, 0.5]])
    assert reduce(REDUCE_PROD, x, [1]).tolist() == [0, 0, np.inf, -1.5]


def test_float16_sums_and_products_round_once():
    assert reduce(REDUCE_SUM, operand("F16", np.ones(5000)), [0]).tolist() == [5000]
    assert reduce(REDUCE_PROD, operand("F16", [60000, 60000, 2**-14, 2**-14]), [0]).tolist() == [
        np.float16(60000 * 60000 * 2.0**-28)]


def test_reduction_rules():
    for op, (abbreviation, _) in REDUCTIONS.items():
        x, keep = operand(abbreviation, np.ones((2, 3))), operand("bool", 0)
        refuses(op, [x, operand("I32", [2]), keep], " input 1 (axes): holds 2, must be in [-2, 2)")
        refuses(op, [x, operand("I32", []), keep], " input 1 (axes): has no elements, must have at least one")
        refuses(op, [operand(abbreviation, np.ones((1,) * 5)), operand("I32", [0]), keep],
                " input 0 (input): rank is 5, must be 1 to 4")
        assert version(op, [x, operand("I32", [0]), keep]) == "1.2"


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_reduction_vectors(op):
    check_vectors(op.name)


def test_reduction_coupling():
    check_coupling("REDUCE_MAX", "REDUCE_MIN")
