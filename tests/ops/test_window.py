"""Padding, output sizes and taps of sliding windows [NN 13.6]."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.nodes import execute, floats, ints, node, out
from nnfast.errors import InvalidArgument
from nnfast.ops.window import Window, window

FILTER = ("filter_height", "filter_width")


def pool(shape, scalars, name="MAX_POOL_2D"):
    return node(name, [floats(np.zeros(shape)), *ints(*scalars)], [out()])


def implicit(size, scheme, stride, filter_):
    made = pool((1, *size, 1), (scheme, stride[1], stride[0], filter_[1], filter_[0], 0))
    return window(made, size, filter_, FILTER)


def explicit(size, left, right, top, bottom, stride, filter_):
    made = pool((1, *size, 1), (left, right, top, bottom, stride[1], stride[0], filter_[1], filter_[0], 0))
    return window(made, size, filter_, FILTER)


def test_same_puts_the_odd_padding_behind():
    win = implicit((4, 5), 1, (2, 1), (3, 4))
    assert win.output == (2, 5)
    assert win.head == (0, 1)  # totals 1 and 3


@pytest.mark.parametrize("scheme", (0, 2))
def test_none_and_valid_do_not_pad(scheme):
    win = implicit((7, 6), scheme, (2, 3), (3, 2))
    assert win.output == (3, 2)
    assert win.head == (0, 0)


def test_explicit_padding_is_left_right_top_bottom():
    win = explicit((5, 7), 1, 2, 0, 3, (1, 2), (4, 3))
    assert win.head == (0, 1)
    assert win.output == (5 + 3 - 4 + 1, (7 + 3 - 3) // 2 + 1)


def test_a_filter_just_beyond_the_input_gives_an_empty_output():
    assert implicit((2, 2), 2, (2, 2), (3, 2)).output == (0, 1)
    assert implicit((2, 2), 2, (2, 2), (5, 2)).output == (0, 1)  # -1 / 2 truncates to 0


def test_a_filter_far_beyond_the_input_is_refused():
    with pytest.raises(InvalidArgument, match=r"covers a height of 5, must not exceed the padded input's 2"):
        implicit((2, 2), 2, (1, 1), (5, 2))


GEOMETRIES = list(itertools.product((1, 2, 5, 8), (1, 2, 3, 6), (1, 2, 3), (1, 2, 4), (0, 1, 4), (0, 3)))


def test_taps_visit_exactly_the_positions_inside_the_input():
    checked = 0
    for size, filter_, stride, dilation, head, tail in GEOMETRIES:
        extent = (filter_ - 1) * dilation + 1
        out_ = (size - extent + stride + head + tail) // stride
        if out_ < 0 or head >= extent or tail >= extent:
            continue
        win = Window((size, 1), (filter_, 1), (stride, 1), (dilation, 1), (head, 0), (out_, 1))
        wanted = {
            (k, y, y * stride - head + k * dilation) for k in range(filter_) for y in range(out_)
            if 0 <= y * stride - head + k * dilation < size
        }
        found = set()
        for k, outs, ins in win.taps(0):
            ys, xs = range(out_)[outs], range(size)[ins]
            assert len(ys) == len(xs) > 0
            found |= {(k, y, x) for y, x in zip(ys, xs, strict=True)}
        assert found == wanted
        checked += 1
    assert checked > 200


def test_counts_are_the_taps_per_output():
    for size, filter_, stride, head in itertools.product((1, 3, 8), (1, 2, 5), (1, 2, 3), (0, 1, 4)):
        if head >= filter_:
            continue
        out_ = (size + 2 * head - filter_ + stride) // stride
        if out_ < 1:
            continue
        win = Window((1, size), (1, filter_), (1, stride), (1, 1), (0, head), (1, out_))
        counts = [0] * out_
        for _, outs, _ in win.taps(1):
            for x in range(out_)[outs]:
                counts[x] += 1
        assert win.counts(1).tolist() == counts
        assert min(counts) > 0


def test_a_huge_filter_costs_no_more_than_the_input():
    size = 2**31 - 1
    win = Window((4, 4), (size, 1), (1, 1), (1, 1), (size // 2, 0), (4, 4))
    assert len(list(win.taps(0))) == 7


@pytest.mark.parametrize(("scalars", "message"), [
    ((1, 0, 1, 2, 2, 0), r"main.operation\[3\] MAX_POOL_2D input 2 \(stride_width\): is 0, must be > 0"),
    ((1, 1, -1, 2, 2, 0), r"input 3 \(stride_height\): is -1, must be > 0"),
    ((1, 1, 1, 0, 2, 0), r"input 4 \(filter_width\): width is 0, must be > 0"),
    ((1, 1, 1, 2, 0, 0), r"input 5 \(filter_height\): height is 0, must be > 0"),
    ((3, 1, 1, 2, 2, 0), r"input 1 \(padding_scheme\): is 3, must be 0, 1 or 2"),
    ((1, 1, 1, 2, 2, 4), r"input 6 \(activation\): is 4, must be 0, 1, 2 or 3"),
    ((-1, 0, 0, 0, 1, 1, 2, 2, 0), r"input 1 \(padding_left\): is -1, must be >= 0"),
    ((0, 2, 0, 0, 1, 1, 2, 2, 0), r"input 2 \(padding_right\): is 2, must be less than the 2 that the filter covers"),
    ((0, 0, 2, 0, 1, 1, 3, 2, 0), r"input 3 \(padding_top\): is 2, must be less than the 2"),
    ((0, 0, 0, 5, 1, 1, 3, 2, 0), r"input 4 \(padding_bottom\): is 5, must be less than the 2"),
])
def test_bad_parameters(scalars, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(pool((1, 4, 4, 1), scalars))


def test_an_image_has_four_dimensions():
    with pytest.raises(InvalidArgument, match=r"input 0 \(input\): rank is 3, must be 4"):
        execute(pool((4, 4, 1), (1, 1, 1, 2, 2, 0)))


def test_an_image_has_rows():
    with pytest.raises(InvalidArgument, match=r"input 0 \(input\): height is 0, must be > 0"):
        execute(pool((1, 0, 4, 1), (1, 1, 1, 2, 2, 0)))


EXTREMES = st.sampled_from((-2**31, -1, 0, 1, 2, 3, 2**31 - 1))


@given(
    st.sampled_from((("MAX_POOL_2D", 6), ("AVERAGE_POOL_2D", 9), ("CONV_2D", 4), ("CONV_2D", 7),
                     ("DEPTHWISE_CONV_2D", 5), ("DEPTHWISE_CONV_2D", 8))),
    st.lists(st.integers(0, 3), min_size=4, max_size=4), st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(0, 3), st.lists(EXTREMES, min_size=9, max_size=9),
)
def test_any_parameters_give_sizes_or_a_reason(form, image, filter_, bias, scalars):
    name, count = form
    weights = [] if "POOL" in name else [floats(np.zeros(filter_)), floats(np.zeros(bias))]
    made = node(name, [floats(np.zeros(image)), *weights, *ints(*scalars[:count])], [out()])
    try:
        (shape,) = made.op.infer(made)
    except InvalidArgument as refused:
        assert str(refused).startswith(f"main.operation[3] {name}")
    else:
        assert len(shape) == 4 and min(shape) >= 0 and shape[0] == image[0]
