"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL on two broadcast tensors [NN 15.48]."""

import numpy as np

from .._native.elementwise import BinaryBytes, Compare, obstacle
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape
from .codes import emit_looked_up, emit_real_values, real_values

_RELATIONS = {
    OperationType.EQUAL: np.equal, OperationType.NOT_EQUAL: np.not_equal, OperationType.GREATER: np.greater,
    OperationType.GREATER_EQUAL: np.greater_equal, OperationType.LESS: np.less, OperationType.LESS_EQUAL: np.less_equal,
}


def infer(node):
    """Broadcast shape, of any rank."""
    return [broadcast_shape(node, "x", "y")]


def compute(node, inputs):
    """1 where the relation holds, else 0: 8-bit by real value, booleans by raw byte, NaN as IEEE."""
    x, y = (real_values(source, array) for source, array in zip(node.inputs, inputs))
    return [np.asarray(_RELATIONS[node.op.type](x, y)).astype(np.uint8)]


# Kernel of each relation, and whether to swap its operands.
_KERNELS = {
    OperationType.EQUAL: ("equal", False), OperationType.NOT_EQUAL: ("not_equal", False),
    OperationType.GREATER: ("less", True), OperationType.GREATER_EQUAL: ("less_equal", True),
    OperationType.LESS: ("less", False), OperationType.LESS_EQUAL: ("less_equal", False),
}


def lower(node, b):
    """One step for float32, INT32, booleans, and codes with a known one; else 8-bit codes become real values first."""
    if emit_looked_up(node, b, compute):
        return None
    reason = obstacle(node["x"].shape, node["y"].shape)
    if reason is not None:
        return reason
    relation, swapped = _KERNELS[node.op.type]
    sides = (node["y"], node["x"]) if swapped else (node["x"], node["y"])
    shapes, type_ = [side.shape for side in sides], sides[0].type
    if type_ == OperandType.TENSOR_FLOAT16:
        return f"no native kernel for {type_name(type_)}"
    slots = (*(emit_real_values(b, side) for side in sides), b.slot(node.outputs[0]))
    if type_ == OperandType.TENSOR_BOOL8:
        b.emit(BinaryBytes(slots, relation, "b8", *shapes))
    else:
        b.emit(Compare(slots, relation, "s32" if type_ == OperandType.TENSOR_INT32 else "f32", *shapes))
    return None


def _comparison(type_):
    sets = ("1.2: B8", "1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")
    return OpDef(type_, (Signature("x:T y:T -> output:B8", sets),), infer=infer, compute=compute, lower=lower)


EQUAL = _comparison(OperationType.EQUAL)
NOT_EQUAL = _comparison(OperationType.NOT_EQUAL)
GREATER = _comparison(OperationType.GREATER)
GREATER_EQUAL = _comparison(OperationType.GREATER_EQUAL)
LESS = _comparison(OperationType.LESS)
LESS_EQUAL = _comparison(OperationType.LESS_EQUAL)
