"""Slicing and stacking: SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, PACK, UNPACK, EXPAND_DIMS, REVERSE_V2."""

import numpy as np

from ..checks import counted
from ..model.types import OperandType, OperationType
from .rules import FLOATS_QUANT8, FLOATS_QUANT8_INT, translates
from .schema import Builtin
from .values import fold, foldable

T = OperandType


def _axis(b, op, axis, rank):
    """Axis, normalized to be >= 0."""
    if not rank or not -rank <= axis < rank:
        b.refuse(op, f"axis is {axis}, must be within the rank, which is {rank or 'unknown'}")
    return axis % rank


def _one(b, op, place, what):
    """Value of a constant input of one element."""
    values = b.integers(op, b.tensor(op, place), what)
    if len(values) != 1:
        b.refuse(op, f"{what} {values} must be one value")
    return values[0]


def _numbers(b, op, t, what, count):
    """(operand, values or None) of a vector of `count` (0 = unknown) numbers, constant or computed."""
    if not b.is_constant(t):
        b.check_types(op, (T.TENSOR_INT32,), t)
        return b.operand(op, t), None
    values = b.integers(op, t, what)
    if not values or count and len(values) != count:
        b.refuse(op, f"{what} {values} must be one value for each of {count or 'the'} dimensions")
    return b.ints(values), values


@translates(Builtin.SLICE)
def slice_(b, op):
    """SLICE; begin and size may be computed."""
    b.check_counts(op, 3)
    x = b.tensor(op, 0)
    b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    b.check_dimensions(op, x)
    dims = b.dims(op, x)
    begin, starts = _numbers(b, op, b.tensor(op, 1), "begin", len(dims))
    size, sizes = _numbers(b, op, b.tensor(op, 2), "size", len(dims))
    result = ()
    if starts and sizes and dims:
        result = tuple(n if n >= 0 else d and d - s for n, s, d in zip(sizes, starts, dims, strict=True))
        if any(s < 0 or n < -1 or d and s + max(n, 0) > d for s, n, d in zip(starts, sizes, dims, strict=True)):
            b.refuse(op, f"begin {starts} and size {sizes} leave the shape {list(dims)}")
    b.emit(OperationType.SLICE, (b.operand(op, x), begin, size), (b.output(op, result),))


