"""TRANSPOSE_CONV_2D [NN 15.91]: every input pixel adds the filter, scaled by its value, to the output."""

from functools import partial
from math import prod

import numpy as np

from .._native.movement import StridedCopy
from ..model.types import OperationType
from . import conv2d, requantize, window
from .base import OpDef, forms

_TENSORS = "input:T filter:W bias:B"
_END = "activation:i32 layout:bool"
_SIGNATURES = forms(
    (f"{_TENSORS} {window.EXPLICIT} {_END} -> output:T", "1.2"),
    (f"{_TENSORS} output_shape:I32 {window.IMPLICIT} {_END} -> output:T", "1.2"),
    sets=conv2d.TYPE_SETS,
)


def _validate(node):
    requantize.check_channel_dim(node, "filter", 0)


def geometry(node):
    """Window of the convolution that this one is the transpose of: its `input` is our output, its `output` our input.

    Padding on the right and at the bottom only shows in the size and may be negative: then the output grows. In LiteRT
    the output of scheme VALID has the size that is asked for, too.
    """
    sizes, filters = window.image_shape(node)[1:3], node["filter"].shape[1:3]
    same = node.scalar("padding_scheme") is not None and \
        node.check_in("padding_scheme", (0, 1, 2)) == window.SCHEME_SAME
    strides, heads, outputs = [], [], []
    for axis, name in enumerate(window.AXES):
        for operand, size in (("input", sizes[axis]), ("filter", filters[axis])):
            if size < 1:
                node.fail(operand, f"{name} is {size}, must be > 0")
        stride = node.scalar(f"stride_{name}")
        if stride < 1:
            node.fail(f"stride_{name}", f"is {stride}, must be > 0")
        whole = (sizes[axis] - 1) * stride + filters[axis]
        if same:
            head, tail = _same_padding(node, axis, stride, filters[axis])
        elif node.is_litert and node.has("output_shape"):
            head, tail = 0, whole - _wanted(node, axis)
        else:
            head, tail = _padding(node, axis)
        out = whole - head - tail
        if out < 1:
            node.fail("input", f"gives an output {name} of {out}, must be > 0")
        strides.append(stride)
        heads.append(head)
        outputs.append(out)
    return window.Window(tuple(outputs), tuple(filters), tuple(strides), (1, 1), tuple(heads), tuple(sizes))


def _padding(node, axis):
    head, tail = (node.scalar(name, 0) for name in window.PADDINGS[axis])
    if head < 0:
        node.fail(window.PADDINGS[axis][0], f"is {head}, must be >= 0")
    return head, tail


