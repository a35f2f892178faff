"""Native convolution steps against their definition, at every level and for one and two threads."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.convolutions import LARGE, Window, cases, dense, sums
from helpers.steps import at_level, every_level, run_all_ways
from nnfast._native import conv, kernels
from nnfast.model import quant


def check_f32(case, level, low=-np.inf, high=np.inf):
    window, rng = case.window, np.random.default_rng(case.seed)
    image = rng.uniform(-1, 1, (case.batch, *window.input, case.channels)).astype(np.float32)
    filter_ = rng.uniform(-1, 1, (case.units, *window.filter, case.channels)).astype(np.float32)
    bias = rng.uniform(-1, 1, case.units).astype(np.float32)
    filter_.flags.writeable = bias.flags.writeable = False
    shape = case.batch, *window.output, case.units
    with at_level(level):
        packed = conv.pack_conv2d_f32(filter_.reshape(case.units, -1), bias)
    [actual] = run_all_ways(
        lambda: [conv.Conv2dF32((0, 1, 2), window, case.batch, case.channels, case.units, low, high)],
        [image, packed], [(shape, np.float32)], level)
    wide = image.astype(np.float64), filter_.astype(np.float64)
    expected = np.clip(sums(*wide, window) + bias, low, high)
    bound = sums(abs(wide[0]), abs(wide[1]), window) + 1
    # Eight roundings of the whole: four were exceeded once by the plain sums of 186 terms.
    assert (abs(actual - expected) <= 2.0**-21 * bound).all()


def check_q8(case, level, data, kind, in_place=False):
    """kind: "layer" = multipliers below 1 and small biases, "any" = every multiplier, sums that wrap.

    in_place: by the step that reads tiles of pixels from the image.
    """
    window, rng = case.window, np.random.default_rng(case.seed)
    types = data.draw(st.sampled_from((("u1", "u1"), ("u1", "i1"), ("i1", "i1"))))
    signed = types[0] == "i1"
    image = rng.integers(*code_range(types[0]), (case.batch, *window.input, case.channels), types[0], endpoint=True)
    filter_ = rng.integers(*code_range(types[1]), (case.units, *window.filter, case.channels), types[1], endpoint=True)
    bits = 12 if kind == "layer" else 31
    bias = rng.integers(-2**bits, 2**bits, case.units, np.int32)
    multiplier = rng.integers(2**30, 2**31, case.units, np.int32)
    exponent = rng.integers(*((-14, -5) if kind == "layer" else (-31, 32)), case.units, np.int32)
    input_zero_point = data.draw(st.integers(*code_range(types[0])))
    middle = 0 if types[1] == "i1" else 128
    zero_point = middle if in_place else data.draw(st.one_of(st.just(middle), st.integers(*code_range(types[1]))))
    low, high = sorted(data.draw(st.tuples(*[st.integers(*code_range(types[0]))] * 2)))
    output = data.draw(st.integers(*code_range(types[0]))), low, high
    matrix = filter_.reshape(case.units, -1)
    if in_place:
        matrix = conv.LinesBlocks(window, case.channels).spread(matrix, zero_point)
    with at_level(level):
        packed = conv.pack_conv2d_q8(matrix, bias, zero_point, input_zero_point, signed, multiplier, exponent)
    shape = (0, 1, 2), window, case.batch, case.channels, case.units

    def make():
        if in_place:
            return [conv.Conv2dLinesQ8(*shape, input_zero_point, output, signed)]
        return [conv.Conv2dQ8(*shape, (filter_.dtype, zero_point), input_zero_point, output, signed)]

    [actual] = run_all_ways(make, [image, packed], [((case.batch, *window.output, case.units), image.dtype)], level)
    exact = sums(image.astype(np.float64) - input_zero_point, filter_.astype(np.float64) - zero_point, window)
    total = quant.wrap32(exact.astype(np.int64) + bias)
    expected = np.clip(quant.mbqm(total, multiplier, exponent) + output[0], low, high).astype(image.dtype)
    assert np.array_equal(actual, expected)


@every_level
@pytest.mark.parametrize("zero_point", [0, 7])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(("rows", "units", "depth"), [
    (1, 200, 40), (3, 70, 64), (1, 5, 33), (77, 37, 21), (150, 130, 9)])
def test_sums_that_are_rounded_once(rows, units, depth, signed, zero_point, level):
    """By a scale of each column, of which some make halves of many sums; in one tile and in several."""
    rng = np.random.default_rng(rows + units)
    dtype = np.int8 if signed else np.uint8
    image = rng.integers(*code_range(np.dtype(dtype).str[1:]), (rows, depth), dtype, endpoint=True)
    matrix = rng.integers(-128, 128, (units, depth)).astype(np.int8)
    products = (image.astype(np.int64) - 5) @ (matrix.astype(np.int64) - zero_point).T
    bias = rng.integers(-2**12, 2**12, units).astype(np.int32)
    scale = np.where(np.arange(units) % 3, rng.uniform(1e-4, 1e-2, units), 2.0 ** rng.integers(-12, -6, units))
    bias[0], scale[0] = -21 - products[0, 0], 0.5
    window, unused = Window((1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (1, 1)), np.zeros(units, np.int32)
    output = 3, *((-100, 120) if signed else (10, 250))
    with at_level(level):
        packed = conv.pack_conv2d_q8(matrix, bias, zero_point, 5, signed, unused, unused, 1, True)
    [actual] = run_all_ways(
        lambda: [conv.Conv2dQ8((0, 1, 2), window, rows, depth, units, (np.dtype(np.int8), zero_point), 5, output,
                               signed, scale=scale)], [image, packed], [((rows, units), dtype)], level)
    steps = (products + bias) * scale
    assert steps[0, 0] == -10.5
    expected = np.clip(quant.round_half_away(steps) + output[0], *output[1:]).astype(dtype)
    assert np.array_equal(actual, expected)


def code_range(dtype):
    """Lowest and highest code of an 8-bit type."""
    return (0, 255) if dtype == "u1" else (-128, 127)


@every_level
@pytest.mark.parametrize("kind", ("layer", "any"))
def test_q8_small(level, kind):
    @settings(max_examples=80)
    @given(cases(), st.data())
    def check(case, data):
        check_q8(case, level, data, kind)

    check()


@every_level
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_q8_large(level, case):
    @settings(max_examples=4)
    @given(st.data())
    def check(data):
        check_q8(case, level, data, "layer")

    check()


SMALL = [(np.full(1, weight), code) for weight in (16, 17, -16, -17, 32, 33, -32, -33) for code in (0, 255)]
SMALL += [(np.arange(-bound, bound + 1), None) for bound in (8, 20, 40)]
"""Weights to choose from, around those of which eight or four products with codes fit 16 bits, and a code or any."""


@every_level
@pytest.mark.parametrize("depth", [16, 52, 300, 1100, 2100])
def test_q8_of_small_weights(level, depth):
    """Kernels may add their products in 16 bits; also where large weights are among them, and with many of them."""
    rng = np.random.default_rng(depth)
    window = Window((5, 7), (1, 1), (1, 1), (1, 1), (0, 0), (5, 7))
    bias, multiplier, exponent = np.zeros(24, np.int32), np.full(24, 2**30, np.int32), np.full(24, -13, np.int32)
    for weights, code in SMALL:
        matrix = rng.choice(weights, (24, depth)).astype(np.int8)
        for _ in range(depth // 100):
            matrix[rng.integers(24), rng.integers(depth)] = rng.choice([-128, 127])
        image = rng.integers(0, 256, (1, 5, 7, depth), np.uint8) if code is None else np.full((1, 5, 7, depth), code,
                                                                                             np.uint8)
        with at_level(level):
            packed = conv.pack_conv2d_q8(matrix, bias, 0, 100, False, multiplier, exponent)
        [actual] = run_all_ways(
            lambda: [conv.Conv2dQ8((0, 1, 2), window, 1, depth, 24, (np.dtype(np.int8), 0), 100, (128, 0, 255), False)],
            [image, packed], [((1, 5, 7, 24), np.uint8)], level)
        total = (image.astype(np.int32) - 100) @ matrix.T.astype(np.int32)
        assert np.array_equal(actual, np.clip(quant.mbqm(total, multiplier, exponent) + 128, 0, 255)), (weights, code)


@every_level
@pytest.mark.parametrize("depth", [24, 64, 147, 1100, 2100])
def test_q8_of_uneven_channels(level, depth):
    """Of some channels all codes are small: kernels may add their products in 16 bits, and those beside them not."""
    rng = np.random.default_rng(depth)
    window = Window((6, 11), (1, 1), (1, 1), (1, 1), (0, 0), (6, 11))
    bias, multiplier, exponent = np.zeros(40, np.int32), np.full(40, 2**30, np.int32), np.full(40, -13, np.int32)
    for spread in (10, 40, 100):
        matrix = np.clip(rng.normal(0, spread, (40, depth)), -128, 127).astype(np.int8)
        most = np.repeat(rng.integers(0, 257, -(-depth // 16)), 16)[:depth]
        image = (rng.random((1, 6, 11, depth)) * most).astype(np.uint8)
        with at_level(level):
            packed = conv.pack_conv2d_q8(matrix, bias, 0, 0, False, multiplier, exponent)
        [actual] = run_all_ways(
            lambda: [conv.Conv2dQ8((0, 1, 2), window, 1, depth, 40, (np.dtype(np.int8), 0), 0, (128, 0, 255), False)],
            [image, packed], [((1, 6, 11, 40), np.uint8)], level)
        total = image.astype(np.int32) @ matrix.T.astype(np.int32)
        assert np.array_equal(actual, np.clip(quant.mbqm(total, multiplier, exponent) + 128, 0, 255)), spread


@pytest.mark.skipif("avx2" not in kernels.levels(), reason="the processor has no AVX2")
@pytest.mark.parametrize("depth", [4, 12, 16, 52, 600])
def test_limits_of_a_panel(depth):
    """The largest codes with which no sum of four, or of eight, products leaves 16 bits; whatever stands there fits."""
    rng = np.random.default_rng(depth)
    groups, ones = depth // 4, np.ones(16, np.int32)
    blocks, room = -(-groups // 4), -(-groups // 128) * 32
    for spread in (1, 10, 100):
        matrix = np.clip(rng.normal(0, spread, (16, depth)), -128, 127).astype(np.int8)
        with at_level("avx2"):
            packed = conv.pack_conv2d_q8(matrix, ones, 0, 0, False, ones, -ones)
            end = 4 * (5 * 16 + 16) + 16 * depth
            limits = packed[end:end + 2 * room].reshape(2, room)[:, :blocks]
            assert len(packed) == end + 2 * room
            padded = np.zeros((16, 16 * blocks), np.int64)
            padded[:, :depth] = matrix
            for found, steps in zip(limits, (2, 4), strict=True):
                bytes_of = padded.reshape(16, blocks, 4 // steps, steps, 2, 2)
                sums = np.maximum(bytes_of.clip(0).sum((3, 5)), -bytes_of.clip(None, 0).sum((3, 5))).max((0, 2, 3))
                assert np.array_equal(found, np.minimum(255, 32767 // np.maximum(sums, 1)))
            packed[end:] = rng.integers(0, 256, 2 * room)
            assert conv.fits_conv2d_q8(packed, 16, depth)


LINES = [level for level in kernels.levels() if level in ("scalar", "avx512amx")]
"""Levels with a kernel for lines that takes the weights as their fastest kernel for gathered rows does."""


@pytest.mark.parametrize("level", LINES)
@pytest.mark.parametrize("kind", ("layer", "any"))
def test_q8_in_place_small(level, kind):
    @settings(max_examples=100)
    @given(cases(), st.data())
    def check(case, data):
        check_q8(case, level, data, kind, in_place=True)

    check()


@pytest.mark.parametrize("level", LINES)
@pytest.mark.parametrize("case", [case for case in LARGE if case.window.filter != (1, 1)] + [
    dense(40, 40, 32, 33, filter_=3, head=1, tail=1), dense(57, 60, 5, 24, filter_=5, stride=3, head=2, tail=1),
    dense(30, 30, 12, 40, filter_=4, stride=2, head=1, tail=1), dense(33, 19, 70, 20, filter_=3, head=5, tail=4),
], ids=str)
def test_q8_in_place_large(level, case):
    @settings(max_examples=4)
    @given(st.data())
    def check(data):
        check_q8(case, level, data, "layer", in_place=True)

    check()


@every_level
def test_f32_small(level):
    @settings(max_examples=60)
    @given(cases(), st.booleans())
    def check(case, clamp):
        check_f32(case, level, *((0, 1) if clamp else (-np.inf, np.inf)))

    check()


@every_level
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_f32_large(level, case):
    check_f32(case, level)


@pytest.mark.parametrize("units, depth, groups", [(1001, 1024, 1), (96, 4000, 2), (33, 9000, 3), (7, 90000, 1)])
def test_f32_packing_is_the_same_on_more_threads(units, depth, groups):
    rng = np.random.default_rng(1)
    weights, bias = rng.standard_normal((groups * units, depth), np.float32), np.ones(groups * units, np.float32)
    alone, shared = (conv.pack_conv2d_f32(weights, bias, groups, threads) for threads in (1, 3))
    np.testing.assert_array_equal(alone, shared)


def test_f32_empty_batch():
    case = dense(3, 3, 4, 5)
    packed = conv.pack_conv2d_f32(np.ones((5, 4), np.float32), np.ones(5, np.float32))
    step = conv.Conv2dF32((0, 1, 2), case.window, 0, 4, 5, 0, 6)
    assert (step.packed, step.work) == (packed.nbytes, 0)
    run_all_ways(lambda: [step], [np.empty((0, 3, 3, 4), np.float32), packed], [((0, 3, 3, 5), np.float32)], None)


ON_A_SMALL_STACK = """
import threading
import numpy as np
import nnfast

