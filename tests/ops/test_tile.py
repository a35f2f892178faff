"""TILE."""

import numpy as np
import pytest

from helpers.nodes import operand, refuses, run
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.tile import TILE

X = np.arange(6).reshape(1, 2, 3)


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("multiples", [(1, 1, 1), (2, 1, 3), (1, 4, 1)])
def test_every_element_is_that_of_its_place_modulo_the_sizes(abbreviation, multiples):
    actual = run(TILE, [operand(abbreviation, X, 0.5, 3), operand("I32", multiples)])
    places = np.indices([size * times for size, times in zip(X.shape, multiples, strict=True)])
    np.testing.assert_array_equal(actual, X[tuple(p % size for p, size in zip(places, X.shape, strict=True))])


def test_no_multiple_gives_nothing():
    assert run(TILE, [operand("F32", X), operand("I32", [2, 0, 1])]).shape == (2, 0, 3)


def test_once_is_a_copy():
    source = operand("F32", X)
    assert not np.shares_memory(run(TILE, [source, operand("I32", [1, 1, 1])]), source.value)


def test_rules():
    x = operand("F32", X)
    refuses(TILE, [x, operand("I32", [1, 1])], " input 1 (multiples): shape is [2], must be [3]")
    refuses(TILE, [x, operand("I32", [1, -1, 1])], " input 1 (multiples): holds -1, must not be negative")


def test_vectors():
    check_vectors("TILE")
    check_coupling("TILE")
