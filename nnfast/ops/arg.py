"""ARGMAX, ARGMIN along one axis (ops_b.md 39)."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature


def infer(node):
    """The input's shape without the axis; [1] when none is left."""
    shape, axis = node["input"].shape, node.axis()
    return [shape[:axis] + shape[axis + 1:] or (1,)]


def _compute(node, x, first_best, worst):
    """Index of the first best value. A NaN wins no comparison, but nothing beats one that stands first."""
    axis = node.axis()
    if x.dtype.kind == "f":
        leads = np.isnan(np.take(x, 0, axis))
        x = np.where(np.isnan(x), worst, x)
        indices = np.where(leads, 0, first_best(x, axis=axis))
    else:
        indices = first_best(x, axis=axis)
    return [np.asarray(indices, np.int32).reshape(infer(node)[0])]


def compute_argmax(node, inputs):
    """The lowest index of the largest value; 8-bit by raw code."""
    return _compute(node, inputs[0], np.argmax, -np.inf)


def compute_argmin(node, inputs):
    """The lowest index of the smallest value; 8-bit by raw code."""
    return _compute(node, inputs[0], np.argmin, np.inf)


_SIGNATURES = (
    Signature("input:T axis:i32 -> output:I32", ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),
)
ARGMAX = OpDef(OperationType.ARGMAX, _SIGNATURES, infer=infer, compute=compute_argmax)
ARGMIN = OpDef(OperationType.ARGMIN, _SIGNATURES, infer=infer, compute=compute_argmin)
