"""Native operations that only move elements against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.nodes import T, ints, operand
from nnfast._native.engine import Frame, Program
from nnfast._native.movement import FillItems, Gather, IndexedCopy, StridedCopy

TYPES = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_FLOAT16: np.float16, T.TENSOR_QUANT8_ASYMM: np.uint8,
         T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
SHAPES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4).map(tuple)
types = st.sampled_from(list(TYPES))


def numbered(shape, type_):
    """Values that tell the elements apart, as far as the type can."""
    x = np.arange(int(np.prod(shape))).reshape(shape)
    return (x % 251).astype(np.uint8).view(TYPES[type_]) if np.dtype(TYPES[type_]).itemsize == 1 else \
        x.astype(TYPES[type_])


def like(type_, shape=None, zero_point=0):
    """A tensor of the type, quantized where it can be."""
    quantized = np.dtype(TYPES[type_]).itemsize == 1
    return operand(type_, shape=shape, scale=0.5 if quantized else 0.0, zero_point=zero_point if quantized else 0)


def check(name, type_, shape, *others, zero_point=0):
    """The operation on numbered elements is its definition."""
    node = make(name, [like(type_, shape, zero_point), *others], like(type_, None, zero_point))
    check_all_ways(node, [numbered(shape, type_)])


def tensor_of(values):
    """A constant INT32 tensor."""
    return operand(T.TENSOR_INT32, np.asarray(values, np.int32))


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=60)
def test_slice(type_, shape, data):
    begin = [data.draw(st.integers(0, size)) for size in shape]
    size = [data.draw(st.integers(-1, total - at)) for total, at in zip(shape, begin)]
    check("SLICE", type_, shape, tensor_of(begin), tensor_of(size))


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=100)
def test_strided_slice(type_, shape, data):
    bound = st.integers(-7, 7)
    begin, end = ([data.draw(bound) for _ in shape] for _ in range(2))
    strides = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    masks = [data.draw(st.integers(0, 15)) for _ in range(2)]
    check("STRIDED_SLICE", type_, shape, tensor_of(begin), tensor_of(end), tensor_of(strides), *ints(*masks, 0))


def test_strided_slice_shrinks():
    others = tensor_of([1, -1, 0]), tensor_of([2, 0, 4]), tensor_of([1, 1, 2])
    node = make("STRIDED_SLICE", [like(T.TENSOR_FLOAT32, (3, 4, 4)), *others, *ints(0, 2, 3)],
                like(T.TENSOR_FLOAT32))
    assert node.outputs[0].shape == (2,)
    check_all_ways(node, [numbered((3, 4, 4), T.TENSOR_FLOAT32)])


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_split(type_, shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    count = data.draw(st.sampled_from([n for n in (1, 2, 3, 6) if shape[axis] % n == 0]))
    node = make("SPLIT", [like(type_, shape), *ints(axis, count)], *(like(type_) for _ in range(count)))
    check_all_ways(node, [numbered(shape, type_)])


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_pack(type_, shape, data):
    count, axis = data.draw(st.integers(1, 4)), data.draw(st.integers(0, len(shape)))
    assume(type_ != T.TENSOR_FLOAT16)
    inputs = [like(type_, shape) for _ in range(count)]
    node = make("PACK", [*ints(axis), *inputs], like(type_))
    x = numbered(shape, type_)
    check_all_ways(node, [None, *(np.roll(x, place) for place in range(count))])


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_tile(type_, shape, data):
    check("TILE", type_, shape, tensor_of([data.draw(st.integers(0, 3)) for _ in shape]))


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_reverse(type_, shape, data):
    check("REVERSE", type_, shape, tensor_of([data.draw(st.integers(0, len(shape) - 1))]))


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_channel_shuffle(type_, shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    groups = data.draw(st.sampled_from([n for n in (1, 2, 3, 6) if shape[axis] % n == 0]))
    check("CHANNEL_SHUFFLE", type_, shape, *ints(groups, axis))


@given(type_=types, shape=SHAPES, mode=st.integers(0, 1), data=st.data())
@settings(max_examples=40)
def test_mirror_pad(type_, shape, mode, data):
    paddings = [[data.draw(st.integers(0, size - 1 + mode)) for _ in range(2)] for size in shape]
    check("MIRROR_PAD", type_, shape, tensor_of(paddings), *ints(mode))


@given(type_=types, shape=SHAPES, value=st.sampled_from([0, 1, -3, 200]), data=st.data())
@settings(max_examples=40)
def test_pad_v2(type_, shape, value, data):
    paddings = tensor_of([[data.draw(st.integers(0, 3)) for _ in range(2)] for _ in shape])
    scalar = {T.TENSOR_FLOAT32: operand(T.FLOAT32, np.float32(value)),
              T.TENSOR_FLOAT16: operand(T.FLOAT16, np.float16(value))}.get(type_, *ints(value))
    check("PAD_V2", type_, shape, paddings, scalar)


@given(type_=types, batch=st.integers(1, 3), size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
       channels=st.sampled_from([1, 2, 5]), block=st.integers(1, 3), nchw=st.booleans())
@settings(max_examples=60)
def test_depth_and_space(type_, batch, size, channels, block, nchw):
    layout, (height, width) = operand(T.BOOL, np.uint8(nchw)), size

    def shape(*nhwc):
        return (nhwc[0], nhwc[3], nhwc[1], nhwc[2]) if nchw else nhwc

    check("DEPTH_TO_SPACE", type_, shape(batch, height, width, channels * block**2), *ints(block), layout)
    check("SPACE_TO_DEPTH", type_, shape(batch, height * block, width * block, channels), *ints(block), layout)


@given(type_=types, batch=st.integers(1, 2), size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
       channels=st.sampled_from([1, 5]), block=st.tuples(st.integers(1, 3), st.integers(1, 3)), nchw=st.booleans(),
       pads=st.tuples(st.integers(0, 2), st.integers(0, 2)), zero_point=st.integers(0, 127))
@settings(max_examples=80)
def test_batch_and_space(type_, batch, size, channels, block, nchw, pads, zero_point):
    layout, (rows, columns) = operand(T.BOOL, np.uint8(nchw)), block
    height, width = size[0] * rows, size[1] * columns

    def shape(*nhwc):
        return (nhwc[0], nhwc[3], nhwc[1], nhwc[2]) if nchw else nhwc

    check("BATCH_TO_SPACE_ND", type_, shape(batch * rows * columns, *size, channels), tensor_of(block), layout)
    before = min(pads[0], height - 1), min(pads[1], width - 1)
    paddings = tensor_of([[before[0], 0], [0, before[1]]])
    check("SPACE_TO_BATCH_ND", type_, shape(batch, height - before[0], width - before[1], channels), tensor_of(block),
          paddings, layout, zero_point=zero_point)


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_gather(type_, shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    indices = data.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=7))
    check("GATHER", type_, shape, *ints(axis), tensor_of(indices))
    check("GATHER", type_, shape, *ints(axis), tensor_of([indices, indices[::-1]]))


def test_embedding_lookup():
    node = make("EMBEDDING_LOOKUP", [tensor_of([3, 0, 3]), like(T.TENSOR_FLOAT32, (4, 2, 5))], like(T.TENSOR_FLOAT32))
    check_all_ways(node, [None, numbered((4, 2, 5), T.TENSOR_FLOAT32)])


@given(type_=types, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_indices_that_only_an_execution_knows(type_, shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    indices = np.int32(data.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=7)))
    node = make("GATHER", [like(type_, shape), *ints(axis), operand(T.TENSOR_INT32, shape=indices.shape)], like(type_))
    check_all_ways(node, [numbered(shape, type_), None, indices])
    if len(shape) > 1:
        lookups = np.int32(data.draw(st.lists(st.integers(0, shape[0] - 1), min_size=1, max_size=7)))
        node = make("EMBEDDING_LOOKUP", [operand(T.TENSOR_INT32, shape=lookups.shape), like(type_, shape)], like(type_))
        check_all_ways(node, [lookups, numbered(shape, type_)])


@pytest.mark.parametrize("indices", [[0, 4], [-1, 0], [2**31 - 1, 0], [0, -2**31]])
def test_indices_out_of_range_are_declined(indices):
    step = Gather((0, 1, 2), 1, 2, (4,), 2, 12)
    program, y = Program([step]), np.zeros((2, 2, 3), np.float32)
    frame = Frame(3, {}, 0, {0: np.ones((2, 4, 3), np.float32), 1: np.int32(indices), 2: y}, 0, 2)
    for threads in (1, 2):
        assert program.run(frame, threads) == ("declined", 1)
    frame.bind(1, np.int32([0, 3]))
    assert program.run(frame, 2) == ("done", 1)
    assert y.min() == 1


@pytest.mark.parametrize("item", [1, 2, 3, 4, 8, 16, 24, 48, 128, 144])
@pytest.mark.parametrize("sizes, width", [((5,), 4), ((3, 4), 4), ((2, 2, 3), 8), ((7,), 2)])
def test_gathers_of_items_of_any_size(item, sizes, width):
    """Three lists of two shared places each, in parts that begin anywhere in a list."""
    rng = np.random.default_rng(item)
    count = 1_500_000 // (6 * item) + 1
    x = rng.integers(0, 256, (3, 2, *sizes, item), np.uint8)
    indices = rng.integers(0, sizes, (3, count, len(sizes))).astype(f"i{width}")
    expected = np.stack([x[b][(slice(None), *indices[b].T)] for b in range(3)])
    program = Program([Gather((0, 1, 2), 3, 2, sizes, count, item, width)])
    for threads in (1, 2, 3):
        memory = np.full(expected.nbytes + 128, 0xA5, np.uint8)
        y = memory[64:-64]
        assert program.run(Frame(3, {}, 0, {0: x, 1: indices, 2: y}, 0, threads), threads) == ("done", 1)
        assert y.tobytes() == expected.tobytes()
        assert np.all(memory[:64] == 0xA5) and np.all(memory[-64:] == 0xA5)


@pytest.mark.parametrize("item", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("rows, columns", [(1, 9), (7, 513), (8, 64), (9, 65), (63, 8), (64, 8), (65, 8), (129, 4),
                                           (513, 2), (600, 1)])
def test_turned_panels_at_their_edges(item, rows, columns):
    x = np.random.default_rng(item).integers(0, 256, (2, 3, columns, rows, item), np.uint8)
    expected = np.ascontiguousarray(x.transpose(1, 0, 3, 2, 4))
    strides = [x.strides[d] for d in (1, 0, 3, 2)]
    program = Program([StridedCopy((0, 1), expected.shape[:4], strides, expected.strides[:4], item)])
    for threads in (1, 2):
        memory = np.full(expected.nbytes + 128, 0xA5, np.uint8)
        y = memory[64:-64]
        assert program.run(Frame(2, {}, 0, {0: x, 1: y}, 0, threads), threads) == ("done", 1)
        assert y.tobytes() == expected.tobytes()
        assert np.all(memory[:64] == 0xA5) and np.all(memory[-64:] == 0xA5)


@pytest.mark.parametrize("value", [b"\0\0", b"\7", b"\1\2", b"abc", b"abcd", b"abcde", b"abcdefg", b"abcdefgh",
                                   b"\xff" * 8])
@pytest.mark.parametrize("count", [1, 2, 5, 839, 841, 40_001, 300_000])
def test_fills_of_items_of_any_size(value, count):
    program = Program([FillItems((0,), count, value)])
    for threads in (1, 2):
        memory = np.full(count * len(value) + 128, 0xA5, np.uint8)
        assert program.run(Frame(1, {}, 0, {0: memory[64:-64]}, 0, threads), threads) == ("done", 1)
        assert memory[64:-64].tobytes() == value * count
        assert np.all(memory[:64] == 0xA5) and np.all(memory[-64:] == 0xA5)


def test_high_rank_says_why_not():
    shape = (2,) * 8
    node = make("TILE", [like(T.TENSOR_FLOAT32, shape), tensor_of([2] * 8)], like(T.TENSOR_FLOAT32))
    found, why = run_native_all(node, [])
    assert found is None
    assert why == "rank is 8, native up to 6"


def test_bad_steps_are_refused():
    with pytest.raises(ValueError, match="must lie in"):
        IndexedCopy((0, 1), (3,), ([0, 3],), 4)
    with pytest.raises(ValueError, match="must lie in"):
        IndexedCopy((0, 1), (3,), ([-1],), 4)
    with pytest.raises(ValueError, match="more dimensions"):
        IndexedCopy((0, 1), (2,) * 13, ([0],) * 13, 4)
    with pytest.raises(ValueError, match="must have 1 to 8"):
        FillItems((0,), 4, b"")
