"""CHANNEL_SHUFFLE."""

import numpy as np
import pytest

from helpers.nodes import operand, refuses, run
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.channel_shuffle import CHANNEL_SHUFFLE

X = np.arange(72).reshape(2, 6, 6)


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S"])
@pytest.mark.parametrize("axis", [1, 2, -1, -2])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_groups_are_interleaved(abbreviation, axis, groups):
    actual = run(CHANNEL_SHUFFLE, [operand(abbreviation, X, 0.5, 3), operand("i32", groups), operand("i32", axis)])
    size = 6 // groups
    for group in range(groups):
        for member in range(size):
            np.testing.assert_array_equal(actual.take(member * groups + group, axis),
                                          X.take(group * size + member, axis))


def test_rules():
    x, one = operand("F32", X), operand("i32", 1)
    refuses(CHANNEL_SHUFFLE, [x, operand("i32", 0), one], " input 1 (num_groups): is 0, must be at least 1")
    refuses(CHANNEL_SHUFFLE, [x, operand("i32", 4), one],
            " input 1 (num_groups): is 4, must divide dimension 1 of the input, which is 6")
    refuses(CHANNEL_SHUFFLE, [x, one, operand("i32", 3)], " input 2 (axis): is 3, must be in [-3, 3)")
    refuses(CHANNEL_SHUFFLE, [operand("F32", np.ones((1,) * 5)), one, one],
            " input 0 (input): rank is 5, must be 1 to 4")


def test_vectors():
    check_vectors("CHANNEL_SHUFFLE")
    check_coupling("CHANNEL_SHUFFLE")
