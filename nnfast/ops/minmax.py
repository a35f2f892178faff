"""MAXIMUM, MINIMUM: the larger or smaller of two broadcast tensors (ops_b.md 65, 66)."""

import numpy as np

from .._native.elementwise import BinaryF32
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape
from .codes import recode

MOST_RANK = 8
"""Most dimensions of a native step that broadcasts."""

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
    """One step for float32."""
    x, y = node["x"], node["y"]
    if x.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(x.type)}"
    if max(len(x.shape), len(y.shape)) > MOST_RANK:
        return f"rank above {MOST_RANK}"
    name = "max" if node.op.type == OperationType.MAXIMUM else "min"
    b.emit(BinaryF32((b.slot(x), b.slot(y), b.slot(node.outputs[0])), name, x.shape, y.shape))
    return None


MAXIMUM = OpDef(
    OperationType.MAXIMUM, (Signature("x:T y:T -> output:T", _SETS),), infer=infer, compute=compute_maximum,
    lower=lower,
)
MINIMUM = OpDef(
    OperationType.MINIMUM, (Signature("x:T y:T -> output:T", _SETS),), infer=infer, compute=compute_minimum,
    lower=lower,
)
