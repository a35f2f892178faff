"""POW: base to the exponent, elementwise (ops_b.md 70)."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature, broadcast_shape


def infer(node):
    """Broadcast shape, of any rank."""
    return [broadcast_shape(node, "base", "exponent")]


def compute(node, inputs):
    """IEEE pow in float64, rounded once: a negative base with a broken exponent gives NaN."""
    with np.errstate(all="ignore"):
        base, exponent = (np.asarray(x, np.float64) for x in inputs)
        return [np.asarray(np.power(base, exponent)).astype(node.outputs[0].dtype)]


POW = OpDef(
    OperationType.POW, (Signature("base:T exponent:T -> output:T", ("1.2: F16", "1.2: F32")),),
    infer=infer, compute=compute,
)
