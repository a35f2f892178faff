"""REVERSE the order along one axis [NN 14.105]."""

from math import prod

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature, check_same_quant
from .movement import copy_choice


def validate(node):
    """Rank 1 to 8 and the same for the output, axis of shape [1], one quantization."""
    node.check_rank("input", 1, 8)
    source, target = node["input"].shape, node.outputs[0].shape
    if source is not None and target is not None and len(source) != len(target):
        node.fail(0, f"rank is {len(target)}, must be {len(source)} as of the input")
    node.check_rank("axis", 1)
    if node["axis"].is_known and node["axis"].shape != (1,):
        node.fail("axis", f"shape is {list(node['axis'].shape)}, must be [1]")
    check_same_quant(node, "input")


def infer(node):
    """The shape stays."""
    validate(node)
    node.axis(negative=False)
    return [node["input"].shape]


def compute(node, inputs):
    """A copy, last element first."""
    return [np.flip(inputs[0], node.axis(negative=False)).copy()]


def lower(node, b):
    """A copy by indices."""
    source, axis = node["input"], node.axis(negative=False)
    before, size, after = prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1:])
    indices = before, range(size - 1, -1, -1), after
    return copy_choice(b, source, node.outputs[0], indices, (before, size, after))


REVERSE = OpDef(
    OperationType.REVERSE,
    (Signature("input:T axis:I32 -> output:T", ("aidl3: F16", "aidl3: F32", "aidl3: Q8", "aidl3: Q8S", "aidl3: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same", moves=True,
)
