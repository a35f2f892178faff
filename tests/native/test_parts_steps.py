"""Rows of several tensors side by side against numpy: parts of one element, which kernels interleave, and others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import every_level, run_all_ways
from nnfast._native.movement import Concatenate, Separate


def side_by_side(level, rows, sizes, tables=None):
    numbers = np.random.default_rng(rows)
    parts = [numbers.integers(0, 256, (rows, size)).astype(np.uint8) for size in sizes]
    tables = tables or [None] * len(sizes)
    wanted = np.concatenate([part if table is None else table[part] for part, table in zip(parts, tables)], 1)
    steps = [Concatenate(range(len(sizes) + 1), rows, sizes, tables)]
    (found,) = run_all_ways(lambda: steps, parts, [(wanted.shape, np.uint8)], level)
    assert np.array_equal(found, wanted)
    return steps[0].kernel


@every_level
@pytest.mark.parametrize("item", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [2, 3, 4])
@given(rows=st.integers(2, 150))
@settings(max_examples=40)
def test_parts_of_one_element(level, item, count, rows):
    assert side_by_side(level, rows, [item] * count).startswith(f"nnf_interleave_x{8 * item}_flat__")


@given(rows=st.integers(1, 40), sizes=st.lists(st.sampled_from([0, 1, 2, 3, 4, 8, 12, 16, 20, 31, 64, 100, 128, 129]),
                                               min_size=1, max_size=6))
@settings(max_examples=150)
def test_parts_of_any_size(rows, sizes):
    side_by_side(None, rows, sizes)


@pytest.mark.parametrize("sizes", [(1, 1), (8, 8, 8, 8), (2, 1), (1,) * 7, (24, 40), (3000, 9000)])
@pytest.mark.parametrize("is_mapped", [False, True])
def test_parts_for_several_threads(sizes, is_mapped):
    table = np.random.default_rng(1).permutation(256).astype(np.uint8)
    side_by_side(None, 1200000 // sum(sizes), sizes, [table, *[None] * (len(sizes) - 1)] if is_mapped else None)


def test_one_row_for_several_threads():
    side_by_side(None, 1, (300000, 7, 500000), [None, None, np.arange(256)[::-1].astype(np.uint8)])


@every_level
@pytest.mark.parametrize("item", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [2, 3, 4])
@given(rows=st.integers(0, 150))
@settings(max_examples=40)
def test_elements_apart(level, item, count, rows):
    apart(level, rows, count, item)


def apart(level, rows, count, item):
    x = np.random.default_rng(rows).integers(0, 256, (rows, count, item)).astype(np.uint8)
    found = run_all_ways(lambda: [Separate(range(count + 1), rows, item)], [x], [((rows, item), np.uint8)] * count,
                         level)
    assert len(found) == count
    assert all(np.array_equal(one, x[:, place]) for place, one in enumerate(found))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_elements_apart_for_several_threads(count):
    apart(None, 400003, count, 2)


@pytest.mark.parametrize("count, item", [(1, 4), (5, 4), (2, 3), (2, 16)])
def test_other_elements_are_refused(count, item):
    with pytest.raises(ValueError, match="must be 2 to 4 of 1, 2, 4 or 8"):
        Separate(range(count + 1), 3, item)
