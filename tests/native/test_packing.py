"""Packed weights hold no byte that nobody wrote: they are kept, stored in cache files and compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import at_level, every_level, run
from nnfast._native import conv
from nnfast._native import recurrent as native
from nnfast._native.engine import aligned_bytes, set_poison
from nnfast.ops.window import Window

PATTERNS = 0xFF, 0x5A


def dense(units):
    return np.ones(units, np.float32)


def codes(units):
    return [np.ones(units, np.int32) for _ in range(3)]


def f32(units, depth, groups):
    return conv.pack_conv2d_f32(np.ones((groups * units, depth), np.float32), dense(groups * units), groups)


def f32_on_three_threads(units, depth, groups):
    return conv.pack_conv2d_f32(np.ones((groups * units, depth), np.float32), dense(groups * units), groups, 3)


def q8(units, depth, groups):
    bias, multiplier, exponent = codes(groups * units)
    weights = np.ones((groups * units, depth), np.uint8)
    return conv.pack_conv2d_q8(weights, bias, 3, 5, False, multiplier, exponent, groups)


def bf16(units, depth, groups):
    window = Window((8, 8), (1, groups), (1, 1), (1, 1), (0, 0), (8, 9 - groups))
    return conv.pack_conv2d_bf16(np.ones((units, groups * depth), np.float32), dense(units), window, 1)


def winograd(units, depth, groups):
    return conv.pack_winograd_f32(np.ones((units, 3, 3, depth), np.float32))


def winograd_q8(units, depth, groups):
    bias, multiplier, exponent = codes(units)
    patch = groups + 1
    filter_ = np.ones((units, *[conv.winograd_q8_taps(patch)] * 2, depth), np.uint8)
    return conv.pack_winograd_q8(patch, filter_, bias, 3, 5, multiplier, exponent)


def recurrent(units, depth, groups):
    return native.pack_gemv_f32(np.ones((units, depth), np.float32), dense(units))


def gates(units, depth, groups):
    weights = [(np.ones((units, depth), np.float32),)] * 4
    return native.pack_lstm_f32(weights, [dense(units)] * 4, [dense(units)] * 3, groups == 2)


def depthwise(units, depth, groups):
    window = Window((9, 9), (groups, depth % 4 + 1), (1, 1), (1, 1), (0, 0), (10 - groups, 9 - depth % 4))
    filter_ = np.ones((1, *window.filter, units))
    floats = conv.pack_depthwise_f32(filter_.astype(np.float32), dense(units))
    shape = window, units, 1, 4, (0, 0, 255), False
    codes_ = conv.pack_depthwise_q8(filter_.astype(np.int16), np.ones(units, np.int32), np.int32([1 << 30]),
                                      np.int32([-3]), shape)
    return np.concatenate([packed.reshape(-1).view(np.uint8) for packed in (floats, codes_)])


def in_a_program(units, depth, groups):
    """As steps do it, into memory that the frame gives them."""
    results = []
    for quantized in (False, True):
        x = np.ones((groups, units, depth), np.int8 if quantized else np.float32)
        bias, multiplier, exponent = codes(groups * units)
        step = conv.PackQ8((0, 1, 2), units, depth, groups, (np.dtype(np.int8), 2), 1, True, multiplier, exponent) \
            if quantized else conv.PackF32((0, 1, 2), units, depth, groups)
        packed = aligned_bytes(conv.packed_bytes_conv2d(units, depth, groups, quantized))
        run([step], [x, bias if quantized else dense(groups * units), packed])
        results.append(packed)
    return np.concatenate(results)


def in_a_program_by_rows(units, depth, groups):
    """As in_a_program, of matrices that lie the other way round."""
    x, packed = np.ones((groups, depth, units), np.float32), aligned_bytes(conv.packed_bytes_conv2d(
        units, depth, groups, False))
    run([conv.PackF32((0, 1, 2), units, depth, groups, True)], [x, dense(groups * units), packed])
    return packed


WAYS = f32, f32_on_three_threads, q8, bf16, winograd, winograd_q8, recurrent, gates, depthwise, \
    in_a_program, in_a_program_by_rows


@pytest.fixture(autouse=True)
def unpoisoned():
    yield
    set_poison(None)


@every_level
@pytest.mark.parametrize("pack", WAYS, ids=lambda pack: pack.__name__)
def test_every_byte_is_written(pack, level):
    if pack is bf16:
        with at_level(level):
            if not conv.bf16_available():
                pytest.skip("no products in bfloat16")

    @settings(max_examples=20)
    @given(st.sampled_from((1, 3, 8, 15, 16, 17, 33, 70)), st.sampled_from((1, 2, 5, 16, 33, 64)), st.integers(1, 3))
    def check(units, depth, groups):
        results = []
        for pattern in PATTERNS:
            set_poison(pattern)
            with at_level(level):
                results.append(np.array(pack(units, depth, groups)).tobytes())
        assert results[0] == results[1]

    check()


@every_level
@pytest.mark.parametrize(("units", "depth", "groups"), [(1, 1, 1), (7, 3, 2), (33, 5, 1), (64, 17, 3), (300, 70, 2)])
def test_matrices_that_lie_the_other_way_round(units, depth, groups, level):
    rng = np.random.default_rng(units)
    x, bias = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((groups, units, depth), groups * units))
    found = []
    for matrices, by_rows in ((x, False), (np.ascontiguousarray(x.swapaxes(1, 2)), True)):
        for threads in (1, 3):
            with at_level(level):
                packed = aligned_bytes(conv.packed_bytes_conv2d(units, depth, groups, False))
                run([conv.PackF32((0, 1, 2), units, depth, groups, by_rows)], [matrices, bias, packed], threads)
            found.append(packed.tobytes())
    assert len(set(found)) == 1
