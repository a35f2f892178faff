"""TRANSPOSE_CONV_2D [NN 15.91]: every input pixel adds the filter, scaled by its value, to the output."""

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

    Padding on the right and at the bottom only shows in the size and may be negative: then the output grows.
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
        head, tail = _same_padding(node, axis, stride, filters[axis]) if same else _padding(node, axis)
        out = (sizes[axis] - 1) * stride + filters[axis] - head - tail
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
    """Padding of scheme SAME for the size that input output_shape asks for, in the layout of the operation."""
    wanted = int(node.value("output_shape")[axis + (2 if node.layout_nchw else 1)])
    if wanted < 1:
        node.fail("output_shape", f"{window.AXES[axis]} is {wanted}, must be > 0")
    total = (-(-wanted // stride) - 1) * stride + filter_ - wanted
    head = max(0, total // 2)
    return head, total - head


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
    padding (negative: positions left out) before the input. Of the outputs, `begin` is the first of `count`.
    """
    stride, pad, size = win.stride[axis], win.head[axis], win.input[axis]
    for phase in range(stride):
        taps = range(phase, win.filter[axis], stride)[::-1]
        first = -((phase - pad) // stride)
        begin = first * stride + phase - pad
        if begin < size:
            yield taps, len(taps) - 1 - first, begin, -(-(size - begin) // stride)


def parts(win):
    """[((rows, columns) of the filter, Window, (row, column) of its first output)] of the convolutions, one per phase,
    that make up a transposed one; a phase without filter taps gets a tap of zeros. Or why there are none.
    """
    if win.stride[0] * win.stride[1] > MOST_PHASES:
        return f"strides {win.stride[0]} x {win.stride[1]} give more than {MOST_PHASES} phases"
    found, columns = [], list(phases(win, 1))
    for rows, top, first_y, count_y in phases(win, 0):
        for taps, left, first_x, count_x in columns:
            size, head = (len(rows), len(taps)), (top, left)
            if not (rows and taps):
                size, head = (1, 1), (count_y, count_x)  # all of it outside of the input
            part = window.Window(win.output, size, (1, 1), (1, 1), head, (count_y, count_x))
            found.append(((rows, taps), part, (first_y, first_x)))
    return found


def _lower(node, b):
    reason = conv2d.refusal(node, True, b)
    if reason is not None:
        return reason
    win, filter_ = geometry(node), node["filter"]
    found = parts(win)
    if isinstance(found, str):
        return found
    batch, units, channels = node["input"].shape[0], filter_.shape[0], filter_.shape[3]
    (height, width), (stride_y, stride_x) = win.input, win.stride
    for taps, part, (first_y, first_x) in found:
        place = conv2d.Placement(channels, stride_x * units, stride_y * width * units, height * width * units,
                                 (first_y * width + first_x) * units)
        conv2d.emit(node, b, conv2d.Matrix(filter_, taps), part, batch, place)
    conv2d.emit_check(node, b, any(part.is_padded for _, part, _ in found))
    return None


def scattered(b, win, part, first, batch, units, item, target, emit):
    """Run emit(slot) for the dense output of a part, and copy that to where it belongs in slot `target`."""
    (height, width), (stride_y, stride_x), (rows, columns) = win.input, win.stride, part.output
    dense, pixel = b.temp(batch * rows * columns * units * item), units * item
    emit(dense)
    b.emit(StridedCopy(
        (dense, target), (batch, rows, columns, pixel), (rows * columns * pixel, columns * pixel, pixel, 1),
        (height * width * pixel, stride_y * width * pixel, stride_x * pixel, 1), 1,
        offset=(first[0] * width + first[1]) * pixel))


TRANSPOSE_CONV_2D = OpDef(
    OperationType.TRANSPOSE_CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute, lower=_lower,
    zero_sized="batch", multiply_adds=True,
)
