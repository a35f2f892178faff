"""RESHAPE."""

import numpy as np
import pytest

from helpers.nodes import omitted, operand, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.base import ValueUnknown
from nnfast.ops.reshape import EXPAND_DIMS, RESHAPE, SQUEEZE

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S", "I32"])
@pytest.mark.parametrize(("shape", "expected"), [
    ([24], (24,)), ([4, 6], (4, 6)), ([-1], (24,)), ([2, -1, 2], (2, 6, 2)), ([1, 2, 3, 2, 2, -1], (1, 2, 3, 2, 2, 1)),
])
def test_keeps_the_order(abbreviation, shape, expected):
    actual = run(RESHAPE, [operand(abbreviation, X, 0.5, 3), operand("I32", shape)])
    np.testing.assert_array_equal(actual, X.reshape(expected))


def test_result_is_a_copy():
    source = operand("F32", X)
    assert not np.shares_memory(run(RESHAPE, [source, operand("I32", [24])]), source.value)


@pytest.mark.parametrize(("shape", "text"), [
    ([5, -1], "is [5, -1], the sizes beside -1 must divide the 24 elements of the input"),
    ([0, -1], "is [0, -1], the sizes beside -1 must divide the 24 elements of the input"),
    ([-1, -1], "is [-1, -1], must hold sizes and at most one -1"),
    ([-2, 12], "is [-2, 12], must hold sizes and at most one -1"),
    ([5, 5], "is [5, 5] with 25 elements, must have the 24 elements of the input"),
    ([0], "is [0] with 0 elements, must have the 24 elements of the input"),
    ([], "has no elements, must have at least one"),
    ([2**31 - 1] * 3, f"is {[2**31 - 1] * 3} with {(2**31 - 1)**3} elements, must have the 24 elements of the input"),
])
def test_refuses_shapes(shape, text):
    refuses(RESHAPE, [operand("F32", X), operand("I32", shape)], f" input 1 (shape): {text}")


def test_rules():
    refuses(RESHAPE, [operand("F32", np.ones((1,) * 5)), operand("I32", [1])],
            " input 0 (input): rank is 5, must be 1 to 4")


def test_shape_not_known_yet():
    with pytest.raises(ValueUnknown):
        run(RESHAPE, [operand("F32", X), operand("I32", shape=(2,))])


def test_versions():
    shape = operand("I32", [24])
    assert version(RESHAPE, [operand("F32", X), shape]) == "1.0"
    assert version(RESHAPE, [operand("I32", X), shape]) == "aidl2"


def test_vectors():
    check_vectors("RESHAPE")
    check_coupling("RESHAPE")


# -- SQUEEZE ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S"])
@pytest.mark.parametrize(("shape", "axes", "expected"), [
    ((1, 3, 1, 2), None, (3, 2)), ((1, 3, 1, 2), [0], (3, 1, 2)), ((1, 3, 1, 2), [-2, 2, 2], (1, 3, 2)),
    ((1, 3, 1, 2), [2, 0], (3, 2)), ((1, 1), None, (1,)), ((1, 1), [0, 1], (1,)), ((2, 3), None, (2, 3)),
])
def test_squeeze_drops_dimensions_of_size_1(abbreviation, shape, axes, expected):
    x = np.arange(np.prod(shape)).reshape(shape)
    inputs = [operand(abbreviation, x, 0.5, 3), omitted("I32") if axes is None else operand("I32", axes)]
    np.testing.assert_array_equal(run(SQUEEZE, inputs), x.reshape(expected))


def test_squeeze_rules():
    x = operand("F32", np.ones((1, 3)))
    refuses(SQUEEZE, [x, operand("I32", [1])],
            " input 1 (axes): holds 1, a dimension of size 3, must be of size 1")
    for axis in (2, -3):
        refuses(SQUEEZE, [x, operand("I32", [axis])], f" input 1 (axes): holds {axis}, must be in [-2, 2)")
    refuses(SQUEEZE, [x, operand("I32", [[0]])], " input 1 (axes): rank is 2, must be 1")
    refuses(SQUEEZE, [operand("F32", np.ones((1,) * 5)), omitted("I32")], " input 0 (input): rank is 5, must be 1 to 4")


# -- EXPAND_DIMS -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("axis", [0, 1, 3, -1, -2, -4])
def test_expand_puts_in_a_dimension(abbreviation, axis):
    actual = run(EXPAND_DIMS, [operand(abbreviation, X, 0.5, 3), operand("i32", axis)])
    np.testing.assert_array_equal(actual, np.expand_dims(X, axis))


def test_expand_rules():
    for axis in (4, -5):
        refuses(EXPAND_DIMS, [operand("F32", X), operand("i32", axis)],
                f" input 1 (axis): is {axis}, must be in [-4, 4)")


@pytest.mark.parametrize("name", ["SQUEEZE", "EXPAND_DIMS"])
def test_vectors_of_the_others(name):
    check_vectors(name)
    check_coupling(name)
