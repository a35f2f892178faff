"""CONV_2D [NN 14.3]."""

from dataclasses import dataclass
from math import prod

import numpy as np

from .._native import conv
from ..model import quant
from ..model.types import OperandType, OperationType
from . import requantize, window
from .base import OpDef, check_activation, forms, is_quant8

TYPE_SETS = (
    "1.0: F32 F32 F32", "1.0: Q8 Q8 I32", "1.2: F16 F16 F16", "1.2: Q8 PC I32", "1.3: Q8S Q8S I32", "1.3: Q8S PC I32",
)
"""Input and output, filter, bias: the type sets of every convolution."""

_SIGNATURES = forms(*window.forms_of("input:T filter:W bias:B", "activation:i32", dilated=True), sets=TYPE_SETS)


def _validate(node):
    node.check_rank("input", 4)
    node.check_rank("filter", 4)
    requantize.check_channel_dim(node, "filter", 0)
    requantize.require_scale_version(node)


def geometry(node):
    """The Window of a CONV_2D whose shapes are known."""
    height, width = window.image_shape(node)[1:3]
    return window.window(node, (height, width), node["filter"].shape[1:3])


def _infer(node):
    batch, _, _, channels = window.image_shape(node)
    units = check_operands(node, channels, f"the input's {channels} channels")
    return [window.output_shape(node, batch, geometry(node).output, units)]


def check_operands(node, depth, rule):
    """Filter [units, fh, fw, depth], bias [units], activation and scales of a convolution; returns the units.

    rule: what the depth of the filter must be, for messages.
    """
    node.check_rank("filter", 4)
    node.check_rank("bias", 1)
    units, _, _, actual = node["filter"].shape
    if actual != depth:
        node.fail("filter", f"dimension 3 is {actual}, must be {rule}")
    if node["bias"].shape[0] != units:
        node.fail("bias", f"has {node['bias'].shape[0]} values, must have one for each of {units} output channels")
    check_activation(node)
    requantize.check_scales(node)
    return units


def sums(image, filter_, win):
    """float64 sums [b, oh, ow, co] of a convolution of [b, h, w, ci] with [co, fh, fw, ci]."""
    total = np.zeros((image.shape[0], *win.output, filter_.shape[0]))
    columns = list(win.taps(1))
    for i, out_rows, rows in win.taps(0):
        for j, out_columns, in_columns in columns:
            total[:, out_rows, out_columns] += image[:, rows, in_columns] @ filter_[:, i, j].T
    return total


@np.errstate(over="ignore", invalid="ignore")
def convolve(node, inputs, total_of):
    """Output of any convolution: total_of(image, filter) gives its float64 sums, all with the channels last."""
    image, filter_, bias = inputs[:3]
    image = window.to_nhwc(node, image)
    if is_quant8(node["input"]):
        image, filter_ = requantize.centred(node["input"], image), requantize.centred(node["filter"], filter_)
        result = requantize.finish_quantized(node, total_of(image, filter_), bias)
    else:
        total = total_of(image.astype(np.float64), filter_.astype(np.float64))
        result = requantize.finish_float(node, total, bias)
    return [window.from_nhwc(node, result)]


def _compute(node, inputs):
    return convolve(node, inputs, lambda image, filter_: sums(image, filter_, geometry(node)))


# -- native --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Placement:
    """Strides, in elements, of inputs and outputs of a step that computes several products or scatters its output.

    pixel, group: distance between input pixels, and between the inputs of groups; out_pixel, out_row, out_image,
    out_group: likewise for the output, which starts at element out_first.
    """

    pixel: int
    out_pixel: int
    out_row: int
    out_image: int
    out_first: int = 0
    groups: int = 1
    group: int = 0
    out_group: int = 0


def refusal(node, padded, b):
    """Why no native kernel runs a convolution, or None. padded: whether windows reach beyond the image."""
    if node.layout_nchw:
        return "layout is NCHW"
    for name in ("filter", "bias"):
        if node[name].value is None:
            return f"{name} is not constant"
    if node["input"].type == OperandType.TENSOR_FLOAT16:
        return "no native kernel for TENSOR_FLOAT16"
    # Kernels multiply the filter by padding zeros, which the reference skips: inf and NaN would differ.
    if padded and node["input"].type == OperandType.TENSOR_FLOAT32 \
            and not b.packed_fact([node["filter"]], lambda: _all_finite(node["filter"].value)):
        return "filter has infinite or NaN values, and there is padding"
    return None


