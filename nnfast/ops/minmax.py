"""MAXIMUM, MINIMUM: the larger or smaller of two broadcast tensors [NN 15.65]."""

import numpy as np

from .._native.elementwise import BinaryBytes, BinaryF32, BinaryS32, obstacle
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape, is_quant8
from .codes import emit_recode, recode

_SETS = ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")


def infer(node):
    """Broadcast shape, of any rank."""
    return [broadcast_shape(node, "x", "y")]


def _compute(node, inputs, beats):
    """y where it beats x, else x: a NaN on either side gives x. 8-bit codes meet in the output's quantization."""
    output = node.outputs[0]
    x, y = (recode(source, output, array) for source, array in zip(node.inputs, inputs))
    return [np.where(beats(y, x), y, x)]


def compute_maximum(node, inputs):
    """x < y ? y : x."""
    return _compute(node, inputs, np.greater)


def compute_minimum(node, inputs):
    """y < x ? y : x."""
    return _compute(node, inputs, np.less)


def lower(node, b):
    """One step for float32, INT32 and 8-bit codes; codes of another quantization are mapped by a table first."""
    x, y, output = node["x"], node["y"], node.outputs[0]
    reason = obstacle(x.shape, y.shape)
    if reason is not None:
        return reason
    name = "max" if node.op.type == OperationType.MAXIMUM else "min"
    if is_quant8(x):
        slots = emit_recode(b, x, output), emit_recode(b, y, output), b.slot(output)
        types = "qs8" if x.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED else "qu8"
        b.emit(BinaryBytes(slots, name, types, x.shape, y.shape))
    elif x.type in _STEPS:
        b.emit(_STEPS[x.type]((b.slot(x), b.slot(y), b.slot(output)), name, x.shape, y.shape))
    else:
        return f"no native kernel for {type_name(x.type)}"
    return None


_STEPS = {OperandType.TENSOR_FLOAT32: BinaryF32, OperandType.TENSOR_INT32: BinaryS32}

MAXIMUM = OpDef(
    OperationType.MAXIMUM, (Signature("x:T y:T -> output:T", _SETS),), infer=infer, compute=compute_maximum,
    lower=lower,
)
MINIMUM = OpDef(
    OperationType.MINIMUM, (Signature("x:T y:T -> output:T", _SETS),), infer=infer, compute=compute_minimum,
    lower=lower,
)
