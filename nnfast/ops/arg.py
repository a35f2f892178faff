"""ARGMAX, ARGMIN along one axis [NN 15.39]."""

from math import prod

import numpy as np

from .._native.reduction import Arg
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature

_TYPES = {
    OperandType.TENSOR_FLOAT32: "f32", OperandType.TENSOR_INT32: "s32", OperandType.TENSOR_QUANT8_ASYMM: "qu8",
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: "qs8",
}


def infer(node):
    """The input's shape without the axis, which has elements; [1] when none is left."""
    shape, axis = node["input"].shape, node.axis()
    if not shape[axis]:
        node.fail("input", f"shape is {list(shape)}, dimension {axis} must have elements")
    return [shape[:axis] + shape[axis + 1:] or (1,)]


def places(x, axis, smallest):
    """Index of the first best value. A NaN loses every comparison, but as the first element it is never replaced."""
    first_best = np.argmin if smallest else np.argmax
    if x.dtype.kind != "f":
        return first_best(x, axis=axis)
    leads = np.isnan(np.take(x, 0, axis))
    x = np.where(np.isnan(x), np.inf if smallest else -np.inf, x)
    return np.where(leads, 0, first_best(x, axis=axis))


def compute_argmax(node, inputs):
    """The lowest index of the largest value; 8-bit by raw code."""
    return [np.asarray(places(inputs[0], node.axis(), False), np.int32).reshape(infer(node)[0])]


def compute_argmin(node, inputs):
    """The lowest index of the smallest value; 8-bit by raw code."""
    return [np.asarray(places(inputs[0], node.axis(), True), np.int32).reshape(infer(node)[0])]


def lower(node, b):
    """One step, whatever the axis."""
    source, axis = node["input"], node.axis()
    if source.type not in _TYPES:
        return f"no native kernel for {type_name(source.type)}"
    before, after = prod(source.shape[:axis]), prod(source.shape[axis + 1:])
    b.emit(Arg((b.slot(source), b.slot(node.outputs[0])), _TYPES[source.type], node.op.type == OperationType.ARGMIN,
               before, source.shape[axis], after))
    return None


_SIGNATURES = (
    Signature("input:T axis:i32 -> output:I32", ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),
)
ARGMAX = OpDef(OperationType.ARGMAX, _SIGNATURES, infer=infer, compute=compute_argmax, lower=lower)
ARGMIN = OpDef(OperationType.ARGMIN, _SIGNATURES, infer=infer, compute=compute_argmin, lower=lower)
