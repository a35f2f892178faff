"""CHANNEL_SHUFFLE: groups along an axis become interleaved [NN 15.46]."""

from math import prod

from ..model.types import OperationType
from .base import OpDef, Signature
from .movement import copy_order


def validate(node):
    """Rank 1 to 4."""
    node.check_rank("input", 1, 4)


def infer(node):
    """The shape stays."""
    validate(node)
    shape, axis, groups = node["input"].shape, node.axis(), node.scalar("num_groups")
    if groups < 1:
        node.fail("num_groups", f"is {groups}, must be at least 1")
    if shape[axis] % groups:
        node.fail("num_groups", f"is {groups}, must divide dimension {axis} of the input, which is {shape[axis]}")
    return [shape]


def compute(node, inputs):
    """out[k*G + g] = in[g*S + k] along the axis, with G groups of S."""
    shape, axis, groups = inputs[0].shape, node.axis(), node.scalar("num_groups")
    grouped = inputs[0].reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1:])
    return [grouped.swapaxes(axis, axis + 1).copy().reshape(shape)]


def lower(node, b):
    """A strided copy."""
    source, axis, groups = node["input"], node.axis(), node.scalar("num_groups")
    shape = source.shape
    grouped = prod(shape[:axis]), groups, shape[axis] // groups, prod(shape[axis + 1:])
    copy_order(b, source, node.outputs[0], grouped, (0, 2, 1, 3))
    return None


CHANNEL_SHUFFLE = OpDef(
    OperationType.CHANNEL_SHUFFLE,
    (Signature("input:T num_groups:i32 axis:i32 -> output:T", ("1.2: F16", "1.2: F32", "1.2: Q8", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same", moves=True,
)
