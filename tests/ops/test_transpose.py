"""TRANSPOSE."""

from itertools import permutations

import numpy as np
import pytest

from helpers.nodes import omitted, operand, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.transpose import TRANSPOSE

X = np.arange(24).reshape(1, 2, 3, 4)


@pytest.mark.parametrize("perm", list(permutations(range(4))))
def test_every_order(perm):
    actual = run(TRANSPOSE, [operand("Q8", X, 0.5, 3), operand("I32", perm)])
    for place in np.ndindex(actual.shape):
        source = [0] * 4
        for axis, index in zip(perm, place, strict=True):
            source[axis] = index
        assert actual[place] == X[tuple(source)]
    assert actual.flags.c_contiguous


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S"])
def test_without_perm_the_order_is_reversed(abbreviation, rank):
    x = X.reshape((1, 2, 3, 4)[:rank - 1] + (-1,))
    actual = run(TRANSPOSE, [operand(abbreviation, x, 0.5, 3), omitted("I32")])
    np.testing.assert_array_equal(actual, x.T)


def test_zero_sized():
    assert run(TRANSPOSE, [operand("F32", np.empty((0, 3, 2))), operand("I32", [2, 0, 1])]).shape == (2, 0, 3)


@pytest.mark.parametrize("perm", [[0], [0, 0], [0, 2], [-1, 0], [0, 1, 2], []])
def test_refuses_what_is_no_permutation(perm):
    refuses(TRANSPOSE, [operand("F32", np.ones((2, 3))), operand("I32", perm)],
            f" input 1 (perm): is {perm}, must hold each of 0 to 1 once")


def test_rules():
    deep = operand("F32", np.ones((1,) * 5))
    refuses(TRANSPOSE, [deep, omitted("I32")], " input 0 (input): rank is 5, must be 1 to 4")


def test_versions():
    assert version(TRANSPOSE, [operand("Q8", [1], 0.5), omitted("I32")]) == "1.1"
    assert version(TRANSPOSE, [operand("F16", [1]), omitted("I32")]) == "1.2"


def test_vectors():
    check_vectors("TRANSPOSE")
    check_coupling("TRANSPOSE")
