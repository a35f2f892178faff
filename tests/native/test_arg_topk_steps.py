"""Native ARGMAX, ARGMIN and TOPK_V2 against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand
from nnfast._native.topk import TopK

TYPES = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_INT32: np.int32, T.TENSOR_QUANT8_ASYMM: np.uint8,
         T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
ODD = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40])
shapes = st.lists(st.sampled_from([1, 2, 3, 7, 8, 16, 17, 40]), min_size=1, max_size=3).map(tuple)


def values(type_, shape, kind, seed):
    """Values of a type: all alike, few different ones, any, or with floats that are no ordinary numbers."""
    random, dtype = np.random.default_rng(seed), TYPES[type_]
    if kind == "same":
        return np.full(shape, 3, dtype)
    if kind == "few" or dtype is np.float32:
        x = random.integers(0, 4, shape).astype(dtype)
        if kind == "odd":
            places = random.random(shape) < 0.5
            x[places] = random.choice(ODD, np.count_nonzero(places))
        return x
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


kinds = st.sampled_from(["same", "few", "any", "odd"])


def like(type_, shape=None):
    return operand(type_, shape=shape, scale=0.0 if type_ in (T.TENSOR_FLOAT32, T.TENSOR_INT32) else 0.5)


@pytest.mark.parametrize("name", ["ARGMAX", "ARGMIN"])
@pytest.mark.parametrize("type_", TYPES)
@given(shape=shapes, data=st.data(), kind=kinds, seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_arg(name, type_, shape, data, kind, seed):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    node = make(name, [like(type_, shape), *ints(axis)], operand(T.TENSOR_INT32))
    check_all_ways(node, [values(type_, shape, kind, seed)])


@pytest.mark.parametrize("name", ["ARGMAX", "ARGMIN"])
def test_arg_of_many_columns(name):
    x = values(T.TENSOR_FLOAT32, (3, 5, 7000), "odd", 1)
    check_all_ways(make(name, [like(T.TENSOR_FLOAT32, x.shape), *ints(1)], operand(T.TENSOR_INT32)), [x])


@pytest.mark.parametrize("type_", TYPES)
@given(shape=shapes, data=st.data(), kind=kinds, seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_topk(type_, shape, data, kind, seed):
    k = data.draw(st.integers(1, shape[-1]))
    node = make("TOPK_V2", [like(type_, shape), *ints(k)], like(type_), operand(T.TENSOR_INT32))
    check_all_ways(node, [values(type_, shape, kind, seed)])


@pytest.mark.parametrize("k", [1, 5, 100, 2999, 3000])
def test_topk_of_long_rows(k):
    x = np.random.default_rng(k).normal(0, 1, (4, 3000)).astype(np.float32)
    x[1, :2000] = np.nan
    x[2].sort()
    node = make("TOPK_V2", [like(T.TENSOR_FLOAT32, x.shape), *ints(k)], like(T.TENSOR_FLOAT32), operand(T.TENSOR_INT32))
    check_all_ways(node, [x])


def test_bad_k_is_refused():
    for k in (0, 4):
        with pytest.raises(ValueError, match="must be in"):
            TopK((0, 1, 2), "f32", 1, 3, k)
