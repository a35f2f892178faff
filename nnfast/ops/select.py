"""SELECT: from one of two tensors by a boolean one, without broadcasting [NN 15.84]."""

from math import prod

import numpy as np

from .._native.elementwise import Select
from ..model.types import OperationType
from .base import OpDef, Signature
from .codes import emit_recode, recode


def infer(node):
    """The shape that all three inputs must have."""
    shape = node["condition"].shape
    for name in ("x", "y"):
        if node[name].shape != shape:
            node.fail(name, f"shape is {list(node[name].shape)}, must be the condition's, {list(shape)}")
    return [shape]


def compute(node, inputs):
    """x where the condition's byte is nonzero, else y; 8-bit codes are requantized to the output's quantization."""
    condition, x, y = inputs
    output = node.outputs[0]
    return [np.where(condition != 0, recode(node["x"], output, x), recode(node["y"], output, y))]


def lower(node, b):
    """One step; 8-bit codes of another quantization are mapped by a table first."""
    output = node.outputs[0]
    sides = [emit_recode(b, node[name], output) for name in ("x", "y")]
    b.emit(Select((b.slot(node["condition"]), *sides, b.slot(output)), prod(output.shape), output.dtype.itemsize))


SELECT = OpDef(
    OperationType.SELECT,
    (Signature("condition:B8 x:T y:T -> output:T", ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer, compute=compute, lower=lower,
)
