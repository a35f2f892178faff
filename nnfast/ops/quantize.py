"""QUANTIZE and DEQUANTIZE: between real numbers and codes (ops_b.md 72, 2.1; ops_a.md B)."""

import numpy as np

from ..model.quant import round_half_away
from ..model.types import QUANT_RANGE, OperationType
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


QUANTIZE = OpDef(
    OperationType.QUANTIZE,
    (Signature("input:T -> output:U", ("1.2: F16 Q8", "1.2: F32 Q8", "1.3: F16 Q8S", "1.3: F32 Q8S")),),
    infer=infer, compute=compute_quantize, zero_sized="any",
)
DEQUANTIZE = OpDef(
    OperationType.DEQUANTIZE,
    (Signature("input:T -> output:U", (
        "1.0: Q8 F32", "1.2: Q8 F16", "1.2: Q8SY F32", "1.2: Q8SY F16", "1.2: PC F32", "1.2: PC F16", "1.3: Q8S F32",
        "1.3: Q8S F16",
    )),),
    validate=validate_dequantize, infer=infer, compute=compute_dequantize, zero_sized="any",
)
