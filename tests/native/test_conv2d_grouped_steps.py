"""GROUPED_CONV_2D and TRANSPOSE_CONV_2D by the conv2d steps against their numpy definition, at every level."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import at_each_level, make, run_native
from helpers.nodes import T, ints, operand
from nnfast._native import conv, kernels
from nnfast.model.types import DTYPES

F32, Q8, Q8S = T.TENSOR_FLOAT32, T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED
PC = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
TYPES = ((F32, F32), (Q8, Q8), (Q8, PC), (Q8S, Q8S), (Q8S, PC))
"""Types of input and filter."""

KERNELS = {"strided copy", "nnf_conv2d_f32_nhwc", "nnf_conv2d_qu8_qs8c_nhwc", "nnf_conv2d_qs8_qs8c_nhwc",
           "nnf_conv2d_narrow_f32_nhwc", "nnf_conv2d_narrow_qu8_qs8c_nhwc", "nnf_conv2d_line_f32_nhwc",
           "nnf_conv2d_lines_qu8_qs8c_nhwc", "nnf_conv2d_lines_qs8_qs8c_nhwc", "nnf_conv2d_grouped_qu8_qs8c_nhwc",
           "nnf_conv2d_grouped_inputs_qu8_flat", "nnf_conv2d_few_qu8_qs8c_nhwc"}


def build(name, types, shapes, scalars, seed):
    """(node, data of input 0) with random weights; shapes: of input and filter."""
    rng, (image, filter_) = np.random.default_rng(seed), types
    units = shapes[1][0]
    nchw = [operand(T.BOOL, np.uint8(0))]
    if image == F32:
        weights, bias = (operand(F32, rng.uniform(-1, 1, shape)) for shape in (shapes[1], (units,)))
        node = make(name, [operand(F32, shape=shapes[0]), weights, bias, *scalars, *nchw], operand(F32))
        return node, rng.uniform(-1, 1, shapes[0]).astype(np.float32)

    def codes(type_, shape):
        info = np.iinfo(DTYPES[type_])
        return rng.integers(-127 if type_ == PC else info.min, info.max, shape, DTYPES[type_], endpoint=True)

    low = np.iinfo(DTYPES[image]).min
    if filter_ == PC:
        weights = operand(PC, codes(PC, shapes[1]), scales=rng.uniform(0.001, 0.02, units).astype(np.float32))
        bias = operand(T.TENSOR_INT32, rng.integers(-999, 999, units))
    else:
        weights = operand(filter_, codes(filter_, shapes[1]), scale=0.02, zero_point=low + int(rng.integers(256)))
        bias = operand(T.TENSOR_INT32, rng.integers(-999, 999, units), scale=np.float32(0.05) * np.float32(0.02))
    source = operand(image, shape=shapes[0], scale=0.05, zero_point=low + int(rng.integers(256)))
    target = operand(image, scale=0.3, zero_point=low + int(rng.integers(256)))
    return make(name, [source, weights, bias, *scalars, *nchw], target), codes(image, shapes[0])


def check(node, data):
    """Native at every level is the definition, 8-bit exactly, and the same for one to three threads."""
    wanted, = node.op.compute(node, [data, *(t.value for t in node.inputs[1:])])
    terms = node["filter"].value[0].size
    for level in at_each_level():
        result, steps = run_native(node, data)
        assert {step.kernel.split("__")[0] for step in steps} <= KERNELS
        if data.dtype == np.float32:
            np.testing.assert_allclose(result, wanted, atol=2.0**-22 * (terms + 1), rtol=0, err_msg=level)
        else:
            np.testing.assert_array_equal(result, wanted, level)
        for threads in (2, 3):
            assert run_native(node, data, threads)[0].tobytes() == result.tobytes()


@settings(max_examples=60)
@given(st.sampled_from(TYPES), st.tuples(st.integers(1, 5), st.sampled_from((1, 2, 3, 4, 8, 33)), st.integers(1, 40)),
       st.tuples(st.integers(1, 3), st.integers(1, 3)), st.tuples(*[st.integers(0, 2)] * 4),
       st.tuples(st.integers(1, 2), st.integers(1, 2)), st.integers(1, 2), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_groups(types, sizes, taps, padding, strides, batch, activation, seed):
    groups, depth, units = sizes
    (height, width), (left, right, top, bottom) = taps, padding
    padding = min(left, width - 1), min(right, width - 1), min(top, height - 1), min(bottom, height - 1)
    shapes = (batch, 5, 6, groups * depth), (groups * units, height, width, depth)
    check(*build("GROUPED_CONV_2D", types, shapes, ints(*padding, *strides, groups, activation), seed))


TAILS = st.sampled_from((-21, -2, -1, 0, 1, 3))


@settings(max_examples=60)
@given(st.sampled_from(TYPES), st.sampled_from((1, 2, 3, 4, 17, 40)), st.integers(1, 40),
       st.tuples(st.integers(1, 5), st.integers(1, 5)), st.tuples(st.integers(1, 6), st.integers(1, 6)),
       st.tuples(st.integers(0, 3), TAILS, st.integers(0, 3), TAILS),
       st.tuples(st.integers(1, 4), st.integers(1, 4)), st.integers(1, 2), st.integers(0, 3),
       st.integers(0, 2**32 - 1))
def test_transposed(types, depth, units, size, taps, padding, strides, batch, activation, seed):
    left, right, top, bottom = padding
    for axis, (head, tail) in enumerate(((top, bottom), (left, right))):
        if (size[axis] - 1) * strides[1 - axis] + taps[axis] - head - tail < 1:
            padding = (0, 0, 0, 0)
    shapes = (batch, *size, depth), (units, *taps, depth)
    check(*build("TRANSPOSE_CONV_2D", types, shapes, ints(*padding, *strides, activation), seed))


@pytest.mark.parametrize("types", TYPES)
def test_a_network_layer(types):
    shapes = (1, 14, 14, 128), (128, 3, 3, 4)
    check(*build("GROUPED_CONV_2D", types, shapes, ints(1, 1, 1, 1, 1, 1, 32, 1), 1))
    shapes = (1, 16, 16, 32), (24, 4, 4, 32)
    check(*build("TRANSPOSE_CONV_2D", types, shapes, ints(1, 1, 1, 1, 2, 2, 0), 1))


@pytest.mark.parametrize("types", [(Q8, PC), (Q8S, PC)])
@pytest.mark.parametrize("groups, depth, units", [
    (8, 8, 8), (7, 8, 8), (19, 4, 4), (3, 4, 8), (5, 8, 4), (5, 4, 3), (5, 12, 12), (3, 16, 16), (3, 24, 24),
    (2, 40, 40), (2, 64, 64), (2, 68, 36)])
@pytest.mark.parametrize("size, strides, batch, taps", [
    ((13, 9), (1, 1), 2, (3, 2)), ((8, 30), (2, 3), 1, (3, 2)), ((8, 6), (1, 1), 1, (6, 5))])
def test_groups_of_few_channels(types, groups, depth, units, size, strides, batch, taps):
    shapes = (batch, *size, groups * depth), (groups * units, *taps, depth)
    node, data = build("GROUPED_CONV_2D", types, shapes, ints(1, 0, 1, 1, *strides, groups, 1), groups)
    check(node, data)
    if kernels.level() != "scalar" and conv.grouped_q8_suits(groups, groups * depth, groups * units):
        *before, step = run_native(node, data)[1]
        assert step.kernel.startswith("nnf_conv2d_grouped_qu8_qs8c_nhwc")
        assert len(before) == bool(conv.grouped_q8_item(types[0] == Q8S))


@pytest.mark.parametrize("units, has_places", [(4, True), (16, False)])
def test_damaged_weights_do_not_fit(units, has_places):
    groups, depth, taps = 4, 8, 9
    weights, numbers = np.ones((groups * units, depth * taps), np.int8), np.zeros(groups * units, np.int32)
    shape = groups, groups * depth, groups * units, taps
    packed = conv.pack_grouped_q8(weights, numbers, groups, taps, 0, True, numbers, numbers)
    assert conv.fits_grouped_q8(packed, *shape)
    found = re.search(r"_24x(\d+)k", kernels.picked("conv2d_grouped_qu8_qs8c_nhwc"))
    columns = int(found.group(1)) if found else 16
    width = columns // 2 if has_places else min(columns, units)
    places = [5 * width + 16] if has_places else []
    for at in (2 * width, 3 * width, *places):  # left shifts, right shifts
        wrong = packed.copy()
        wrong.view(np.int32)[at] = 32
        assert not conv.fits_grouped_q8(wrong, *shape)
    assert not conv.fits_grouped_q8(packed[:-64], *shape)


def test_infinite_pixels_do_not_reach_the_outputs_between_the_taps():
    node, data = build("TRANSPOSE_CONV_2D", (F32, F32), ((1, 3, 3, 2), (5, 1, 2, 2)), ints(0, 0, 0, 0, 3, 3, 0), 1)
    check(node, np.full_like(data, np.inf))


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("strides, beyond", [((1, 1), (300, 200)), ((2, 3), (300, 200)), ((500, 20), (900, 600))])
def test_what_the_input_does_not_reach_is_not_multiplied(types, strides, beyond):
    scalars = ints(0, -beyond[0], 1, -beyond[1], *strides, 3)
    node, data = build("TRANSPOSE_CONV_2D", types, ((2, 3, 3, 5), (7, 4, 2, 5)), scalars, 1)
    check(node, data)
    _, steps = run_native(node, data)
    assert sum(step.work for step in steps if "conv2d" in step.kernel) < 50_000


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("depth", [1, 3, 40])
@pytest.mark.parametrize("padding", [(0, 0, 0, 0), (2, 2, 2, 2), (1, 3, 4, 0), (6, 0, 0, 7)])
def test_a_stride_of_1_is_a_convolution(types, depth, padding):
    """Also where the padding is wider than the filter, so that the first inputs are left out."""
    node, data = build("TRANSPOSE_CONV_2D", types, ((2, 16, 20, depth), (3, 5, 5, depth)), ints(*padding, 1, 1, 1), 1)
    check(node, data)
    assert len(run_native(node, data)[1]) == 1
