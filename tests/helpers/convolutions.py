"""Convolutions to try, drawn or large, and what they give in float64."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st

Window = namedtuple("Window", "input filter stride dilation head output")
Case = namedtuple("Case", "window batch channels units seed")


def axis(size, filter_, stride, dilation, head, tail):
    """Output size along an axis."""
    return (size + head + tail - ((filter_ - 1) * dilation + 1)) // stride + 1


@st.composite
def cases(draw, channels=(1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 40), units=(1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 48, 70)):
    """Convolutions with up to 9 x 9 pixels whose every window meets the input."""
    sizes, filters, strides, dilations, heads, outputs = [], [], [], [], [], []
    for _ in range(2):
        filter_, dilation, stride = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
        extent = (filter_ - 1) * dilation + 1
        head, tail = draw(st.integers(0, extent - 1)), draw(st.integers(0, extent - 1))
        size = draw(st.integers(max(1, extent - head - tail), 9))
        sizes.append(size)
        filters.append(filter_)
        strides.append(stride)
        dilations.append(dilation)
        heads.append(head)
        outputs.append(axis(size, filter_, stride, dilation, head, tail))
    window = Window(*(tuple(v) for v in (sizes, filters, strides, dilations, heads, outputs)))
    return Case(window, draw(st.integers(1, 3)), draw(st.sampled_from(channels)), draw(st.sampled_from(units)),
                draw(st.integers(0, 2**32 - 1)))


def dense(height, width, channels, units, filter_=1, stride=1, head=0, tail=0):
    """A square-filter case for shapes that hypothesis would rarely draw."""
    output = tuple(axis(n, filter_, stride, 1, head, tail) for n in (height, width))
    window = Window((height, width), (filter_,) * 2, (stride,) * 2, (1, 1), (head,) * 2, output)
    return Case(window, 1, channels, units, 1)


LARGE = [
    dense(1, 1, 1024, 1001), dense(5, 5, 300, 70), dense(7, 7, 512, 257), dense(56, 56, 32, 64),
    dense(28, 28, 3, 32, filter_=3, stride=2, tail=1), dense(9, 9, 64, 96, filter_=3, head=1, tail=1),
    dense(6, 5, 100, 72, filter_=3, head=1, tail=1), dense(6, 5, 100, 72, filter_=3, head=1, tail=1)._replace(batch=2),
    dense(11, 10, 520, 1160), dense(2, 3, 2100, 700), dense(10, 5, 3100, 45), dense(5, 3, 4096, 270),
    dense(9, 9, 512, 260, stride=2), dense(20, 20, 3, 16, filter_=7, stride=2, head=3, tail=3),
]


def sums(image, filter_, window):
    """Reference in float64: sum over the taps that lie inside the image."""
    batch, height, width, _ = image.shape
    result = np.zeros((batch, *window.output, filter_.shape[0]))
    for y in range(window.output[0]):
        for x in range(window.output[1]):
            for i in range(window.filter[0]):
                for j in range(window.filter[1]):
                    iy = y * window.stride[0] - window.head[0] + i * window.dilation[0]
                    ix = x * window.stride[1] - window.head[1] + j * window.dilation[1]
                    if 0 <= iy < height and 0 <= ix < width:
                        result[:, y, x] += image[:, iy, ix] @ filter_[:, i, j].T
    return result
