"""Operators with weights or windows: convolutions (plain, grouped, transposed), FULLY_CONNECTED, pooling."""

from functools import partial
from math import prod

import numpy as np

from ..model.types import OperandType, OperationType
from .graph import MOST_RANK
from .rules import FLOATS, FLOATS_QUANT8, translates
from .schema import Builtin, TensorType

BIAS_TOLERANCE = 0.02
"""Largest difference between bias scale and input scale * weight scale that TFLite accepts, over the output scale."""


@translates(Builtin.AVERAGE_POOL_2D, Builtin.MAX_POOL_2D)
def pool(b, op):
    """AVERAGE_POOL_2D, MAX_POOL_2D with an implicit padding scheme."""
    x, dims = b.source(op, 1, FLOATS_QUANT8, 4)
    parameters = [b.positive(op, field) for field in ("stride_w", "stride_h", "filter_w", "filter_h")]
    result = dims and _image(op, dims, (op.options.filter_h, op.options.filter_w), dims[3])
    b.emit(OperationType[op.name], (b.operand(op, x), b.padding(op), *parameters, b.activation(op)),
           (b.output(op, result),))


def _image(op, dims, filter_size, channels, dilations=(1, 1)):
    """Dims of the images that windows of a known size give; 0 = unknown, also for images smaller than a window."""
    sizes = []
    strides = op.options.stride_h, op.options.stride_w
    for size, length, stride, dilation in zip(dims[1:3], filter_size, strides, dilations):
        room = size - (length - 1) * dilation if op.options.padding else size
        sizes.append(max(room + stride - 1, 0) // stride if size else 0)
    return dims[0], *sizes, channels


def _filtered(op, dims, filter_dims, channels):
    """Dims of the images that a convolution gives; () if they are not known."""
    if not dims or not filter_dims:
        return ()
    return _image(op, dims, filter_dims[1:3], channels, (op.options.dilation_h, op.options.dilation_w))


@translates(Builtin.CONV_2D)
def conv_2d(b, op):
    """CONV_2D with an implicit padding scheme; dilation only where it is not 1. GROUPED_CONV_2D for several groups."""
    b.check_counts(op, 2, 3)
    x, w, out = b.tensor(op, 0), b.tensor(op, 1), b.result(op)
    code = b.check_types(op, FLOATS_QUANT8, x, out)
    b.check_rank(op, x, 4)
    b.check_rank(op, w, 4)
    dims, filter_dims = b.dims(op, x), b.dims(op, w)
    groups = _groups(b, op, dims, filter_dims)
    weights = _filter(b, op, code, x, w, 0)
    bias = _bias(b, op, code, x, w, b.tensor(op, 2), b.operands[weights], filter_dims[0] if filter_dims else 0)
    strides = b.positive(op, "stride_w"), b.positive(op, "stride_h")
    inputs, dilation = [b.operand(op, x), weights, bias, b.padding(op), *strides], _dilation(b, op)
    result = _filtered(op, dims, filter_dims, filter_dims and filter_dims[0])
    if groups == 1:
        b.emit(OperationType.CONV_2D, (*inputs, b.activation(op), *dilation), (b.output(op, result),))
        return
    if dilation:
        b.refuse(op, f"has {groups} groups and a dilation, NNAPI's GROUPED_CONV_2D has none")
    b.emit(OperationType.GROUPED_CONV_2D, (*inputs, b.i32(groups), b.activation(op), b.bool(False)),
           (b.output(op, result),))


def _groups(b, op, dims, filter_dims):
    """Number of groups by the channels of input and filter; 1 if these are unknown."""
    if not dims or not filter_dims or not dims[3] or not filter_dims[3]:
        return 1
    groups, rest = divmod(dims[3], filter_dims[3])
    if rest or filter_dims[0] % groups:
        b.refuse(op, f"input has {dims[3]} channels, the filter {filter_dims[3]} and {filter_dims[0]} outputs; these"
                     " make no groups")
    return groups


@translates(Builtin.TRANSPOSE_CONV)
def transpose_conv(b, op):
    """TRANSPOSE_CONV_2D with an implicit padding scheme; the output's shape may be computed."""
    b.check_counts(op, 3, 4)
    shape, w, x = (b.tensor(op, place) for place in range(3))
    code = b.check_types(op, FLOATS_QUANT8, x, b.result(op))
    b.check_rank(op, x, 4)
    b.check_rank(op, w, 4)
    filter_dims, result = b.dims(op, w), ()
    if b.is_constant(shape):
        result = tuple(b.integers(op, shape, "output shape"))
        if len(result) != 4 or min(result) < 1:
            b.refuse(op, f"output shape {list(result)} must be four values of at least 1")
        wanted = b.ints(result)
    else:
        b.check_types(op, (OperandType.TENSOR_INT32,), shape)
        wanted = b.operand(op, shape)
    weights = _filter(b, op, code, x, w, 0)
    bias = _bias(b, op, code, x, w, b.tensor(op, 3), b.operands[weights], filter_dims[0] if filter_dims else 0)
    strides = b.positive(op, "stride_w"), b.positive(op, "stride_h")
    padding, larger = b.padding(op), _larger(b, op, result, b.dims(op, x), filter_dims)
    places = [b.i32(pad) for pad in larger] if larger else [wanted, padding]
    inputs = (b.operand(op, x), weights, bias, *places, *strides, b.activation(op), b.bool(False))
    b.emit(OperationType.TRANSPOSE_CONV_2D, inputs, (b.output(op, result),))


def _larger(b, op, result, dims, filter_dims):
    """Padding (left, right, top, bottom) for an output larger than the least of scheme VALID, which no window fills;
    () where it is not.
    """
    if op.options.padding != 1 or not result or not dims or not filter_dims or 0 in (*dims[1:3], *filter_dims[1:3]):
        return ()
    least = [(dims[axis] - 1) * stride + filter_dims[axis]
             for axis, stride in ((1, op.options.stride_h), (2, op.options.stride_w))]
    bottom, right = least[0] - result[1], least[1] - result[2]
    return (0, right, 0, bottom) if bottom < 0 or right < 0 else ()


@translates(Builtin.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(b, op):
    """DEPTHWISE_CONV_2D; the multiplier is derived from the shapes if known, as in TFLite."""
    b.check_counts(op, 2, 3)
    x, w, out = b.tensor(op, 0), b.tensor(op, 1), b.result(op)
    code = b.check_types(op, FLOATS_QUANT8, x, out)
    b.check_rank(op, x, 4)
    b.check_rank(op, w, 4)
    dims, filter_dims = b.dims(op, x), b.dims(op, w)
    channels, count = dims[3] if dims else 0, filter_dims[3] if filter_dims else 0
    if filter_dims and filter_dims[0] != 1:
        b.refuse(op, f"filter has shape {list(filter_dims)}, its first dimension must be 1")
    if channels and count and count % channels:
        b.refuse(op, f"filter has {count} channels, must be a multiple of the input's {channels}")
    multiplier = b.i32(count // channels) if channels and count else b.positive(op, "depth_multiplier")
    weights = _filter(b, op, code, x, w, 3)
    bias = _bias(b, op, code, x, w, b.tensor(op, 2), b.operands[weights], count)
    strides = b.positive(op, "stride_w"), b.positive(op, "stride_h")
    inputs = [b.operand(op, x), weights, bias, b.padding(op), *strides, multiplier, b.activation(op), *_dilation(b, op)]
    b.emit(OperationType.DEPTHWISE_CONV_2D, inputs, (b.output(op, _filtered(op, dims, filter_dims, count)),))


@translates(Builtin.FULLY_CONNECTED)
def fully_connected(b, op):
    """FULLY_CONNECTED, with a RESHAPE where the rank is kept or above NNAPI's.

    With a scale for each unit it is one of our own, or with the standard's arithmetic a 1x1 CONV_2D.
    """
    b.check_counts(op, 2, 3)
    x, w, out = b.tensor(op, 0), b.tensor(op, 1), b.result(op)
    code = b.check_types(op, FLOATS_QUANT8, x, out)
    if op.options.weights_format:
        b.refuse(op, "has shuffled weights, NNAPI takes row-major ones")
    b.check_rank(op, w, 2, 2)
    if not b.dims(op, w) or 0 in b.dims(op, w):
        b.refuse(op, "weights must have known dimensions")
    units, size = b.dims(op, w)
    per_channel = len(w.scales) > 1
    if per_channel and b.arithmetic == "nnapi":
        _per_channel(b, op, code, x, w, units, size)
        return
    b.check_types(op, (code,), x, w)
    dims = b.dims(op, x)
    source = b.operand(op, x)
    rows = _rows(b, op, dims, size)
    if len(dims) == 1 or len(dims) > MOST_RANK:
        source = b.reshape(op, source, code, (rows, size), b.quant(op, x))
    weights = b.channel_operand(op, w, 0) if per_channel else b.operand(op, w)
    emit = partial(b.emit_own, "TFL_FULLY_CONNECTED") if per_channel else partial(b.emit, OperationType.FULLY_CONNECTED)
    bias = _bias(b, op, code, x, w, b.tensor(op, 2), b.operands[weights], units)
    inputs = (source, weights, bias, b.activation(op))
    target = b.output(op, (rows, units) if not op.options.keep_num_dims else dims and (*dims[:-1], units))
    shape = b.operands[target].dims
    if len(shape) == 2 or not (shape or op.options.keep_num_dims):
        emit(inputs, (target,))
        return
    flat = b.temporary(code, (rows, units), *b.quant(op, out), name=f"{out.name}_flat")
    emit(inputs, (flat,))
    b.reshape(op, flat, code, shape, target=target)


def _rows(b, op, dims, size):
    """Number of vectors of `size` values in an input; 0 = unknown."""
    if dims and prod(dims) % size:
        b.refuse(op, f"input of shape {list(dims)} has no multiple of {size} elements, as the weights need")
    return prod(dims) // size if dims else 0


def _per_channel(b, op, code, x, w, units, size):
    """NNAPI has no FULLY_CONNECTED with per-channel weights: RESHAPE, CONV_2D with a 1x1 filter, RESHAPE."""
    out = b.result(op)
    dims = b.dims(op, x)
    rows = _rows(b, op, dims, size)
    source = b.reshape(op, b.operand(op, x), code, (rows, 1, 1, size), b.quant(op, x))
    weights = _filter(b, op, code, x, w, 0, (units, 1, 1, size))
    bias = _bias(b, op, code, x, w, b.tensor(op, 2), b.operands[weights], units)
    quant = b.quant(op, out)
    flat = b.temporary(code, (rows, 1, 1, units), *quant, name=f"{out.name}_flat")
    b.emit(OperationType.CONV_2D, (source, weights, bias, b.i32(2), b.i32(1), b.i32(1), b.activation(op)), (flat,))
    target = b.output(op, dims and (*dims[:-1], units) if op.options.keep_num_dims else (rows, units))
    b.reshape(op, flat, code, b.operands[target].dims, target=target)


def _dilation(b, op):
    """Layout and dilation operands, or none if both dilations are 1."""
    width, height = b.positive(op, "dilation_w"), b.positive(op, "dilation_h")
    if op.options.dilation_w == op.options.dilation_h == 1:
        return ()
    return b.bool(False), width, height


def _filter(b, op, code, x, w, channel_dim, shape=None):
    """Operand of a filter.

    Constant int8 filters become per-channel ones even if the file has a single scale: TFLite repeats it and then
    ignores the bias scale. Computed filters keep their quantization; NNAPI counts zero points of int8 ones, TFLite has
    none.
    """
    b.check_types(op, (code,), x, w)
    if code == OperandType.TENSOR_QUANT8_ASYMM_SIGNED:
        if b.is_constant(w):
            return b.channel_constant(op, w, channel_dim, shape)
        if b.arithmetic == "litert":
            b.check_symmetric(op, w)
    if len(w.scales) < 2:
        return b.operand(op, w)
    if code != OperandType.TENSOR_QUANT8_ASYMM_SIGNED or shape is not None:
        b.refuse(op, f"filter has {len(w.scales)} scales, NNAPI takes one where it is not a constant int8 tensor")
    return b.channel_operand(op, w, channel_dim)


def _bias(b, op, code, x, w, bias, filter_operand, count):
    """Operand of a bias; zeros where the file has none.

    Quantized biases get exactly the scale the standard asks for, float32(input scale * filter scale), where TFLite
    accepts the file's; with per-channel filters the scale is 0.
    """
    per_channel = filter_operand.type == OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL
    expected = 0.0
    if code not in FLOATS and not per_channel:
        expected = float(np.float32(b.quant(op, x)[0]) * np.float32(b.quant(op, w)[0]))
    wanted = code if code in FLOATS else OperandType.TENSOR_INT32
    if bias is None:
        return b.zero_values(op, wanted, count, expected)
    if b.supported_type(op, bias) != wanted:
        b.refuse(op, f"bias has type {TensorType(bias.type).name.lower()}, NNAPI takes {wanted.name}")
    if expected:
        scale, output_scale = bias.scales[0] if len(bias.scales) == 1 else 0.0, b.quant(op, b.result(op))[0]
        if abs(expected - scale) / output_scale > BIAS_TOLERANCE:
            b.refuse(op, f"bias scale is {scale}, must be the product {expected} of input and filter scale")
    if not b.is_constant(bias):
        source = b.operand(op, bias)
        if not expected:
            return source
        target = b.temporary(wanted, b.operands[source].dims, expected, name=f"{bias.name}_scaled")
        b.emit_own("TFL_COPY", (source,), (target,))
        return target
    if count and bias.array.size != count:
        b.refuse(op, f"bias has {bias.array.size} values, must have {count}")
    return b.constant(bias.array.reshape(-1), wanted, expected, name=bias.name)
