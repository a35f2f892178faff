"""Strided copies that turn matrices against numpy: every size of element, around the blocks of the kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import every_level, run_all_ways
from nnfast._native.movement import StridedCopy

EDGES = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 64, 65, 100])
ITEMS = 1, 2, 4, 8


def bytes_of(shape, item):
    """Elements that differ, as unsigned integers."""
    return np.random.default_rng(item).integers(0, 256, (*shape, item)).astype(np.uint8).view(f"u{item}")[..., 0]


def turned(x, order, level):
    wanted = np.ascontiguousarray(x.transpose(order))
    strides = [x.strides[axis] for axis in order]
    (found,) = run_all_ways(lambda: [StridedCopy((0, 1), wanted.shape, strides, wanted.strides, x.itemsize)], [x],
                            [(wanted.shape, x.dtype)], level)
    assert found.tobytes() == wanted.tobytes()


@every_level
@pytest.mark.parametrize("item", ITEMS)
@given(batch=st.sampled_from([1, 2, 3]), rows=EDGES, columns=EDGES)
@settings(max_examples=60)
def test_matrices(level, item, batch, rows, columns):
    turned(bytes_of((batch, rows, columns), item), (0, 2, 1), level)


@every_level
@pytest.mark.parametrize("item", ITEMS)
@given(shape=st.lists(st.sampled_from([1, 2, 4, 9, 17]), min_size=4, max_size=4), order=st.permutations(range(4)))
@settings(max_examples=40)
def test_orders_of_four(level, item, shape, order):
    turned(bytes_of(shape, item), order, level)


@every_level
@pytest.mark.parametrize("item", ITEMS)
def test_a_part_of_larger_matrices(level, item):
    """Rows lie apart on both sides, at distances that are no multiple of a block; nothing beside them is written."""
    x = bytes_of((40, 37), item)
    strides = x[3:36, 2:29].transpose(1, 0).strides
    wanted = np.full((30, 35), 77, x.dtype)
    wanted[1:28, 1:34] = x[3:36, 2:29].T
    start, offset = 3 * x.strides[0] + 2 * item, wanted.strides[0] + item
    (found,) = run_all_ways(lambda: [StridedCopy((0, 1), (27, 33), strides, wanted.strides, item, offset, start)], [x],
                            [(wanted.shape, x.dtype)], level)
    assert np.array_equal(found, wanted)


@every_level
@pytest.mark.parametrize("item", ITEMS)
@given(channels=st.sampled_from([2, 3, 4]), pixels=st.integers(1, 300))
@settings(max_examples=40)
def test_channels_to_planes_and_back(level, item, channels, pixels):
    turned(bytes_of((pixels, channels), item), (1, 0), level)
    turned(bytes_of((channels, pixels), item), (1, 0), level)


@pytest.mark.parametrize("item", [1, 2, 3, 8, 16, 24, 64, 100, 128, 129, 5000])
@pytest.mark.parametrize("shape", [(3, 2, 5, 2), (28, 2, 28, 2), (1, 2, 300, 2), (2, 2, 1, 40)])
@pytest.mark.parametrize("order", [(1, 3, 0, 2, 4), (0, 2, 1, 3, 4)])
def test_blocks_of_pixels(item, shape, order):
    """Nothing lies closer along another dimension than along the last: what SPACE_TO_BATCH_ND moves."""
    x = np.random.default_rng(3).integers(0, 256, (*shape, item)).astype(np.uint8)
    wanted = np.ascontiguousarray(x.transpose(order))
    to = wanted.transpose(np.argsort(order)).strides
    (found,) = run_all_ways(lambda: [StridedCopy((0, 1), shape, x.strides[:4], to[:4], item)], [x],
                            [(wanted.shape, np.uint8)], None)
    assert np.array_equal(found, wanted)
