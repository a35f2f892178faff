"""Native MEAN and REDUCE_ALL, _ANY, _MAX, _MIN, _PROD, _SUM against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, operand
from nnfast._native.reduction import MOST_TERMS, ReduceQ8, groups

NAMES = {"MEAN": 1e-6, "REDUCE_SUM": 1e-6, "REDUCE_PROD": 1e-6, "REDUCE_MAX": 0, "REDUCE_MIN": 0}


@st.composite
def reductions(draw):
    """(shape, axes): some axes twice, some counted from the end."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 7, 8, 16, 17, 65]), min_size=1, max_size=4)))
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=4))
    return shape, axes


def build(name, type_, shape, axes, keep_dims, scale=0.0):
    keep = operand(T.INT32, np.int32(keep_dims)) if name == "MEAN" else operand(T.BOOL, np.uint8(keep_dims))
    return make(name, [operand(type_, shape=shape, scale=scale), operand(T.TENSOR_INT32, axes), keep],
                operand(type_, scale=scale))


@pytest.mark.parametrize("name", NAMES)
@given(case=reductions(), keep_dims=st.booleans(), seed=st.integers(0, 999))
@settings(max_examples=50)
def test_floats(name, case, keep_dims, seed):
    (shape, axes), random = case, np.random.default_rng(seed)
    x = random.uniform(0.5, 1.5, shape).astype(np.float32) * random.choice(np.float32([-1, 1]), shape)
    if name == "REDUCE_PROD":
        x = np.where(random.random(shape) < 20 / x.size, x, np.sign(x))  # the product stays in range
    check_all_ways(build(name, T.TENSOR_FLOAT32, shape, axes, keep_dims), [x], rtol=NAMES[name], atol=NAMES[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1])
def test_special_values(name, axis):
    special = np.float32([np.nan, np.inf, -np.inf, 0, -0.0, 1, 3e38, -3e38])
    if name in ("MEAN", "REDUCE_SUM"):
        special = special[:-1]  # 3e38 + 1 - 3e38 is 0 or 1, as the order will have it
    x = np.stack(np.meshgrid(special, special, special, indexing="ij")).reshape(3, -1)
    x = np.ascontiguousarray(x if axis == 0 else x.T)
    check_all_ways(build(name, T.TENSOR_FLOAT32, x.shape, [axis], False), [x], rtol=NAMES[name])


@pytest.mark.parametrize("name", ["MEAN", "REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize("type_", [T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED])
@given(case=reductions(), fill=st.sampled_from([None, 0, 255, 128]), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_codes(name, type_, case, fill, seed):
    (shape, axes), random = case, np.random.default_rng(seed)
    x = random.integers(0, 256, shape) if fill is None else np.full(shape, fill)
    node = build(name, type_, shape, axes, False, 0.5)
    check_all_ways(node, [x.astype(np.uint8).view(node.inputs[0].dtype)])


@pytest.mark.parametrize("name", ["REDUCE_ALL", "REDUCE_ANY"])
@given(case=reductions(), keep_dims=st.booleans(), share=st.sampled_from([0.02, 0.5, 0.98]), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_truth(name, case, keep_dims, share, seed):
    (shape, axes), random = case, np.random.default_rng(seed)
    x = np.where(random.random(shape) < share, random.choice(np.uint8([1, 2, 128, 255]), shape), 0).astype(np.uint8)
    check_all_ways(build(name, T.TENSOR_BOOL8, shape, axes, keep_dims), [x])


def test_a_long_mean_is_exact():
    x = np.full((1_000_000, 2), 255, np.uint8)
    x[0] = 254, 255
    check_all_ways(build("MEAN", T.TENSOR_QUANT8_ASYMM, x.shape, [0], False, 0.5), [x])
    check_all_ways(build("MEAN", T.TENSOR_QUANT8_ASYMM, x.T.shape, [1], False, 0.5), [np.ascontiguousarray(x.T)])


def test_too_many_terms_are_refused():
    with pytest.raises(ValueError, match="must be at most"):
        ReduceQ8((0, 1), "mean", False, (MOST_TERMS + 1,), (0,))


@pytest.mark.parametrize("shape, axes, wanted", [
    ((1, 7, 7, 64), (1, 2), [(49, 64, True), (64, 1, False)]),
    ((2, 7, 7, 64), (0, 2), [(2, 3136, True), (7, 448, False), (7, 64, True), (64, 1, False)]),
    ((2, 3, 4), (2,), [(6, 4, False), (4, 1, True)]),
    ((2, 1, 4), (0, 2), [(8, 1, True)]),
    ((1, 1), (0,), []),
])
def test_groups(shape, axes, wanted):
    assert groups(shape, axes) == wanted
