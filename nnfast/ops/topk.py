"""TOPK_V2: the k largest values of each row and their indices [NN 15.90]."""

from math import prod

import numpy as np

from .._native.reduction import TopK
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature

_TYPES = {
    OperandType.TENSOR_FLOAT32: "f32", OperandType.TENSOR_INT32: "s32", OperandType.TENSOR_QUANT8_ASYMM: "qu8",
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: "qs8",
}


def infer(node):
    """Both outputs have k as their last dimension."""
    shape, k = node["input"].shape, node.scalar("k")
    if not 1 <= k <= shape[-1]:
        node.fail("k", f"is {k}, must be in [1, {shape[-1]}], the last dimension of the input")
    return [shape[:-1] + (k,)] * 2


def compute(node, inputs):
    """Values in descending order, equal ones by descending index; NaN comes last."""
    x, k = inputs[0], node.scalar("k")
    # A stable sort of the reversed row puts larger indices first. Integers are widened to avoid overflow in negation.
    turned = x[..., ::-1]
    keys = -(turned if x.dtype.kind == "f" else turned.astype(np.int64))
    indices = x.shape[-1] - 1 - np.argsort(keys, axis=-1, kind="stable")[..., :k]
    return [np.take_along_axis(x, indices, axis=-1), indices.astype(np.int32)]


def lower(node, b):
    """One step over rows."""
    source = node["input"]
    if source.type not in _TYPES:
        return f"no native kernel for {type_name(source.type)}"
    b.emit(TopK([b.slot(t) for t in (source, *node.outputs)], _TYPES[source.type], prod(source.shape[:-1]),
                source.shape[-1], node.scalar("k")))
    return None


TOPK_V2 = OpDef(
    OperationType.TOPK_V2,
    (Signature("input:T k:i32 -> values:T indices:I32", ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer, compute=compute, lower=lower, quant="same",
)
