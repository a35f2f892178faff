"""MEAN."""

import numpy as np
import pytest
from handmade import operand, refuses, run, version
from single_op import check_coupling, check_vectors

from nnfast.ops.reduce import MEAN

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
