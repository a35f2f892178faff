"""TRANSPOSE: the dimensions in another order [NN 14.37, 13.17 no. 3]."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature
from .movement import copy_order


def validate(node):
    """Rank up to 4."""
    node.check_rank("input", 1, 4)


def permutation(node):
    """The permutation: input dimension of each output dimension; without `perm` the order is reversed."""
    rank = len(node["input"].shape)
    if not node.has("perm"):
        return tuple(reversed(range(rank)))
    perm = tuple(node.numbers("perm"))
    if sorted(perm) != list(range(rank)):
        node.fail("perm", f"is {list(perm)}, must hold each of 0 to {rank - 1} once")
    return perm


def infer(node):
    """Input sizes in the order of the permutation."""
    shape = node["input"].shape
    return [tuple(shape[axis] for axis in permutation(node))]


def compute(node, inputs):
    """A copy in the new order."""
    return [np.ascontiguousarray(inputs[0].transpose(permutation(node)))]


def lower(node, b):
    """A strided copy in the order of the output."""
    copy_order(b, node["input"], node.outputs[0], node["input"].shape, permutation(node))
    return None


TRANSPOSE = OpDef(
    OperationType.TRANSPOSE,
    (Signature("input:T perm?:I32 -> output:T", ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same", zero_sized="any", moves=True,
)
