"""RESIZE_BILINEAR."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from helpers.nodes import operand, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.resize import RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, axis_indices, axis_weights

X = np.random.default_rng(2).normal(0, 5, (2, 5, 7, 3)).astype(np.float32)
OPTIONS = [(0, 0), (1, 0), (0, 1)]


def resize(source, width, height, align=0, half_pixel=0, nchw=0, kind="i32"):
    flags = [operand("bool", flag) for flag in (nchw, align, half_pixel)]
    return run(RESIZE_BILINEAR, [source, operand(kind, width), operand(kind, height), *flags])


def positions(size, new_size, align, half_pixel):
    """Where each output position lies in the input, by the definition and in float64."""
    at = np.arange(new_size)
    if align and new_size > 1:
        return at * (size - 1) / (new_size - 1)
    return (at + 0.5) * size / new_size - 0.5 if half_pixel else at * size / new_size


@pytest.mark.parametrize(("align", "half_pixel"), OPTIONS)
@pytest.mark.parametrize(("height", "width"), [(5, 7), (10, 14), (3, 2), (1, 1), (11, 4)])
def test_float_equals_sampling_at_the_positions(height, width, align, half_pixel):
    rows, columns = positions(5, height, align, half_pixel), positions(7, width, align, half_pixel)
    grid = np.meshgrid(rows, columns, indexing="ij")
    actual = resize(operand("F32", X), width, height, align, half_pixel)
    for batch in range(2):
        for channel in range(3):
            expected = map_coordinates(X[batch, :, :, channel].astype(np.float64), grid, order=1, mode="nearest")
            np.testing.assert_allclose(actual[batch, :, :, channel], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8", "Q8S"])
def test_same_size_keeps_the_values(kind):
    x = np.arange(2 * 5 * 7 * 3).reshape(X.shape) % 100 - (50 if kind == "Q8S" else 0)
    # The reference cuts signed codes towards zero after adding 0.5, so that negative ones come out one higher.
    expected = np.where(x < 0, x + 1, x)
    for align, half_pixel in OPTIONS:
        np.testing.assert_array_equal(resize(operand(kind, x, 0.5, 3), 7, 5, align, half_pixel), expected)


def test_channels_first_is_the_transposed_result():
    plain = resize(operand("F32", X), 9, 4)
    moved = resize(operand("F32", np.moveaxis(X, -1, 1)), 9, 4, nchw=1)
    np.testing.assert_array_equal(moved, np.moveaxis(plain, -1, 1))


@pytest.mark.parametrize(("abbreviation", "low", "high"), [("Q8", 0, 256), ("Q8S", -128, 128)])
@pytest.mark.parametrize(("align", "half_pixel"), OPTIONS)
def test_quantized_equals_scalar_float32(abbreviation, low, high, align, half_pixel):
    codes = np.random.default_rng(8).integers(low, high, (1, 4, 6, 2))
    actual = resize(operand(abbreviation, codes, 0.5, 3), 11, 9, align, half_pixel)
    one, half = np.float32(1), np.float32(0.5)
    rows = list(zip(*axis_weights(4, 9, align, half_pixel), strict=True))
    columns = list(zip(*axis_weights(6, 11, align, half_pixel), strict=True))
    for (_, y, x, c), value in np.ndenumerate(actual):
        (top, bottom, dy), (left, right, dx) = rows[y], columns[x]
        corner = codes[0, :, :, c].astype(np.float32)
        total = corner[top, left] * (one - dy) * (one - dx) + corner[bottom, left] * dy * (one - dx)
        total = total + corner[top, right] * (one - dy) * dx + corner[bottom, right] * dy * dx
        assert value == int(total + half)


def test_sizes_by_factor_are_cut():
    source = operand("F32", X)
    assert resize(source, 1.5, 0.5, kind="f32").shape == (2, 2, 10, 3)
    # 0.3 as float32 is a little more than 0.3, and float32(10) * float32(0.3) is exactly 3.
    assert resize(operand("F32", np.ones((1, 10, 10, 1))), 0.3, 0.3, kind="f32").shape == (1, 3, 3, 1)
    np.testing.assert_array_equal(resize(source, 2.0, 2.0, kind="f32"), resize(source, 14, 10))
    half = operand("F16", X)
    np.testing.assert_array_equal(resize(half, 2.0, 2.0, kind="f16"), resize(half, 14, 10))


def test_positions_never_leave_the_input():
    # Beyond 2**24, float32 rounds the last position of a one-pixel input up to 1.
    for size, new_size, options in ((1, 2**24 + 4, (0, 0)), (3, 2**20 - 1, (1, 0)), (7, 5, (0, 1))):
        low, high, weight = axis_weights(size, new_size, *options)
        assert 0 <= low.min() and low.max() < size
        assert 0 <= high.min() and high.max() < size
        assert weight.max() <= 1


def test_zero_batch():
    assert resize(operand("F32", np.empty((0, 2, 2, 3))), 4, 5).shape == (0, 5, 4, 3)


def test_rules():
    x, two = operand("F32", X), operand("i32", 2)
    refuses(RESIZE_BILINEAR, [operand("F32", np.ones((2, 2))), two, two], " input 0 (input): rank is 2, must be 4")
    refuses(RESIZE_BILINEAR, [x, operand("i32", 0), two],
            " input 1 (width): gives an output size of 0, must be at least 1")
    refuses(RESIZE_BILINEAR, [x, two, operand("i32", -3)],
            " input 2 (height): gives an output size of -3, must be at least 1")
    yes, no = operand("bool", 1), operand("bool", 0)
    refuses(RESIZE_BILINEAR, [x, two, two, no, yes, yes],
            " input 5 (half_pixel_centers): is true together with align_corners, at most one may be")
    one = operand("f32", 1)
    refuses(RESIZE_BILINEAR, [x, one, operand("f32", 0.1)],
            " input 2 (height): gives an output size of 0, must be at least 1")
    for factor, text in ((-1, "-1"), (np.nan, "nan"), (np.inf, "inf"), (1e30, "1e+30"), (3e38, "3e+38")):
        refuses(RESIZE_BILINEAR, [x, operand("f32", factor), one],
                f" input 1 (width): is {text}, must be a factor that gives a positive size of an input of 7")


def test_versions():
    x, two, no, one = operand("F32", X), operand("i32", 2), operand("bool", 0), operand("f32", 1)
    for flags, since in ((0, "1.0"), (1, "1.2"), (2, "1.3"), (3, "1.3")):
        assert version(RESIZE_BILINEAR, [x, two, two] + [no] * flags) == since
        assert version(RESIZE_BILINEAR, [x, one, one] + [no] * flags) == max(since, "1.2")


def test_vectors():
    check_vectors("RESIZE_BILINEAR")
    check_coupling("RESIZE_BILINEAR", steps=1)


# -- RESIZE_NEAREST_NEIGHBOR -------------------------------------------------------------------------------------------
def nearest(source, width, height, align=0, half_pixel=0, nchw=0, kind="i32"):
    flags = [operand("bool", flag) for flag in (nchw, align, half_pixel)]
    return run(RESIZE_NEAREST_NEIGHBOR, [source, operand(kind, width), operand(kind, height), *flags])


@pytest.mark.parametrize(("size", "new_size", "options", "expected"), [
    (2, 4, (0, 0), [0, 0, 1, 1]), (4, 2, (0, 0), [0, 2]), (3, 2, (0, 0), [0, 1]),
    (3, 5, (1, 0), [0, 1, 1, 2, 2]), (5, 1, (1, 0), [0]), (5, 3, (1, 0), [0, 2, 4]),
    (4, 2, (0, 1), [1, 3]), (2, 4, (0, 1), [0, 0, 1, 1]), (3, 3, (0, 1), [0, 1, 2]), (1, 3, (0, 1), [0, 0, 0]),
])
def test_nearest_indices(size, new_size, options, expected):
    assert axis_indices(size, new_size, *options).tolist() == expected


@given(st.integers(1, 5000), st.integers(1, 5000), st.sampled_from(OPTIONS))
def test_nearest_indices_stay_inside_and_in_order(size, new_size, options):
    indices = axis_indices(size, new_size, *options)
    assert indices[0] >= 0 and indices[-1] < size and (np.diff(indices) >= 0).all()
    if size == new_size:
        assert (np.abs(indices - np.arange(size)) <= options[1]).all()


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S"])
@pytest.mark.parametrize("options", OPTIONS)
def test_nearest_copies_what_lies_at_the_indices(abbreviation, options):
    x = np.arange(2 * 5 * 7 * 3).reshape(X.shape) % 120
    rows, columns = axis_indices(5, 9, *options), axis_indices(7, 4, *options)
    expected = x[:, rows][:, :, columns]
    np.testing.assert_array_equal(nearest(operand(abbreviation, x, 0.5, 3), 4, 9, *options), expected)
    moved = nearest(operand(abbreviation, np.moveaxis(x, -1, 1), 0.5, 3), 4, 9, *options, nchw=1)
    np.testing.assert_array_equal(moved, np.moveaxis(expected, -1, 1))


def test_nearest_by_a_factor():
    assert nearest(operand("F32", X), 1.3, 0.5, kind="f32").shape == (2, 2, 9, 3)
    assert nearest(operand("F16", X), 1.5, 2, kind="f16").shape == (2, 10, 10, 3)
    assert nearest(operand("Q8", np.empty((0, 2, 2, 3)), 0.5), 2, 2, kind="f32").shape == (0, 4, 4, 3)


def test_nearest_rules_and_versions():
    x, two, no, yes = operand("F32", X), operand("i32", 2), operand("bool", 0), operand("bool", 1)
    refuses(RESIZE_NEAREST_NEIGHBOR, [x, two, two, no, yes, yes],
            " input 5 (half_pixel_centers): is true together with align_corners, at most one may be")
    refuses(RESIZE_NEAREST_NEIGHBOR, [x, operand("i32", 0), two, no],
            " input 1 (width): gives an output size of 0, must be at least 1")
    refuses(RESIZE_NEAREST_NEIGHBOR, [x, two, two], ": has 3 inputs, must have 4, 5 or 6")
    for flags, since in ((1, "1.2"), (2, "1.3"), (3, "1.3")):
        assert version(RESIZE_NEAREST_NEIGHBOR, [x, two, two] + [no] * flags) == since


def test_nearest_vectors():
    check_vectors("RESIZE_NEAREST_NEIGHBOR")
    check_coupling("RESIZE_NEAREST_NEIGHBOR")
