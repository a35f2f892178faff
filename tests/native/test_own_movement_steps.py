"""Native forms of nnfast's own operations that only move elements, against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.moved import ITEMS, SHAPES, check, items, numbered, table, tensor
from helpers.nodes import T, flag, ints, operand
from nnfast.errors import GeneralFailure
from nnfast.model.own import BY_NAME as TYPES
from nnfast.ops.base import Tensor
from nnfast.ops.own import BY_NAME


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=60)
def test_slice(item, shape, data):
    begin = [data.draw(st.integers(0, size)) for size in shape]
    size = [data.draw(st.integers(-1, total - at)) for total, at in zip(shape, begin)]
    check("TFL_SLICE", item, shape, table(begin), table(size))


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=150)
def test_strided_slice(item, shape, data):
    count = data.draw(st.integers(0, len(shape)))
    begin, end = ([data.draw(st.integers(-6, 6)) for _ in range(count)] for _ in range(2))
    strides = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in range(count)]
    masks = [data.draw(st.integers(0, 31)) for _ in range(2)]
    ellipsis = 1 << data.draw(st.integers(0, count)) if count < len(shape) else 0
    new = data.draw(st.integers(0, 31)) if count < len(shape) else 0
    check("TFL_STRIDED_SLICE", item, shape, table(begin), table(end), table(strides), *ints(*masks, ellipsis, new, 0),
          flag(data.draw(st.booleans())))


@pytest.mark.parametrize("begin", [0, -1, 2])
def test_strided_slice_shrinks(begin):
    node = check("TFL_STRIDED_SLICE", 4, (3, 4, 5), table([begin]), table([0]), table([1]), *ints(0, 0, 0, 0, 1),
                 flag(False))
    assert node.outputs[0].shape == (4, 5)


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=60)
def test_dynamic_update_slice(item, shape, data):
    box = tuple(data.draw(st.integers(0, size)) for size in shape)
    start = np.array([data.draw(st.integers(-3, 7)) for _ in shape], np.int32)
    check("TFL_DYNAMIC_UPDATE_SLICE", item, shape, tensor(item, box), Tensor(0, T.TENSOR_INT32, start.shape),
          arrays=[numbered(item, box) + np.ones((), tensor(item).dtype), start])


@given(item=items, shape=SHAPES.filter(lambda shape: shape[0]), data=st.data())
@settings(max_examples=60)
def test_set_item(item, shape, data):
    index = np.array([data.draw(st.integers(0, shape[0] - 1))], np.int32)
    check("TFL_SET_ITEM", item, shape, tensor(item, (1, *shape[1:])), Tensor(0, T.TENSOR_INT32, (1,)),
          arrays=[numbered(item, (1, *shape[1:])) + np.ones((), tensor(item).dtype), index])


def test_set_item_in_a_list_for_several_threads():
    shape = (1000, 300)
    for index in (0, 437, 999):
        check("TFL_SET_ITEM", 4, shape, tensor(4, (1, 300)), Tensor(0, T.TENSOR_INT32, (1,)),
              arrays=[-np.ones((1, 300), np.float32), np.array([index], np.int32)])


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=60)
def test_transpose(item, shape, data):
    check("TFL_TRANSPOSE", item, shape, table(data.draw(st.permutations(range(len(shape))))))


@pytest.mark.parametrize("order", [(0, 3, 1, 4, 2, 5, 6), (6, 5, 4, 0, 1, 2, 3), (0, 2, 1, 3, 4, 5, 6)])
def test_transpose_of_seven_dimensions(order):
    check("TFL_TRANSPOSE", 4, (2, 3, 1, 2, 3, 2, 2), table(order))


def test_a_transpose_of_too_many_dimensions_has_no_native_form():
    node = make(BY_NAME["TFL_TRANSPOSE"].op, [tensor(4, (2,) * 7), table(range(6, -1, -1))], tensor(4))
    assert "7 dimensions" in node.op.lower(node, None)


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_parts_and_wholes(item, shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 3]), min_size=1, max_size=4))
    parts = []
    for size in sizes:
        part = list(shape)
        part[axis] = size
        parts.append(tuple(part))
    whole = list(shape)
    whole[axis] = sum(sizes)
    others = [numbered(item, part) for part in parts[1:]]
    check("TFL_CONCATENATION", item, parts[0], *(tensor(item, part) for part in parts[1:]), *ints(axis), arrays=others)
    node = make(BY_NAME["TFL_SPLIT_V"].op, [tensor(item, tuple(whole)), table(sizes), *ints(axis)],
                *(tensor(item) for _ in sizes))
    check_all_ways(node, [numbered(item, tuple(whole))])


@given(item=items, shape=SHAPES, count=st.integers(1, 4), data=st.data())
@settings(max_examples=40)
def test_pack_and_unpack(item, shape, count, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    others = [numbered(item, shape)] * (count - 1)
    node = check("TFL_PACK", item, shape, *(tensor(item, shape) for _ in others), *ints(axis), arrays=others)
    check("TFL_UNPACK", item, node.outputs[0].shape, *ints(axis), outputs=count)


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_repeats(item, shape, data):
    check("TFL_TILE", item, shape, table([data.draw(st.integers(0, 3)) for _ in shape]))
    wide = tuple(data.draw(st.sampled_from([0, 1, 4])) if size == 1 else size for size in shape)
    check("TFL_BROADCAST_TO", item, shape, table((2, *wide) if len(wide) < 5 else wide))


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_paddings(item, shape, data):
    pads = [[data.draw(st.integers(0, 3)) for _ in range(2)] for _ in shape]
    dtype = tensor(item).dtype
    if dtype.itemsize <= 8:
        check("TFL_PAD", item, shape, table(pads))
        value = Tensor(0, ITEMS[item], (1,), value=np.array([3], dtype))
        check("TFL_PADV2", item, shape, table(pads), value)
    mirrored = [[min(n, max(0, size - 1)) for n in pair] for pair, size in zip(pads, shape)]
    if 0 not in shape:
        check("TFL_MIRROR_PAD", item, shape, table(mirrored), *ints(data.draw(st.integers(0, 1))))


INDEXES = [TYPES["TENSOR_INT16"], T.TENSOR_INT32, TYPES["TENSOR_INT64"]]


def picks(data, type_, shape, *sizes):
    """An index tensor of a type and its values: tuples into `sizes`, or one number each where there is one size."""
    draws = [data.draw(st.lists(st.integers(0, size - 1), min_size=(n := int(np.prod(shape))), max_size=n))
             for size in sizes]
    return np.array(draws, Tensor(0, type_, None).dtype).T.reshape(*shape, len(sizes))


@given(item=items, index=st.sampled_from(INDEXES), data=st.data(), known=st.booleans(),
       shape=st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple))
@settings(max_examples=100)
def test_gather(item, index, data, known, shape):
    axis = data.draw(st.integers(0, len(shape) - 1))
    batches = data.draw(st.integers(0, axis))
    around = data.draw(st.sampled_from([(), (0,), (1,), (7,), (2, 3)]))
    places = picks(data, index, shape[:batches] + around, shape[axis])[..., 0]
    check("TFL_GATHER", item, shape, Tensor(0, index, places.shape, value=places if known else None),
          *ints(axis, batches), arrays=[places])


@given(item=items, index=st.sampled_from(INDEXES), data=st.data(),
       shape=st.lists(st.integers(1, 4), min_size=1, max_size=8).map(tuple))
@settings(max_examples=100)
def test_gather_nd(item, index, data, shape):
    depth = data.draw(st.integers(0, len(shape)))
    around = data.draw(st.sampled_from([(), (0,), (1,), (9,), (2, 3)]))
    indices = Tensor(0, index, (*around, depth))
    places = picks(data, index, around, *shape[:depth]) if depth else np.zeros(indices.shape, indices.dtype)
    check("TFL_GATHER_ND", item, shape, indices, arrays=[places])


ADDED = {"F32": np.float32, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8, "U8": np.uint8}


@pytest.mark.parametrize("kind", ADDED)
@given(index=st.sampled_from(INDEXES), data=st.data(), seed=st.integers(0, 99),
       shape=st.lists(st.integers(1, 4), min_size=1, max_size=8).map(tuple))
@settings(max_examples=30)
def test_scatter_nd(kind, index, data, seed, shape):
    """Several updates of one place are added in their order; integers wrap."""
    depth = data.draw(st.integers(1, len(shape)))
    around = data.draw(st.sampled_from([(), (1,), (9,), (2, 3)]))
    updates = np.random.default_rng(seed).integers(-2**62, 2**62, (*around, *shape[depth:])).astype(ADDED[kind])
    places = picks(data, index, around, *shape[:depth])
    node = make(BY_NAME["TFL_SCATTER_ND"].op, [Tensor(0, index, places.shape), operand(kind, shape=updates.shape),
                                               table(shape)], operand(kind))
    check_all_ways(node, [places, updates])


@pytest.mark.parametrize("bad", [-1, 3])
def test_scatter_nd_leaves_bad_indices_to_the_reference(bad):
    node = make(BY_NAME["TFL_SCATTER_ND"].op, [Tensor(0, T.TENSOR_INT32, (2, 1)), operand("F32", shape=(2,)),
                                               table([3])], operand("F32"))
    arrays = [np.int32([[0], [bad]]), np.float32([1, 2])]
    with pytest.raises(AssertionError):
        run_native_all(node, arrays)
    with pytest.raises(GeneralFailure, match=r"has an index outside \[0, 3\)"):
        node.op.compute(node, [*arrays, np.int32([3])])


@given(item=items, index=st.sampled_from(INDEXES), data=st.data(), rows=st.integers(1, 5))
@settings(max_examples=30)
def test_embedding_lookup(item, index, data, rows):
    places = picks(data, index, (7,), rows)[:, 0]
    node = make(BY_NAME["TFL_EMBEDDING_LOOKUP"].op, [Tensor(0, index, (7,)), tensor(item, (rows, 3))], tensor(item))
    check_all_ways(node, [places, numbered(item, (rows, 3))])


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=20)
def test_fills(item, shape, data):
    dtype = tensor(item).dtype
    check("TFL_ZEROS_LIKE", item, shape)
    for value in (np.array([3], dtype), None):
        if value is not None and dtype.itemsize > 8:
            continue
        node = make(BY_NAME["TFL_FILL"].op, [table(shape), Tensor(0, ITEMS[item], (1,), value=value)], tensor(item))
        check_all_ways(node, [None, np.array([3], dtype)])


@given(item=items, data=st.data())
@settings(max_examples=60)
def test_blocks(item, data):
    count = data.draw(st.integers(1, 2))
    sizes = [data.draw(st.integers(1, 3)) for _ in range(count)]
    edges = [[data.draw(st.integers(0, 2)) for _ in range(2)] for _ in range(count)]
    if tensor(item).dtype.itemsize > 8:
        edges = [[0, 0]] * count
    batches, behind = data.draw(st.integers(1, 2)), data.draw(st.sampled_from([(1,), (3,), (2, 3)]))
    space = [data.draw(st.integers(1, 3)) * size + 6 * size for size in sizes]
    inside = [whole - sum(pair) for whole, pair in zip(space, edges)]
    shape = (batches, *inside, *behind)
    node = check("TFL_SPACE_TO_BATCH_ND", item, shape, table(sizes), table(edges))
    check("TFL_BATCH_TO_SPACE_ND", item, node.outputs[0].shape, table(sizes), table(edges))
