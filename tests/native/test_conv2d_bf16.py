"""Convolution steps with bfloat16 products against their definition, at every level and for one to three threads."""

import numpy as np
import pytest
from hypothesis import given, settings

from helpers.convolutions import LARGE, Case, cases, dense, sums
from helpers.steps import BF16_LEVELS, at_level, every_level, run, run_all_ways
from nnfast._native import conv, kernels
from nnfast._native.engine import Bands
from nnfast.ops.window import Window


def rounded(x):
    """float32 rounded to bfloat16, to nearest even, as float64; what is below 2^-126 is zero, a NaN stays one."""
    x = np.ascontiguousarray(x, np.float32)
    bits = x.view(np.uint32).astype(np.uint64)
    near = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, np.where(abs(x) < 2.0**-126, 0, near)).astype(np.float64)


def operands(case):
    rng = np.random.default_rng(case.seed)
    image = rng.uniform(-1, 1, (case.batch, *case.window.input, case.channels)).astype(np.float32)
    filter_ = rng.uniform(-1, 1, (case.units, *case.window.filter, case.channels)).astype(np.float32)
    bias = rng.uniform(-1, 1, case.units).astype(np.float32)
    filter_.flags.writeable = bias.flags.writeable = False
    return image, filter_, bias


def check(case, level, low=-np.inf, high=np.inf):
    image, filter_, bias = operands(case)
    with at_level(level):
        packed = conv.pack_conv2d_bf16(filter_.reshape(case.units, -1), bias, case.window, case.batch)
    [actual] = run_all_ways(
        lambda: [conv.Conv2dBf16((0, 1, 2), case.window, case.batch, case.channels, case.units, low, high)],
        [image, packed], [((case.batch, *case.window.output, case.units), np.float32)], level)
    exact = rounded(image), rounded(filter_)
    expected = np.clip(sums(*exact, case.window) + bias, low, high)
    bound = sums(abs(exact[0]), abs(exact[1]), case.window) + 1
    assert (abs(actual - expected) <= 2.0**-21 * bound).all()


@every_level
def test_small(level):
    @settings(max_examples=60)
    @given(cases())
    def examples(case):
        check(case, level)

    examples()


WIDE = [
    dense(9, 56, 32, 48, filter_=3, head=1, tail=1), dense(7, 75, 64, 33, filter_=3, tail=1),
    dense(41, 41, 32, 32, filter_=3, stride=2, head=1, tail=1), dense(6, 30, 96, 70, filter_=5, head=2, tail=2),
    *(Case(Window((height, width), (2, 1), (1, 1), (1, 1), (0, 0), (height - 1, width)), 1, 32, 33, 1)
      for height, width in ((7, 1), (2, 13), (40, 9), (9, 14))),
]
"""Convolutions whose output rows and channels fill tiles, so that no row of the product is gathered."""

FEW = [
    dense(37, 56, 3, 32, filter_=3, stride=2, head=1, tail=1), dense(9, 36, 5, 40, filter_=5),
    dense(29, 61, 3, 33, filter_=7, stride=2, head=3, tail=3), dense(200, 70, 1, 20, filter_=5, head=2, tail=2),
    dense(300, 64, 4, 16, filter_=2),
]
"""The same of images of few channels, whole or in slices."""


@every_level
@pytest.mark.parametrize("case", LARGE + WIDE + FEW, ids=str)
def test_large(level, case):
    check(case, level, 0, 1)


@every_level
@pytest.mark.parametrize("case", FEW + WIDE[:3], ids=str)
def test_what_a_window_does_not_cover_is_not_read(level, case):
    """Infinities and NaN reach the outputs whose windows hold them, and no others: padded weights meet none of them."""
    image, filter_, bias = operands(case)
    rng = np.random.default_rng(1)
    for value in (np.nan, np.inf, -np.inf):
        image[0, rng.integers(image.shape[1]), rng.integers(image.shape[2]), rng.integers(case.channels)] = value
    with at_level(level):
        packed = conv.pack_conv2d_bf16(filter_.reshape(case.units, -1), bias, case.window, 1)
    [actual] = run_all_ways(
        lambda: [conv.Conv2dBf16((0, 1, 2), case.window, 1, case.channels, case.units, -np.inf, np.inf)],
        [image, packed], [((1, *case.window.output, case.units), np.float32)], level)
    with np.errstate(invalid="ignore"):
        expected = sums(rounded(image), rounded(filter_), case.window)
    assert np.isfinite(expected).any() and not np.isfinite(expected).all()
    assert np.array_equal(np.isfinite(actual), np.isfinite(expected))


def words(x, pixel):
    """Images [..., channels] as bfloat16 words [..., pixel], zeros behind the channels."""
    near = np.zeros((*x.shape[:-1], pixel), np.uint16)
    near[..., :x.shape[-1]] = rounded(x).astype(np.float32).view(np.uint32) >> 16
    return near


