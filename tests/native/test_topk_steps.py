"""Native TOPK_V2 against its numpy reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand
from helpers.rankings import TYPES, kinds, like, shapes, values
from nnfast._native.reduction import TopK
from nnfast.ops import tfl_reduce


@pytest.mark.parametrize("type_", TYPES)
@given(shape=shapes, data=st.data(), kind=kinds, seed=st.integers(0, 999))
@settings(max_examples=60)
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


@pytest.mark.parametrize("type_", [T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED])
@pytest.mark.parametrize("k", [1, 7, 300, 1003])
def test_topk_of_long_rows_of_integers(type_, k):
    """Some of all values, of few, all the same, rising and falling."""
    limits = np.iinfo(like(type_).dtype)
    rows = np.random.default_rng(k).integers(limits.min, limits.max + 1, (5, 1003))
    rows[1] = rows[1] % 3 + limits.max - 2
    rows[2] = limits.min
    rows[3].sort()
    rows[4, ::-1].sort()
    node = make("TOPK_V2", [like(type_, rows.shape), *ints(k)], like(type_), operand(T.TENSOR_INT32))
    check_all_ways(node, [rows.astype(limits.dtype)])


@pytest.mark.parametrize("type_", [T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM,
                                   T.TENSOR_QUANT8_ASYMM_SIGNED])
@given(shape=shapes, data=st.data(), kind=kinds, seed=st.integers(0, 999))
@settings(max_examples=40)
def test_the_first_of_equal_values(type_, shape, data, kind, seed):
    """TFLite's order, with places of either type."""
    k = data.draw(st.integers(1, shape[-1]))
    places = operand(data.draw(st.sampled_from(["I32", "I64"])))
    node = make(tfl_reduce.TFL_TOPK_V2, [like(type_, shape), *ints(k)], like(type_), places)
    check_all_ways(node, [values(type_, shape, kind, seed)])


def test_bad_k_is_refused():
    for k in (0, 4):
        with pytest.raises(ValueError, match="must be in"):
            TopK((0, 1, 2), "f32", 1, 3, k)
