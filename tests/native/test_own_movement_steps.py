"""Native forms of nnfast's own operations that only move elements, against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, flag, ints, operand
from nnfast.model.own import BY_NAME as TYPES
from nnfast.ops.base import Tensor
from nnfast.ops.own import BY_NAME

ITEMS = {1: TYPES["TENSOR_INT8"], 2: TYPES["TENSOR_INT16"], 4: T.TENSOR_FLOAT32, 8: TYPES["TENSOR_INT64"],
         16: TYPES["TENSOR_COMPLEX128"]}
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=1, max_size=5).map(tuple)
items = st.sampled_from(list(ITEMS))


def tensor(item, shape=None):
    return Tensor(0, ITEMS[item], shape)


def numbered(item, shape):
    dtype = tensor(item).dtype
    return (np.arange(int(np.prod(shape))) % 120).astype(dtype).reshape(shape)


def table(values):
    return operand(T.TENSOR_INT32, np.asarray(values, np.int32))


def check(name, item, shape, *others, outputs=1, arrays=()):
    """The operation's native form on numbered elements is its definition."""
    node = make(BY_NAME[name].op, [tensor(item, shape), *others], *(tensor(item) for _ in range(outputs)))
    check_all_ways(node, [numbered(item, shape), *arrays])
    return node


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=60, deadline=None)
def test_slice(item, shape, data):
    begin = [data.draw(st.integers(0, size)) for size in shape]
    size = [data.draw(st.integers(-1, total - at)) for total, at in zip(shape, begin)]
    check("TFL_SLICE", item, shape, table(begin), table(size))


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=150, deadline=None)
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
@settings(max_examples=60, deadline=None)
def test_dynamic_update_slice(item, shape, data):
    box = tuple(data.draw(st.integers(0, size)) for size in shape)
    start = np.array([data.draw(st.integers(-3, 7)) for _ in shape], np.int32)
    check("TFL_DYNAMIC_UPDATE_SLICE", item, shape, tensor(item, box), Tensor(0, T.TENSOR_INT32, start.shape),
          arrays=[numbered(item, box) + np.ones((), tensor(item).dtype), start])


@given(item=items, shape=SHAPES.filter(lambda shape: shape[0]), data=st.data())
@settings(max_examples=60, deadline=None)
def test_set_item(item, shape, data):
    index = np.array([data.draw(st.integers(0, shape[0] - 1))], np.int32)
    check("TFL_SET_ITEM", item, shape, tensor(item, (1, *shape[1:])), Tensor(0, T.TENSOR_INT32, (1,)),
          arrays=[numbered(item, (1, *shape[1:])) + np.ones((), tensor(item).dtype), index])


def test_set_item_in_a_list_for_several_threads():
    shape = (1000, 300)
    for index in (0, 437, 999):
        check("TFL_SET_ITEM", 4, shape, tensor(4, (1, 300)), Tensor(0, T.TENSOR_INT32, (1,)),
              arrays=[-np.ones((1, 300), np.float32), np.array([index], np.int32)])
