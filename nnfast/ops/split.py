"""SPLIT into equal pieces along one axis [NN 15.87]."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature
from .movement import copy_apart


def infer(node):
    """As many equal shapes as there are outputs."""
    shape, count = node["input"].shape, node.scalar("num_splits")
    axis = node.axis()
    if count != len(node.outputs):
        node.fail("num_splits", f"is {count}, must be {len(node.outputs)}, the number of outputs")
    if shape[axis] % count:
        node.fail("num_splits", f"is {count}, must divide dimension {axis} of the input, which is {shape[axis]}")
    return [shape[:axis] + (shape[axis] // count,) + shape[axis + 1:]] * count


def compute(node, inputs):
    """Copies of the pieces, in order."""
    return [np.array(piece, order="C") for piece in np.split(inputs[0], len(node.outputs), node.axis())]


def lower(node, b):
    """One step for elements, or else a strided copy for each piece."""
    axis, count = node.axis(), len(node.outputs)
    copy_apart(b, node["input"], node.outputs, axis, [node.outputs[0].shape[axis]] * count)
    return None


SPLIT = OpDef(
    OperationType.SPLIT,
    (Signature("input:T axis:i32 num_splits:i32 -> output*:T",
               ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer, compute=compute, lower=lower, quant="same", moves=True,
)