@translates(Builtin.STRIDED_SLICE)
def strided_slice(b, op):
    """STRIDED_SLICE without ellipsis or new axes; of constant integers (parts of shapes) its value."""
    b.check_counts(op, 4)
    x, options = b.tensor(op, 0), op.options
    for field in ("ellipsis_mask", "new_axis_mask", "offset"):
        if getattr(options, field):
            b.refuse(op, f"{field} is {getattr(options, field)}, NNAPI has none")
    dims = b.dims(op, x)
    bounds = [_numbers(b, op, b.tensor(op, place), what, 0)
              for place, what in ((1, "begin"), (2, "end"), (3, "strides"))]
    result, known = (), all(values for _, values in bounds)
    if known:
        box = _box(b, op, [values for _, values in bounds], options)
        if foldable(b, x) and len(box) <= len(x.dims):
            fold(b, op, _cut(b, op, x.array, box))
            return
        if dims and 0 not in dims and len(box) == len(dims):
            # Slice a broadcast view, which takes no memory, to get the result's shape.
            result = _cut(b, op, np.broadcast_to(np.uint8(0), dims), box).shape or (1,)
    lengths = [b.operands[operand].dims for operand, _ in bounds]
    if (dims or not known) and any(length != (len(dims),) for length in lengths):
        b.refuse(op, f"begin, end and strides have shapes {', '.join(str(list(length)) for length in lengths)}, NNAPI "
                     f"needs one value for each of {len(dims) or 'an unknown number of'} dimensions")
    b.check_types(op, FLOATS_QUANT8, x, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    b.check_rank(op, x, 1)
    (begin, _), (end, _), (strides, _) = bounds
    end_mask = options.end_mask
    if options.shrink_axis_mask and not known:
        b.refuse(op, "shrinks a dimension at a place that is computed, where NNAPI looks at its end too")
    if options.shrink_axis_mask:
        end, end_mask = _shrunk_ends(b, options, *bounds[:2])
    masks = b.i32(options.begin_mask), b.i32(end_mask), b.i32(options.shrink_axis_mask)
    b.emit(OperationType.STRIDED_SLICE, (b.operand(op, x), begin, end, strides, *masks),
           (b.output(op, result),))


def _shrunk_ends(b, options, begin, end):
    """(operand of the ends, end_mask): TFLite takes one element of a shrunk dimension, whatever its end."""
    operand, ends = end
    ends, mask = list(ends), options.end_mask
    for k, first in enumerate(begin[1]):
        if options.shrink_axis_mask >> k & 1:
            first = 0 if options.begin_mask >> k & 1 else first
            ends[k], mask = first + 1, mask & ~(1 << k) | (first == -1) << k
    return (operand if ends == list(end[1]) else b.ints(ends)), mask


def _box(b, op, bounds, options):
    """Index tuple of constant begins, ends and strides."""
    begins, ends, strides = bounds
    if not len(begins) == len(ends) == len(strides) or 0 in strides:
        b.refuse(op, f"begin {begins}, end {ends} and strides {strides} must be as many, no stride 0")
    box = []
    for k, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        if options.shrink_axis_mask >> k & 1:
            if stride < 1:
                b.refuse(op, f"stride {stride} of the shrunk dimension {k} must be above 0")
            box.append(0 if options.begin_mask >> k & 1 else begin)
        else:
            box.append(slice(None if options.begin_mask >> k & 1 else begin,
                             None if options.end_mask >> k & 1 else end, stride))
    return tuple(box)


def _cut(b, op, array, box):
    try:
        return array[box]
    except IndexError:
        b.refuse(op, f"takes an element outside the shape {list(array.shape)}")


def _split_axis(b, op, x, place):
    """Axis of a split, >= 0; all outputs share the input's type and quantization."""
    for k in range(len(op.outputs)):
        b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op, k))
        b.check_same_quant(op, x, b.result(op, k))
    return _axis(b, op, _one(b, op, place, "axis"), len(b.dims(op, x)))


