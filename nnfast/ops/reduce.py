"""MEAN over some axes (ops_a.md B, A.11)."""

from math import prod

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature, is_quant8


def validate(node):
    """Rank up to 4, axes of rank 1."""
    node.check_rank("input", 1, 4)
    node.check_rank("axes", 1)


def axes_of(node):
    """The axes as a sorted tuple without repetitions, all in 0..rank-1."""
    rank, values = len(node["input"].shape), node.value("axes").reshape(-1)
    if values.size == 0:
        node.fail("axes", "has no elements, must have at least one")
    for value in values:
        if not -rank <= value < rank:
            node.fail("axes", f"holds {value}, must be in [{-rank}, {rank})")
    return tuple(sorted({int(value) % rank for value in values}))


def infer(node):
    """Reduced dimensions go away, or become 1 with keep_dims; [1] when none is left."""
    shape, axes = node["input"].shape, axes_of(node)
    if node.scalar("keep_dims") > 0:
        return [tuple(1 if axis in axes else size for axis, size in enumerate(shape))]
    return [tuple(size for axis, size in enumerate(shape) if axis not in axes) or (1,)]


def compute(node, inputs):
    """Floats in float64, rounded once; 8-bit codes as integers, the quotient cut towards zero as the reference does."""
    x, axes, dtype = inputs[0], axes_of(node), node.outputs[0].dtype
    (shape,) = infer(node)
    if is_quant8(node["input"]):
        total, count = x.sum(axis=axes, dtype=np.int64), prod(x.shape[axis] for axis in axes)
        return [(np.sign(total) * (np.abs(total) // count)).astype(dtype).reshape(shape)]
    with np.errstate(all="ignore"):
        return [x.mean(axis=axes, dtype=np.float64).astype(dtype).reshape(shape)]


MEAN = OpDef(
    OperationType.MEAN,
    (Signature("input:T axes:I32 keep_dims:i32 -> output:T", ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, quant="same",
)