@np.errstate(over="ignore", invalid="ignore")
def _all_finite(values):
    return bool(np.isfinite(np.sum(values)) or np.isfinite(values).all())  # a finite sum has finite terms


def _lower(node, b):
    win = geometry(node)
    reason = refusal(node, win.is_padded, b)
    if reason is None:
        emit(node, b, node["filter"], win, node["input"].shape[0])
    return reason


def emit(node, b, weights, win, batch, values=None, place=None):
    """Emit the step of a convolution or FULLY_CONNECTED with constant weights [units, ..., depth] and bias, in NHWC.

    values: function that returns an array [units, ...] to use instead of the weights' own; place: a Placement for
    tensors that are not dense.
    """
    source, units, depth = node["input"], weights.shape[0], weights.shape[-1]
    groups = 1 if place is None else place.groups

    def matrix():
        return np.ascontiguousarray((weights.value if values is None else values()).reshape(units, -1))

    shape = win, batch, depth, units // groups
    if is_quant8(source):
        _emit_quantized(node, b, weights, matrix, shape, groups, place)
        return
    target, clamp = node.outputs[0], quant.activation_float(node.scalar("activation"))

    def packed(make, size, sources=(weights,)):
        array = b.packed(sources, np.uint8, make, lambda found: found.nbytes == size)
        return b.slot(source), b.const(array), b.slot(target)

    bias = node["bias"].value
    if place is None and b.in_bf16(source) and conv.bf16_suits(win, depth):
        slots = packed(lambda: conv.pack_conv2d_bf16(matrix(), bias, win, batch, b.threads),
                       conv.packed_bytes_bf16(win, batch, depth, units))
        b.emit(conv.Conv2dBf16(slots, *shape, *clamp))
    elif place is None and values is None and conv.winograd_suits(win, batch, units, depth):
        filter_ = np.ascontiguousarray(b.value(weights))  # to recompute outputs that are not finite
        slots = packed(lambda: conv.pack_winograd_f32(filter_), conv.packed_bytes_winograd(units, depth), ())
        b.emit(conv.Conv2dWinogradF32(slots, win, batch, filter_, np.ascontiguousarray(bias), *clamp))
    else:
        slots = packed(lambda: conv.pack_conv2d_f32(matrix(), bias, groups, b.threads),
                       conv.packed_bytes_conv2d(units // groups, prod(win.filter) * depth, groups, False))
        if place is None and conv.line_suits(win, depth):
            b.emit(conv.Conv2dLineF32(slots, *shape, *clamp))
        else:
            b.emit(conv.Conv2dF32(slots, *shape, *clamp, place))


def _emit_quantized(node, b, weights, matrix, shape, groups, place):
    """As emit, for 8-bit codes; matrix(): the weights [units, depth of a window]."""
    source, target, (win, _, channels, units) = node["input"], node.outputs[0], shape
    zero_point = weights.zero_point if weights.channel_quant is None else 0
    signed, output = source.dtype == np.int8, requantize.codes(node)
    once = requantize.rounds_once(node)
    in_place = place is None and not once and zero_point == (0 if weights.dtype == np.int8 else 128) \
        and conv.lines_q8_suits(win, channels, signed)
    blocks = conv.LinesBlocks(win, channels) if in_place else None

    def pack():
        finish, codes = requantize.requantizer(node), matrix()
        scale = (0, 0) if once else (finish.multiplier, finish.exponent)
        scale = (np.ascontiguousarray(np.broadcast_to(np.int32(v), len(codes))) for v in scale)
        if in_place:
            codes = blocks.spread(codes, zero_point)
        return conv.pack_conv2d_q8(codes, node["bias"].value, zero_point, source.zero_point, signed, *scale, groups,
                                 once)

    depth = blocks.depth if in_place else prod(win.filter) * channels
    packed = b.packed([weights], np.uint8, pack, lambda found: conv.fits_conv2d_q8(found, units, depth, groups, once))
    slots = b.slot(source), b.const(packed), b.slot(target)
    if in_place:
        b.emit(conv.Conv2dLinesQ8(slots, *shape, source.zero_point, output, signed))
        return
    scale = None
    if once:
        scale = b.packed([weights], np.float64, lambda: np.full(units, requantize.real_multiplier(node)),
                         lambda found: len(found) == units)
    b.emit(conv.Conv2dQ8(slots, *shape, (weights.dtype, zero_point), source.zero_point, output, signed, place,
                              scale))


CONV_2D = OpDef(
    OperationType.CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute, lower=_lower,
    zero_sized="batch", multiply_adds=True,
)
