"""FILL a tensor with one value, and RANK, the number of dimensions [NN 14.100, 14.101]."""

from math import prod

import numpy as np

from .._native.movement import FillItems
from ..model.types import OperationType
from .base import OpDef, Signature
from .movement import copy_choice

MOST_ITEM = 8
"""Most bytes of an element of a native fill."""


def validate_fill(node):
    """The shape is given as a tensor of rank 1."""
    node.check_rank("dims", 1)


def infer_fill(node):
    """The values of `dims`; 0 gives an empty output."""
    validate_fill(node)
    dims = node.numbers("dims")
    if min(dims, default=0) < 0:
        node.fail("dims", f"is {dims}, must not hold negative sizes")
    return [tuple(dims)]


def compute_fill(node, inputs):
    """The value everywhere."""
    return [np.full(infer_fill(node)[0], inputs[1].reshape(-1)[0])]


def fill_with(b, output, value):
    """Emit a fill of the output with a value; returns None, or why it is not native."""
    if output.dtype.itemsize > MOST_ITEM:
        return f"no native fill for {output.dtype}"
    b.emit(FillItems((b.slot(output),), prod(output.shape), np.asarray(value, output.dtype).tobytes()))
    return None


def lower_fill(node, b):
    """A fill with a known value, or repeated copies of one element."""
    output, value = node.outputs[0], node["value"]
    if value.value is not None:
        return fill_with(b, output, value.value.reshape(-1)[0])
    return copy_choice(b, value, output, (prod(output.shape),), (1,))


FILL = OpDef(
    OperationType.FILL,
    (Signature("dims:I32 value:S -> output:T", ("1.3: f32 F32", "1.3: f16 F16", "1.3: i32 I32")),),
    validate=validate_fill, infer=infer_fill, compute=compute_fill, lower=lower_fill, moves=True,
)


def infer_rank(node):
    """A scalar; the input itself is not one."""
    if node["input"].shape == ():
        node.fail("input", "rank is 0, must be at least 1")
    return [()]


def compute_rank(node, inputs):
    """The number of dimensions."""
    return [np.array(inputs[0].ndim, node.outputs[0].dtype)]


RANK = OpDef(
    OperationType.RANK,
    (Signature("input:T -> output:i32", tuple(
        f"1.3: {name}" for name in ("F16", "F32", "I32", "Q8", "Q16S", "B8", "PC", "Q16A", "Q8SY", "Q8S")
    )),),
    infer=infer_rank, compute=compute_rank, moves=True,
)
