"""conv2d_winograd: convolutions of 3x3, 1x3 and 3x1 by Winograd's method, beside sums in float64."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import at_level, every_level, run, run_all_ways
from nnfast._native import kernels
from nnfast._native.conv import Conv2dWinogradF32, pack_winograd_f32, packed_bytes_winograd, winograd_suits
from nnfast.ops import conv2d, window

SHAPES = [(1, 4, 4, 16, 16, 1), (1, 5, 7, 3, 2, 1), (2, 9, 6, 17, 33, 0), (1, 1, 1, 5, 5, 1), (1, 13, 30, 40, 70, 1),
          (3, 14, 14, 20, 64, 2), (1, 3, 3, 32, 32, 0), (1, 28, 28, 64, 48, 1)]
"""Images, height, width, channels, units, padding on all sides."""


def geometry(height, width, padding, filter_=(3, 3), dilation=(1, 1)):
    """The window of an image with as much padding on all sides."""
    out = (size + 2 * padding - (taps - 1) * step for size, taps, step in zip((height, width), filter_, dilation))
    return window.Window((height, width), filter_, (1, 1), dilation, (padding, padding), tuple(out))


def problem(batch, height, width, channels, units, padding, seed=0, **more):
    """Window, input, filter and bias."""
    rng, win = np.random.default_rng(seed), geometry(height, width, padding, **more)
    return (win, rng.standard_normal((batch, height, width, channels)).astype(np.float32),
            rng.standard_normal((units, *win.filter, channels)).astype(np.float32),
            rng.standard_normal(units).astype(np.float32))


def outputs(win, x, filter_, bias, level, lo=-np.inf, hi=np.inf):
    """Output of the step, the same with 1, 2 and 3 threads; what it packs is what it says."""
    def steps():
        step = Conv2dWinogradF32((0, 1, 2), win, len(x), filter_, bias, lo, hi)
        assert step.packed == packed_bytes_winograd(win.filter, *filter_.shape[::3]) == packed.nbytes
        return [step]

    with at_level(level):
        packed = pack_winograd_f32(filter_)
    shape = len(x), *win.output, len(filter_)
    return run_all_ways(steps, [x, packed], [(shape, np.float32)], level)[0]


@every_level
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_float64(shape, level):
    win, x, filter_, bias = problem(*shape)
    expected = conv2d.sums(x.astype(np.float64), filter_.astype(np.float64), win) + bias
    size = conv2d.sums(np.abs(x).astype(np.float64), np.abs(filter_).astype(np.float64), win).max()
    actual = outputs(win, x, filter_, bias, level)
    assert np.abs(actual - expected).max() < 4e-7 * size
    clamped = outputs(win, x, filter_, bias, level, 0, 6)
    assert clamped.tobytes() == np.clip(actual, np.float32(0), np.float32(6)).tobytes()


@st.composite
def problems(draw):
    """Of any filter and dilation, with padding from none to more than the filter: some windows meet no input."""
    filter_, dilation = draw(st.sampled_from([(3, 3), (1, 3), (3, 1)])), draw(st.tuples(*[st.integers(1, 5)] * 2))
    padding = draw(st.integers(0, 6))
    least = (max(1, (taps - 1) * step + 1 - 2 * padding) for taps, step in zip(filter_, dilation))
    height, width = (size + draw(st.integers(0, 13)) for size in least)
    channels, units = draw(st.sampled_from([1, 5, 8, 17, 33])), draw(st.sampled_from([1, 7, 16, 40]))
    return problem(draw(st.integers(1, 2)), height, width, channels, units, padding, draw(st.integers(0, 99)),
                   filter_=filter_, dilation=dilation)


@every_level
@given(made=problems())
@settings(max_examples=60)
def test_lines_and_dilations_equal_float64(made, level):
    win, x, filter_, bias = made
    expected = conv2d.sums(x.astype(np.float64), filter_.astype(np.float64), win) + bias
    # A tile's inputs all have a part in each of its outputs, those too that lie under no tap of its window.
    size = np.abs(x).max() * np.abs(filter_).sum((1, 2, 3)).max() + np.abs(bias).max()
    assert np.abs(outputs(win, x, filter_, bias, level) - expected).max() < 6e-7 * size


@pytest.mark.parametrize("level", [level for level in kernels.levels() if level in ("avx2", "avx512")])
def test_where_it_pays(level):
    """From four patches on; with many weights not where products are fast beside what reads them."""
    with at_level(level):
        def suits(size, channels, units, batch=1):
            return winograd_suits(geometry(size, size, 1), batch, units, channels)

        assert suits(28, 16, 64) and suits(28, 128, 128) and suits(14, 512, 512)
        assert suits(8, 64, 64) and suits(7, 96, 96) and suits(4, 64, 64, batch=16)
        assert not suits(28, 3, 64) and not suits(28, 64, 3) and not suits(2, 64, 64) and not suits(3, 256, 256)
        assert suits(7, 256, 256) == (level == "avx2")
        assert not winograd_suits(replace(geometry(28, 28, 1), stride=(2, 2)), 1, 64, 64)
        for line in ((1, 3), (3, 1)):
            size = (400, 1) if line[1] == 1 else (1, 400)
            assert winograd_suits(geometry(*size, 1, line), 1, 64, 64)
            assert winograd_suits(geometry(*size, 8, line, (8, 8)), 1, 64, 128)
            assert not winograd_suits(geometry(2, 2, 1, line), 1, 64, 64)
        assert winograd_suits(geometry(56, 56, 4, dilation=(4, 4)), 1, 64, 64)
        assert not winograd_suits(geometry(14, 14, 12, dilation=(12, 12)), 1, 64, 64)  # phases of one or two pixels


@every_level
def test_no_worse_than_adding_one_by_one(level):
    """A deep layer after a RELU: the error of 2304 products added in float32 is the yardstick."""
    win, x, filter_, bias = problem(1, 14, 14, 256, 32, 1)
    x = np.maximum(x, 0)
    expected = conv2d.sums(x.astype(np.float64), filter_.astype(np.float64), win) + bias
    total = np.broadcast_to(bias, expected.shape).copy()
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i in range(3):
        for j in range(3):
            for c in range(256):
                total += padded[:, i:i + 14, j:j + 14, c, None] * filter_[:, i, j, c]
    actual = outputs(win, x, filter_, bias, level)
    assert np.abs(actual - expected).max() <= 1.5 * np.abs(total - expected).max()


@every_level
@pytest.mark.parametrize("shape", [{}, {"filter_": (1, 3)}, {"filter_": (3, 1)}, {"dilation": (2, 3)}], ids=str)
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38])
def test_odd_values_stay_where_they_are_read(odd, shape, level):
    win, x, filter_, bias = problem(1, 11, 10, 16, 40, 1, **shape)
    place = 0, 5, 6, 3
    calm = outputs(win, x, filter_, bias, level, 0, 6)
    x[place] = odd
    actual = outputs(win, x, filter_, bias, level, 0, 6)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = conv2d.sums(x.astype(np.float64), filter_.astype(np.float64), win) + bias
    reads = np.zeros(x.shape, bool)
    reads[place] = True
    near = conv2d.sums(reads.astype(float), np.ones(filter_.shape), win) > 0
    np.testing.assert_array_equal(actual[near], np.clip(expected, 0, 6).astype(np.float32)[near])
    np.testing.assert_allclose(actual[~near], calm[~near], rtol=0, atol=1e-4)


def test_refuses_other_windows():
    win, x, filter_, bias = problem(1, 8, 8, 4, 4, 1)
    wide = window.Window(win.input, (3, 3), (2, 2), (1, 1), (1, 1), (4, 4))
    with pytest.raises(ValueError, match="must be 3x3, 1x3 or 3x1 with stride 1"):
        Conv2dWinogradF32((0, 1, 2), wide, 1, filter_, bias, 0, 6)
    with pytest.raises(ValueError, match="the filter is 3x3, must be as the window's"):
        Conv2dWinogradF32((0, 1, 2), geometry(8, 8, 1, (1, 3)), 1, filter_, bias, 0, 6)


def test_writes_its_output_only():
    win, x, filter_, bias = problem(1, 6, 6, 16, 16, 1)
    memory = np.full(36 * 16 + 64, 7, np.float32)
    step = Conv2dWinogradF32((0, 1, 2), win, 1, filter_, bias, 0, 6)
    run([step], [x, pack_winograd_f32(filter_), memory[32:-32]])
    assert np.all(memory[:32] == 7) and np.all(memory[-32:] == 7)
