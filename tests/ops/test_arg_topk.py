"""ARGMAX, ARGMIN, TOPK_V2: where the extreme values stand."""

import operator

import numpy as np
import pytest

from helpers.nodes import PATH, execute, operand, out, refuses, version
from helpers.nodes import run as run_one
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.arg import ARGMAX, ARGMIN
from nnfast.ops.base import Node
from nnfast.ops.topk import TOPK_V2

X = np.random.default_rng(17).integers(-3, 4, (3, 4, 5))


def arg(op, abbreviation, values, axis):
    return run_one(op, [operand(abbreviation, values, 0.5, 1), operand("i32", axis)], out("I32")).tolist()


def best(row, better):
    """Index found by a strict scan, as the standard states it."""
    found = 0
    for index, value in enumerate(row):
        if better(value, row[found]):
            found = index
    return found


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_first_of_equal_values_wins(abbreviation, axis):
    values = X + 3 if abbreviation == "Q8" else X
    rows = np.moveaxis(values, axis, -1)
    for op, better in ((ARGMAX, operator.gt), (ARGMIN, operator.lt)):
        expected = [[best(row, better) for row in plane] for plane in rows.tolist()]
        assert arg(op, abbreviation, values, axis) == expected


@pytest.mark.parametrize("row", [
    [np.nan, 5, 1], [1, np.nan, 5], [np.nan, np.nan], [-np.inf, np.nan, -np.inf], [np.inf, np.nan, np.inf], [2, np.nan],
])
def test_nan_is_never_better_and_never_beaten(row):
    assert arg(ARGMAX, "F32", row, 0) == [best(row, operator.gt)]
    assert arg(ARGMIN, "F32", row, 0) == [best(row, operator.lt)]


def test_int32_is_compared_exactly():
    assert arg(ARGMAX, "I32", [2**24, 2**24 + 1], 0) == [1]
    assert arg(ARGMIN, "I32", [-(2**31), 2**31 - 1], 0) == [0]


def topk(abbreviation, values, k):
    source = operand(abbreviation, values, 0.5, 1)
    outputs = [out(abbreviation, 0.5, 1), out("I32")]
    return execute(Node(TOPK_V2, f"{PATH} TOPK_V2", [source, operand("i32", k)], outputs))


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_topk_equals_sorting_pairs(abbreviation, k):
    values = X + 3 if abbreviation == "Q8" else X
    got, indices = topk(abbreviation, values, k)
    for row, got_row, index_row in zip(values.reshape(-1, 5).tolist(), got.reshape(-1, k).tolist(),
                                       indices.reshape(-1, k).tolist(), strict=True):
        pairs = sorted(((value, index) for index, value in enumerate(row)), reverse=True)[:k]
        assert list(zip(got_row, index_row, strict=True)) == pairs


def test_topk_at_the_ends_of_a_type():
    assert topk("I32", [-(2**31), 2**31 - 1, -(2**31)], 3)[1].tolist() == [1, 2, 0]
    assert topk("Q8", [0, 255, 0], 3)[1].tolist() == [1, 2, 0]
    assert topk("Q8S", [-128, 127, -128], 3)[1].tolist() == [1, 2, 0]
    assert topk("F32", [np.nan, -np.inf, np.inf, np.nan], 2)[1].tolist() == [2, 1]


def test_rules():
    x = operand("F32", np.ones((2, 3)))
    for op in (ARGMAX, ARGMIN):
        for axis in (2, -3):
            refuses(op, [x, operand("i32", axis)], f" input 1 (axis): is {axis}, must be in [-2, 2)", out("I32"))
        assert version(op, [x, operand("i32", 0)], out("I32")) == "1.2"
    for k in (0, -1, 4):
        with pytest.raises(ValueError, match=rf"input 1 \(k\): is {k}, must be in \[1, 3\], the last dimension"):
            topk("F32", np.ones((2, 3)), k)


def test_vectors():
    check_vectors("ARGMAX", "ARGMIN")
    check_coupling("ARGMAX", "ARGMIN")
    check_vectors("TOPK_V2")
    check_coupling("TOPK_V2")
