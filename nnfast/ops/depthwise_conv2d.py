"""DEPTHWISE_CONV_2D [NN 14.4]."""

from math import prod

import numpy as np

from .._native import conv as native
from .._native.movement import IndexedCopy
from ..model import quant
from ..model.types import OperandType, OperationType
from . import conv2d, requantize, window
from .base import OpDef, check_activation, forms, is_quant8

_FORMS = window.forms_of("input:T filter:W bias:B", "depth_multiplier:i32 activation:i32", dilated=True)
_SIGNATURES = forms(*_FORMS, sets=conv2d.TYPE_SETS)

_CONV_UNITS = 2
"""Filters of an image of one channel from which a convolution is faster."""


def _validate(node):
    requantize.check_channel_dim(node, "filter", 3)
    requantize.require_scale_version(node)


def geometry(node):
    """The Window of a DEPTHWISE_CONV_2D whose shapes are known."""
    height, width = window.image_shape(node)[1:3]
    return window.window(node, (height, width), node["filter"].shape[1:3])


def _infer(node):
    batch, _, _, channels = window.image_shape(node)
    node.check_rank("filter", 4)
    node.check_rank("bias", 1)
    first, _, _, units = node["filter"].shape
    if first != 1:
        node.fail("filter", f"dimension 0 is {first}, must be 1")
    multiplier = node.scalar("depth_multiplier")
    if multiplier < 1:
        node.fail("depth_multiplier", f"is {multiplier}, must be > 0")
    if units != channels * multiplier:
        node.fail("filter", f"dimension 3 is {units}, must be {channels} channels times depth multiplier {multiplier}")
    if node["bias"].shape[0] != units:
        node.fail("bias", f"has {node['bias'].shape[0]} values, must have one for each of {units} output channels")
    check_activation(node)
    requantize.check_scales(node)
    return [window.output_shape(node, batch, geometry(node).output, units)]


def sums(image, filter_, win, multiplier):
    """float64 sums [b, oh, ow, c * multiplier] of [b, h, w, c] with [1, fh, fw, c * multiplier]."""
    batch, _, _, channels = image.shape
    total = np.zeros((batch, *win.output, channels, multiplier))
    image = image[..., None]
    filter_ = filter_.reshape(*filter_.shape[1:3], channels, multiplier)
    columns = list(win.taps(1))
    for i, out_rows, rows in win.taps(0):
        for j, out_columns, in_columns in columns:
            total[:, out_rows, out_columns] += image[:, rows, in_columns] * filter_[i, j]
    return total.reshape(batch, *win.output, channels * multiplier)


@np.errstate(over="ignore", invalid="ignore")
def _compute(node, inputs):
    image, filter_, bias = inputs[:3]
    image = window.to_nhwc(node, image)
    multiplier = node.scalar("depth_multiplier")
    if is_quant8(node["input"]):
        image, filter_ = requantize.centred(node["input"], image), requantize.centred(node["filter"], filter_)
        result = requantize.finish_quantized(node, sums(image, filter_, geometry(node), multiplier), bias)
    else:
        total = sums(image.astype(np.float64), filter_.astype(np.float64), geometry(node), multiplier)
        result = requantize.finish_float(node, total, bias)
    return [window.from_nhwc(node, result)]


def _lower(node, b):
    source, filter_, bias, target = node["input"], node["filter"], node["bias"], node.outputs[0]
    if node.layout_nchw:
        return "no native kernel for NCHW"
    if source.type == OperandType.TENSOR_FLOAT16:
        return "no native kernel for TENSOR_FLOAT16"
    if filter_.value is None or bias.value is None:
        return _lower_computed(node, b)
    slots, batch, win = (b.slot(source), b.slot(target)), source.shape[0], geometry(node).lying
    units, multiplier = filter_.shape[3], node.scalar("depth_multiplier")
    if source.shape[3] == 1 and units >= _CONV_UNITS and conv2d.refusal(node, win.is_padded, b) is None:
        conv2d.emit(node, b, conv2d.Matrix(filter_, is_turned=True), win, batch)
        return None
    if is_quant8(source):
        if multiplier > 1:
            # The fast kernels compute one output per channel.
            repeated, count = b.temp(prod(source.shape) * multiplier), prod(source.shape)
            b.emit(IndexedCopy((slots[0], repeated), (count, 1), (count, multiplier), 1))
            slots, multiplier = (repeated, slots[1]), 1
        shape = win, units, multiplier, source.zero_point, requantize.codes(node), source.dtype == np.int8

        def pack():
            weights, scale = filter_.value.astype(np.int16), requantize.requantizer(node)
            weights -= requantize.zero_point(filter_)
            return native.pack_depthwise_q8(weights, bias.value, scale.multiplier, scale.exponent, shape)

        packed = b.packed([filter_], np.uint8, pack, lambda found: native.fits_depthwise_q8(found, shape), True)
        b.emit(native.DepthwiseConv2DQ8(slots, batch, packed, shape))
    else:
        size = native.packed_bytes_depthwise_f32(units, filter_.shape[1] * filter_.shape[2])
        packed = b.packed([filter_], np.float32, lambda: native.pack_depthwise_f32(filter_.value, bias.value),
                          lambda found: found.nbytes == size)
        clamp = quant.activation_float(node.scalar("activation"))
        b.emit(native.DepthwiseConv2DF32(slots, batch, win, packed, units, multiplier, *clamp))
    return None


def _lower_computed(node, b):
    """A convolution of a group for each channel, as its filter can be packed by a step."""
    win, filter_ = geometry(node).lying, node["filter"]
    reason = conv2d.refusal(node, win.is_padded, b)
    if reason is not None:
        return reason
    (batch, _, _, channels), units, (height, width) = node["input"].shape, filter_.shape[3], win.output
    place = conv2d.Placement(channels, units, width * units, height * width * units, groups=channels, group=1,
                             out_group=units // channels)
    conv2d.emit(node, b, conv2d.Matrix(filter_, is_turned=True), win, batch, place)
    conv2d.emit_check(node, b, win.is_padded)
    return None


DEPTHWISE_CONV_2D = OpDef(
    OperationType.DEPTHWISE_CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute, lower=_lower,
    zero_sized="batch", multiply_adds=True,
)
