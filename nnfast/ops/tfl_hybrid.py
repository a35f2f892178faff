"""Operators of float32 tensors with int8 weights ("dynamic range"): LiteRT quantizes the input at run time, a row or an
image at a time, multiplies integers, and scales the sums.
"""

from functools import partial
from math import prod

import numpy as np

from .._native import conv
from .._native.elementwise import (
    RANGE_BYTES,
    ROW_BYTES,
    CentreRows,
    QuantizeRangesF32,
    QuantizeRowsF32,
    RangesF32,
    ScaleRows,
    are_shared,
)
from ..model.quant import activation_float, round_half_away
from ..record import replace
from . import conv2d, depthwise_conv2d, requantize, transpose_conv2d, window
from .tfl import own
from .tfl_int16 import (
    CONVOLUTION,
    DENSE,
    TRANSPOSED,
    group_sums,
    infer_conv,
    infer_dense,
    infer_depthwise,
    infer_transposed,
    packed_sums,
    product_shape,
    transposed_geometry,
)

_ONE = np.float32(1)
EXACT_TAPS = 2**24 // (255 * 128)
"""Most products of a code less its zero point and an int8 weight whose sums a float32 holds, whatever their order."""


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
    codes = round_half_away(rows * (_ONE / scales)[:, None]) + zeros.astype(np.float32)[:, None]
    return np.clip(codes, -128, 127).astype(np.int8), scales, zeros


def finished(node, value, bias):
    """[The values with the bias, if there is one, and the fused activation]."""
    if bias is not None:
        value = value + bias
    low, high = activation_float(node.scalar("activation"))
    return [np.clip(value, np.float32(low), np.float32(high))]


def _bias(node, inputs):
    return inputs[2] if node["bias"].present else None


def _scales(tensor):
    return np.asarray(requantize.weight_scales(tensor), np.float32)


