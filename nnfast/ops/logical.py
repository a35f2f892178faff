"""LOGICAL_AND, LOGICAL_OR on two broadcast boolean tensors [NN 15.61]."""

import numpy as np

from .._native.elementwise import BinaryBytes, obstacle
from ..model.types import OperationType
from .base import OpDef, Signature, broadcast_shape


def infer(node):
    """Broadcast shape, of any rank."""
    return [broadcast_shape(node, "x", "y")]


def compute_and(node, inputs):
    """1 where both bytes are nonzero, else 0."""
    return [np.asarray(np.logical_and(*inputs)).astype(np.uint8)]


def compute_or(node, inputs):
    """1 where a byte is nonzero, else 0."""
    return [np.asarray(np.logical_or(*inputs)).astype(np.uint8)]


def lower(node, b):
    """One step."""
    x, y = node["x"], node["y"]
    reason = obstacle(x.shape, y.shape)
    if reason is None:
        name = "and" if node.op.type == OperationType.LOGICAL_AND else "or"
        b.emit(BinaryBytes((b.slot(x), b.slot(y), b.slot(node.outputs[0])), name, "b8", x.shape, y.shape))
    return reason


LOGICAL_AND = OpDef(
    OperationType.LOGICAL_AND, (Signature("x:B8 y:B8 -> output:B8", ("1.2:",)),), infer=infer, compute=compute_and,
    lower=lower,
)
LOGICAL_OR = OpDef(
    OperationType.LOGICAL_OR, (Signature("x:B8 y:B8 -> output:B8", ("1.2:",)),), infer=infer, compute=compute_or,
    lower=lower,
)
