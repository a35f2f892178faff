"""RESHAPE, SQUEEZE, EXPAND_DIMS: the same elements in another shape [NN 14.22, 14.34, 15.50]."""

from math import prod

import numpy as np

from .._native.movement import CopyBytes
from ..model.types import OperationType
from .base import OpDef, Signature


def validate(node):
    """Rank of the input is 1 to 4; that of the output is not limited."""
    node.check_rank("input", 1, 4)


def infer(node):
    """The values of `shape`, with one -1 replaced by the remaining size."""
    wanted = node.numbers("shape")
    count = prod(node["input"].shape)
    if not wanted:
        node.fail("shape", "has no elements, must have at least one")
    if min(wanted) < -1 or wanted.count(-1) > 1:
        node.fail("shape", f"is {wanted}, must hold sizes and at most one -1")
    if -1 in wanted:
        known = prod(size for size in wanted if size != -1)
        if known == 0 or count % known:
            node.fail("shape", f"is {wanted}, the sizes beside -1 must divide the {count} elements of the input")
        wanted[wanted.index(-1)] = count // known
    if prod(wanted) != count:
        node.fail("shape", f"is {wanted} with {prod(wanted)} elements, must have the {count} elements of the input")
    return [tuple(wanted)]


def compute(node, inputs):
    """A row-major copy."""
    return [inputs[0].reshape(infer(node)[0]).copy()]


def lower(node, b):
    """Share the input's memory if possible, else copy."""
    if not b.alias(0, 0):
        source = node["input"]
        b.emit(CopyBytes((b.slot(source), b.slot(node.outputs[0])), prod(source.shape) * source.dtype.itemsize))
    return None


RESHAPE = OpDef(
    OperationType.RESHAPE,
    (Signature("input:T shape:I32 -> output:T", ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S", "aidl2: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same", moves=True,
)


# -- SQUEEZE ---------------------------------------------------------------------------------------------------------
def validate_squeeze(node):
    """Rank up to 4; `axes` has rank 1 even where it is omitted [NN 13.17 no. 15]."""
    node.check_rank("input", 1, 4)
    node.check_rank("axes", 1)


def infer_squeeze(node):
    """The shape without the listed dimensions, or without all of size 1; [1] when nothing is left."""
    validate_squeeze(node)
    shape = node["input"].shape
    rank = len(shape)
    if not node.has("axes"):
        return [tuple(size for size in shape if size != 1) or (1,)]
    axes = np.unique(node.value("axes")).tolist()
    for axis in axes:
        if not -rank <= axis < rank:
            node.fail("axes", f"holds {axis}, must be in [{-rank}, {rank})")
        if shape[axis] != 1:
            node.fail("axes", f"holds {axis}, a dimension of size {shape[axis]}, must be of size 1")
    gone = {axis % rank for axis in axes}
    return [tuple(size for place, size in enumerate(shape) if place not in gone) or (1,)]


def compute_squeeze(node, inputs):
    """A copy."""
    return [inputs[0].reshape(infer_squeeze(node)[0]).copy()]


SQUEEZE = OpDef(
    OperationType.SQUEEZE,
    (Signature("input:T axes?:I32 -> output:T", ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate_squeeze, infer=infer_squeeze, compute=compute_squeeze, lower=lower, quant="same", moves=True,
)


# -- EXPAND_DIMS -----------------------------------------------------------------------------------------------------
def infer_expand(node):
    """The shape with a 1 put in at the axis; negative axes count from behind the last dimension."""
    shape = node["input"].shape
    axis = node.axis(rank=len(shape) + 1)
    return [shape[:axis] + (1,) + shape[axis:]]


def compute_expand(node, inputs):
    """A copy."""
    return [inputs[0].reshape(infer_expand(node)[0]).copy()]


EXPAND_DIMS = OpDef(
    OperationType.EXPAND_DIMS,
    (Signature("input:T axis:i32 -> output:T", ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer_expand, compute=compute_expand, lower=lower, quant="same", moves=True,
)
