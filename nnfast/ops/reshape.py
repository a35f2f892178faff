"""RESHAPE: the same elements in another shape (ops_a.md B)."""

from math import prod

from .._native.copy import CopyBytes
from ..model.types import OperationType
from .base import OpDef, Signature


def validate(node):
    """Rank of the input is 1 to 4; that of the output is not limited."""
    node.check_rank("input", 1, 4)


def infer(node):
    """The values of `shape`, where one -1 stands for what is left over."""
    wanted = [int(size) for size in node.value("shape").reshape(-1)]
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
    """No copy where the output can be the input's memory, else one."""
    if not b.alias(0, 0):
        source = node["input"]
        b.emit(CopyBytes((b.slot(source), b.slot(node.outputs[0])), prod(source.shape) * source.dtype.itemsize))
    return None


RESHAPE = OpDef(
    OperationType.RESHAPE,
    (Signature("input:T shape:I32 -> output:T", ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S", "aidl2: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same",
)
