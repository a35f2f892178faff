"""Constants and broadcasts that translations make up, and results that are known while translating."""

from math import prod

import numpy as np

from ..model.types import DTYPES, OperandType, OperationType
from ..record import replace
from .follow import MAX_FOLDED
from .graph import MAX_CREATED, frozen
from .schema import TensorType

_SCALARS = {OperandType.TENSOR_FLOAT16: OperandType.FLOAT16, OperandType.TENSOR_FLOAT32: OperandType.FLOAT32,
            OperandType.TENSOR_INT32: OperandType.INT32}


def fold(b, op, array, place=0):
    """Make a result a constant of the file: its value (int32 or int64 array) is known."""
    t = b.result(op, place)
    if t.type not in (TensorType.INT32, TensorType.INT64):
        b.refuse(op, f"output tensor[{t.index}] has type {TensorType(t.type).name.lower()}, must be int32 or int64")
    created(b, op, np.size(array))
    array = np.array(array, np.int32 if t.type == TensorType.INT32 else np.int64, order="C")
    data = frozen(array.reshape(-1).view(np.uint8))
    b.tensors[t.index] = replace(t, data=data, dims=array.shape)


def foldable(b, *tensors):
    """Whether all are constant integer tensors, of few elements together."""
    return all(b.is_constant(t) and not t.is_sparse and t.type in (TensorType.INT32, TensorType.INT64)
               for t in tensors) and sum(prod(t.dims) for t in tensors) <= MAX_FOLDED


def constant_like(b, code, value, scale=0.0, zero_point=0):
    """Constant of one element of a tensor type."""
    return b.constant(frozen(np.array([value], DTYPES[code])), code, scale, zero_point)


def fill_like(b, op, code, dims, value):
    """FILL of known dimensions with one value."""
    if not dims or 0 in dims:
        b.refuse(op, f"shape {list(dims)} must be known")
    target = b.temporary(code, dims)
    b.emit(OperationType.FILL, (b.ints(dims), scalar(b, code, value)), (target,))
    return target


def scalar(b, code, value):
    """Scalar operand that goes with tensors of type `code`."""
    return b.i32(int(value)) if code == OperandType.TENSOR_INT32 else b.real(code, float(value))


def broadcast_dims(b, op, *shapes):
    """Common shape of known shapes."""
    if any(not dims or 0 in dims for dims in shapes):
        b.refuse(op, f"shapes {', '.join(str(list(dims)) for dims in shapes)} must be known")
    try:
        return np.broadcast_shapes(*shapes)
    except (ValueError, RuntimeError):  # of more dimensions than numpy has
        b.refuse(op, f"shapes {', '.join(str(list(dims)) for dims in shapes)} cannot be broadcast")


def broadcast(b, op, t, dims):
    """Operand of a tensor repeated to known dims: constants here, else by RESHAPE and TILE, bools by LOGICAL_OR."""
    have = b.dims(op, t)
    if have == tuple(dims):
        return b.operand(op, t)
    code, quant = b.supported_type(op, t), b.quant(op, t)
    if b.is_constant(t) and t.index not in b.current:
        created(b, op, prod(dims))
        whole = np.ascontiguousarray(np.broadcast_to(t.array.reshape(have), dims))
        return b.constant(frozen(whole), code, *quant, name=t.name)
    source = b.operand(op, t)
    target = b.temporary(code, dims, *quant, name=f"{t.name}_whole")
    if code == OperandType.TENSOR_BOOL8:
        created(b, op, prod(dims))
        nothing = b.constant(frozen(np.zeros(dims, np.uint8)), code)
        b.emit(OperationType.LOGICAL_OR, (source, nothing), (target,))
        return target
    longer = (1,) * (len(dims) - len(have)) + have
    if longer != have:
        b.check_rank(op, t, 1)
        source = b.reshape(op, source, code, longer, quant)
    if longer == tuple(dims):
        return source
    counts = [total // size for total, size in zip(dims, longer, strict=True)]
    b.emit(OperationType.TILE, (source, b.ints(counts)), (target,))
    return target


def created(b, op, count):
    """Count elements of made-up constants; a crafted file must not eat memory."""
    b.created += count
    if b.created > MAX_CREATED:
        b.refuse(op, f"needs a constant of {count} elements that the file does not have; too many of them")