def _same_padding(node, axis, stride, filter_):
    """Padding of scheme SAME for the size that input output_shape asks for."""
    wanted = _wanted(node, axis)
    total = (-(-wanted // stride) - 1) * stride + filter_ - wanted
    head = max(0, total // 2)
    return head, total - head


def _wanted(node, axis):
    """The size that input output_shape asks for, in the layout of the operation."""
    wanted = int(node.value("output_shape")[axis + (2 if node.layout_nchw else 1)])
    if wanted < 1:
        node.fail("output_shape", f"{window.AXES[axis]} is {wanted}, must be > 0")
    return wanted


def _infer(node):
    batch, _, _, channels = window.image_shape(node)
    units = conv2d.check_operands(node, channels, f"the input's {channels} channels")
    if node.has("output_shape"):
        node.check_rank("output_shape", 1)
        length = node["output_shape"].shape[0]
        if length != 4:
            node.fail("output_shape", f"has {length} values, must have 4")
    return [window.output_shape(node, batch, geometry(node).input, units)]


def sums(image, filter_, win):
    """float64 sums [b, oh, ow, co] of [b, h, w, ci] spread by [co, fh, fw, ci]."""
    total = np.zeros((image.shape[0], *win.input, filter_.shape[0]))
    columns = list(win.taps(1))
    for i, rows, out_rows in win.taps(0):
        for j, in_columns, out_columns in columns:
            total[:, out_rows, out_columns] += image[:, rows, in_columns] @ filter_[:, i, j].T
    return total


def _compute(node, inputs):
    return conv2d.convolve(node, inputs, lambda image, filter_: sums(image, filter_, geometry(node)))


# -- native --------------------------------------------------------------------------------------------------------
MOST_PHASES = 64  # each is a step of its own


def phases(win, axis):
    """(taps, head, begin, count) of each phase along an axis: of the outputs that are a stride apart.

    Their sums are a convolution of stride 1: with these taps of the filter, in this order, and `head` positions of
    padding (negative: positions left out) before the input. Of the outputs, `begin` is the first of `count`: those
    that the input reaches, which may be few where a file asks for a larger output.
    """
    stride, pad, size, reach = win.stride[axis], win.head[axis], win.input[axis], win.output[axis]
    for phase in range(min(stride, win.filter[axis])):
        taps = range(phase, win.filter[axis], stride)[::-1]
        first = -((phase - pad) // stride)
        begin, head = first * stride + phase - pad, len(taps) - 1 - first
        low, high = max(0, head - len(taps) + 1), min(-(-(size - begin) // stride), head + reach)
        if low < high:
            yield taps, head - low, begin + low * stride, high - low


def parts(win):
    """[((rows, columns) of the filter, Window, (row, column) of its first output)] of the convolutions, one per phase,
    that make up a transposed one. Or why there are none.

    Where the input does not reach all outputs, the first is one of zeros for a single output, which all are like; its
    place is None.
    """
    rows, columns = list(phases(win, 0)), list(phases(win, 1))
    if len(rows) * len(columns) > MOST_PHASES:
        return f"strides {win.stride[0]} x {win.stride[1]} give more than {MOST_PHASES} phases"
    found, reached = [], 0
    for taps_y, top, first_y, count_y in rows:
        for taps_x, left, first_x, count_x in columns:
            size, count = (len(taps_y), len(taps_x)), (count_y, count_x)
            part = window.Window(win.output, size, (1, 1), (1, 1), (top, left), count)
            found.append(((taps_y, taps_x), part, (first_y, first_x)))
            reached += prod(count)
    if reached < prod(win.input):
        found.insert(0, (((), ()), window.Window(win.output, (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)), None))
    return found


def _lower(node, b):
    reason = conv2d.refusal(node, True, b)
    if reason is not None:
        return reason
    win, filter_, output = geometry(node), node["filter"], node.outputs[0]
    found = parts(win)
    if isinstance(found, str):
        return found
    batch, units, channels = node["input"].shape[0], filter_.shape[0], filter_.shape[3]
    (height, width), (stride_y, stride_x) = win.input, win.stride
    for taps, part, first in found:
        if first is None:
            emit = partial(conv2d.emit, node, b, conv2d.Matrix(filter_, taps), part, batch,
                           conv2d.Placement(channels, units, units, units))
            scattered(b, win, part, first, batch, units, output.dtype.itemsize, b.slot(output), emit)
            continue
        place = None  # a single part is a convolution like any other
        if part.output != win.input or min(part.head) < 0:
            place = conv2d.Placement(channels, stride_x * units, stride_y * width * units, height * width * units,
                                     (first[0] * width + first[1]) * units)
        conv2d.emit(node, b, conv2d.Matrix(filter_, taps), part, batch, place)
    conv2d.emit_check(node, b, any(part.is_padded for _, part, _ in found))
    return None


def scattered(b, win, part, first, batch, units, item, target, emit):
    """Run emit(slot) for the dense output of a part, and copy that to where it belongs in slot `target`."""
    (height, width), (stride_y, stride_x), (rows, columns) = win.input, win.stride, part.output
    dense, pixel = b.temp(batch * rows * columns * units * item), units * item
    from_ = rows * columns * pixel, columns * pixel, pixel, 1
    emit(dense)
    if first is None:
        from_, first, (rows, columns), (stride_y, stride_x) = (pixel, 0, 0, 1), (0, 0), win.input, (1, 1)
    b.emit(StridedCopy(
        (dense, target), (batch, rows, columns, pixel), from_,
        (height * width * pixel, stride_y * width * pixel, stride_x * pixel, 1), 1,
        offset=(first[0] * width + first[1]) * pixel))


TRANSPOSE_CONV_2D = OpDef(
    OperationType.TRANSPOSE_CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute, lower=_lower,
    zero_sized="batch", multiply_adds=True,
)
