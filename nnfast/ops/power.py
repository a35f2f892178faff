"""POW: base to the exponent, elementwise (ops_b.md 70)."""

import numpy as np

from .._native.elementwise import BinaryF32, obstacle
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape


def infer(node):
    """Broadcast shape, of any rank."""
    return [broadcast_shape(node, "base", "exponent")]


def compute(node, inputs):
    """IEEE pow in float64, rounded once: a negative base with a broken exponent gives NaN."""
    with np.errstate(all="ignore"):
        base, exponent = (np.asarray(x, np.float64) for x in inputs)
        return [np.asarray(np.power(base, exponent)).astype(node.outputs[0].dtype)]


def lower(node, b):
    """One step for float32."""
    base, exponent = node["base"], node["exponent"]
    if base.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(base.type)}"
    reason = obstacle(base.shape, exponent.shape)
    if reason is None:
        b.emit(BinaryF32((b.slot(base), b.slot(exponent), b.slot(node.outputs[0])), "pow", base.shape, exponent.shape))
    return reason


POW = OpDef(
    OperationType.POW, (Signature("base:T exponent:T -> output:T", ("1.2: F16", "1.2: F32")),),
    infer=infer, compute=compute, lower=lower,
)
