"""conv2d_narrow: convolutions to few output channels, beside their definition and the steps for any number."""

import numpy as np
import pytest

from helpers.steps import at_level, every_level, run_all_ways
from nnfast._native import conv
from nnfast.model import quant
from nnfast.ops import conv2d, window

CASES = [
    # batch, image, channels, units, filter, stride, dilation, padding: top, left, bottom, right
    (1, (14, 17), 32, 1, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    (2, (9, 8), 70, 2, (3, 3), (2, 2), (1, 1), (0, 0, 1, 1)),
    (1, (11, 5), 64, 3, (3, 3), (1, 1), (2, 2), (2, 2, 2, 2)),
    (2, (6, 7), 256, 4, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    (1, (12, 40), 3, 1, (9, 23), (1, 2), (1, 1), (4, 11, 4, 11)),
    (3, (1, 1), 600, 5, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
]


def geometry(image, filter_, stride, dilation, padding):
    reach = tuple((filter_[i] - 1) * dilation[i] + 1 for i in (0, 1))
    out = tuple((image[i] + padding[i] + padding[i + 2] - reach[i]) // stride[i] + 1 for i in (0, 1))
    return window.Window(image, filter_, stride, dilation, padding[:2], out)


@every_level
@pytest.mark.parametrize("case", CASES)
def test_floats_equal_float64(case, level):
    batch, image, channels, units, size, *rest = case
    win, rng = geometry(image, size, *rest), np.random.default_rng(units)
    x = rng.standard_normal((batch, *image, channels)).astype(np.float32)
    filter_ = rng.standard_normal((units, *size, channels)).astype(np.float32)
    bias = rng.standard_normal(units).astype(np.float32)
    x[-1, -1, -1, -1] = np.nan
    packed = np.concatenate([bias, filter_.ravel()])
    shape = [((batch, *win.output, units), np.float32)]
    actual = run_all_ways(lambda: [conv.Conv2dNarrowF32((0, 1, 2), win, batch, channels, units, -8, 8)], [x, packed],
                          shape, level)[0]
    expected = np.clip(conv2d.sums(x.astype(np.float64), filter_.astype(np.float64), win) + bias, -8, 8)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-4)
    assert np.isnan(actual).any() and not np.isnan(actual).all() or actual.size == units * batch


@every_level
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_codes_are_exact(case, signed, level):
    batch, image, channels, units, size, *rest = case
    win, rng = geometry(image, size, *rest), np.random.default_rng(units + signed)
    low, high = (-128, 127) if signed else (0, 255)
    dtype = np.int8 if signed else np.uint8
    x = rng.integers(low, high, (batch, *image, channels), dtype, endpoint=True)
    filter_ = rng.integers(low, high, (units, *size, channels), dtype, endpoint=True)
    bias = rng.integers(-2**12, 2**12, units, np.int32)
    multiplier = rng.integers(2**30, 2**31, units, np.int32)
    exponent = rng.integers(-14, -9, units, np.int32)
    input_zero_point, output = low + 37, (low + 99, low + 3, high - 5)
    with at_level(level):
        packed = conv.pack_narrow_q8(filter_.reshape(units, -1), bias, win, channels, input_zero_point, signed,
                                     multiplier, exponent)
        assert packed.nbytes == conv.packed_bytes_narrow_q8(win, channels, units)
        assert conv.fits_narrow_q8(packed, units, packed.nbytes)
    [actual] = run_all_ways(
        lambda: [conv.Conv2dNarrowQ8((0, 1, 2), win, batch, channels, units, input_zero_point, output, signed)],
        [x, packed], [((batch, *win.output, units), dtype)], level)
    wide = x.astype(np.float64) - input_zero_point, filter_.astype(np.float64) - (0 if signed else 128)
    total = quant.wrap32(conv2d.sums(*wide, win).astype(np.int64) + bias)
    expected = np.clip(quant.mbqm(total, multiplier, exponent) + output[0], output[1], output[2]).astype(dtype)
    np.testing.assert_array_equal(actual, expected)
    assert len(np.unique(actual)) > 4


def test_suits():
    win = geometry((28, 28), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1))
    with at_level("scalar"):
        assert not conv.narrow_suits(win, 1, 64, 1, False)
    if conv.narrow_suits(win, 1, 64, 1, False):
        assert not conv.narrow_suits(win, 1, 64, 64, False)
        assert not conv.narrow_suits(win, 1, 1, 1, False)
        assert not conv.narrow_suits(win, 1, 1, 1, True)
        assert not conv.narrow_suits(window.POINT, 7, 640, 1, False)
        assert conv.narrow_suits(window.POINT, 8, 640, 1, False)


def test_refuses_weights_of_another_depth():
    win = geometry((28, 28), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1))
    weights, numbers = np.zeros((1, 9 * 64 - 1), np.int8), np.zeros(1, np.int32)
    with pytest.raises(ValueError, match=r"575 values for each unit, must have 576"):
        conv.pack_narrow_q8(weights, numbers, win, 64, 0, True, numbers, numbers)


def test_damaged_shifts_do_not_fit():
    win = geometry((28, 28), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1))
    weights, numbers = np.zeros((2, 9 * 64), np.int8), np.zeros(2, np.int32)
    packed = conv.pack_narrow_q8(weights, numbers, win, 64, 0, True, numbers, numbers)
    assert conv.fits_narrow_q8(packed, 2, packed.nbytes)
    for at in range(4, 8):  # left and right shifts of two channels
        wrong = packed.copy()
        wrong.view(np.int32)[at] = 32
        assert not conv.fits_narrow_q8(wrong, 2, packed.nbytes)
    assert not conv.fits_narrow_q8(packed, 2, packed.nbytes + 1)
