"""RELU, RELU1, RELU6, LOGISTIC, TANH, HARD_SWISH, ELU, PRELU [NN 14.19, 14.14, 14.99, 14.98, 15.71].

All but ELU and PRELU map each 8-bit code independently: `table` computes the whole mapping, and the step is a look-up.
"""

from math import prod

import numpy as np

from .._native.elementwise import BinaryF32, BinaryQ8, ClampF32, EluF32, LookupQ8, UnaryF32, obstacle
from ..model.fixedpoint import WORD16, WORD32, input_radius, multiplier_above_one
from ..model.quant import activation_float, activation_range, mbqm, quantize_multiplier, rdbpot, scale_product, srdhm
from ..model.types import QUANT_RANGE, Activation, OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape, is_quant8
from .codes import curved, emit_looked_up, logistic32

_Q8, _Q8S = OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED
_UNARY = "input:T -> output:T"
_CLAMPS = {
    OperationType.RELU: Activation.RELU, OperationType.RELU1: Activation.RELU1, OperationType.RELU6: Activation.RELU6,
}


# -- rules ---------------------------------------------------------------------------------------------------------
def validate(node):
    """Rank up to 4."""
    node.check_rank("input", 1, 4)


def infer(node):
    """Output shape is the input's; the multipliers of a quantized form must exist."""
    if is_quant8(node["input"]):
        table(node)
    return [node["input"].shape]


def infer_prelu(node):
    """Broadcast shape of input and alpha."""
    if is_quant8(node["input"]):
        prelu_multipliers(node)
    return [broadcast_shape(node, "input", "alpha")]


# -- 8-bit tables --------------------------------------------------------------------------------------------------
def table(node):
    """The operation on 8-bit codes as uint8[256]: raw output byte by raw input byte, both read as unsigned."""
    source, output = node["input"], node.outputs[0]
    codes = np.arange(256, dtype=np.uint8).view(source.dtype)
    if node.is_litert and node.op.type in _LITERT_CURVES:
        return curved(source, output, codes, _LITERT_CURVES[node.op.type]).view(np.uint8)
    low, high = QUANT_RANGE[output.type]
    result = _TABLES[node.op.type](node, codes.astype(np.int64) - source.zero_point)
    return np.clip(result, low, high).astype(output.dtype).view(np.uint8)


def _clamp_codes(node, centred):
    source = node["input"]
    low, high = activation_range(_CLAMPS[node.op.type], source.type, source.scale, source.zero_point)
    return np.clip(centred + source.zero_point, low, high)


def _to_f4(node, centred):
    """Codes as 32-bit F4 words, and the radius at which they saturate [NN 14.14]."""
    real = float(np.float32(node["input"].scale)) * (1 << 27)
    found = multiplier_above_one(real)
    if found is None:
        node.fail("input", f"scale {node['input'].scale:.9g} is out of range, must be greater than 2**-27")
    factor, shift = found
    radius = input_radius(4, shift)
    # With a radius of 0 only zeros are shifted, so any shift is harmless.
    return srdhm(np.clip(centred, -radius, radius) << min(shift, 62), factor), radius


def _saturate(node, centred, radius, codes):
    low, high = QUANT_RANGE[node.outputs[0].type]
    return np.where(centred <= -radius, low, np.where(centred >= radius, high, codes))


def _logistic_codes(node, centred):
    words, radius = _to_f4(node, centred)
    codes = np.minimum(rdbpot(WORD32.logistic(words, 4), 23), 255)
    return _saturate(node, centred, radius, codes + QUANT_RANGE[node.outputs[0].type][0])


def _tanh_codes(node, centred):
    words, radius = _to_f4(node, centred)
    codes = np.clip(rdbpot(WORD32.tanh(words, 4), 24), -128, 127)
    return _saturate(node, centred, radius, codes + 128 + QUANT_RANGE[node.outputs[0].type][0])


def _to_int16(multiplier):
    """A 32-bit multiplier rounded to 16 bits."""
    return min((multiplier + (1 << 15)) >> 16, 32767)


def _saturate16(words):
    return np.clip(words, WORD16.min, WORD16.max)


