"""GATHER, EMBEDDING_LOOKUP and HASHTABLE_LOOKUP."""

import numpy as np
import pytest

from helpers.nodes import PATH, execute, operand, out, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.errors import GeneralFailure
from nnfast.ops.base import Node
from nnfast.ops.gather import EMBEDDING_LOOKUP, GATHER, HASHTABLE_LOOKUP

X = np.arange(24).reshape(2, 3, 4)


def refuses_to_run(op, inputs, message, output=None):
    with pytest.raises(GeneralFailure) as caught:
        run(op, inputs, output)
    assert str(caught.value) == f"{PATH} {op.name}{message}"


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_gather_puts_the_indices_in_the_place_of_the_axis(abbreviation, axis):
    indices = [[1, 0, 1], [0, 0, 1]]
    actual = run(GATHER, [operand(abbreviation, X, 0.5, 3), operand("i32", axis), operand("I32", indices)])
    axis %= 3
    assert actual.shape == X.shape[:axis] + (2, 3) + X.shape[axis + 1:]
    for place in np.ndindex(actual.shape):
        source = (*place[:axis], indices[place[axis]][place[axis + 1]], *place[axis + 2:])
        assert actual[place] == X[source]


def test_gather_rules():
    x, zero = operand("F32", X), operand("i32", 0)
    refuses(GATHER, [x, operand("i32", 3), operand("I32", [0])], " input 1 (axis): is 3, must be in [-3, 3)")
    refuses_to_run(GATHER, [x, zero, operand("I32", [0, 2])], " input 2 (indices): holds 2, must be in [0, 2)")
    refuses_to_run(GATHER, [x, zero, operand("I32", [-1, 0])], " input 2 (indices): holds -1, must be in [0, 2)")


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
def test_embedding_copies_rows(abbreviation):
    inputs = [operand("I32", [1, 0, 1]), operand(abbreviation, X, 0.5, 3)]
    np.testing.assert_array_equal(run(EMBEDDING_LOOKUP, inputs, out(abbreviation, 0.5, 3)), X[[1, 0, 1]])


def test_embedding_rules():
    target = out("F32")
    refuses_to_run(EMBEDDING_LOOKUP, [operand("I32", [2]), operand("F32", X)],
                   " input 0 (lookups): holds 2, must be in [0, 2)", target)
    refuses(EMBEDDING_LOOKUP, [operand("I32", [[1]]), operand("F32", X)],
            " input 0 (lookups): rank is 2, must be 1", target)
    refuses(EMBEDDING_LOOKUP, [operand("I32", [1]), operand("F32", [1, 2])],
            " input 1 (values): rank is 1, must be at least 2", target)


def hashtable(lookups, keys, values, abbreviation="F32", zero_point=0):
    inputs = [operand("I32", lookups), operand("I32", keys), operand(abbreviation, values, 0.5, zero_point)]
    outputs = [out(abbreviation, 0.5, zero_point), out("Q8", 1.0, 0)]
    return execute(Node(HASHTABLE_LOOKUP, f"{PATH} HASHTABLE_LOOKUP", inputs, outputs))


@pytest.mark.parametrize("abbreviation", ["F32", "I32", "Q8"])
def test_hashtable_finds_keys(abbreviation):
    keys, values = [-7, 0, 3, 2**31 - 1], np.arange(1, 25).reshape(4, 2, 3)
    lookups = [3, -8, 2**31 - 1, 1, -7, -2**31, 0]
    rows, hits = hashtable(lookups, keys, values, abbreviation, 9)
    assert hits.tolist() == [1, 0, 1, 0, 1, 0, 1]
    for row, hit, wanted in zip(rows, hits, lookups, strict=True):
        # A miss is bytes of zero, not the zero point of 9.
        np.testing.assert_array_equal(row, values[keys.index(wanted)] if hit else np.zeros((2, 3)))


def test_hashtable_of_scalars():
    rows, hits = hashtable([5, 6], [5], [2.5])
    assert rows.tolist() == [2.5, 0] and hits.tolist() == [1, 0]


def test_hashtable_wants_a_row_per_key():
    with pytest.raises(ValueError, match=r"input 1 \(keys\): has 2 keys, must have one for each of the 3 rows"):
        hashtable([1], [1, 2], np.ones((3, 2)))


def test_versions():
    lookups, target = operand("I32", [0]), out("F32")
    assert version(EMBEDDING_LOOKUP, [lookups, operand("F32", X)], target) == "1.0"
    assert version(EMBEDDING_LOOKUP, [lookups, operand("F16", X)], out("F16")) == "1.3"


def test_vectors():
    for name in ("GATHER", "EMBEDDING_LOOKUP"):
        check_vectors(name)
        check_coupling(name)
    check_vectors("HASHTABLE_LOOKUP")
