"""Sparse constants: levels to dense arrays, and what is wrong with damaged ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from nnfast.tflite.sparse import densified


def level(size, segments=None, indices=None):
    """A dense level, or one whose positions are listed."""
    return SimpleNamespace(format=int(segments is not None), dense_size=size, segments=segments or (),
                           indices=indices or ())


def sparse(values, dims, order, levels, blocks=()):
    """A float32 tensor of a file."""
    return SimpleNamespace(dims=dims, type=0, data=np.array(values, np.float32).view(np.uint8),
                           sparsity=SimpleNamespace(traversal_order=order, block_map=blocks, dim_metadata=levels))


ROWS = sparse([1, 2, 3], (2, 3), [0, 1], [level(2), level(0, [0, 1, 3], [2, 0, 1])])


def test_rows():
    assert densified(ROWS, 100).tolist() == [[0, 0, 1], [2, 3, 0]]


def test_columns_first():
    t = sparse([1, 2, 3], (2, 3), [1, 0], [level(3), level(0, [0, 1, 2, 3], [1, 0, 1])])
    assert densified(t, 100).tolist() == [[0, 2, 0], [1, 0, 3]]


def test_blocks():
    t = sparse(range(1, 9), (4, 4), [0, 1, 2, 3], [level(2), level(0, [0, 1, 2], [1, 0]), level(2), level(2)], [0, 1])
    assert densified(t, 100).tolist() == [[0, 0, 1, 2], [0, 0, 3, 4], [5, 6, 0, 0], [7, 8, 0, 0]]


@pytest.mark.parametrize("t, most, reason", [
    (ROWS, 5, "more than the 5"),
    (sparse([1, 2], (2, 3), [0, 1], ROWS.sparsity.dim_metadata), 100, "name 3 elements, 2 are stored"),
    (sparse([1], (2, 3), [0, 0], ROWS.sparsity.dim_metadata), 100, "traversal order"),
    (sparse([1], (2, 3), [0, 1], [level(5), level(3)]), 100, "has size 5, must be 2"),
    (sparse([1], (2, 3), [0, 1], [level(2), level(3)]), 100, "more than the 1 elements"),
    (sparse([1, 2], (2, 3), [0, 1], [level(2), level(0, [0, 1, 3], [2, 0, 9])]), 100, "3 indices below 3"),
    (sparse([1, 2], (2, 3), [0, 1], [level(2), level(0, [0, 3], [2, 0, 1])]), 100, "2 segments"),
    (sparse([1], (2, 3), [0, 1, 2], [level(2), level(3), level(2)], [7]), 100, "different ones of 2"),
    (sparse([1], (2, 3), [0, 1, 2], [level(2), level(3), level(2)], [1]), 100, "do not divide dimension 1"),
])
def test_damaged(t, most, reason):
    with pytest.raises(ValueError, match=reason):
        densified(t, most)