def _hard_swish_codes(node, centred):
    source, output = node["input"], node.outputs[0]
    fine = np.float32(source.scale) / np.float32(128)
    with np.errstate(over="ignore"):
        to_output, to_relu = fine / np.float32(output.scale), fine / np.float32(3 / 32768)
    if not (np.isfinite(to_output) and np.isfinite(to_relu)):
        node.fail(0, f"scale {output.scale:.9g} is out of range for an input scale of {source.scale:.9g}")
    out_factor, out_exponent = quantize_multiplier(float(to_output))
    relu_factor, relu_exponent = quantize_multiplier(float(to_relu))
    if out_exponent > 0:
        node.fail(0, f"scale {output.scale:.9g} is too small, must be greater than the input scale / 128, {fine:.9g}")
    words = centred * 128
    product = WORD16.mul(words, _to_int16(out_factor))
    gate = words
    if relu_exponent > 0:
        # A shift by 16 bits saturates every nonzero word already.
        gate = _saturate16(gate << min(relu_exponent - 1, 16))
    gate = WORD16.mul(gate, _to_int16(relu_factor))
    if relu_exponent > 0:
        gate = _saturate16(gate << 1)
    else:
        gate = rdbpot(gate, -relu_exponent)
    gate = (gate + 32768) >> 1
    gated = gate * product
    gated = np.sign(gated) * (np.abs(gated) >> 15)
    return rdbpot(gated, -out_exponent) + output.zero_point


_TABLES = {
    OperationType.RELU: _clamp_codes, OperationType.RELU1: _clamp_codes, OperationType.RELU6: _clamp_codes,
    OperationType.LOGISTIC: _logistic_codes, OperationType.TANH: _tanh_codes,
    OperationType.HARD_SWISH: _hard_swish_codes,
}
_LITERT_CURVES = {OperationType.LOGISTIC: logistic32, OperationType.TANH: np.tanh}
"""Curves whose tables LiteRT fills in float32."""


# -- float and the rest --------------------------------------------------------------------------------------------
def _clamp_real(node, x):
    low, high = activation_float(_CLAMPS[node.op.type])
    return np.clip(x, low, high)


_REALS = {
    OperationType.RELU: _clamp_real, OperationType.RELU1: _clamp_real, OperationType.RELU6: _clamp_real,
    OperationType.LOGISTIC: lambda node, x: 1 / (1 + np.exp(-x)),
    OperationType.TANH: lambda node, x: np.tanh(x),
    OperationType.HARD_SWISH: lambda node, x: x * np.clip(x + 3, 0, 6) / 6,
}


def compute(node, inputs):
    """8-bit by `table`; floats in float64, rounded once."""
    x, dtype = inputs[0], node.outputs[0].dtype
    if is_quant8(node["input"]):
        return [np.asarray(table(node)[x.view(np.uint8)]).view(dtype)]
    with np.errstate(all="ignore"):
        return [np.asarray(_REALS[node.op.type](node, np.asarray(x, np.float64))).astype(dtype)]


def compute_elu(node, inputs):
    """max(0, x) + min(0, alpha * (e^x - 1)) in float64, rounded once."""
    with np.errstate(all="ignore"):
        x = np.asarray(inputs[0], np.float64)
        # alpha = 0 times an infinite power is NaN for large x: fmin drops that NaN; maximum keeps a NaN of x itself.
        value = np.maximum(x, 0) + np.fmin(node.scalar("alpha") * np.expm1(x), 0)
        return [value.astype(node.outputs[0].dtype)]


def prelu_multipliers(node):
    """(multiplier, exponent) of the positive side, and of the negative one, of a quantized PRELU."""
    scale, slope, out = (np.float32(t.scale) for t in (node["input"], node["alpha"], node.outputs[0]))
    with np.errstate(over="ignore"):
        reals = float(scale / out), scale_product(scale, slope) / float(out)
    if not all(np.isfinite(reals)):
        node.fail(0, f"scale {out:.9g} is out of range for input scales of {scale:.9g} and {slope:.9g}")
    return tuple(quantize_multiplier(real) for real in reals)


