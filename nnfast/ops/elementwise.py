"""ADD, DIV, MUL, SUB: arithmetic on two broadcast tensors with a fused activation [NN 14.0, 13.7, 13.8]."""

import operator

import numpy as np

from .._native.elementwise import BinaryF32, BinaryQ8, BinaryS32
from ..model.fixedpoint import multiplier_below_one
from ..model.quant import activation_float, activation_range, rdbpot, scale_product, srdhm
from ..model.types import Activation, OperandType, OperationType, type_name
from .base import OpDef, Signature, broadcast_shape, check_activation, is_quant8
from .codes import emit_looked_up

ADD_SHIFT = 20
"""Bits by which quantized ADD and SUB raise their inputs before the first multiplication."""

_TEXT = "input0:T input1:T activation:i32 -> output:T"
_FLOAT_OPERATIONS = {
    OperationType.ADD: operator.add, OperationType.DIV: operator.truediv, OperationType.MUL: operator.mul,
    OperationType.SUB: operator.sub,
}
_INTEGER_OPERATIONS = {**_FLOAT_OPERATIONS, OperationType.DIV: np.floor_divide}


# -- rules ---------------------------------------------------------------------------------------------------------
def validate(node):
    """Ranks up to 4; quantized MUL needs an output scale above the product of the input scales."""
    node.check_rank("input0", 0, 4)
    node.check_rank("input1", 0, 4)
    if node.op.type == OperationType.MUL and is_quant8(node["input0"]):
        product, scale = _scale_product(node), node.outputs[0].scale
        if not scale > product:
            node.fail(0, f"scale is {scale:.9g}, must be greater than the product of the input scales, {product:.9g}")


def infer(node):
    """Broadcast shape; values of the activation and, when quantized, of the multipliers."""
    activation = check_activation(node)
    if node["input0"].type == OperandType.TENSOR_INT32 and activation != Activation.NONE:
        node.fail("activation", f"is {activation}, must be 0 for TENSOR_INT32")
    if is_quant8(node["input0"]):
        multipliers(node)
    return [broadcast_shape(node, "input0", "input1")]


def _scale_product(node):
    return scale_product(node["input0"].scale, node["input1"].scale)


# -- arithmetic ----------------------------------------------------------------------------------------------------
def multipliers(node):
    """(multiplier, right shift) of input 0, input 1 and output for ADD and SUB; of the output alone for MUL."""
    scale = node.outputs[0].scale
    if node.op.type == OperationType.MUL:
        reals = [_scale_product(node) / float(np.float32(scale))]
    else:
        scales = [float(np.float32(node[name].scale)) for name in ("input0", "input1")]
        with np.errstate(over="ignore"):
            twice = float(np.float32(2) * np.float32(max(scales)))
            raised = float(np.float32(1 << ADD_SHIFT) * np.float32(scale))
        reals = [s / twice for s in scales] + [twice / raised]
    found = [multiplier_below_one(real) for real in reals]
    if None in found:
        real = reals[found.index(None)]
        node.fail(0, f"scale {scale:.9g} asks for a multiplier of {real:.9g}, must be between 0 and 1")
    return found


def _scaled(value, multiplier):
    factor, shift = multiplier
    return rdbpot(srdhm(value, factor), shift)


def _quantized(node, a, b):
    output = node.outputs[0]
    a = a.astype(np.int64) - node["input0"].zero_point
    b = b.astype(np.int64) - node["input1"].zero_point
    if node.op.type == OperationType.MUL:
        (last,) = multipliers(node)
        value = a * b
    else:
        (factor0, shift0), (factor1, shift1), last = multipliers(node)
        if node.op.type == OperationType.SUB:
            factor1 = -factor1
        value = _scaled(a << ADD_SHIFT, (factor0, shift0)) + _scaled(b << ADD_SHIFT, (factor1, shift1))
    low, high = activation_range(node.scalar("activation"), output.type, output.scale, output.zero_point)
    return np.clip(_scaled(value, last) + output.zero_point, low, high).astype(output.dtype)


def compute(node, inputs):
    """Floats as IEEE float32 (float16 rounds once at the end); INT32 wraps, x // 0 is 0; 8-bit in fixed point."""
    a, b = inputs[:2]
    if is_quant8(node["input0"]):
        return [_quantized(node, a, b)]
    dtype = node.outputs[0].dtype
    with np.errstate(all="ignore"):
        if dtype == np.int32:
            apply = _INTEGER_OPERATIONS[node.op.type]
            return [apply(np.asarray(a, np.int64), np.asarray(b, np.int64)).astype(np.int32)]
        low, high = activation_float(node.scalar("activation"))
        value = _FLOAT_OPERATIONS[node.op.type](np.asarray(a, np.float32), np.asarray(b, np.float32))
        return [np.clip(value, np.float32(low), np.float32(high)).astype(dtype)]


# -- native --------------------------------------------------------------------------------------------------------
def lower(node, b):
    """One step for float32, 8-bit and INT32 tensors of any broadcast; a look-up of many codes with a known one."""
    if emit_looked_up(node, b, compute):
        return None
    a, c, output = node["input0"], node["input1"], node.outputs[0]
    slots = b.slot(a), b.slot(c), b.slot(output)
    name = node.op.type.name.lower()
    activation = node.scalar("activation")
    if is_quant8(a):
        scales = multipliers(node)
        if node.op.type == OperationType.SUB:
            name, scales[1] = "add", (-scales[1][0], scales[1][1])
        zeros = a.zero_point, c.zero_point, output.zero_point
        clamp = activation_range(activation, output.type, output.scale, output.zero_point)
        signed = a.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED
        b.emit(BinaryQ8(slots, name, signed, a.shape, c.shape, zeros, scales, clamp))
    elif a.type == OperandType.TENSOR_FLOAT32:
        b.emit(BinaryF32(slots, name, a.shape, c.shape, *activation_float(activation)))
    elif a.type == OperandType.TENSOR_INT32:
        b.emit(BinaryS32(slots, name, a.shape, c.shape))
    else:
        return f"no native kernel for {type_name(a.type)}"
    return None


# -- references ---------------------------------------------------------------------------------------------------
ADD = OpDef(
    OperationType.ADD, (Signature(_TEXT, ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S", "1.3: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, zero_sized="any",
)
DIV = OpDef(
    OperationType.DIV, (Signature(_TEXT, ("1.1: F32", "1.2: F16", "1.3: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, zero_sized="any",
)
MUL = OpDef(
    OperationType.MUL, (Signature(_TEXT, ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S", "1.3: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, zero_sized="any",
)
SUB = OpDef(
    OperationType.SUB, (Signature(_TEXT, ("1.1: F32", "1.2: F16", "1.2: Q8", "1.3: Q8S", "1.3: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, zero_sized="any",
)
