"""conv2d_line: convolutions of images with few channels, beside sums in float64 and the step for any image."""

import numpy as np
import pytest

from helpers.steps import at_level, every_level, run_all_ways
from nnfast._native.conv import Conv2dF32, Conv2dLineF32, line_suits, pack_conv2d_f32
from nnfast.ops import conv2d, window

CASES = [
    # batch, image, channels, units, filter, stride, dilation of rows, padding: top, left, bottom, right
    (1, (28, 28), 3, 32, (3, 3), (2, 2), 1, (0, 0, 1, 1)),
    (2, (20, 30), 3, 16, (7, 7), (2, 2), 1, (3, 3, 3, 3)),
    (1, (5, 13), 1, 5, (3, 3), (1, 1), 2, (2, 1, 2, 1)),
    (1, (4, 12), 31, 70, (2, 5), (3, 1), 1, (1, 2, 0, 2)),
    (1, (1, 12), 2, 33, (1, 13), (1, 1), 1, (0, 12, 0, 12)),
    (1, (3, 40), 4, 8, (3, 4), (1, 3), 1, (2, 0, 2, 0)),
    (1, (4, 400), 3, 16, (3, 3), (1, 1), 1, (1, 1, 1, 1)),  # rows too long to copy
    (2, (3, 20), 2, 8, (2, 3), (1, 1), 1, (0, 7, 0, 9)),  # windows that lie in the padding
    (2, (3, 20), 9, 9, (1, 1), (1, 1), 1, (0, 0, 0, 0)),
    (1, (7, 33), 31, 12, (1, 1), (2, 2), 1, (0, 0, 0, 0)),
    (1, (2, 13), 12, 31, (1, 1), (1, 1), 1, (1, 2, 0, 1)),
]


def geometry(image, filter_, stride, dilation, padding):
    """Window; the dilation is that of the rows."""
    reach = (filter_[0] - 1) * dilation + 1, filter_[1]
    out = tuple((image[i] + padding[i] + padding[i + 2] - reach[i]) // stride[i] + 1 for i in (0, 1))
    return window.Window(image, filter_, stride, (dilation, 1), padding[:2], out)


@every_level
@pytest.mark.parametrize("case", CASES)
def test_equals_float64(case, level):
    batch, image, channels, units, size, stride, dilation, padding = case
    win, rng = geometry(image, size, stride, dilation, padding), np.random.default_rng(units)
    x = rng.standard_normal((batch, *image, channels)).astype(np.float32)
    filter_ = rng.standard_normal((units, *size, channels)).astype(np.float32)
    bias = rng.standard_normal(units).astype(np.float32)
    x[0, 0, -1, 0] = np.nan
    with at_level(level):
        assert line_suits(win, channels, units)
        packed = pack_conv2d_f32(filter_.reshape(units, -1), bias)
    shape = [((batch, *win.output, units), np.float32)]
    actual = run_all_ways(lambda: [Conv2dLineF32((0, 1, 2), win, batch, channels, units, -8, 8)], [x, packed], shape,
                          level)[0]
    general = run_all_ways(lambda: [Conv2dF32((0, 1, 2), win, batch, channels, units, -8, 8)], [x, packed], shape,
                           level)[0]
    expected = conv2d.sums(x.astype(np.float64), filter_.astype(np.float64), win) + bias
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(general))
    np.testing.assert_allclose(actual, general, rtol=0, atol=1e-4)
    calm = ~np.isnan(actual)
    np.testing.assert_allclose(actual[calm], np.clip(expected, -8, 8)[calm], rtol=0, atol=1e-4)
    assert calm.any()


def test_suits():
    win = geometry((28, 28), (3, 3), (2, 2), 1, (0, 0, 1, 1))
    assert line_suits(win, 3, 64)
    assert not line_suits(win, 32, 64)
    assert not line_suits(geometry((20, 20), (3, 3), (2, 2), 1, (0, 0, 1, 1)), 3, 8)
    assert not line_suits(geometry((28, 28), (3, 1), (1, 1), 1, (0, 0, 0, 0)), 3, 8)
    thin = geometry((28, 28), (1, 1), (1, 1), 1, (0, 0, 0, 0))
    assert line_suits(thin, 31, 32)
    assert not line_suits(thin, 31, 33)
    assert not line_suits(thin, 32, 32)
