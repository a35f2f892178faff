"""FULLY_CONNECTED [NN 14.9]."""

from math import prod

import numpy as np

from ..model.types import OperandType, OperationType
from . import conv2d, requantize, window
from .base import OpDef, Signature, check_activation, is_quant8

_SIGNATURES = (
    Signature(
        "input:T weights:W bias:B activation:i32 -> output:T",
        ("1.0: F32 F32 F32", "1.0: Q8 Q8 I32", "1.2: F16 F16 F16", "1.3: Q8S Q8S I32"),
    ),
)


def validate(node):
    """Versions, ranks, and consistent shapes of weights, bias and input."""
    requantize.require_scale_version(node)
    if all(node[name].shape is not None for name in ("input", "weights", "bias")):
        _check_ranks(node)
        units, bias = node["weights"].shape[0], node["bias"].shape[0]
        if units is not None and bias is not None:
            _check_bias(node, units, bias)
        if node["input"].is_known and node["weights"].shape[1] is not None:
            _batch(node)


def _check_ranks(node):
    node.check_rank("input", 2, 4)
    node.check_rank("weights", 2)
    node.check_rank("bias", 1)


def _check_bias(node, units, bias):
    if bias != units:
        node.fail("bias", f"has {bias} values, must have one for each of {units} units")


def _batch(node):
    """Rows of the flattened input: its elements over the input size of the weights."""
    elements, size = prod(node["input"].shape), node["weights"].shape[1]
    if size < 1:
        node.fail("weights", f"dimension 1 is {size}, must be > 0")
    if elements % size:
        node.fail("input", f"has {elements} elements, must be a multiple of the weights' input size {size}")
    return elements // size


def infer(node):
    """[rows, units]."""
    _check_ranks(node)
    units = node["weights"].shape[0]
    if units < 1:
        node.fail("weights", f"dimension 0 is {units}, must be > 0")
    _check_bias(node, units, node["bias"].shape[0])
    check_activation(node)
    requantize.check_scales(node)
    return [(_batch(node), units)]


@np.errstate(over="ignore", invalid="ignore")
def compute(node, inputs):
    """Sums in float64, which are exact for codes."""
    data, weights, bias = inputs[:3]
    data = data.reshape(_batch(node), weights.shape[1])
    if is_quant8(node["input"]):
        sums = requantize.centred(node["input"], data) @ requantize.centred(node["weights"], weights).T
        return [requantize.finish_quantized(node, sums, bias)]
    return [requantize.finish_float(node, data.astype(np.float64) @ weights.astype(np.float64).T, bias)]


def lower(node, b):
    """One step, behind one that packs computed weights."""
    if node["input"].type == OperandType.TENSOR_FLOAT16:
        return "no native kernel for TENSOR_FLOAT16"
    conv2d.emit(node, b, conv2d.Matrix(node["weights"]), window.POINT, _batch(node))
    return None


FULLY_CONNECTED = OpDef(
    OperationType.FULLY_CONNECTED, _SIGNATURES, validate=validate, infer=infer, compute=compute, lower=lower,
    zero_sized="batch", multiply_adds=True,
)