def compute_prelu(node, inputs):
    """x where x >= 0, else alpha * x; 8-bit with a multiplier for each side."""
    x, alpha, output = inputs[0], inputs[1], node.outputs[0]
    if not is_quant8(node["input"]):
        with np.errstate(all="ignore"):
            x, alpha = np.asarray(x, np.float32), np.asarray(alpha, np.float32)
            return [np.where(x >= 0, x, x * alpha).astype(output.dtype)]
    positive, negative = prelu_multipliers(node)
    x = x.astype(np.int64) - node["input"].zero_point
    alpha = alpha.astype(np.int64) - node["alpha"].zero_point
    value = np.where(x >= 0, mbqm(x, *positive), mbqm(x * alpha, *negative)) + output.zero_point
    return [np.clip(value, *QUANT_RANGE[output.type]).astype(output.dtype)]


# -- native --------------------------------------------------------------------------------------------------------
def lower(node, b):
    """8-bit by a look-up step, float32 by a clamp or a curve."""
    source = node["input"]
    slots, count = (b.slot(source), b.slot(node.outputs[0])), prod(source.shape)
    if is_quant8(source):
        b.emit(LookupQ8(slots, count, table(node)))
    elif source.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(source.type)}"
    elif node.op.type in _CLAMPS:
        b.emit(ClampF32(slots, count, *activation_float(_CLAMPS[node.op.type])))
    else:
        b.emit(UnaryF32(slots, node.op.name.lower(), count))
    return None


def lower_elu(node, b):
    """One step for float32."""
    source, alpha = node["input"], node.scalar("alpha")
    if source.type != OperandType.TENSOR_FLOAT32 or not 0 <= alpha < np.inf:
        return f"no native kernel for {type_name(source.type)} and alpha {alpha:g}"
    b.emit(EluF32((b.slot(source), b.slot(node.outputs[0])), prod(source.shape), alpha))
    return None


def lower_prelu(node, b):
    """One step for float32 and 8-bit codes; a look-up of many codes with one known alpha."""
    source, alpha, output = node["input"], node["alpha"], node.outputs[0]
    slots = b.slot(source), b.slot(alpha), b.slot(output)
    if source.type == OperandType.TENSOR_FLOAT16:
        return f"no native kernel for {type_name(source.type)}"
    reason = obstacle(source.shape, alpha.shape)
    if reason is not None:
        return reason
    if source.type == OperandType.TENSOR_FLOAT32:
        b.emit(BinaryF32(slots, "prelu", source.shape, alpha.shape))
    elif not emit_looked_up(node, b, compute_prelu):
        signed = source.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED
        zeros = source.zero_point, alpha.zero_point, output.zero_point
        # At 2^32 and above the left shift moves every bit out, which equals a multiplier of 0.
        scales = [(multiplier, -exponent) if exponent <= 31 else (0, 0)
                  for multiplier, exponent in prelu_multipliers(node)]
        b.emit(BinaryQ8(slots, "prelu", signed, source.shape, alpha.shape, zeros, scales, QUANT_RANGE[output.type]))
    return None


# -- references ---------------------------------------------------------------------------------------------------
def _relu(type_):
    return OpDef(
        type_, (Signature(_UNARY, ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S")),),
        validate=validate, infer=infer, compute=compute, lower=lower, quant="same", zero_sized="any",
    )


RELU = _relu(OperationType.RELU)
RELU1 = _relu(OperationType.RELU1)
RELU6 = _relu(OperationType.RELU6)
LOGISTIC = OpDef(
    OperationType.LOGISTIC, (Signature(_UNARY, ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant={_Q8: (1 / 256, 0), _Q8S: (1 / 256, -128)},
    zero_sized="any",
)
TANH = OpDef(
    OperationType.TANH, (Signature(_UNARY, ("1.0: F32", "1.2: F16", "1.2: Q8", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant={_Q8: (1 / 128, 128), _Q8S: (1 / 128, 0)},
    zero_sized="any",
)
HARD_SWISH = OpDef(
    OperationType.HARD_SWISH, (Signature(_UNARY, ("1.3: F32", "1.3: F16", "1.3: Q8", "1.3: Q8S")),),
    infer=infer, compute=compute, lower=lower, zero_sized="any",
)
PRELU = OpDef(
    OperationType.PRELU,
    (Signature("input:T alpha:T -> output:T", ("1.2: F16", "1.2: F32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer_prelu, compute=compute_prelu, lower=lower_prelu,
)
ELU = OpDef(
    OperationType.ELU, (Signature("input:T alpha:fT -> output:T", ("1.3: F32", "1.3: F16")),),
    infer=infer, compute=compute_elu, lower=lower_elu, zero_sized="any",
)
