"""SPLIT."""

import numpy as np
import pytest

from helpers.nodes import PATH, execute, operand, out
from helpers.vectors import check_coupling, check_vectors
from nnfast.errors import InvalidArgument
from nnfast.ops.base import Node
from nnfast.ops.split import SPLIT

X = np.arange(48).reshape(2, 4, 6)


def split(x, axis, count, outputs=None):
    outputs = [x] * count if outputs is None else outputs
    targets = [out(kind, 0.5, 3) for kind in outputs]
    return Node(SPLIT, f"{PATH} SPLIT", [operand(x, X, 0.5, 3), operand("i32", axis), operand("i32", count)], targets)


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize(("axis", "count"), [(0, 1), (0, 2), (1, 4), (1, 2), (2, 3), (-1, 6), (-3, 2)])
def test_pieces_in_order(abbreviation, axis, count):
    pieces = execute(split(abbreviation, axis, count))
    assert len({piece.shape for piece in pieces}) == 1
    np.testing.assert_array_equal(np.concatenate(pieces, axis), X)


def test_pieces_are_copies():
    node = split("F32", 0, 2)
    assert not any(np.shares_memory(piece, node["input"].value) for piece in execute(node))


@pytest.mark.parametrize(("axis", "count", "outputs", "message"), [
    (1, 3, None, " input 2 (num_splits): is 3, must divide dimension 1 of the input, which is 4"),
    (0, 2, ["F32"], " input 2 (num_splits): is 2, must be 1, the number of outputs"),
    (0, -1, ["F32"], " input 2 (num_splits): is -1, must be 1, the number of outputs"),
    (3, 2, None, " input 1 (axis): is 3, must be in [-3, 3)"),
    (0, 2, [], ": has 0 outputs, must have 1 or more"),
    (0, 2, ["F32", "F16"], " output 1 (output): type TENSOR_FLOAT16, must be TENSOR_FLOAT32"),
])
def test_rules(axis, count, outputs, message):
    with pytest.raises(InvalidArgument) as caught:
        execute(split("F32", axis, count, outputs))
    assert str(caught.value) == f"{PATH} SPLIT{message}"


def test_vectors():
    check_vectors("SPLIT")
    check_coupling("SPLIT")
