"""Native L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and INSTANCE_NORMALIZATION against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand

shapes = st.lists(st.sampled_from([1, 2, 3, 7, 8, 16, 17, 33]), min_size=1, max_size=4).map(tuple)
SPECIAL = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1e-30])


def floats(*values):
    """FLOAT32 scalars."""
    return [operand(T.FLOAT32, np.float32(value)) for value in values]


def axis_of(data, shape):
    return ints(data.draw(st.integers(-len(shape), len(shape) - 1)))


@given(shape=shapes, data=st.data(), spread=st.sampled_from([1, 1e-7, 1e25, 0]), seed=st.integers(0, 999))
@settings(max_examples=80)
def test_l2_of_floats(shape, data, spread, seed):
    x = (np.random.default_rng(seed).normal(0, 1, shape) * spread).astype(np.float32)
    node = make("L2_NORMALIZATION", [operand(T.TENSOR_FLOAT32, shape=shape), *axis_of(data, shape)],
                operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x], 1e-7)


@pytest.mark.parametrize("axis", [0, 1])
def test_l2_of_special_values(axis):
    x = np.stack(np.meshgrid(SPECIAL, SPECIAL, SPECIAL, indexing="ij")).reshape(3, -1)
    x = np.ascontiguousarray(x if axis == 0 else x.T)
    node = make("L2_NORMALIZATION", [operand(T.TENSOR_FLOAT32, shape=x.shape), *ints(axis)], operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x], 1e-7)


@pytest.mark.parametrize("type_", [T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED])
@given(shape=st.one_of(shapes, st.sampled_from([(2, 300), (300, 2), (1, 40000)])), data=st.data(),
       fill=st.sampled_from([None, 0, 1, 127, 128, 255]), seed=st.integers(0, 999))
@settings(max_examples=60)
def test_l2_of_codes(type_, shape, data, fill, seed):
    low, random = (-128 if type_ == T.TENSOR_QUANT8_ASYMM_SIGNED else 0), np.random.default_rng(seed)
    zero = low + data.draw(st.sampled_from([0, 1, 128, 255]))
    node = make("L2_NORMALIZATION", [operand(type_, shape=shape, scale=0.5, zero_point=zero), *axis_of(data, shape)],
                operand(type_, scale=1 / 128, zero_point=low + 128))
    x = random.integers(0, 256, shape) if fill is None else np.full(shape, fill)
    check_all_ways(node, [x.astype(np.uint8).view(node.inputs[0].dtype)])


def test_every_sum_of_squares():
    """Rows of two codes: every small sum of squares that two codes can make."""
    codes = np.stack(np.meshgrid(np.arange(256), np.arange(256), indexing="ij"), axis=-1).reshape(-1, 2)
    for type_, zero in ((T.TENSOR_QUANT8_ASYMM, 3), (T.TENSOR_QUANT8_ASYMM_SIGNED, -100)):
        node = make("L2_NORMALIZATION", [operand(type_, shape=codes.shape, scale=0.5, zero_point=zero), *ints(1)],
                    operand(type_, scale=1 / 128, zero_point=128 if zero == 3 else 0))
        check_all_ways(node, [codes.astype(np.uint8).view(node.inputs[0].dtype)])


@given(shape=shapes, data=st.data(), radius=st.one_of(st.integers(0, 12), st.just(2**31 - 1)),
       beta=st.sampled_from([0.5, 0.75, 1, 0.6, -2, 0]), seed=st.integers(0, 999))
@settings(max_examples=80)
def test_local_response(shape, data, radius, beta, seed):
    node = make("LOCAL_RESPONSE_NORMALIZATION", [
        operand(T.TENSOR_FLOAT32, shape=shape), *ints(radius), *floats(1.5, 0.75, beta), *axis_of(data, shape)],
        operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)], 2e-7)


@pytest.mark.parametrize("beta", [0.5, 0.75, 1, 0.6])
@pytest.mark.parametrize("bias, alpha", [(0, 1), (-1, 1), (0, 0), (1, 1e-4)])
def test_local_response_of_special_values(beta, bias, alpha):
    x = np.stack(np.meshgrid(SPECIAL, SPECIAL, indexing="ij"), axis=-1).reshape(-1, 2)
    node = make("LOCAL_RESPONSE_NORMALIZATION", [
        operand(T.TENSOR_FLOAT32, shape=x.shape), *ints(0), *floats(bias, alpha, beta), *ints(1)],
        operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x], 2e-7)


@given(shape=st.tuples(*[st.sampled_from([1, 2, 5, 8, 17, 33])] * 4), nchw=st.booleans(), mean=st.sampled_from([0, 50]),
       seed=st.integers(0, 999))
@settings(max_examples=80)
def test_instance(shape, nchw, mean, seed):
    node = make("INSTANCE_NORMALIZATION", [
        operand(T.TENSOR_FLOAT32, shape=shape), *floats(1.5, -0.5, 1e-3), operand(T.BOOL, np.uint8(nchw))],
        operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [np.random.default_rng(seed).normal(mean, 1, shape).astype(np.float32)], 1e-6, 1e-7)


@pytest.mark.parametrize("nchw", [False, True])
def test_instance_of_special_values(nchw):
    x = np.ones((1, 3, 3, 20), np.float32)
    x.reshape(9, 20)[4, :7] = SPECIAL
    x = x.transpose(0, 3, 1, 2).copy() if nchw else x
    node = make("INSTANCE_NORMALIZATION", [
        operand(T.TENSOR_FLOAT32, shape=x.shape), *floats(1.5, -0.5, 0), operand(T.BOOL, np.uint8(nchw))],
        operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x], 1e-6, 1e-7)
