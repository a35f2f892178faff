"""PAD with zeros, or with the zero point (ops_a.md B)."""

import numpy as np

from ..model.types import OperandType, OperationType
from .base import OpDef, Signature


def validate(node):
    """Rank up to 4, paddings of rank 2; before HAL 1.2 a TENSOR_QUANT8_ASYMM had to have zero point 0."""
    node.check_rank("input", 1, 4)
    node.check_rank("paddings", 2)
    if node["input"].type == OperandType.TENSOR_QUANT8_ASYMM and node["input"].zero_point != 0:
        node.require("1.2")


def infer(node):
    """Each dimension grows by what is put before and after it."""
    shape, paddings = node["input"].shape, node.value("paddings")
    if paddings.shape != (len(shape), 2):
        node.fail("paddings", f"shape is {list(paddings.shape)}, must be [{len(shape)}, 2]")
    if paddings.min(initial=0) < 0:
        node.fail("paddings", f"holds {paddings.min()}, must not be negative")
    return [tuple(size + int(before) + int(after) for size, (before, after) in zip(shape, paddings, strict=True))]


def compute(node, inputs):
    """The input within a frame of its zero."""
    return [np.pad(inputs[0], node.value("paddings"), constant_values=node["input"].zero_point)]


PAD = OpDef(
    OperationType.PAD,
    (Signature("input:T paddings:I32 -> output:T", ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, quant="same",
)
