"""Reductions: MEAN, SUM, REDUCE_*, ARG_MAX, ARG_MIN."""

from ..model.types import OperandType, OperationType
from .rules import FLOATS, FLOATS_QUANT8, FLOATS_QUANT8_INT, translates
from .schema import Builtin

T = OperandType
_KINDS = {
    Builtin.MEAN: (OperationType.MEAN, FLOATS_QUANT8), Builtin.SUM: (OperationType.REDUCE_SUM, FLOATS),
    Builtin.REDUCE_PROD: (OperationType.REDUCE_PROD, FLOATS),
    Builtin.REDUCE_MAX: (OperationType.REDUCE_MAX, FLOATS_QUANT8),
    Builtin.REDUCE_MIN: (OperationType.REDUCE_MIN, FLOATS_QUANT8),
    Builtin.REDUCE_ANY: (OperationType.REDUCE_ANY, (T.TENSOR_BOOL8,)),
    Builtin.REDUCE_ALL: (OperationType.REDUCE_ALL, (T.TENSOR_BOOL8,)),
}


@translates(*_KINDS)
def reduce(b, op):
    """MEAN, SUM and REDUCE_* over constant axes."""
    kind, types = _KINDS[op.code]
    x, dims = b.source(op, 2, types, 1)
    axes = b.integers(op, b.tensor(op, 1), "axes")
    if not axes or (dims and any(not -len(dims) <= a < len(dims) for a in axes)):
        b.refuse(op, f"axes {axes} must be at least one, within the rank of {list(dims)}")
    keep = op.options.keep_dims
    reduced = {a % len(dims) for a in axes} if dims else set()
    result = tuple(1 if k in reduced else d for k, d in enumerate(dims) if keep or k not in reduced)
    flag = b.i32(int(keep)) if kind == OperationType.MEAN else b.bool(keep)
    b.emit(kind, (b.operand(op, x), b.ints(axes), flag), (b.output(op, result or (1,) if dims else ()),))


@translates(Builtin.ARG_MAX, Builtin.ARG_MIN)
def arg(b, op):
    """ARGMAX, ARGMIN along a constant axis, to int32."""
    b.check_counts(op, 2)
    x = b.tensor(op, 0)
    b.check_types(op, FLOATS_QUANT8_INT, x)
    b.check_types(op, (T.TENSOR_INT32,), b.result(op))
    axes, dims = b.integers(op, b.tensor(op, 1), "axis"), b.dims(op, x)
    if len(axes) != 1 or dims and not -len(dims) <= axes[0] < len(dims):
        b.refuse(op, f"axis {axes} must be one within the rank of {list(dims)}")
    result = ()
    if dims:
        axis = axes[0] % len(dims)
        result = (*dims[:axis], *dims[axis + 1:]) or (1,)
    kind = OperationType.ARGMAX if op.code == Builtin.ARG_MAX else OperationType.ARGMIN
    b.emit(kind, (b.operand(op, x), b.i32(axes[0])), (b.output(op, result),))
