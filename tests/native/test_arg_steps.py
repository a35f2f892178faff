"""Native ARGMAX and ARGMIN against their numpy reference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand
from helpers.rankings import TYPES, kinds, like, shapes, values


@pytest.mark.parametrize("name", ["ARGMAX", "ARGMIN"])
@pytest.mark.parametrize("type_", TYPES)
@given(shape=shapes, data=st.data(), kind=kinds, seed=st.integers(0, 999))
@settings(max_examples=60)
def test_arg(name, type_, shape, data, kind, seed):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    node = make(name, [like(type_, shape), *ints(axis)], operand(T.TENSOR_INT32))
    check_all_ways(node, [values(type_, shape, kind, seed)])


@pytest.mark.parametrize("name", ["ARGMAX", "ARGMIN"])
def test_arg_of_many_columns(name):
    x = values(T.TENSOR_FLOAT32, (3, 5, 7000), "odd", 1)
    check_all_ways(make(name, [like(T.TENSOR_FLOAT32, x.shape), *ints(1)], operand(T.TENSOR_INT32)), [x])
