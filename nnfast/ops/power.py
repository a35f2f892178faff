"""POW: base to the exponent, elementwise [NN 15.70]."""

import numpy as np

from .._native.elementwise import BinaryF32, obstacle
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape


def infer(node):
    """Broadcast shape, of any rank."""
    return [broadcast_shape(node, "base", "exponent")]


def power(base, exponent):
    """IEEE pow of float64: a negative base with a fractional exponent gives NaN, pow(-inf, 0.5) is inf.

    numpy uses sqrt for a scalar exponent of 0.5, which gives NaN for -inf and -0 for -0.
    """
    with np.errstate(all="ignore"):
        base, exponent = np.asarray(base, np.float64), np.asarray(exponent, np.float64)
        rooted = (exponent == 0.5) & ((base == 0) | (base == -np.inf))
        return np.where(rooted, np.abs(base), np.power(base, exponent))


def compute(node, inputs):
    """In float64, rounded once."""
    with np.errstate(over="ignore"):
        return [power(*inputs).astype(node.outputs[0].dtype)]


def lower(node, b):
    """One step for float32, a product where the exponent is known to be 2."""
    base, exponent = node["base"], node["exponent"]
    if base.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(base.type)}"
    reason = obstacle(base.shape, exponent.shape)
    if reason is None:
        name, other = "pow", exponent
        if exponent.value is not None and exponent.value.size == 1 and exponent.value.item() == 2:
            name, other = "mul", base
        b.emit(BinaryF32((b.slot(base), b.slot(other), b.slot(node.outputs[0])), name, base.shape, other.shape))
    return reason


POW = OpDef(
    OperationType.POW, (Signature("base:T exponent:T -> output:T", ("1.2: F16", "1.2: F32")),),
    infer=infer, compute=compute, lower=lower,
)
