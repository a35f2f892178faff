"""TRANSPOSE_CONV_2D (ops_b.md 3, code 91): every input pixel adds its share of the filter to the output."""

import numpy as np

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


def _sums(image, filter_, win):
    """float64 sums [b, oh, ow, co] of [b, h, w, ci] spread by [co, fh, fw, ci]."""
    total = np.zeros((image.shape[0], *win.input, filter_.shape[0]))
    columns = list(win.taps(1))
    for i, rows, out_rows in win.taps(0):
        for j, in_columns, out_columns in columns:
            total[:, out_rows, out_columns] += image[:, rows, in_columns] @ filter_[:, i, j].T
    return total


def _compute(node, inputs):
    return conv2d.convolve(node, inputs, lambda image, filter_: _sums(image, filter_, geometry(node)))


TRANSPOSE_CONV_2D = OpDef(
    OperationType.TRANSPOSE_CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute,
    zero_sized="batch",
)
