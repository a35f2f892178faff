"""Operands that are right at a glance: the common case of validation, which looks at others rule by rule."""

import numpy as np

from .types import (
    CONSTANT_LIFETIMES,
    DTYPES,
    FLOAT32_MAX,
    FLOAT32_TINY,
    QUANT_RANGE,
    QUANTIZED_TYPES,
    SCALAR_TYPES,
    SYMMETRIC_TYPES,
    UINT32_MAX,
    ChannelQuant,
    LifeTime,
    OperandType,
)
from .withheld import Withheld

_T = OperandType
_CODES, _LIFETIMES = frozenset((int, OperandType)), frozenset((int, LifeTime))


def _rule(kind):
    """(dtype, whether it is a scalar, lowest and highest scale, lowest and highest zero point)."""
    largest = FLOAT32_MAX if kind in QUANTIZED_TYPES or kind == _T.TENSOR_INT32 else 0.0
    scales = FLOAT32_TINY if kind in QUANTIZED_TYPES else 0.0, largest
    points = (0, 0) if kind in SYMMETRIC_TYPES else QUANT_RANGE.get(kind, (0, 0))
    return DTYPES[kind], kind in SCALAR_TYPES, *scales, *points


_RULES = {int(kind): _rule(kind) for kind in DTYPES if kind not in (_T.SUBGRAPH, _T.TENSOR_OEM_BYTE)}


def is_plain(operand):
    """True for many a valid operand, False for the others and for all that are not valid."""
    kind, dims, scale, zero_point = operand.type, operand.dims, operand.scale, operand.zero_point
    lifetime, data = operand.lifetime, operand.data
    if type(kind) not in _CODES or kind not in _RULES or type(lifetime) not in _LIFETIMES:
        return False
    dtype, is_scalar, low, high, first, last = _RULES[kind]
    if type(dims) is not tuple or (dims and is_scalar) or type(operand.name) is not str \
            or type(scale) is not float or not low <= scale <= high \
            or type(zero_point) is not int or not first <= zero_point <= last \
            or operand.parameters is not None or operand.subgraph is not None:
        return False
    size = dtype.itemsize
    for dim in dims:
        if type(dim) is not int or not 0 <= dim <= UINT32_MAX:
            return False
        size *= dim
    if kind == _T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        if not _is_plain_quant(operand.channel_quant, dims):
            return False
    elif operand.channel_quant is not None:
        return False
    if size > UINT32_MAX or not 0 <= lifetime < LifeTime.SUBGRAPH:
        return False
    if lifetime not in CONSTANT_LIFETIMES:
        return data is None
    if not size or not (dims or is_scalar):
        return False
    return (type(data) is Withheld or (type(data) is np.ndarray and data.flags.c_contiguous)) \
        and data.dtype == dtype and data.shape == dims


def _is_plain_quant(quant, dims):
    """Whether there are scales for the channels of these dimensions, and their numbers are right or withheld."""
    if type(quant) is not ChannelQuant or type(quant.dim) is not int or not 0 <= quant.dim < len(dims) \
            or dims[quant.dim] < 1:
        return False
    if type(quant.scales) is Withheld:
        return quant.scales.shape == (dims[quant.dim],)
    return type(quant.scales) is tuple and len(quant.scales) == dims[quant.dim] and are_scales(quant.scales)


def are_scales(values):
    """True if all values of a sequence are numbers that are finite and positive as float32."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return array.ndim == 1 and bool(((array >= FLOAT32_TINY) & (array <= FLOAT32_MAX)).all())
