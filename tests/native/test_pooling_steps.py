"""Native AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import at_each_level, check_all_ways, make, run_native
from helpers.nodes import T, ints, operand
from helpers.steps import is_fastest

NAMES = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
TYPES = (T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED)


@st.composite
def pools(draw):
    """(image shape, scalars) of explicit padding; the windows all meet the image."""
    taps = [draw(st.integers(1, 7)) for _ in range(2)]
    padding = [draw(st.integers(0, k - 1)) for k in taps for _ in range(2)]
    size = [draw(st.integers(max(1, k - padding[2 * i] - padding[2 * i + 1]), k + 10)) for i, k in enumerate(taps)]
    stride = [draw(st.integers(1, 4)) for _ in range(2)]
    channels = draw(st.sampled_from((1, 3, 8, 15, 16, 17, 32, 33, 64, 65, 130)))
    top, bottom, left, right = padding
    scalars = (left, right, top, bottom, stride[1], stride[0], taps[1], taps[0], draw(st.integers(0, 3)))
    return (draw(st.integers(0, 2)), *size, channels), scalars


def build(name, type_, shape, scalars, zero_point=0):
    scale = 0.0 if type_ == T.TENSOR_FLOAT32 else 0.05
    flag = operand(T.BOOL, np.uint8(0))
    return make(name, [operand(type_, shape=shape, scale=scale, zero_point=zero_point), *ints(*scalars), flag],
                operand(type_, scale=scale, zero_point=zero_point))


@settings(max_examples=150)
@given(pools(), st.sampled_from(NAMES), st.sampled_from(TYPES), st.integers(0, 2**32 - 1))
def test_pools_are_the_definition(pool, name, type_, seed):
    rng = np.random.default_rng(seed)
    shape, scalars = pool
    if type_ == T.TENSOR_FLOAT32:
        node = build(name, type_, shape, scalars)
        data = rng.uniform(-8, 8, shape).astype(np.float32)
        data[rng.random(shape) < 0.01] = np.nan
    else:
        info = np.iinfo(np.int8 if type_ == T.TENSOR_QUANT8_ASYMM_SIGNED else np.uint8)
        node = build(name, type_, shape, scalars, int(rng.integers(info.min, info.max + 1)))
        data = rng.integers(info.min, info.max + 1, shape).astype(info.dtype)
    wanted, = node.op.compute(node, [data])
    for level in at_each_level():
        one, steps = run_native(node, data, 1)
        if name == "AVERAGE_POOL_2D" and type_ == T.TENSOR_FLOAT32:
            np.testing.assert_allclose(one, wanted, rtol=1e-6, atol=3e-6, err_msg=level)
        else:
            np.testing.assert_array_equal(one, wanted, level)
        for threads in (2, 5):
            several, _ = run_native(node, data, threads)
            np.testing.assert_array_equal(one.view(np.uint8), several.view(np.uint8), level)
        assert is_fastest(steps[0].kernel)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(("channels", "size", "taps", "stride"), [
    (160, 4, 3, 2), (96, 2, 3, 2), (48, 2, 5, 2), (48, 1, 5, 1)])
def test_some_threads_may_have_no_channels(name, type_, channels, size, taps, stride):
    """Images of so few rows are cut by blocks of channels."""
    pad = taps // 2
    node = build(name, type_, (1, size, size, channels), (*4 * [pad], stride, stride, taps, taps, 0))
    data = np.random.default_rng(4).uniform(0, 100, (1, size, size, channels)).astype(node.outputs[0].dtype)
    for level in at_each_level():
        one, _ = run_native(node, data, 1)
        for threads in (2, 3, 4, 7):
            np.testing.assert_array_equal(one, run_native(node, data, threads)[0], level)



@settings(max_examples=60)
@given(pools(), st.sampled_from([1, 1e-20, 1e25]), st.integers(0, 2**32 - 1))
def test_l2_pools_are_the_definition(pool, spread, seed):
    random, (shape, scalars) = np.random.default_rng(seed), pool
    data = (random.normal(0, 1, shape) * spread).astype(np.float32)
    data[random.random(shape) < 0.01] = random.choice(np.float32([np.nan, np.inf, 0]))
    check_all_ways(build("L2_POOL_2D", T.TENSOR_FLOAT32, shape, scalars), [data], 1e-7)


@pytest.mark.parametrize("type_", TYPES[1:])
def test_every_mean_of_a_large_window_is_exact(type_):
    """Sums around each boundary between two codes, where a rounded division would slip."""
    n, low = 32768, 0 if type_ == TYPES[1] else -128
    shape = (1, 128, 256, 256)
    node = build("AVERAGE_POOL_2D", type_, shape, (0, 0, 0, 0, 1, 1, 256, 128, 0))
    codes = np.arange(low, low + 256)
    data = np.broadcast_to(codes, shape).astype(node.outputs[0].dtype)
    flat = data.reshape(n, 256)
    for extra in (n // 2 - 1, n // 2, n // 2 + 1):
        flat[:extra, :-1] = codes[:-1] + 1
        flat[extra:, :-1] = codes[:-1]
        wanted, = node.op.compute(node, [data])
        for level in at_each_level():
            np.testing.assert_array_equal(run_native(node, data)[0], wanted, level)


def test_the_global_pool_splits_over_channels():
    node = build("AVERAGE_POOL_2D", T.TENSOR_FLOAT32, (1, 7, 7, 1024 * 8), (0, 0, 0, 0, 1, 1, 7, 7, 0))
    data = np.random.default_rng(1).uniform(-1, 1, (1, 7, 7, 1024 * 8)).astype(np.float32)
    one, steps = run_native(node, data, 1)
    assert steps[0].tiles >= 2
    np.testing.assert_array_equal(one, run_native(node, data, 3)[0])


@pytest.mark.parametrize(("change", "reason"), [
    ("layout", "no native kernel for NCHW"), ("half", "no native kernel for TENSOR_FLOAT16"),
    ("window", "window of 32895 positions, native up to 32768"),
])
def test_reasons_for_numpy(change, reason):
    type_ = T.TENSOR_FLOAT16 if change == "half" else TYPES[1] if change == "window" else TYPES[0]
    shape, taps = ((1, 129, 255, 1), (255, 129)) if change == "window" else ((1, 4, 4, 4), (2, 2))
    node = build("AVERAGE_POOL_2D", type_, shape, (0, 0, 0, 0, 1, 1, *taps, 0))
    if change == "layout":
        node["layout"].value = np.uint8(1)
    assert run_native(node, np.zeros(shape, np.float32)) == (None, reason)
