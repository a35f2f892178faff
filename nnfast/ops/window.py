"""Sliding windows of the convolutions and pools: padding, output size, taps [NN 13.6], and the layout flag [NN 13.9].

Inside nnfast every pair of sizes is (height, width); the standard's operands come width first.
"""

import numpy as np

from ..record import record

AXES = ("height", "width")
PADDINGS = (("padding_top", "padding_bottom"), ("padding_left", "padding_right"))
SCHEME_SAME = 1

EXPLICIT = "padding_left:i32 padding_right:i32 padding_top:i32 padding_bottom:i32 stride_width:i32 stride_height:i32"
IMPLICIT = "padding_scheme:i32 stride_width:i32 stride_height:i32"
DILATION = "dilation_width:i32 dilation_height:i32"


def forms_of(tensors, end, dilated=False):
    """(text, since) of the forms of an operation with windows: either padding; a layout and dilations from 1.2 on."""
    more = [("", "1.0"), (" layout:bool", "1.2"), *([(f" layout:bool {DILATION}", "1.2")] if dilated else [])]
    return [(f"{tensors} {padding} {end}{extra} -> output:T", since) for padding in (EXPLICIT, IMPLICIT)
            for extra, since in more]


@record(frozen=True, slots=True)
class Window:
    """Geometry of one sliding window; every field is a (height, width) pair.

    head: padding before the first row and column; the padding after the last ones is implied by `output`.
    """

    input: tuple
    filter: tuple
    stride: tuple
    dilation: tuple
    head: tuple
    output: tuple

    @property
    def is_padded(self):
        """Whether some window reaches beyond the input."""
        return any(self.head[axis] or self.input[axis] < (self.output[axis] - 1) * self.stride[axis] +
                   (self.filter[axis] - 1) * self.dilation[axis] + 1 for axis in (0, 1))

    @property
    def lying(self):
        """The same window with height and width exchanged where images, windows and results are one pixel wide: they
        lie in memory as rows do, which kernels go along. Else itself."""
        if self.input[1] == self.filter[1] == self.output[1] == 1 < self.output[0]:
            return Window(*(values[::-1] for values in (self.input, self.filter, self.stride, self.dilation, self.head,
                                                        self.output)))
        return self

    def taps(self, axis):
        """(k, output slice, input slice) of each filter position k along an axis that overlaps the input."""
        size, out = self.input[axis], self.output[axis]
        stride, dilation, head = self.stride[axis], self.dilation[axis], self.head[axis]
        first = max(0, -(((out - 1) * stride - head) // dilation))
        last = min(self.filter[axis] - 1, (size - 1 + head) // dilation)
        for k in range(first, last + 1):
            start = k * dilation - head
            low = max(0, -(start // stride))
            high = min(out, (size - 1 - start) // stride + 1)
            if low < high:
                begin = low * stride + start
                yield k, slice(low, high), slice(begin, begin + (high - low - 1) * stride + 1, stride)

    def counts(self, axis):
        """int64 array: for each output position, number of positions of an undilated window inside the input."""
        start = np.arange(self.output[axis], dtype=np.int64) * self.stride[axis] - self.head[axis]
        stop = np.minimum(start + self.filter[axis], self.input[axis])
        return stop - np.maximum(start, 0)


POINT = Window((1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (1, 1))
"""Window of a matrix product: the rows are images of one pixel."""


def window(node, input_size, filter_size, filter_names=("filter", "filter"), may_be_empty=False):
    """The Window of an operation from its padding, stride and dilation scalars; raises for what [NN 13.6] forbids.

    input_size, filter_size: (height, width); filter_names: operands to name in errors about the filter size;
    may_be_empty: an image without pixels, or smaller than the filter, gives one without pixels, as LiteRT's pools do.
    """
    return node.once(("window", tuple(input_size), tuple(filter_size)),
                     lambda: _window(node, input_size, filter_size, filter_names, may_be_empty))


def _window(node, input_size, filter_size, filter_names, may_be_empty):
    strides, dilations, heads, outputs = [], [], [], []
    scheme = None if node.scalar("padding_scheme") is None else node.check_in("padding_scheme", (0, 1, 2))
    for axis, name in enumerate(AXES):
        before, after = (0, 0) if node.frame is None else node.frame[axis]
        size, filter_ = before + input_size[axis] + after, filter_size[axis]
        if size < 1 and not may_be_empty:
            node.fail("input", f"{name} is {size}, must be > 0")
        if filter_ < 1:
            node.fail(filter_names[axis], f"{name} is {filter_}, must be > 0")
        stride = _positive(node, f"stride_{name}")
        dilation = _positive(node, f"dilation_{name}")
        extent = (filter_ - 1) * dilation + 1
        head, tail = _padding(node, scheme, axis, size, extent, stride)
        reach = size - extent + stride + head + tail
        out = reach // stride if reach >= 0 else -(-reach // stride)
        if out < 0 and not may_be_empty:
            padded = size + head + tail
            node.fail(filter_names[axis], f"covers a {name} of {extent}, must not exceed the padded input's {padded}")
        strides.append(stride)
        dilations.append(dilation)
        heads.append(before + head)
        outputs.append(out)
    if min(outputs) < 0:  # no width leaves no height either
        outputs = [0, max(outputs[1], 0)]
    return Window(tuple(input_size), tuple(filter_size), tuple(strides), tuple(dilations), tuple(heads), tuple(outputs))


def _positive(node, name):
    value = node.scalar(name, 1)
    if value < 1:
        node.fail(name, f"is {value}, must be > 0")
    return value


def _padding(node, scheme, axis, size, extent, stride):
    """(head, tail) along an axis; scheme: None for explicit padding."""
    if scheme is not None:
        if scheme != SCHEME_SAME:
            return 0, 0
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        return total // 2, total - total // 2
    values = []
    for name in PADDINGS[axis]:
        value = node.scalar(name)
        if value < 0:
            node.fail(name, f"is {value}, must be >= 0")
        if value >= extent:
            node.fail(name, f"is {value}, must be less than the {extent} that the filter covers")
        values.append(value)
    return tuple(values)


def image_shape(node):
    """(batch, height, width, channels) of input 0 in either layout; raises for ranks other than 4."""
    return node.once("image shape", lambda: _image_shape(node))


def _image_shape(node):
    node.check_rank("input", 4)
    n, a, b, c = node["input"].shape
    return (n, b, c, a) if node.layout_nchw else (n, a, b, c)


def output_shape(node, batch, size, channels):
    """Shape of output 0 in the layout of the operation; size is (height, width)."""
    return (batch, channels, *size) if node.layout_nchw else (batch, *size, channels)


def to_nhwc(node, image):
    """View of input 0 with the channels last."""
    return image.transpose(0, 2, 3, 1) if node.layout_nchw else image


def from_nhwc(node, image):
    """Dense array in the layout of the operation from one with the channels last."""
    return np.ascontiguousarray(image.transpose(0, 3, 1, 2)) if node.layout_nchw else image
