"""AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D [NN 14.1]."""

import numpy as np

from .._native import spatial as native
from ..model import quant
from ..model.types import OperandType, OperationType
from . import window
from .base import OpDef, check_activation, forms, is_quant8

_FORMS = window.forms_of("input:T", "filter_width:i32 filter_height:i32 activation:i32")
_SIGNATURES = forms(*_FORMS, sets=("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S"))
_FLOAT_SIGNATURES = forms(*_FORMS, sets=("1.0: F32", "1.2: F16"))


def geometry(node):
    """The Window of a pool whose input shape is known."""
    height, width = window.image_shape(node)[1:3]
    names = ("filter_height", "filter_width")
    return window.window(node, (height, width), tuple(node.scalar(name) for name in names), names,
                         may_be_empty=node.is_litert)


def clamp(node):
    """(low, high) of the fused activation in the units of the stored values."""
    target, code = node.outputs[0], node.scalar("activation")
    if target.dtype.kind == "f":
        return quant.activation_float(code)
    return quant.activation_range(code, target.type, target.scale, target.zero_point)


def _infer(node):
    batch, _, _, channels = window.image_shape(node)
    check_activation(node)
    return [window.output_shape(node, batch, geometry(node).output, channels)]


def pool(image, win, combine, start):
    """Combine each window of [b, h, w, c], rows first and then columns; `start` is the neutral element."""
    rows = np.full((image.shape[0], win.output[0], *image.shape[2:]), start, image.dtype)
    for _, out, taken in win.taps(0):
        combine(rows[:, out], image[:, taken], out=rows[:, out])
    result = np.full((image.shape[0], *win.output, image.shape[3]), start, image.dtype)
    for _, out, taken in win.taps(1):
        combine(result[:, :, out], rows[:, :, taken], out=result[:, :, out])
    return result


def mean_codes(sums, counts, signed):
    """Integer mean of raw codes, to nearest, halves away from zero."""
    half = counts // 2
    if not signed:
        return (sums + half) // counts
    return np.where(sums > 0, (sums + half) // counts, -((half - sums) // counts))


def counts(win):
    """int64 [oh, ow, 1]: number of positions of each window inside the input."""
    return (win.counts(0)[:, None] * win.counts(1))[:, :, None]


@np.errstate(over="ignore", invalid="ignore")
def _compute_average(node, inputs):
    win = geometry(node)
    image = window.to_nhwc(node, inputs[0])
    number = counts(win)
    if is_quant8(node["input"]):
        sums = pool(image.astype(np.int64), win, np.add, 0)
        means = mean_codes(sums, number, node["input"].type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED)
    else:
        means = pool(image.astype(np.float64), win, np.add, 0) / number
    return [window.from_nhwc(node, np.clip(means, *clamp(node)).astype(node.outputs[0].dtype))]


@np.errstate(over="ignore", invalid="ignore")
def _compute_l2(node, inputs):
    win = geometry(node)
    squares = window.to_nhwc(node, inputs[0]).astype(np.float64) ** 2
    norms = np.sqrt(pool(squares, win, np.add, 0) / counts(win))
    return [window.from_nhwc(node, np.clip(norms, *clamp(node)).astype(node.outputs[0].dtype))]


def _compute_max(node, inputs):
    image = window.to_nhwc(node, inputs[0])
    lowest = np.iinfo(image.dtype).min if is_quant8(node["input"]) else -np.inf
    largest = pool(image, geometry(node), np.maximum, lowest)
    return [window.from_nhwc(node, np.clip(largest, *clamp(node)).astype(image.dtype))]


def lower(op):
    """Lowers a pool of NHWC images: "average", "l2" or "max"."""
    def lowered(node, b):
        source, target = node["input"], node.outputs[0]
        if node.layout_nchw:
            return "no native kernel for NCHW"
        if source.type == OperandType.TENSOR_FLOAT16:
            return "no native kernel for TENSOR_FLOAT16"
        win = geometry(node)
        positions = min(win.filter[0], win.input[0]) * min(win.filter[1], win.input[1])
        if op == "average" and source.dtype.kind != "f" and positions > native.WINDOW_MAX:
            return f"window of {positions} positions, native up to {native.WINDOW_MAX}"
        batch, _, _, channels = source.shape
        slots = b.slot(source), b.slot(target)
        b.emit(native.Pool2D(slots, op, batch, win, channels, source.dtype, *clamp(node)))
        return None
    return lowered


AVERAGE_POOL_2D = OpDef(
    OperationType.AVERAGE_POOL_2D, _SIGNATURES, infer=_infer, compute=_compute_average, lower=lower("average"),
    quant="same", zero_sized="batch",
)

L2_POOL_2D = OpDef(
    OperationType.L2_POOL_2D, _FLOAT_SIGNATURES, infer=_infer, compute=_compute_l2, lower=lower("l2"), quant="same",
    zero_sized="batch",
)

MAX_POOL_2D = OpDef(
    OperationType.MAX_POOL_2D, _SIGNATURES, infer=_infer, compute=_compute_max, lower=lower("max"), quant="same",
    zero_sized="batch",
)
