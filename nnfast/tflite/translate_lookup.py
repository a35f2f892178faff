"""Rows by number or key: GATHER, EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, TOPK_V2."""

from math import prod

import numpy as np

from ..model.types import OperandType, OperationType
from ..record import replace
from .rules import FLOATS, FLOATS_QUANT8_INT, translates
from .schema import Builtin, TensorType
from .values import MAX_FOLDED, constant_like, fold, foldable

T = OperandType


@translates(Builtin.GATHER)
def gather(b, op):
    """GATHER; a scalar index leaves a dimension of 1, which a RESHAPE removes."""
    b.check_counts(op, 2)
    x, indices, out = b.tensor(op, 0), b.tensor(op, 1), b.result(op)
    if op.options.batch_dims:
        b.refuse(op, f"batch_dims is {op.options.batch_dims}, NNAPI has none (0)")
    if foldable(b, x, indices) and x.dims and prod(x.dims) * prod(indices.dims) <= MAX_FOLDED:
        axis = _axis(b, op, x.dims)
        numbers = indices.array
        if numbers.size and not (0 <= numbers.min() and numbers.max() < x.dims[axis]):
            b.refuse(op, f"takes rows outside the {x.dims[axis]} of tensor[{x.index}]")
        fold(b, op, np.take(x.array, numbers, axis))
        return
    code = b.check_types(op, FLOATS_QUANT8_INT, x, out)
    b.check_same_quant(op, x, out)
    dims = b.dims(op, x)
    axis = _axis(b, op, dims)
    if indices.type == TensorType.INT64 and b.is_constant(indices):
        places = b.ints(b.integers(op, indices, "indices"), indices.dims)
    else:
        b.check_types(op, (T.TENSOR_INT32,), indices)
        places = b.operand(op, indices)
    inputs = b.operand(op, x), b.i32(axis), places
    if indices.dims is None:
        b.refuse(op, f"indices tensor[{indices.index}] have no known rank")
    result = (*dims[:axis], *indices.dims, *dims[axis + 1:]) or (1,)
    if indices.dims or len(dims) == 1:
        b.emit(OperationType.GATHER, inputs, (b.output(op, result),))
        return
    if len(dims) > 4:
        b.refuse(op, f"takes a single index of rank {len(dims)}, which NNAPI's RESHAPE behind it does not")
    row = b.temporary(code, (*dims[:axis], 1, *dims[axis + 1:]), *b.quant(op, out))
    b.emit(OperationType.GATHER, inputs, (row,))
    b.reshape(op, row, code, result, target=b.output(op, result))


def _axis(b, op, dims):
    axis = op.options.axis
    if not -len(dims) <= axis < len(dims):
        b.refuse(op, f"axis is {axis}, must be within the rank, which is {len(dims) or 'unknown'}")
    return axis % len(dims)


@translates(Builtin.EMBEDDING_LOOKUP)
def embedding_lookup(b, op):
    """EMBEDDING_LOOKUP without dequantization."""
    b.check_counts(op, 2)
    lookups, values = b.tensor(op, 0), b.tensor(op, 1)
    b.check_types(op, (T.TENSOR_INT32,), lookups)
    b.check_types(op, FLOATS_QUANT8_INT, values, b.result(op))
    b.check_same_quant(op, values, b.result(op))
    b.check_rank(op, lookups, 1, 1)
    b.check_rank(op, values, 2, 32)
    first, dims = b.dims(op, lookups), b.dims(op, values)
    result = (first[0], *dims[1:]) if first and dims else ()
    b.emit(OperationType.EMBEDDING_LOOKUP, (b.operand(op, lookups), b.operand(op, values)), (b.output(op, result),))


@translates(Builtin.HASHTABLE_LOOKUP)
def hashtable_lookup(b, op):
    """HASHTABLE_LOOKUP; missing rows are zero bytes in both. Hits, unquantized in files, get NNAPI's quantization."""
    b.check_counts(op, 3, outputs=2)
    lookups, keys, values = (b.tensor(op, place) for place in range(3))
    b.check_types(op, (T.TENSOR_INT32,), lookups, keys)
    b.check_types(op, (T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM), values, b.result(op))
    b.check_same_quant(op, values, b.result(op))
    b.check_rank(op, lookups, 1, 1)
    b.check_rank(op, keys, 1, 1)
    b.check_rank(op, values, 2, 32)
    hits = b.result(op, 1)
    b.check_types(op, (T.TENSOR_QUANT8_ASYMM,), hits)
    if not hits.scales:
        hits = b.tensors[hits.index] = replace(hits, scales=(1.0,), zero_points=(0,))
    if b.quant(op, hits) != (1.0, 0):
        b.refuse(op, f"hits have (scale, zero point) {b.quant(op, hits)}, NNAPI fixes it to (1.0, 0)")
    first, dims = b.dims(op, lookups), b.dims(op, values)
    result = (first[0], *dims[1:]) if first and dims else ()
    b.emit(OperationType.HASHTABLE_LOOKUP, [b.operand(op, t) for t in (lookups, keys, values)],
           (b.output(op, result), b.output(op, first, 1)))


@translates(Builtin.TOPK_V2)
def topk(b, op):
    """TOPK_V2 of the reversed rows.

    Of equal values TFLite takes the first, NNAPI the last. With REVERSE before it the order is TFLite's; the indices
    are counted back by a SUB.
    """
    b.check_counts(op, 2, outputs=2)
    x, indices = b.tensor(op, 0), b.result(op, 1)
    code = b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op))
    b.check_types(op, (T.TENSOR_INT32,), indices)
    b.check_same_quant(op, x, b.result(op))
    values = b.integers(op, b.tensor(op, 1), "k")
    b.check_rank(op, x, 1)
    dims = b.dims(op, x)
    if not dims or not dims[-1] or len(values) != 1 or not 0 < values[0] <= dims[-1]:
        b.refuse(op, f"k is {values}, must be one value in [1, the last dimension of {list(dims)}]")
    result = (*dims[:-1], values[0])
    turned, places = b.temporary(code, dims, *b.quant(op, x)), b.temporary(T.TENSOR_INT32, result)
    b.emit(OperationType.REVERSE, (b.operand(op, x), b.ints([len(dims) - 1])), (turned,))
    b.emit(OperationType.TOPK_V2, (turned, b.i32(values[0])), (b.output(op, result), places))
    last = constant_like(b, T.TENSOR_INT32, dims[-1] - 1)
    b.emit(OperationType.SUB, (last, places, b.i32(0)), (b.output(op, result, 1),))


@translates(Builtin.LSH_PROJECTION)
def lsh_projection(b, op):
    """LSH_PROJECTION; TFLite's sparse type is NNAPI's third."""
    b.check_counts(op, 2, 3)
    if op.options.type not in (1, 2):
        b.refuse(op, f"is of type {op.options.type}, must be 1 (sparse) or 2 (dense)")
    hashes, x, weight = (b.tensor(op, place) for place in range(3))
    if (op.options.type == 1) != (weight is None):
        b.refuse(op, "is dense without weights or sparse with them")
    b.check_types(op, (T.TENSOR_FLOAT32,), *(t for t in (hashes, weight) if t is not None))
    b.check_types(op, (*FLOATS, T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM), x)
    inputs = b.operand(op, hashes), b.operand(op, x), \
        b.omitted(T.TENSOR_FLOAT32, 1) if weight is None else b.operand(op, weight)
    b.emit(OperationType.LSH_PROJECTION, (*inputs, b.i32(3 if op.options.type == 1 else 2)), (b.output(op),))
