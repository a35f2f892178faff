"""Steps that move elements against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import every_level, run_all_ways
from nnfast._native.movement import Concatenate, CopyBytes, FillBytes, StridedCopy, merge

DTYPES = st.sampled_from([np.uint8, np.float16, np.float32, np.float64])


def numbered(shape, dtype):
    """Bytes that tell the elements apart."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return (np.arange(count) * 37 % 251).astype(np.uint8).view(dtype).reshape(shape)


@given(shape=st.lists(st.sampled_from([0, 1, 2, 3, 5, 9]), min_size=1, max_size=6), dtype=DTYPES, data=st.data())
@settings(max_examples=150)
def test_transpose(shape, dtype, data):
    order = data.draw(st.permutations(range(len(shape))))
    x = numbered(shape, dtype)
    wanted = np.ascontiguousarray(x.transpose(order))
    along = [x.strides[axis] for axis in order]
    (found,) = run_all_ways(lambda: [StridedCopy((0, 1), wanted.shape, along, wanted.strides, x.itemsize)], [x],
                            [(wanted.shape, dtype)], None)
    assert found.tobytes() == wanted.tobytes()


@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), dtype=DTYPES, data=st.data(),
       value=st.integers(-128, 255))
@settings(max_examples=100)
def test_fill_and_place(shape, dtype, data, value):
    frame = [data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in shape]
    x = numbered(shape, dtype)
    fill = np.full(x.itemsize, value & 255, np.uint8).view(dtype)[0]
    wanted = np.pad(x, frame, constant_values=fill)
    offset = sum(before * step for (before, _), step in zip(frame, wanted.strides))
    (found,) = run_all_ways(
        lambda: [FillBytes((1,), wanted.nbytes, value),
                 StridedCopy((0, 1), x.shape, x.strides, wanted.strides, x.itemsize, offset)],
        [x], [(wanted.shape, dtype)], None)
    assert found.tobytes() == wanted.tobytes()


@every_level
@given(rows=st.sampled_from([1, 2, 7]), sizes=st.lists(st.sampled_from([0, 1, 31, 64, 100]), min_size=1, max_size=4),
       seed=st.integers(0, 99))
@settings(max_examples=40)
def test_concatenation(level, rows, sizes, seed):
    random = np.random.default_rng(seed)
    parts = [random.integers(0, 256, (rows, size)).astype(np.uint8) for size in sizes]
    tables = [random.integers(0, 256, 256).astype(np.uint8) if random.integers(2) else None for _ in sizes]
    wanted = np.concatenate([p if t is None else t[p] for p, t in zip(parts, tables)], axis=1)
    slots = range(len(sizes) + 1)
    (found,) = run_all_ways(lambda: [Concatenate(slots, rows, sizes, tables)], parts, [(wanted.shape, np.uint8)], level)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("count", [0, 1, 600_001])
def test_copy(count):
    x = numbered((count,), np.uint8)
    (found,) = run_all_ways(lambda: [CopyBytes((0, 1), count)], [x], [((count,), np.uint8)], None)
    assert np.array_equal(found, x)


@pytest.mark.parametrize("shape, along, to, item, wanted", [
    ((2, 3, 4), (48, 16, 4), (48, 16, 4), 4, ([], 96)),
    ((2, 4, 3), (48, 4, 16), (48, 12, 4), 4, ([(2, 48, 48), (4, 4, 12), (3, 16, 4)], 4)),
    ((1, 6, 5), (120, 20, 4), (240, 40, 4), 4, ([(6, 20, 40)], 20)),
    ((2, 3, 5), (60, 20, 4), (120, 40, 4), 4, ([(6, 20, 40)], 20)),
])
def test_merge(shape, along, to, item, wanted):
    assert merge(shape, along, to, item) == wanted
