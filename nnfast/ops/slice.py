"""SLICE and STRIDED_SLICE: a box out of a tensor [NN 15.86, 14.35]."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature
from .movement import copy_box, copy_choice


def _numbers(node, name):
    """The values of an INT32 tensor with one element per dimension of the input."""
    values, rank = node.value(name), len(node["input"].shape)
    if values.shape != (rank,):
        node.fail(name, f"shape is {list(values.shape)}, must be [{rank}]")
    return values.tolist()


# -- SLICE ---------------------------------------------------------------------------------------------------------
def infer_slice(node):
    """The sizes, with -1 replaced by all that follows `begin`."""
    shape, sizes = node["input"].shape, []
    for dim, (total, begin, size) in enumerate(zip(shape, _numbers(node, "begin"), _numbers(node, "size"))):
        if not 0 <= begin <= total:
            node.fail("begin", f"dimension {dim} begins at {begin}, must be in [0, {total}]")
        if not -1 <= size <= total - begin:
            node.fail("size", f"dimension {dim} has {size}, must be -1 or in [0, {total - begin}] from {begin} on")
        sizes.append(total - begin if size == -1 else size)
    return [tuple(sizes)]


def compute_slice(node, inputs):
    """A copy of the box."""
    (sizes,) = infer_slice(node)
    begins = _numbers(node, "begin")
    return [inputs[0][tuple(slice(b, b + s) for b, s in zip(begins, sizes, strict=True))].copy()]


def lower_slice(node, b):
    """A strided copy."""
    source = node["input"]
    (sizes,) = infer_slice(node)
    return copy_box(b, source, node.outputs[0], _numbers(node, "begin"), sizes, [1] * len(sizes))


SLICE = OpDef(
    OperationType.SLICE,
    (Signature("input:T begin:I32 size:I32 -> output:T",
               ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer_slice, compute=compute_slice, lower=lower_slice, zero_sized="any", moves=True,
)


# -- STRIDED_SLICE -------------------------------------------------------------------------------------------------
def validate_strided(node):
    """Rank up to 4."""
    node.check_rank("input", 1, 4)


def extents(node):
    """(first index, stride, count, shrunk) of each dimension, after masks and clamping."""
    begins, ends, strides = (_numbers(node, name) for name in ("begin", "end", "strides"))
    begin_mask, end_mask, shrink = (node.scalar(name) for name in ("begin_mask", "end_mask", "shrink_axis_mask"))
    found = []
    for dim, (size, begin, end, stride) in enumerate(zip(node["input"].shape, begins, ends, strides)):
        if stride == 0:
            node.fail("strides", f"dimension {dim} has 0, must not be zero")
        low, high = (0, size) if stride > 0 else (-1, size - 1)
        first, last = (min(max(at + size if at < 0 else at, low), high) for at in (begin, end))
        if begin_mask >> dim & 1:
            first = 0 if stride > 0 else size - 1
        if end_mask >> dim & 1:
            last = size if stride > 0 else -1
        count = max(0, -((first - last) // stride))
        shrunk = bool(shrink >> dim & 1)
        if shrunk and stride < 0:
            node.fail("strides", f"dimension {dim} has {stride}, must be positive where shrink_axis_mask is set")
        if shrunk and count != 1:
            node.fail("shrink_axis_mask", f"dimension {dim} selects {count} elements, must be 1 to be shrunk")
        found.append((first, stride, count, shrunk))
    return found


def infer_strided(node):
    """The counts of the remaining dimensions; [1] if there is none."""
    validate_strided(node)
    return [tuple(count for _, _, count, shrunk in extents(node) if not shrunk) or (1,)]


def compute_strided(node, inputs):
    """A copy of every stride-th element."""
    box = []
    for first, stride, count, _ in extents(node):
        stop = first + stride * count
        # A stop of -1 would count from the end.
        box.append(slice(0, 0) if count == 0 else slice(first, None if stop < 0 else stop, stride))
    return [np.ascontiguousarray(inputs[0][tuple(box)]).reshape(infer_strided(node)[0]).copy()]


def lower_strided(node, b):
    """A strided copy, or one by indices where a stride is negative."""
    source, output, found = node["input"], node.outputs[0], extents(node)
    first, stride, count, _ = zip(*found)
    if min(stride) > 0:
        return copy_box(b, source, output, first, count, stride)
    return copy_choice(b, source, output, [range(f, f + s * n, s) for f, s, n in zip(first, stride, count)])


STRIDED_SLICE = OpDef(
    OperationType.STRIDED_SLICE,
    (Signature(
        "input:T begin:I32 end:I32 strides:I32 begin_mask:i32 end_mask:i32 shrink_axis_mask:i32 -> output:T",
        ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S"),
    ),),
    validate=validate_strided, infer=infer_strided, compute=compute_strided, lower=lower_strided, moves=True,
)
