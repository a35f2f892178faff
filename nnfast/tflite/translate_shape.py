"""Operators that move values: RESHAPE, SQUEEZE, CONCATENATION, TRANSPOSE."""

from ..model.types import OperationType
from .rules import FLOATS_QUANT8, FLOATS_QUANT8_INT, translates
from .schema import Builtin, TensorType


@translates(Builtin.RESHAPE)
def reshape(b, op):
    """RESHAPE; the shape comes from input 1, else from the options."""
    b.check_counts(op, 1, 2)
    x, shape = b.tensor(op, 0), b.tensor(op, 1)
    b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    b.check_rank(op, x, 1)
    dims = ()
    if shape is not None and not b.is_constant(shape) and 0 not in (shape.dims or (1,)):
        if shape.type != TensorType.INT32:
            b.refuse(op, "takes its shape from a computed tensor that is not int32")
        target = b.operand(op, shape)
    else:
        if shape is not None:
            values = b.integers(op, shape, "shape") if b.is_constant(shape) else []
        elif op.options.new_shape is not None:
            values = op.options.new_shape.tolist()
            # Old converters wrote the shape of a scalar as [0].
            values = [] if values == [0] else values
        else:
            b.refuse(op, "has no shape, neither as an input nor in its options")
        values = values or [1]
        if any(v < -1 or v == 0 for v in values) or values.count(-1) > 1:
            b.refuse(op, f"shape {values} must be positive, with one -1 at most")
        target = b.ints(values)
        dims = tuple(max(v, 0) for v in values)
    b.emit(OperationType.RESHAPE, (b.operand(op, x), target), (b.output(op, dims),))


@translates(Builtin.SQUEEZE)
def squeeze(b, op):
    """SQUEEZE; a RESHAPE if the input's or the output's shape is known."""
    b.check_counts(op, 1)
    x, out = b.tensor(op, 0), b.result(op)
    code = b.check_types(op, FLOATS_QUANT8_INT, x, out)
    b.check_same_quant(op, x, out)
    b.check_rank(op, x, 1)
    target = b.output(op, _squeezed(op, b.dims(op, x)))
    if not b.operands[target].dims:
        b.refuse(op, "output has no known rank")
    b.reshape(op, b.operand(op, x), code, b.operands[target].dims, target=target)


def _squeezed(op, dims):
    """Known dims without those of 1 that the operator removes; () if they are not known."""
    if not dims or 0 in dims:
        return ()
    given, rank = op.options.squeeze_dims, len(dims)
    axes = range(rank) if given is None or not len(given) else {axis % rank for axis in given.tolist()}
    return tuple(d for axis, d in enumerate(dims) if d != 1 or axis not in axes) or (1,)


@translates(Builtin.CONCATENATION)
def concatenation(b, op):
    """CONCATENATION; scales may differ from the output's."""
    b.check_counts(op, 1, len(op.inputs))
    if -1 in op.inputs:
        b.refuse(op, "omits an input")
    tensors = [b.tensor(op, k) for k in range(len(op.inputs))]
    out = b.result(op)
    b.check_types(op, FLOATS_QUANT8, *tensors, out)
    if op.options.activation:
        b.refuse(op, f"fused activation is {op.options.activation}, NNAPI takes none here")
    shapes = [b.dims(op, t) for t in tensors]
    ranks = [len(dims) for dims in shapes if dims]
    rank = ranks[0] if ranks else len(out.dims or ())
    axis = op.options.axis
    if not rank or not -rank <= axis < rank:
        b.refuse(op, f"axis is {axis}, must be within the rank, which is {rank or 'unknown'}")
    for t in tensors:
        b.check_rank(op, t, rank, rank)
    b.check_rank(op, tensors[0], 1)
    operands, axis = [b.operand(op, t) for t in tensors], axis % rank
    result = ()
    if all(dims and dims[axis] for dims in shapes):
        result = *shapes[0][:axis], sum(dims[axis] for dims in shapes), *shapes[0][axis + 1:]
    b.emit(OperationType.CONCATENATION, (*operands, b.i32(axis)), (b.output(op, result),))


@translates(Builtin.TRANSPOSE)
def transpose(b, op):
    """TRANSPOSE by a constant permutation."""
    x, dims = b.source(op, 2, FLOATS_QUANT8, 1)
    perm = b.integers(op, b.tensor(op, 1), "permutation")
    rank = len(dims) or len(perm)
    if not perm or len(perm) != rank or any(not -rank <= p < rank for p in perm):
        b.refuse(op, f"permutation {perm} must hold each dimension of {list(dims)} once")
    perm = [p % rank for p in perm]
    if sorted(perm) != list(range(rank)):
        b.refuse(op, f"permutation {perm} must hold each dimension once")
    result = tuple(dims[p] for p in perm) if dims else ()
    b.emit(OperationType.TRANSPOSE, (b.operand(op, x), b.ints(perm)), (b.output(op, result),))
