"""REVERSE."""

import numpy as np
import pytest

from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.reverse import REVERSE

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_last_comes_first(abbreviation, axis):
    actual = run(REVERSE, [operand(abbreviation, X, 0.5, 3), operand("I32", [axis])])
    size = X.shape[axis]
    for place in range(size):
        np.testing.assert_array_equal(actual.take(place, axis), X.take(size - 1 - place, axis))


def test_rules():
    x, axis = operand("F32", X), operand("I32", [0])
    for wrong in (-1, 3):
        refuses(REVERSE, [x, operand("I32", [wrong])], f" input 1 (axis): is {wrong}, must be in [0, 3)")
    refuses(REVERSE, [x, operand("I32", [0, 1])], " input 1 (axis): shape is [2], must be [1]")
    refuses(REVERSE, [operand("F32", np.ones((1,) * 9)), axis], " input 0 (input): rank is 9, must be 1 to 8")
    refuses(REVERSE, [x, axis], " output 0: rank is 2, must be 3 as of the input", operand("F32", shape=(2, 3)))
    message = " input 0 (input): scale 0.5 and zero point 3, must be those of the output, 0.25 and 3"
    refuses(REVERSE, [operand("Q8", X, 0.5, 3), axis], message, out("Q8", 0.25, 3))


def test_version():
    assert version(REVERSE, [operand("F32", X), operand("I32", [0])]) == "aidl3"


def test_vectors():
    check_vectors("REVERSE")
    check_coupling("REVERSE")
