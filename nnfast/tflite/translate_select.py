"""Choices and repetition: SELECT, SELECT_V2, TILE, BROADCAST_TO, FILL, SHAPE, RANK."""

import numpy as np

from ..model.types import OperandType, OperationType
from .rules import FLOATS, FLOATS_QUANT8_INT, translates
from .schema import Builtin
from .values import broadcast, broadcast_dims, fold, scalar

T = OperandType


@translates(Builtin.SELECT, Builtin.SELECT_V2)
def select(b, op):
    """SELECT of equal shapes: smaller tensors are tiled first."""
    b.check_counts(op, 3)
    condition, x, y = (b.tensor(op, place) for place in range(3))
    b.check_types(op, (T.TENSOR_BOOL8,), condition)
    b.check_types(op, FLOATS_QUANT8_INT, x, y, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    b.check_same_quant(op, y, b.result(op))
    shapes = [b.dims(op, t) for t in (condition, x, y)]
    if op.code == Builtin.SELECT and shapes[0] != shapes[1] and shapes[0] != (1,):
        b.refuse(op, f"condition has shape {list(shapes[0])} and chooses rows of {list(shapes[1])}, NNAPI chooses"
                     " single values")
    if shapes[0] == shapes[1] == shapes[2]:
        operands, dims = [b.operand(op, t) for t in (condition, x, y)], shapes[0]
    else:
        dims = broadcast_dims(b, op, *shapes)
        operands = [broadcast(b, op, t, dims) for t in (condition, x, y)]
    b.emit(OperationType.SELECT, operands, (b.output(op, dims),))


@translates(Builtin.TILE)
def tile(b, op):
    """TILE; the multiples may be computed."""
    b.check_counts(op, 2)
    x, multiples = b.tensor(op, 0), b.tensor(op, 1)
    b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    b.check_dimensions(op, x)
    dims, result = b.dims(op, x), ()
    if b.is_constant(multiples):
        values = b.integers(op, multiples, "multiples")
        if min(values, default=-1) < 0 or dims and len(values) != len(dims):
            b.refuse(op, f"multiples {values} must be one of at least 0 for each dimension of {list(dims)}")
        source, result = b.ints(values), tuple(d * m for d, m in zip(dims, values))
    else:
        b.check_types(op, (T.TENSOR_INT32,), multiples)
        source = b.operand(op, multiples)
    b.emit(OperationType.TILE, (b.operand(op, x), source), (b.output(op, result),))


@translates(Builtin.BROADCAST_TO)
def broadcast_to(b, op):
    """TILE of known shapes, after a RESHAPE if the rank grows."""
    b.check_counts(op, 2)
    x = b.tensor(op, 0)
    b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    wanted = tuple(b.integers(op, b.tensor(op, 1), "shape"))
    if min(wanted, default=0) < 1 or broadcast_dims(b, op, b.dims(op, x), wanted) != wanted:
        b.refuse(op, f"shape {list(b.dims(op, x))} cannot become {list(wanted)}")
    b.current[op.outputs[0]] = broadcast(b, op, x, wanted)


@translates(Builtin.FILL)
def fill(b, op):
    """FILL with a constant value; the shape may be computed."""
    b.check_counts(op, 2)
    dims, value, out = b.tensor(op, 0), b.tensor(op, 1), b.result(op)
    code = b.check_types(op, (*FLOATS, T.TENSOR_INT32), value, out)
    if not b.is_constant(value) or value.array.size != 1:
        b.refuse(op, "fills with a value that is not a constant of one element, NNAPI takes a scalar")
    result = ()
    if b.is_constant(dims):
        sizes = b.integers(op, dims, "shape")
        if min(sizes, default=0) < 0:
            b.refuse(op, f"shape {sizes} must not be negative")
        source, result = b.ints(sizes or [1]), tuple(sizes or [1])
    else:
        b.check_types(op, (T.TENSOR_INT32,), dims)
        source = b.operand(op, dims)
    b.emit(OperationType.FILL, (source, scalar(b, code, value.array.reshape(-1)[0])), (b.output(op, result),))


@translates(Builtin.SHAPE)
def shape(b, op):
    """SHAPE; a known shape becomes a constant."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    if x.dims is None or 0 in (b.dims(op, x) if x.dims else ()):
        b.refuse(op, f"tensor[{x.index}] has shape {x.dims and list(x.dims)}, which must be known: NNAPI has no SHAPE")
    fold(b, op, np.array(x.dims and b.dims(op, x), np.int64))


@translates(Builtin.RANK)
def rank(b, op):
    """RANK; a known rank becomes a constant, as NNAPI's RANK returns a scalar, not a tensor."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    if x.dims is None:
        b.refuse(op, f"tensor[{x.index}] has no known rank, and NNAPI's RANK gives no tensor")
    fold(b, op, np.array(len(x.dims)))