@translates(Builtin.SPLIT)
def split(b, op):
    """SPLIT into equal parts; TFLite has the axis first."""
    b.check_counts(op, 2, outputs=max(op.options.num_splits, 1))
    x, count = b.tensor(op, 1), len(op.outputs)
    axis, dims = _split_axis(b, op, x, 0), b.dims(op, x)
    if dims[axis] % count:
        b.refuse(op, f"splits {dims[axis]} elements into {count} parts")
    part = (*dims[:axis], dims[axis] // count, *dims[axis + 1:])
    b.emit(OperationType.SPLIT, (b.operand(op, x), b.i32(axis), b.i32(count)),
           [b.output(op, part, k) for k in range(count)])


@translates(Builtin.SPLIT_V)
def split_v(b, op):
    """One SLICE for each part of constant size."""
    b.check_counts(op, 3, outputs=max(op.options.num_splits, 1))
    x = b.tensor(op, 0)
    sizes = b.integers(op, b.tensor(op, 1), "sizes")
    axis, dims = _split_axis(b, op, x, 2), b.dims(op, x)
    if len(sizes) != len(op.outputs) or sizes.count(-1) > 1 or min(sizes) < -1:
        b.refuse(op, f"sizes {sizes} must be one for each of {len(op.outputs)} outputs, with one -1 at most")
    if -1 in sizes:
        if not dims[axis]:
            b.refuse(op, f"sizes {sizes} hold a -1 and the dimension is not known")
        sizes[sizes.index(-1)] = dims[axis] - sum(sizes) - 1
    if min(sizes) < 0 or dims[axis] and sum(sizes) != dims[axis]:
        b.refuse(op, f"sizes {sizes} must add up to the dimension, {dims[axis]}")
    source, start = b.operand(op, x), 0
    for place, size in enumerate(sizes):
        begin, extent = [0] * len(dims), [-1] * len(dims)
        begin[axis], extent[axis] = start, size
        part = (*dims[:axis], size, *dims[axis + 1:])
        b.emit(OperationType.SLICE, (source, b.ints(begin), b.ints(extent)), (b.output(op, part, place),))
        start += size


@translates(Builtin.PACK)
def pack(b, op):
    """PACK; scalars are packed with a dimension of 1, which a RESHAPE removes."""
    b.check_counts(op, len(op.inputs) or 1)
    tensors = [b.tensor(op, place) for place in range(len(op.inputs))]
    if any(t is None for t in tensors):
        b.refuse(op, "omits an input")
    if foldable(b, *tensors) and len({t.dims for t in tensors}) == 1:
        axis = _axis(b, op, op.options.axis, len(tensors[0].dims) + 1)
        fold(b, op, np.stack([t.array for t in tensors], axis))
        return
    code = b.check_types(op, FLOATS_QUANT8_INT, *tensors, b.result(op))
    for t in tensors:
        b.check_same_quant(op, t, b.result(op))
    if any(t.dims is None or t.dims != tensors[0].dims for t in tensors):
        shapes = ", ".join(str(t.dims and list(t.dims)) for t in tensors)
        b.refuse(op, f"packs shapes {shapes}, must be equal and known")
    dims, operands = tensors[0].dims, [b.operand(op, t) for t in tensors]
    axis = _axis(b, op, op.options.axis, len(dims) + 1)
    result = (*dims[:axis], len(tensors), *dims[axis:])
    if dims:
        b.emit(OperationType.PACK, (b.i32(axis), *operands), (b.output(op, result),))
        return
    column = b.temporary(code, (len(tensors), 1), *b.quant(op, b.result(op)))
    b.emit(OperationType.PACK, (b.i32(0), *operands), (column,))
    b.reshape(op, column, code, result, target=b.output(op, result))


@translates(Builtin.UNPACK)
def unpack(b, op):
    """SPLIT into parts of one, then RESHAPE."""
    count = op.options.num
    b.check_counts(op, 1, outputs=max(count, 1))
    x = b.tensor(op, 0)
    b.check_rank(op, x, 1)
    dims = b.dims(op, x)
    axis = _axis(b, op, op.options.axis, len(dims))
    if dims[axis] != count:
        b.refuse(op, f"unpacks {dims[axis]} elements into {counted(count, 'output')}")
    code, quant = b.supported_type(op, x), b.quant(op, x)
    for place in range(count):
        b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op, place))
        b.check_same_quant(op, x, b.result(op, place))
    rest = (*dims[:axis], *dims[axis + 1:]) or (1,)
    if len(dims) == 1:
        parts = [b.output(op, rest, place) for place in range(count)]
    else:
        parts = [b.temporary(code, (*dims[:axis], 1, *dims[axis + 1:]), *quant) for _ in range(count)]
    b.emit(OperationType.SPLIT, (b.operand(op, x), b.i32(axis), b.i32(count)), parts)
    if len(dims) > 1:
        for place, part in enumerate(parts):
            b.reshape(op, part, code, rest, target=b.output(op, rest, place))


@translates(Builtin.EXPAND_DIMS)
def expand_dims(b, op):
    """EXPAND_DIMS; a scalar, which has a dimension of 1 already, is passed through."""
    b.check_counts(op, 2)
    x = b.tensor(op, 0)
    if foldable(b, x):
        axis = _axis(b, op, _one(b, op, 1, "axis"), len(x.dims) + 1)
        fold(b, op, np.expand_dims(x.array, axis))
        return
    b.check_types(op, FLOATS_QUANT8_INT, x, b.result(op))
    b.check_same_quant(op, x, b.result(op))
    if x.dims is None:
        b.refuse(op, f"tensor[{x.index}] has no known rank")
    axis = _axis(b, op, _one(b, op, 1, "axis"), len(x.dims) + 1)
    if not x.dims:
        b.current[op.outputs[0]] = b.operand(op, x)
        return
    dims = b.dims(op, x)
    b.emit(OperationType.EXPAND_DIMS, (b.operand(op, x), b.i32(axis)),
           (b.output(op, (*dims[:axis], 1, *dims[axis:])),))


@translates(Builtin.REVERSE_V2)
def reverse_v2(b, op):
    """REVERSE along one axis."""
    x, dims = b.source(op, 2, FLOATS_QUANT8_INT, 1, 8)
    axis = _axis(b, op, _one(b, op, 1, "axis"), len(dims))
    b.emit(OperationType.REVERSE, (b.operand(op, x), b.ints([axis])), (b.output(op, dims),))
