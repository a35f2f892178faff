"""Elementwise conversion between 8-bit codes and real numbers [NN 15.2]."""

from math import prod

import numpy as np

from .._native.elementwise import DequantizeQ8, LookupQ8
from ..model.quant import round_half_away
from ..model.types import QUANT_RANGE, OperandType
from .base import is_quant8

MOST_PAIRED = 4096
"""Elements up to which two operands take less time as pairs than a table of one takes to make."""


def real_values(tensor, array):
    """float32 values of an 8-bit tensor's codes, each rounded once; any other array unchanged."""
    if not is_quant8(tensor):
        return array
    with np.errstate(over="ignore"):
        return (array.astype(np.int32) - tensor.zero_point).astype(np.float32) * np.float32(tensor.scale)


def recode(source, target, array):
    """Codes of `source` as codes of `target`, which has its own scale and zero point; other types as they are.

    The zero point is added before the rounding (half away from zero), so that the exact half codes -0.5, -1.5 ... of
    the signed type go down where their unsigned twins go up.
    """
    if not is_quant8(source):
        return array
    low, high = QUANT_RANGE[target.type]
    place = real_values(source, array).astype(np.float64) / float(np.float32(target.scale)) + target.zero_point
    return round_half_away(np.clip(place, low, high)).astype(target.dtype)


def logistic32(x):
    """1 / (1 + e^-x) of float64 numbers that float32 holds, each step rounded to float32."""
    with np.errstate(over="ignore"):
        return np.float32(1) / (np.float32(1) + np.exp(-x).astype(np.float32))


def curved(source, target, array, curve):
    """Codes of `target` of a curve of 8-bit codes, in float32, as LiteRT's reference kernels fill tables.

    curve: of float64 arrays of float32 numbers. Steps of the output are rounded before its zero point is added.
    """
    steps = curve(real_values(source, array).astype(np.float64)).astype(np.float32)
    with np.errstate(over="ignore"):
        steps *= np.float32(1) / np.float32(target.scale)
    codes = round_half_away(steps).astype(np.float64) + target.zero_point
    return np.clip(codes, *QUANT_RANGE[target.type]).astype(target.dtype)


def emit_real_values(b, tensor):
    """Slot of an 8-bit tensor's float32 values, computed by an emitted step; for other types the tensor's own slot."""
    if not is_quant8(tensor):
        return b.slot(tensor)
    count, signed = prod(tensor.shape), tensor.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED
    slot = b.temp(4 * count)
    b.emit(DequantizeQ8((b.slot(tensor), slot), signed, count, 1, tensor.zero_point, [tensor.scale]))
    return slot


def emit_recode(b, source, target):
    """Slot of `source` in the quantization of `target`; emits a converting step if they differ."""
    if not is_quant8(source) or (source.scale, source.zero_point) == (target.scale, target.zero_point):
        return b.slot(source)
    table = recode(source, target, np.arange(256, dtype=np.uint8).view(source.dtype)).view(np.uint8)
    count = prod(source.shape)
    slot = b.temp(count)
    b.emit(LookupQ8((b.slot(source), slot), count, table))
    return slot


def emit_looked_up(node, b, compute):
    """Whether one of the first two inputs is one known byte and the other many; then emits a look-up of the output.

    compute: of the operation, whose output has a byte for each of theirs.
    """
    target = node.outputs[0]
    for place, source in enumerate(node.inputs[:2]):
        known, count = node.inputs[1 - place], prod(source.shape)
        if known.value is None or known.value.size != 1 or count <= MOST_PAIRED or \
                {source.dtype.itemsize, known.dtype.itemsize, target.dtype.itemsize} != {1}:
            continue
        inputs = [t.value for t in node.inputs]
        inputs[place], inputs[1 - place] = np.arange(256, dtype=np.uint8).view(source.dtype), known.value.reshape(1)
        (table,) = compute(node, inputs)
        b.emit(LookupQ8((b.slot(source), b.slot(target)), count, table.view(np.uint8)))
        return True
    return False
