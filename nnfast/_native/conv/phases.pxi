"""Images of convolutions with stride 2, read as images of stride 1: 2x2 pixels are one with four times the channels."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset


cdef struct phases:
    size_t height, width, channels      # of the image
    uint8_t pad                         # a code of what lies beyond it


cdef inline void copy_pair(uint8_t *to, const uint8_t *from_, size_t bytes_) noexcept nogil:
    """Two pixels; in images of one to four channels without a call."""
    if bytes_ == 6:
        memcpy(to, from_, 6)
    elif bytes_ == 2:
        memcpy(to, from_, 2)
    elif bytes_ == 4:
        memcpy(to, from_, 4)
    elif bytes_ == 8:
        memcpy(to, from_, 8)
    else:
        memcpy(to, from_, bytes_)


cdef void copy_line(const phases *p, const uint8_t *line, ptrdiff_t x, size_t columns, uint8_t *to) noexcept nogil:
    """Pairs of pixels of a row from column x on, which may lie beyond it; `to` goes on by four pixels each."""
    cdef size_t pair = 2 * p.channels, j, side
    cdef ptrdiff_t width = <ptrdiff_t>p.width, at
    for j in range(columns):
        at = x + 2 * <ptrdiff_t>j
        if at >= 0 and at + 1 < width:
            copy_pair(to, line + <size_t>at * p.channels, pair)
        else:
            for side in range(2):
                if 0 <= at + <ptrdiff_t>side < width:
                    memcpy(to + side * p.channels, line + <size_t>(at + <ptrdiff_t>side) * p.channels, p.channels)
                else:
                    memset(to + side * p.channels, p.pad, p.channels)
        to += 2 * pair


cdef void copy_phases(const phases *p, const uint8_t *x, ptrdiff_t row, ptrdiff_t column, size_t rows, size_t columns,
                      uint8_t *to) noexcept nogil:
    """Codes [rows][columns][2][2][channels] of an image from (row, column) on, which may lie beyond it."""
    cdef size_t i, j, pair = 2 * p.channels
    cdef ptrdiff_t y
    cdef uint8_t *line
    for i in range(2 * rows):
        y = row + <ptrdiff_t>i
        line = to + i // 2 * columns * 2 * pair + i % 2 * pair
        if 0 <= y < <ptrdiff_t>p.height:
            copy_line(p, x + <size_t>y * p.width * p.channels, column, columns, line)
        else:
            for j in range(columns):
                memset(line + j * 2 * pair, p.pad, pair)


def dense_window(window):
    """(filter, padding) of what a convolution with stride 1 or 2 is over pixels of stride 1 such as these."""
    stride = window.stride[0]
    shift = tuple(head % stride for head in window.head)
    return (tuple((size + more + stride - 1) // stride for size, more in zip(window.filter, shift)),
            tuple((head + more) // stride for head, more in zip(window.head, shift)))


def dense_filter(filter_, window, size_t taps, int zero_point):
    """A filter [units, height, width, channels] for these pixels: [units, taps, taps, pixels * channels]."""
    stride, (height, width) = window.stride[0], window.filter
    if stride == 1 and height == width == taps:
        return filter_
    units, channels = len(filter_), filter_.shape[3]
    dense = np.full((units, taps, stride, taps, stride, channels), zero_point, filter_.dtype)
    flat = dense.reshape(units, taps * stride, taps * stride, channels)
    top, left = (head % stride for head in window.head)
    flat[:, top:top + height, left:left + width] = filter_
    return np.ascontiguousarray(dense.transpose(0, 1, 3, 2, 4, 5)).reshape(units, taps, taps, -1)
