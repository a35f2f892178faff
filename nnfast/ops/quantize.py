"""QUANTIZE and DEQUANTIZE: between real numbers and codes [NN 15.72, 15.2, 14.6]."""

from math import prod

import numpy as np

from .._native.elementwise import DequantizeQ8, QuantizeF32
from ..model.quant import round_half_away
from ..model.types import QUANT_RANGE, OperandType, OperationType, type_name
from .base import OpDef, Signature


def validate_dequantize(node):
    """Rank up to 4."""
    node.check_rank("input", 1, 4)


def infer(node):
    """Output shape is the input's."""
    return [node["input"].shape]


def compute_quantize(node, inputs):
    """zero_point + round(x / scale) within the type's range, ties away from zero; NaN gives the highest code."""
    output = node.outputs[0]
    low, high = QUANT_RANGE[output.type]
    with np.errstate(all="ignore"):
        steps = round_half_away(np.asarray(inputs[0], np.float32) / np.float32(output.scale))
    codes = np.clip(steps.astype(np.float64) + output.zero_point, low, high)
    return [np.where(np.isnan(codes), high, codes).astype(output.dtype)]


def compute_dequantize(node, inputs):
    """scale * (code - zero_point) in float32; a scale for each channel with TENSOR_QUANT8_SYMM_PER_CHANNEL."""
    source, x = node["input"], inputs[0]
    scale = np.float32(source.scale)
    if source.channel_quant is not None:
        shape = [1] * x.ndim
        shape[source.channel_quant.dim] = -1
        scale = np.array(source.channel_quant.scales, np.float32).reshape(shape)
    with np.errstate(over="ignore"):
        real = (x.astype(np.int32) - source.zero_point).astype(np.float32) * scale
        return [real.astype(node.outputs[0].dtype)]


def lower_quantize(node, b):
    """One step for float32."""
    source, output = node["input"], node.outputs[0]
    if source.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(source.type)}"
    b.emit(QuantizeF32((b.slot(source), b.slot(output)), prod(source.shape), output.scale, output.zero_point,
                       QUANT_RANGE[output.type]))
    return None


def lower_dequantize(node, b):
    """One step to float32, with one scale or one for each channel."""
    source, output = node["input"], node.outputs[0]
    if output.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(output.type)}"
    slots, signed = (b.slot(source), b.slot(output)), source.type != OperandType.TENSOR_QUANT8_ASYMM
    channels = source.channel_quant
    if channels is None:
        b.emit(DequantizeQ8(slots, signed, prod(source.shape), 1, source.zero_point, [source.scale]))
    else:
        outer, inner = prod(source.shape[:channels.dim]), prod(source.shape[channels.dim + 1:])
        b.emit(DequantizeQ8(slots, signed, outer, inner, 0, channels.scales))
    return None


QUANTIZE = OpDef(
    OperationType.QUANTIZE,
    (Signature("input:T -> output:U", ("1.2: F16 Q8", "1.2: F32 Q8", "1.3: F16 Q8S", "1.3: F32 Q8S")),),
    infer=infer, compute=compute_quantize, lower=lower_quantize, zero_sized="any", moves=True,
)
DEQUANTIZE = OpDef(
    OperationType.DEQUANTIZE,
    (Signature("input:T -> output:U", (
        "1.0: Q8 F32", "1.2: Q8 F16", "1.2: Q8SY F32", "1.2: Q8SY F16", "1.2: PC F32", "1.2: PC F16", "1.3: Q8S F32",
        "1.3: Q8S F16",
    )),),
    validate=validate_dequantize, infer=infer, compute=compute_dequantize, lower=lower_dequantize,
    zero_sized="any", moves=True,
)
