"""MAXIMUM, MINIMUM, SELECT: choices between two tensors, and the change of quantization they share."""

import math

import numpy as np
import pytest

from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.minmax import MAXIMUM, MINIMUM
from nnfast.ops.select import SELECT

LARGER = [MAXIMUM, MINIMUM]


def recoded(code, scale, zero_point, target, low):
    """One code in another quantization; the scales here are powers of two, so doubles are exact."""
    place = (code - zero_point) * scale / target[0] + target[1]
    rounded = math.floor(place + 0.5) if place >= 0 else -math.floor(-place + 0.5)
    return min(max(rounded, low), low + 255)


@pytest.mark.parametrize(("op", "choose"), [(MAXIMUM, max), (MINIMUM, min)], ids=["MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize(("abbreviation", "low"), [("Q8", 0), ("Q8S", -128)])
def test_quantized_meets_in_the_output_scale(op, choose, abbreviation, low):
    codes, target = np.arange(low, low + 256), (2.0, low + 90)
    x = operand(abbreviation, codes.reshape(-1, 1), 0.5, low + 100)
    y = operand(abbreviation, codes, 4.0, low + 30)
    actual = run(op, [x, y], out(abbreviation, *target))
    left = [recoded(code, 0.5, low + 100, target, low) for code in codes.tolist()]
    right = [recoded(code, 4.0, low + 30, target, low) for code in codes.tolist()]
    assert actual.tolist() == [[choose(a, b) for b in right] for a in left]


def test_exact_halves_round_away_from_the_zero_code():
    """In its own domain each type rounds away from code 0, so the twins differ by one step below it."""
    unsigned = run(MAXIMUM, [operand("Q8", [127, 129], 0.5, 128)] * 2, out("Q8", 1.0, 128))
    signed = run(MAXIMUM, [operand("Q8S", [-1, 1], 0.5, 0)] * 2, out("Q8S", 1.0, 0))
    assert (unsigned.tolist(), signed.tolist()) == ([128, 129], [-1, 1])


def test_extreme_scales_saturate():
    x = operand("Q8", [0, 7, 255], 3e38, 7)
    assert run(MAXIMUM, [x, x], out("Q8", 1e-38, 7)).tolist() == [0, 7, 255]
    assert run(MINIMUM, [operand("Q8", [0, 255], 1e-38, 7)] * 2, out("Q8", 3e38, 9)).tolist() == [9, 9]


@pytest.mark.parametrize("abbreviation", ["F32", "F16"])
def test_a_nan_on_either_side_gives_the_first_input(abbreviation):
    x, y = operand(abbreviation, [np.nan, 1, -2, np.inf]), operand(abbreviation, [1, np.nan, 3, -np.inf])
    np.testing.assert_array_equal(run(MAXIMUM, [x, y]), [np.nan, 1, 3, np.inf])
    np.testing.assert_array_equal(run(MINIMUM, [x, y]), [np.nan, 1, -2, -np.inf])


def test_int32_of_any_rank():
    x, y = operand("I32", np.full((1, 1, 1, 2, 1), -(2**31))), operand("I32", [5, 2**31 - 1])
    assert run(MAXIMUM, [x, y]).tolist() == [[[[[5, 2**31 - 1]] * 2]]]
    assert run(MINIMUM, [x, y]).tolist() == [[[[[-(2**31)] * 2] * 2]]]


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32"])
def test_select(abbreviation):
    condition = operand("B8", [[0, 1], [2, 255]])
    x, y = operand(abbreviation, [[1, 2], [3, 4]]), operand(abbreviation, [[-1, -2], [-3, -4]])
    assert run(SELECT, [condition, x, y], out(abbreviation)).tolist() == [[-1, 2], [3, 4]]


@pytest.mark.parametrize(("abbreviation", "low"), [("Q8", 0), ("Q8S", -128)])
def test_quantized_select_changes_the_scale(abbreviation, low):
    codes, target = np.arange(low, low + 256), (1.0, low + 20)
    condition = operand("B8", np.arange(256) % 2)
    x, y = operand(abbreviation, codes, 0.25, low + 128), operand(abbreviation, codes[::-1], 2.0, low + 3)
    expected = [
        recoded(int(x.value[i]), 0.25, low + 128, target, low) if i % 2 else
        recoded(int(y.value[i]), 2.0, low + 3, target, low) for i in range(256)
    ]
    assert run(SELECT, [condition, x, y], out(abbreviation, *target)).tolist() == expected


def test_rules():
    x, y = operand("F32", np.ones((2, 3))), operand("F32", np.ones((2, 2)))
    for op in LARGER:
        refuses(op, [x, y], " input 1 (y): shape [2, 2] does not broadcast with [2, 3]")
        assert version(op, [x, x]) == "1.2"
    condition = operand("B8", np.ones((2, 3)))
    refuses(SELECT, [condition, x, y], " input 2 (y): shape is [2, 2], must be the condition's, [2, 3]", out("F32"))
    row = operand("F32", np.ones((1, 3)))
    refuses(SELECT, [condition, row, x], " input 1 (x): shape is [1, 3], must be the condition's, [2, 3]",
            out("F32"))
    signed = operand("Q8S", [1], 1.0)
    assert version(SELECT, [operand("B8", [1]), signed, signed], out("Q8S", 1.0)) == "1.3"


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM", "SELECT"])
def test_vectors(name):
    check_vectors(name)
    check_coupling(name, steps=1)
