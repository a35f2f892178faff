"""Unary operations: ABS, EXP, FLOOR, LOG, LOGICAL_NOT, NEG, RSQRT, SIN, SQRT [NN 15.38, 14.8]."""

from math import prod

import numpy as np

from .._native.elementwise import BinaryS32, LookupQ8, UnaryF32
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature, is_quant8
from .codes import real_values
from .quantize import compute_quantize

_FLOATS = ("1.2: F16", "1.2: F32")


# -- rules ---------------------------------------------------------------------------------------------------------
def validate_floor(node):
    """Rank up to 4, a rule of FLOOR only."""
    node.check_rank("input", 1, 4)


def infer(node):
    """Output shape is the input's."""
    return [node["input"].shape]


# -- arithmetic ----------------------------------------------------------------------------------------------------
_EXACT = {
    OperationType.ABS: np.abs, OperationType.FLOOR: np.floor, OperationType.NEG: np.negative,
    OperationType.LOGICAL_NOT: lambda x: x == 0,
}
_CURVES = {
    OperationType.EXP: np.exp, OperationType.LOG: np.log, OperationType.SIN: np.sin, OperationType.SQRT: np.sqrt,
    OperationType.RSQRT: lambda x: 1 / np.sqrt(x),
}


def compute_exact(node, inputs):
    """Operations with exact results; ABS and NEG of the lowest INT32 wrap to itself."""
    with np.errstate(all="ignore"):
        return [np.asarray(_EXACT[node.op.type](inputs[0])).astype(node.outputs[0].dtype)]


def compute_curve(node, inputs):
    """Floats in float64, rounded once."""
    with np.errstate(all="ignore"):
        x = np.asarray(inputs[0], np.float64)
        return [np.asarray(_CURVES[node.op.type](x)).astype(node.outputs[0].dtype)]


def compute_rsqrt(node, inputs):
    """Floats as the other functions; 8-bit in float32, where 0 (infinity) and negative values (NaN) give the highest
    code.
    """
    source = node["input"]
    if not is_quant8(source):
        return compute_curve(node, inputs)
    with np.errstate(all="ignore"):
        return compute_quantize(node, [np.float32(1) / np.sqrt(real_values(source, inputs[0]))])


# -- native --------------------------------------------------------------------------------------------------------
def lower(node, b):
    """One step for float32; bytes, 8-bit codes and booleans, by a table; INT32 by its arithmetic."""
    source, output = node["input"], node.outputs[0]
    slots, count = (b.slot(source), b.slot(output)), prod(source.shape)
    if source.dtype.itemsize == 1:
        (mapped,) = node.op.compute(node, [np.arange(256, dtype=np.uint8).view(source.dtype)])
        b.emit(LookupQ8(slots, count, mapped.view(np.uint8)))
    elif source.type == OperandType.TENSOR_FLOAT32:
        b.emit(UnaryF32(slots, node.op.type.name.lower(), count))
    elif source.type == OperandType.TENSOR_INT32:
        _lower_int32(node, b, slots, count)
    else:
        return f"no native kernel for {type_name(source.type)}"
    return None


def _lower_int32(node, b, slots, count):
    """NEG as 0 - x, which wraps, and ABS as the larger of x and -x."""
    absolute = node.op.type == OperationType.ABS
    negative = b.temp(4 * count) if absolute else slots[1]
    b.emit(BinaryS32((b.const(np.zeros(1, np.int32)), slots[0], negative), "sub", (1,), (count,)))
    if absolute:
        b.emit(BinaryS32((slots[0], negative, slots[1]), "max", (count,), (count,)))


# -- references ---------------------------------------------------------------------------------------------------
def _unary(type_, sets, compute, validate=None):
    return OpDef(type_, (Signature("input:T -> output:T", sets),), validate=validate, infer=infer, compute=compute,
                 lower=lower)


ABS = _unary(OperationType.ABS, (*_FLOATS, "1.3: I32"), compute_exact)
EXP = _unary(OperationType.EXP, _FLOATS, compute_curve)
FLOOR = _unary(OperationType.FLOOR, ("1.0: F32", "1.2: F16"), compute_exact, validate_floor)
LOG = _unary(OperationType.LOG, _FLOATS, compute_curve)
LOGICAL_NOT = _unary(OperationType.LOGICAL_NOT, ("1.2: B8",), compute_exact)
NEG = _unary(OperationType.NEG, (*_FLOATS, "1.2: I32"), compute_exact)
RSQRT = _unary(OperationType.RSQRT, (*_FLOATS, "aidl3: Q8", "aidl3: Q8S"), compute_rsqrt)
SIN = _unary(OperationType.SIN, _FLOATS, compute_curve)
SQRT = _unary(OperationType.SQRT, _FLOATS, compute_curve)
