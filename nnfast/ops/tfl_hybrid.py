"""Operators of float32 tensors with int8 weights ("dynamic range"): LiteRT quantizes the input at run time, a row or an
image at a time, multiplies integers, and scales the sums.
"""

import numpy as np

from ..model.quant import activation_float, round_half_away
from . import conv2d, depthwise_conv2d, requantize
from .tfl import own
from .tfl_int16 import CONVOLUTION, DENSE, group_sums, infer_conv, infer_dense, infer_depthwise

_ONE = np.float32(1)


def symmetric(rows):
    """(codes, float32 scales, zero points of 0) of rows [n, size]; codes are int8 between -127 and 127."""
    largest = np.abs(rows).max(axis=1, initial=0)
    some = np.where(largest == 0, _ONE, largest)
    scales = np.where(largest == 0, _ONE, some / np.float32(127))
    codes = round_half_away(rows * (np.float32(127) / some)[:, None])
    return np.clip(codes, -127, 127).astype(np.int8), scales, np.zeros(len(rows), np.int32)


def asymmetric(rows):
    """As symmetric, over all codes, with zero points."""
    low, high = np.minimum(rows.min(axis=1, initial=0), 0), np.maximum(rows.max(axis=1, initial=0), 0)
    empty = low == high
    scales = np.where(empty, _ONE, (high - low) / np.float32(255))
    low, high, wide = (values.astype(np.float64) for values in (low, high, scales))
    from_low, from_high = -128 - low / wide, 127 - high / wide
    zeros = np.where(128 + np.abs(low / wide) < 127 + np.abs(high / wide), from_low, from_high)
    zeros = np.where(empty, 0, round_half_away(np.clip(zeros, -128, 127))).astype(np.int32)
    values = zeros.astype(np.float32)[:, None] + rows * (_ONE / scales)[:, None]
    return np.clip(round_half_away(values), -128, 127).astype(np.int8), scales, zeros


def _finished(node, value, bias):
    if bias is not None:
        value = value + bias
    low, high = activation_float(node.scalar("activation"))
    return [np.clip(value, np.float32(low), np.float32(high))]


def _bias(node, inputs):
    return inputs[2] if node["bias"].present else None


def _scales(tensor):
    return np.asarray(requantize.weight_scales(tensor), np.float32)


# -- CONV_2D, DEPTHWISE_CONV_2D --------------------------------------------------------------------------------------
def compute_conv(node, inputs):
    """Images are quantized with a zero point where the filter has a scale for each channel, else without."""
    image, filter_ = inputs[:2]
    scales, rows = _scales(node["filter"]), image.reshape(len(image), -1)
    codes, steps, zeros = (asymmetric if scales.ndim else symmetric)(rows)
    centred = codes.reshape(image.shape).astype(np.float64) - zeros[:, None, None, None]
    sums = group_sums(centred, filter_.astype(np.float64), conv2d.geometry(node)).astype(np.float32)
    steps = steps[:, None, None, None]
    return _finished(node, sums * scales * steps if scales.ndim else sums * (steps * scales), _bias(node, inputs))


def compute_depthwise(node, inputs):
    """As CONV_2D with a scale for each channel."""
    image, filter_ = inputs[:2]
    codes, steps, zeros = asymmetric(image.reshape(len(image), -1))
    centred = codes.reshape(image.shape).astype(np.float64) - zeros[:, None, None, None]
    sums = depthwise_conv2d.sums(centred, filter_.astype(np.float64), depthwise_conv2d.geometry(node),
                                 filter_.shape[3] // image.shape[3]).astype(np.float32)
    return _finished(node, sums * (_scales(node["filter"]) * steps[:, None, None, None]), _bias(node, inputs))


_TYPES = {"T": ("F32",), "W": ("PC", "Q8S"), "B": ("F32",)}
TFL_HYBRID_CONV_2D = own("TFL_HYBRID_CONV_2D", {CONVOLUTION: _TYPES}, compute_conv, infer_conv)
TFL_HYBRID_DEPTHWISE_CONV_2D = own("TFL_HYBRID_DEPTHWISE_CONV_2D", {CONVOLUTION: _TYPES}, compute_depthwise,
                                   infer_depthwise)


# -- FULLY_CONNECTED -------------------------------------------------------------------------------------------------
def compute_dense(node, inputs):
    """Rows are quantized with a zero point if the option says so."""
    (shape,) = infer_dense(node)
    weights = inputs[1]
    rows = inputs[0].reshape(-1, weights.shape[1])
    codes, steps, zeros = (asymmetric if node.scalar("is_asymmetric") else symmetric)(rows)
    sums = ((codes.astype(np.float64) - zeros[:, None]) @ weights.T.astype(np.float64)).astype(np.float32)
    return _finished(node, (sums * (steps[:, None] * _scales(node["weights"]))).reshape(shape), _bias(node, inputs))


TFL_HYBRID_FULLY_CONNECTED = own(
    "TFL_HYBRID_FULLY_CONNECTED", {DENSE.replace(" ->", " is_asymmetric:bool ->"): _TYPES}, compute_dense, infer_dense,
)
