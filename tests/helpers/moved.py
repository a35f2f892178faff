"""Numbered elements of every size, and the check of an operation of nnfast's own that moves them."""

import numpy as np
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, operand
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
