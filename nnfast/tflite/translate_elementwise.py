"""Arithmetic and activations: ADD, MUL, SUB, RELU*, LOGISTIC, TANH, SOFTMAX, HARD_SWISH, PRELU."""

import numpy as np

from ..model.types import OperandType, OperationType
from .rules import FLOATS_QUANT8, FLOATS_QUANT8_INT, QUANT8, translates
from .schema import Builtin

FIXED_QUANT = {
    # NNAPI fixes the output quantization of these [NN 14.14, 14.25].
    OperationType.LOGISTIC: ((1 / 256, 0), (1 / 256, -128)),
    OperationType.SOFTMAX: ((1 / 256, 0), (1 / 256, -128)),
    OperationType.TANH: ((1 / 128, 128), (1 / 128, 0)),
}


@translates(Builtin.ADD, Builtin.MUL, Builtin.SUB)
def arithmetic(b, op):
    """ADD, MUL, SUB with broadcasting and a fused activation."""
    b.check_counts(op, 2)
    x, y, out = b.tensor(op, 0), b.tensor(op, 1), b.result(op)
    code = b.check_types(op, FLOATS_QUANT8_INT, x, y, out)
    b.check_rank(op, x, 1)
    b.check_rank(op, y, 1)
    if code == OperandType.TENSOR_INT32 and op.options.activation:
        b.refuse(op, "has int32 tensors and a fused activation, NNAPI has it for the other types only")
    if code in QUANT8:
        _check_scales(b, op, x, y, out)
    dims = b.dims(op, x), b.dims(op, y)
    shape = _broadcast(*dims) if all(dims) else ()
    b.emit(OperationType[op.name], (b.operand(op, x), b.operand(op, y), b.activation(op)), (b.output(op, shape),))


def _check_scales(b, op, x, y, out):
    first, second, result = (np.float32(b.quant(op, t)[0]) for t in (x, y, out))
    if op.name == "MUL":
        if result <= first * second:
            b.refuse(op, f"output scale {result} must be above the product {first * second} of the input scales")
    elif not 2 * max(first, second) < np.float32(1 << 20) * result:
        b.refuse(op, f"output scale {result} is too small for input scales {first} and {second}")


def _broadcast(first, second):
    """Dims of a broadcast; 0 = unknown, unless the other operand determines it."""
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second)
    return tuple(y if x == 1 else x if y == 1 else max(x, y) for x, y in pairs)


@translates(Builtin.RELU, Builtin.RELU_N1_TO_1, Builtin.RELU6)
def relu(b, op):
    """RELU, RELU1, RELU6 as separate operators."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    b.check_types(op, FLOATS_QUANT8, x, b.result(op))
    b.check_rank(op, x, 1)
    b.check_same_quant(op, x, b.result(op))
    code = {"RELU_N1_TO_1": OperationType.RELU1}.get(op.name) or OperationType[op.name]
    b.emit(code, (b.operand(op, x),), (b.output(op, b.dims(op, x)),))


@translates(Builtin.HARD_SWISH)
def hard_swish(b, op):
    """HARD_SWISH; the output's quantization is free."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    b.check_types(op, FLOATS_QUANT8, x, b.result(op))
    b.emit(OperationType.HARD_SWISH, (b.operand(op, x),), (b.output(op, b.dims(op, x)),))


@translates(Builtin.LOGISTIC, Builtin.TANH)
def curve(b, op):
    """LOGISTIC and TANH; of codes with the fixed output quantization."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    b.check_types(op, FLOATS_QUANT8, x, b.result(op))
    b.check_rank(op, x, 1)
    b.emit(OperationType[op.name], (b.operand(op, x),), (b.output(op, b.dims(op, x)),))


@translates(Builtin.SOFTMAX)
def softmax(b, op):
    """SOFTMAX over the last axis."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    code = b.check_types(op, FLOATS_QUANT8, x, b.result(op))
    _check_fixed(b, op, code)
    b.check_rank(op, x, 1)
    beta = op.options.beta
    if not 0 < beta < float("inf"):
        b.refuse(op, f"beta is {beta}, must be above 0")
    b.emit(OperationType.SOFTMAX, (b.operand(op, x), b.real(code, beta)), (b.output(op, b.dims(op, x)),))


def _check_fixed(b, op, code):
    if code in QUANT8:
        wanted = FIXED_QUANT[OperationType[op.name]][QUANT8.index(code)]
        found = b.quant(op, b.result(op))
        if found != wanted:
            b.refuse(op, f"output has (scale, zero point) {found}, NNAPI fixes it to {wanted}")


@translates(Builtin.PRELU)
def prelu(b, op):
    """PRELU with a broadcast slope."""
    b.check_counts(op, 2)
    x, alpha = b.tensor(op, 0), b.tensor(op, 1)
    b.check_types(op, FLOATS_QUANT8, x, alpha, b.result(op))
    b.emit(OperationType.PRELU, (b.operand(op, x), b.operand(op, alpha)), (b.output(op, b.dims(op, x)),))