POINTWISE = [dense(9, 11, channels, units) for channels, units in
             ((1, 5), (3, 40), (8, 8), (20, 33), (32, 64), (33, 31), (48, 32), (96, 70), (1024, 100))] + \
    [dense(1, 1, 300, 20), dense(56, 57, 64, 40), dense(3, 2, 2048, 33)]


@every_level
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("case", POINTWISE, ids=str)
def test_inputs_that_are_rounded_give_the_same_bytes(level, batch, case):
    image, filter_, bias = operands(case._replace(batch=batch))
    shape = (case.window, batch, case.channels, case.units, -1, 1)
    target = [((batch, *case.window.output, case.units), np.float32)]
    with at_level(level):
        packed = conv.pack_conv2d_bf16(filter_.reshape(case.units, -1), bias, case.window, batch)
        pixel = conv.Conv2dBf16((0, 1, 2), *shape).pixel
    assert case.channels <= pixel <= 2 * case.channels
    [plain] = run_all_ways(lambda: [conv.Conv2dBf16((0, 1, 2), *shape)], [image, packed], target, level)
    [found] = run_all_ways(lambda: [conv.Conv2dBf16((0, 1, 2), *shape, rounded=True)],
                           [words(image, pixel), packed], target, level)
    assert found.tobytes() == plain.tobytes()


@pytest.mark.parametrize("case", [dense(9, 9, 32, 32, filter_=3), dense(9, 9, 32, 32, stride=2),
                                  dense(9, 9, 32, 32, head=1, tail=1)], ids=str)
def test_only_rows_that_lie_in_the_image_are_read_there(case):
    shape = (case.window, 1, case.channels, case.units, 0, 1)
    assert conv.Conv2dBf16((0, 1, 2), *shape).pixel == 0
    with pytest.raises(ValueError, match="rounded is set, must not be: the rows of this product do not lie in"):
        conv.Conv2dBf16((0, 1, 2), *shape, rounded=True)


@every_level
def test_packing_by_several_threads_gives_the_same_bytes(level):
    case = dense(1, 1, 1000, 1001)
    _, filter_, bias = operands(case)
    with at_level(level):
        one, three = (conv.pack_conv2d_bf16(filter_.reshape(1001, -1), bias, case.window, 1, threads)
                      for threads in (1, 3))
    assert one.tobytes() == three.tobytes()


@every_level
def test_numbers_that_are_no_plain_ones(level):
    """NaN and infinities go through, what is below 2^-126 counts as zero; a clamp leaves NaN alone."""
    case = dense(1, 6, 33, 20)
    image, filter_, bias = np.zeros((1, 1, 6, 33), np.float32), np.ones((20, 33), np.float32), np.zeros(20, np.float32)
    image[0, 0, :5, 32] = np.nan, np.inf, -np.inf, 1e-39, 3e38
    with at_level(level):
        packed = conv.pack_conv2d_bf16(filter_, bias, case.window, 1)
        step = conv.Conv2dBf16((0, 1, 2), case.window, 1, 33, 20, 0, np.inf)
    y = np.full((1, 1, 6, 20), 77, np.float32)
    run([step], [image, packed, y])
    assert np.isnan(y[0, 0, 0]).all()
    np.testing.assert_array_equal(y[0, 0, 1:, 0], [np.inf, 0, 0, rounded([3e38])[0], 0])
    assert (y[0, 0, 1:] == y[0, 0, 1:, :1]).all()


@every_level
def test_bands_give_the_same_bytes(level):
    """Two convolutions in bands of rows, against one after the other."""
    first, second = dense(40, 30, 24, 32, filter_=3, head=1, tail=1), dense(40, 30, 32, 40, filter_=3, head=1, tail=1)
    constants = [operands(case)[1:] for case in (first, second)]
    with at_level(level):
        packed = [conv.pack_conv2d_bf16(f.reshape(len(f), -1), bias, case.window, 1)
                  for case, (f, bias) in zip((first, second), constants)]
        steps = [conv.Conv2dBf16((0, 1, 2), first.window, 1, 24, 32, 0, 6),
                 conv.Conv2dBf16((2, 3, 4), second.window, 1, 32, 40, 0, 6)]
    image, between = operands(first)[0], np.zeros((1, 40, 30, 32), np.float32)
    results = []
    for made in (steps, [Bands(steps, 1 << 16)]):
        for threads in (1, 2):
            results.append(np.full((1, 40, 30, 40), 77, np.float32))
            run(made, [image, packed[0], between, packed[1], results[-1]], threads)
    assert len({y.tobytes() for y in results}) == 1


def test_levels_with_such_instructions_have_kernels():
    found = {}
    for level in kernels.levels():
        with at_level(level):
            found[level] = conv.bf16_available()
    assert all(found[level] == (level in BF16_LEVELS) for level in found)
