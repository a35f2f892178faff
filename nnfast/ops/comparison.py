"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL on two broadcast tensors (ops_b.md 48)."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature, broadcast_shape
from .codes import real_values

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


def _comparison(type_):
    sets = ("1.2: B8", "1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")
    return OpDef(type_, (Signature("x:T y:T -> output:B8", sets),), infer=infer, compute=compute)


EQUAL = _comparison(OperationType.EQUAL)
NOT_EQUAL = _comparison(OperationType.NOT_EQUAL)
GREATER = _comparison(OperationType.GREATER)
GREATER_EQUAL = _comparison(OperationType.GREATER_EQUAL)
LESS = _comparison(OperationType.LESS)
LESS_EQUAL = _comparison(OperationType.LESS_EQUAL)
