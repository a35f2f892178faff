"""Native unary operations, MAXIMUM, MINIMUM and DIV against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand
from nnfast.ops.own import BY_NAME

EXACT = ["ABS", "NEG", "FLOOR", "SQRT"]
CURVES = ["RSQRT", "EXP", "LOG", "SIN"]
SPECIAL = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 88.7, 88.8, -103, -104, 0.5, -0.5])


@pytest.mark.parametrize("name", EXACT + CURVES)
@given(count=st.sampled_from([1, 7, 8, 16, 17, 9001]), spread=st.sampled_from([1e-3, 1, 80, 1e6]),
       seed=st.integers(0, 99))
@settings(max_examples=20)
def test_unary(name, count, spread, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, count).astype(np.float32)
    if count > 16:
        x[:SPECIAL.size] = SPECIAL
    node = make(name, [operand(T.TENSOR_FLOAT32, shape=x.shape)], operand(T.TENSOR_FLOAT32))
    curve = name in CURVES
    check_all_ways(node, [x], rtol=4e-7 if curve else 0, atol=2e-45 if curve else 0)


@given(count=st.sampled_from([1, 17, 9001]), spread=st.sampled_from([1e-3, 1, 80, 1e6]), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_cos(count, spread, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, count).astype(np.float32)
    x[-1] = 0
    node = make(BY_NAME["TFL_COS"].op, [operand(T.TENSOR_FLOAT32, shape=x.shape)], operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x], rtol=1.2e-7, atol=2e-45)


@pytest.mark.parametrize("type_", [T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED])
def test_codes_of_rsqrt(type_):
    x = np.arange(256).astype(np.uint8)
    node = make("RSQRT", [operand(type_, shape=x.shape, scale=0.3, zero_point=5)],
                operand(type_, scale=0.02, zero_point=7))
    check_all_ways(node, [x.view(node.inputs[0].dtype)])


def test_not():
    x = np.arange(256).astype(np.uint8)
    check_all_ways(make("LOGICAL_NOT", [operand(T.TENSOR_BOOL8, shape=x.shape)], operand(T.TENSOR_BOOL8)), [x])


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM", "DIV"])
@given(shapes=st.sampled_from([((5, 17), (5, 17)), ((5, 17), (17,)), ((3, 1, 9), (4, 1)), ((), (33,)), ((1,), (1,))]),
       seed=st.integers(0, 99))
@settings(max_examples=25)
def test_binary(name, shapes, seed):
    random = np.random.default_rng(seed)
    arrays = [random.choice(np.float32([*SPECIAL, *random.normal(size=20)]), shape) for shape in shapes]
    scalars = ints(0) if name == "DIV" else []
    node = make(name, [*(operand(T.TENSOR_FLOAT32, shape=shape) for shape in shapes), *scalars],
                operand(T.TENSOR_FLOAT32))
    check_all_ways(node, arrays)