# -- native ----------------------------------------------------------------------------------------------------------
def emit_codes(node, b, batch, is_asymmetric):
    """Slots of the codes of the input's rows, and of how each was quantized; once for all operations that want them."""
    count, source = prod(node.inputs[0].shape), b.slot(node.inputs[0])

    def quantized():
        codes, rows = b.temp(count), b.temp(ROW_BYTES * batch)
        if are_shared(batch, count // batch, b.threads):
            ranges = b.temp(RANGE_BYTES * batch)
            b.emit(RangesF32((source, ranges), batch, count // batch))
            b.emit(QuantizeRangesF32((source, ranges, codes, rows), batch, count // batch, is_asymmetric))
        else:
            b.emit(QuantizeRowsF32((source, codes, rows), batch, count // batch, is_asymmetric))
        return codes, rows

    return b.once(("codes", source, batch, bool(is_asymmetric)), quantized)


def _unit_scales(b, weights, units):
    """The scale of each unit's weights."""
    return b.packed([weights], np.float32, lambda: np.full(units, _scales(weights)),
                    lambda found: len(found) == units)


def _emit(node, b, matrix, win, batch, groups, by_rows, codes, target):
    """Sums of products of codes with a conv2d.Matrix, scaled."""
    weights, units, depth = matrix.weights, matrix.units, matrix.depth
    bias = node["bias"] if node.has("bias") else None
    channels, each, (height, width) = depth // prod(win.filter) * groups, units // groups, win.output
    shape, patch = (win, batch, channels // groups, each), None
    if weights.value is not None and groups == 1 and matrix.taps is None and not matrix.is_turned:
        patch = conv2d.suiting_patch(b, weights, shape, 0, False)
    packed = None if patch else packed_sums(b, matrix, each, groups, bias)
    if type(packed) is tuple:
        (packed, slot), sums = packed, b.temp(4 * units)
        b.emit(conv.UnitSums((slot, sums), units, depth))
    else:
        sums = b.const(b.packed([weights], np.int32, lambda: matrix.value().sum(axis=1, dtype=np.int32),
                                lambda found: len(found) == units))
    scales = _unit_scales(b, weights, units)
    biases = b.const(np.zeros(units, np.float32)) if bias is None else b.slot(bias)
    values = scales, by_rows, *activation_float(node.scalar("activation", 0))
    if patch:
        zeros = np.zeros(units, np.int32)
        packed = conv2d.packed_patches(b, weights, shape, patch, 0, zeros, 0, lambda: (zeros, zeros))
        b.emit(conv.Conv2dWinogradQ8((codes[0], packed, target, codes[1], sums, biases), *shape, 0, (0, 0, 255), False,
                                     patch, values))
        return
    place = conv2d.Placement(channels, units, width * units, height * width * units, groups=groups,
                             group=channels // groups, out_group=each)
    b.emit(conv.Conv2dQ8((codes[0], packed, target, codes[1], sums, biases), *shape, (np.dtype(np.int8), 0), 0,
                         (0, 0, 255), False, place, None, values))


def _lower(node, b, matrix, win, batch, groups, is_asymmetric, by_rows):
    """Codes of the input's rows, then sums of products with them."""
    if prod(node.inputs[0].shape) == 0:
        return "the input is empty"
    codes = emit_codes(node, b, batch, is_asymmetric)
    _emit(node, b, matrix, win, batch, groups, by_rows, codes, b.slot(node.outputs[0]))
    return None


def lower_conv(node, b):
    """A convolution of as many groups as the channels make."""
    per_channel = _scales(node["filter"]).ndim
    return _lower(node, b, conv2d.Matrix(node["filter"]), conv2d.geometry(node).lying, node["input"].shape[0],
                  node["input"].shape[3] // node["filter"].shape[3], bool(per_channel), not per_channel)


def lower_depthwise(node, b):
    """By kernels of floats, whose sums of so few products are exact; else a convolution of a group for each channel."""
    filter_, win, (batch, *image) = node["filter"], depthwise_conv2d.geometry(node).lying, node["input"].shape
    if filter_.value is not None and prod(win.filter) <= EXACT_TAPS and 0 not in node.outputs[0].shape:
        return _lower_exact(node, b, filter_, win, batch, image[-1])
    return _lower(node, b, conv2d.Matrix(filter_, is_turned=True), win, batch, image[-1], True, True)


def _lower_exact(node, b, filter_, win, batch, channels):
    """Codes less their zero points, float32 sums of their products with the weights, scaled."""
    count, units, pixels = prod(node["input"].shape), filter_.shape[3], prod(win.output)
    if count == 0:
        return "the input is empty"
    codes, rows = emit_codes(node, b, batch, True)
    centred, sums = b.temp(4 * count), b.temp(4 * batch * pixels * units)
    b.emit(CentreRows((codes, rows, centred), batch, count // batch))
    size = conv.packed_bytes_depthwise_f32(units, prod(win.filter))
    packed = b.packed([filter_], np.float32, lambda: conv.pack_depthwise_f32(filter_.value, np.zeros(units)),
                      lambda found: found.nbytes == size)
    b.emit(conv.DepthwiseConv2DF32((centred, sums), batch, win, packed, units, units // channels, -np.inf, np.inf))
    biases = b.slot(node["bias"]) if node.has("bias") else b.const(np.zeros(units, np.float32))
    b.emit(ScaleRows((sums, rows, biases, b.slot(node.outputs[0])), batch, pixels, _unit_scales(b, filter_, units),
                     *activation_float(node.scalar("activation", 0))))
    return None


def lower_dense(node, b):
    """A convolution of one tap over rows."""
    rows = prod(node["input"].shape) // node["weights"].shape[1]
    return _lower(node, b, conv2d.Matrix(node["weights"]), window.POINT, rows, 1, node.scalar("is_asymmetric"), True)


def lower_transposed(node, b):
    """A convolution for each phase."""
    win, filter_, batch = transposed_geometry(node), node["filter"], node["input"].shape[0]
    parts = transpose_conv2d.parts(win)
    if isinstance(parts, str):
        return parts
    if prod(node["input"].shape) == 0:
        return "the input is empty"
    codes, target = emit_codes(node, b, batch, True), b.slot(node.outputs[0])
    for taps, part, first in parts:
        emit = partial(_emit, node, b, conv2d.Matrix(filter_, taps), part, batch, 1, True, codes)
        transpose_conv2d.scattered(b, win, part, first, batch, filter_.shape[0], 4, target, emit)
    return None


# -- CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV ----------------------------------------------------------------------
def compute_conv(node, inputs):
    """Images are quantized with a zero point where the filter has a scale for each channel, else without."""
    image, filter_ = inputs[:2]
    scales, rows = _scales(node["filter"]), image.reshape(len(image), -1)
    codes, steps, zeros = (asymmetric if scales.ndim else symmetric)(rows)
    centred = codes.reshape(image.shape).astype(np.float64) - zeros[:, None, None, None]
    sums = group_sums(centred, filter_.astype(np.float64), conv2d.geometry(node)).astype(np.float32)
    steps = steps[:, None, None, None]
    return finished(node, sums * scales * steps if scales.ndim else sums * (steps * scales), _bias(node, inputs))


def _centred(image):
    """(float64 codes less their zero points, float32 scales) of each image."""
    codes, steps, zeros = asymmetric(image.reshape(len(image), -1))
    return codes.reshape(image.shape).astype(np.float64) - zeros[:, None, None, None], steps[:, None, None, None]


def compute_depthwise(node, inputs):
    """As CONV_2D with a scale for each channel."""
    image, filter_ = inputs[:2]
    centred, steps = _centred(image)
    sums = depthwise_conv2d.sums(centred, filter_.astype(np.float64), depthwise_conv2d.geometry(node),
                                 filter_.shape[3] // image.shape[3]).astype(np.float32)
    return finished(node, sums * (_scales(node["filter"]) * steps), _bias(node, inputs))


def compute_transposed(node, inputs):
    """Images are quantized with a zero point, whatever the scales of the filter."""
    centred, steps = _centred(inputs[0])
    sums = transpose_conv2d.sums(centred, inputs[1].astype(np.float64), transposed_geometry(node)).astype(np.float32)
    return finished(node, sums * (_scales(node["filter"]) * steps), _bias(node, inputs))


_TYPES = {"T": ("F32",), "W": ("PC", "Q8S"), "B": ("F32",)}
TFL_HYBRID_CONV_2D = own("TFL_HYBRID_CONV_2D", {CONVOLUTION: _TYPES}, compute_conv, infer_conv, lower=lower_conv)
TFL_HYBRID_DEPTHWISE_CONV_2D = own("TFL_HYBRID_DEPTHWISE_CONV_2D", {CONVOLUTION: _TYPES}, compute_depthwise,
                                   infer_depthwise, lower=lower_depthwise)
TFL_HYBRID_TRANSPOSE_CONV = own("TFL_HYBRID_TRANSPOSE_CONV", {TRANSPOSED: _TYPES}, compute_transposed, infer_transposed,
                                lower=lower_transposed)


# -- FULLY_CONNECTED -------------------------------------------------------------------------------------------------
def compute_dense(node, inputs):
    """Rows are quantized with a zero point if the option says so."""
    (shape,) = infer_dense(node)
    weights = inputs[1]
    rows = inputs[0].reshape(-1, weights.shape[1])
    codes, steps, zeros = (asymmetric if node.scalar("is_asymmetric") else symmetric)(rows)
    sums = ((codes.astype(np.float64) - zeros[:, None]) @ weights.T.astype(np.float64)).astype(np.float32)
    return finished(node, (sums * (steps[:, None] * _scales(node["weights"]))).reshape(shape), _bias(node, inputs))


TFL_HYBRID_FULLY_CONNECTED = own(
    "TFL_HYBRID_FULLY_CONNECTED", {DENSE.replace(" ->", " is_asymmetric:bool ->"): _TYPES}, compute_dense, infer_dense,
    lower=lower_dense,
)


# -- BATCH_MATMUL ----------------------------------------------------------------------------------------------------
def infer_batches(node):
    """Batches broadcast; LiteRT mixes up the scales of rows where more than one of the input's batch dimensions counts.
    """
    shape = product_shape(node)
    if not node["input0"].shape[-2 if node.scalar("adj_x") else -1]:
        node.fail("input0", f"shape is {list(node['input0'].shape)}, must have columns to multiply")
    requantize.check_channel_dim(node, "input1", len(node["input1"].shape) - (2 if node.scalar("adj_y") else 1))
    return [shape]


def _numbers(node):
    """The number of each first matrix among all, as LiteRT finds its scales: by the sum of the places along the batch
    dimensions; the last of them counts matrices where the second ones have size 1 there.
    """
    batches, second = node["input0"].shape[:-2], node["input1"].shape[:-2]
    if not batches or not second or second[-1] != 1:
        return np.indices(batches).sum(0)
    return np.indices(batches[:-1]).sum(0)[..., None] * batches[-1] + np.arange(batches[-1])


def compute_matmul(node, inputs):
    """Rows of the first matrices are quantized, with a zero point if the option says so."""
    x, y, numbers = inputs[0], inputs[1].astype(np.float64), _numbers(node)
    x = np.ascontiguousarray(x.swapaxes(-1, -2)) if node.scalar("adj_x") else x
    y = y.swapaxes(-1, -2) if node.scalar("adj_y") else y
    codes, steps, zeros = (asymmetric if node.scalar("is_asymmetric") else symmetric)(x.reshape(-1, x.shape[-1]))
    zeros, steps = (found.reshape(-1, x.shape[-2])[numbers][..., None] for found in (zeros, steps))
    weights = y.sum(-2).reshape(-1, y.shape[-1])[np.indices(y.shape[:-2]).sum(0)][..., None, :]
    sums = codes.reshape(x.shape).astype(np.float64) @ y - zeros * weights
    return [sums.astype(np.float32) * (steps * _scales(node["input1"]))]


def lower_matmul(node, b):
    """As FULLY_CONNECTED, with the one second matrix for weights."""
    matrices, is_turned = node["input1"], node.scalar("adj_y")
    if node.scalar("adj_x") or prod(matrices.shape[:-2]) != 1:
        return "no native kernel for several second matrices, or a first one to be turned"
    if (np.diff(_numbers(node).reshape(-1)) != 1).any():
        return "no native kernel for scales of other matrices"
    shape, values = matrices.shape[-2:], matrices.value
    matrix = replace(matrices, shape=shape, value=values if values is None else values.reshape(shape))
    rows = prod(node["input0"].shape[:-1])
    return _lower(node, b, conv2d.Matrix(matrix, is_turned=not is_turned), window.POINT, rows, 1,
                  node.scalar("is_asymmetric"), True)


TFL_HYBRID_BATCH_MATMUL = own(
    "TFL_HYBRID_BATCH_MATMUL", {"input0:T input1:W adj_x:bool adj_y:bool is_asymmetric:bool -> output:T": _TYPES},
    compute_matmul, infer_batches, lower=lower_matmul,
)


# -- EMBEDDING_LOOKUP ------------------------------------------------------------------------------------------------
def infer_lookup(node):
    """A row for each number."""
    node.check_rank("lookups", 1)
    node.check_rank("values", 2, 8)
    requantize.check_channel_dim(node, "values", 0)
    return [(*node["lookups"].shape, *node["values"].shape[1:])]


def compute_lookup(node, inputs):
    """Rows of codes times their scale; old files keep int8 codes in uint8 tensors."""
    places, values = inputs[0], inputs[1].view(np.int8)
    if places.size and not 0 <= places.min() <= places.max() < len(values):
        node.fail("lookups", f"has numbers from {places.min()} to {places.max()}, must be in [0, {len(values)})")
    scales = np.broadcast_to(_scales(node["values"]), len(values))[places]
    return [values[places].astype(np.float32) * scales.reshape(-1, *[1] * (values.ndim - 1))]


TFL_HYBRID_EMBEDDING_LOOKUP = own(
    "TFL_HYBRID_EMBEDDING_LOOKUP",
    {"lookups:I values:V -> output:T": {"T": ("F32",), "V": ("PC", "Q8S", "Q8"), "I": ("I32",)}}, compute_lookup,
    infer_lookup,
)
