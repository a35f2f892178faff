"""Operators of two tensors with broadcasting: DIV to POW, comparisons, logic, ADD_N, BATCH_MATMUL."""

import numpy as np

from ..model.quant import mbqm, quantize_multiplier
from ..model.types import QUANT_RANGE, OperandType, OperationType
from .rules import FLOATS, FLOATS_QUANT8_INT, QUANT8, translates
from .schema import Builtin, TensorType
from .values import broadcast_dims

T = OperandType
_NUMBERS = FLOATS + (T.TENSOR_INT32,)
_BOOLS = (T.TENSOR_BOOL8,)


def _dims(b, op, x, y):
    """Shape of the broadcast, () = unknown."""
    shapes = b.dims(op, x), b.dims(op, y)
    return broadcast_dims(b, op, *shapes) if all(dims and 0 not in dims for dims in shapes) else ()


def _pair(b, op, types, result=True):
    """(first, second tensor, type, shape) of a broadcast; with `result` the output has the type of the inputs."""
    b.check_counts(op, 2)
    x, y = b.tensor(op, 0), b.tensor(op, 1)
    code = b.check_types(op, types, *((x, y, b.result(op)) if result else (x, y)))
    return x, y, code, _dims(b, op, x, y)


def _emit(b, op, kind, x, y, dims, *more):
    b.emit(kind, (b.operand(op, x), b.operand(op, y), *more), (b.output(op, dims),))


@translates(Builtin.DIV)
def div(b, op):
    """DIV of floats; not of int32, for which NNAPI floors and TFLite truncates."""
    x, y, _, dims = _pair(b, op, FLOATS)
    b.check_rank(op, x, 1)
    b.check_rank(op, y, 1)
    _emit(b, op, OperationType.DIV, x, y, dims, b.activation(op))


@translates(Builtin.FLOOR_DIV)
def floor_div(b, op):
    """FLOOR_DIV of int32 is NNAPI's DIV; of floats TFLite divides in double, which FLOOR(DIV) does not equal."""
    x, y, _, dims = _pair(b, op, (T.TENSOR_INT32,))
    b.check_rank(op, x, 1)
    b.check_rank(op, y, 1)
    _emit(b, op, OperationType.DIV, x, y, dims, b.i32(0))


@translates(Builtin.POW)
def power(b, op):
    """POW of floats."""
    x, y, _, dims = _pair(b, op, FLOATS)
    _emit(b, op, OperationType.POW, x, y, dims)


@translates(Builtin.MAXIMUM, Builtin.MINIMUM)
def extreme(b, op):
    """MAXIMUM, MINIMUM; TFLite compares codes, so all must have one quantization."""
    x, y, _, dims = _pair(b, op, FLOATS_QUANT8_INT)
    b.check_same_quant(op, x, b.result(op))
    b.check_same_quant(op, y, b.result(op))
    # Of a number and a NaN NNAPI takes the first, TFLite the second.
    first, second = (y, x) if b.arithmetic == "litert" else (x, y)
    _emit(b, op, OperationType[op.name], first, second, dims)


@translates(Builtin.EQUAL, Builtin.NOT_EQUAL, Builtin.GREATER, Builtin.GREATER_EQUAL, Builtin.LESS, Builtin.LESS_EQUAL)
def comparison(b, op):
    """Comparisons; quantized tensors must share a quantization whose codes TFLite's fixed point keeps apart."""
    x, y, code, dims = _pair(b, op, FLOATS_QUANT8_INT + _BOOLS, result=False)
    b.check_types(op, _BOOLS, b.result(op))
    if b.quant(op, x) != b.quant(op, y):
        b.refuse(op, f"inputs have (scale, zero point) {b.quant(op, x)} and {b.quant(op, y)}, must have the same")
    if code in QUANT8 and not _keeps_apart(code, *b.quant(op, x)):
        b.refuse(op, f"scale is {b.quant(op, x)[0]}; TFLite's fixed point makes neighbouring codes equal there")
    _emit(b, op, OperationType[op.name], x, y, dims)


def _keeps_apart(code, scale, point):
    """Whether TFLite's rescaling by 256 * scale before a comparison keeps all codes apart; made for scales below 1."""
    if not scale < 1:
        return False
    low, high = QUANT_RANGE[code]
    scaled = mbqm((np.arange(low, high + 1) - point) * 256, *quantize_multiplier(scale))
    return bool((np.diff(scaled) > 0).all())


@translates(Builtin.LOGICAL_AND, Builtin.LOGICAL_OR)
def logical(b, op):
    """LOGICAL_AND, LOGICAL_OR."""
    x, y, _, dims = _pair(b, op, _BOOLS)
    _emit(b, op, OperationType[op.name], x, y, dims)


@translates(Builtin.SQUARED_DIFFERENCE)
def squared_difference(b, op):
    """SUB, then MUL of the difference with itself."""
    x, y, code, dims = _pair(b, op, _NUMBERS)
    b.check_rank(op, x, 1)
    b.check_rank(op, y, 1)
    difference = b.temporary(code, dims, name=f"{b.result(op).name}_root")
    b.emit(OperationType.SUB, (b.operand(op, x), b.operand(op, y), b.i32(0)), (difference,))
    b.emit(OperationType.MUL, (difference, difference, b.i32(0)), (b.output(op, dims),))


@translates(Builtin.ADD_N)
def add_n(b, op):
    """A chain of ADDs, in TFLite's order."""
    b.check_counts(op, 2, max(len(op.inputs), 2))
    if -1 in op.inputs:
        b.refuse(op, "omits an input")
    tensors = [b.tensor(op, place) for place in range(len(op.inputs))]
    code = b.check_types(op, _NUMBERS, *tensors, b.result(op))
    for t in tensors:
        b.check_rank(op, t, 1)
        if b.dims(op, t) != b.dims(op, tensors[0]):
            b.refuse(op, f"adds shapes {list(b.dims(op, tensors[0]))} and {list(b.dims(op, t))}, must be equal")
    total, dims = b.operand(op, tensors[0]), b.dims(op, tensors[0])
    for place, t in enumerate(tensors[1:], 1):
        last = place == len(tensors) - 1
        target = b.output(op, dims) if last else b.temporary(code, dims)
        b.emit(OperationType.ADD, (total, b.operand(op, t), b.i32(0)), (target,))
        total = target


@translates(Builtin.BATCH_MATMUL)
def batch_matmul(b, op):
    """BATCH_MATMUL without broadcasting of batches, but for those that only a run shows."""
    b.check_counts(op, 2)
    x, y = b.tensor(op, 0), b.tensor(op, 1)
    b.check_types(op, (*FLOATS, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_INT32), x, y, b.result(op))
    for t in (x, y):
        b.check_rank(op, t, 2)
    first, second = b.dims(op, x), b.dims(op, y)
    dims = ()
    if first and second:
        sides = first[-1 if op.options.adj_x else -2], second[-2 if op.options.adj_y else -1]
        if first[:-2] == second[:-2]:
            dims = (*first[:-2], *sides)
        elif b.arithmetic != "litert" or x.type != TensorType.INT8 or 0 not in first[:-2] + second[:-2]:
            b.refuse(op, f"batches are {list(first[:-2])} and {list(second[:-2])}, NNAPI takes equal ones")
    _emit(b, op, OperationType.BATCH_MATMUL, x, y, dims, b.bool(op.options.adj_x), b.bool(op.options.adj_y))