rng = np.random.default_rng(1)
b = nnfast.ModelBuilder("small stack")
x = b.input("TENSOR_QUANT8_ASYMM", (1, 8, 8, 1200), scale=0.5, zero_point=100)
w = b.constant(rng.integers(0, 256, (72, 1, 1, 1200), np.uint8), scale=0.5, zero_point=128)
bias = b.constant(np.zeros(72, np.int32), "TENSOR_INT32", scale=0.25)
y = b.output("TENSOR_QUANT8_ASYMM", (1, 8, 8, 72), scale=900.0, zero_point=128)
b.operation("CONV_2D", [x, w, bias, b.scalar(1), b.scalar(1), b.scalar(1), b.scalar(0)], [y])
prepared = nnfast.Device(num_threads=1).prepare(b.build())
image = rng.integers(0, 256, (1, 8, 8, 1200), np.uint8)
expected, = prepared.run([image])
threading.stack_size(160 << 10)
thread = threading.Thread(target=lambda: print(np.array_equal(prepared.run([image])[0], expected)))
thread.start()
thread.join()
"""


@every_level
def test_q8_on_a_small_stack(level):
    """As threads of musl have one, or of a program with many; what kernels keep for a tile must fit it."""
    done = subprocess.run([sys.executable, "-c", ON_A_SMALL_STACK], env={**os.environ, "NNFAST_CPU": level},
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
