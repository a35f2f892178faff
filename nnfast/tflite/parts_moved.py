"""Operators that only move numbers, as others of TFLite's: codes into other quantizations, blocks of any type."""

from math import prod

from .graph import MOST_RANK
from .parts import CODES, parted
from .schema import Builtin, TensorType

B = Builtin


@parted(B.PAD, B.PADV2, B.SLICE, B.STRIDED_SLICE, B.TILE, B.GATHER, B.GATHER_ND, B.SPLIT, B.SPLIT_V,
        B.DYNAMIC_UPDATE_SLICE, B.SCATTER_ND, B.REDUCE_MAX, B.REDUCE_MIN)
def moved(p):
    """Operators that move codes of 8 bits and int16, into other quantizations: LiteRT keeps the codes."""
    outs = [p.b.result(p.op, place) for place in range(len(p.op.outputs))]
    tensors, first = [p.optional(place) for place in range(len(p.op.inputs))], outs[0]
    quants = {(t.scales, t.zero_points) for t in (*tensors, *outs) if t is not None and t.type == first.type}
    if p.b.arithmetic != "litert" or first.type not in CODES or len(quants) < 2:
        p.refuse("has no form for these tensors")
    if p.op.code == B.PADV2 and tensors[2] is not None and \
            (tensors[2].scales, tensors[2].zero_points) != (first.scales, first.zero_points):
        p.refuse("pads with a value that is not in the output's quantization, must be")
    results = [first, *(p.new(t, t.dims, scales=first.scales, zero_points=first.zero_points) for t in outs[1:])]
    p.same([t if t is None or t.type != first.type else p.recoded(t, first) for t in tensors], results)
    for result, out in zip(results[1:], outs[1:]):
        p.run(B.BITCAST, [result], [out])


@parted(B.CONCATENATION)
def joined(p):
    """int16 tensors of other quantizations, whose codes LiteRT keeps; 8-bit ones of rank 5 and more as matrices."""
    tensors, out = [p.tensor(place) for place in range(len(p.op.inputs))], p.b.result(p.op)
    kinds, shapes = {t.type for t in (*tensors, out)}, [p.dims(t) for t in tensors]
    if p.op.options.activation or len(kinds) > 1 or not out.scales or not all(t.scales for t in tensors):
        p.refuse("has no form for these tensors")
    if out.type == TensorType.INT16 and p.b.arithmetic == "litert" and \
            any((t.scales, t.zero_points) != (out.scales, out.zero_points) for t in tensors):
        p.same([p.recoded(t, out) for t in tensors], [out])
        return
    rank, axis = len(shapes[0] or ()), p.op.options.axis
    if None in shapes or rank <= MOST_RANK or not -rank <= axis < rank:
        p.refuse("has no form for these tensors")
    axis %= rank
    if len({(len(dims), *dims[:axis], *dims[axis + 1:]) for dims in shapes}) > 1:
        p.refuse(f"joins shapes {' and '.join(str(list(dims)) for dims in shapes[:2])}, which do not go together")
    rows = prod(shapes[0][:axis])
    size = sum(dims[axis] for dims in shapes)
    whole = *shapes[0][:axis], size, *shapes[0][axis + 1:]
    if 0 in whole:
        p.empty(out, whole)
        return
    result = p.new(out, (rows, size * prod(shapes[0][axis + 1:])))
    p.run(B.CONCATENATION, [p.reshaped(t, (rows, prod(dims[axis:]))) for t, dims in zip(tensors, shapes) if dims[axis]],
          [result], axis=1, activation=0)
    p.run(B.RESHAPE, [result, p.ints(whole)], [out], new_shape=None)


@parted(B.DEPTH_TO_SPACE, B.SPACE_TO_DEPTH)
def depth(p):
    """Blocks of pixels of any type to channels and back: transposes rows of a block with columns of blocks."""
    x, out, block = p.tensor(0), p.b.result(p.op), p.op.options.block_size
    dims = p.dims(x)
    if dims is None and x.type == out.type == TensorType.INT32:
        _as_floats(p, x, out)
        return
    if dims is None and p.b.arithmetic == "litert" and x.type == out.type and x.type in CODES and \
            (x.scales, x.zero_points) != (out.scales, out.zero_points):
        p.same([p.recoded(x, out)], [out])
        return
    if dims is None or len(dims) != 4 or block < 1:
        p.refuse("has no form for these tensors")
    batch, height, width, channels = dims
    if p.op.code == B.SPACE_TO_DEPTH:
        uneven = height % block or width % block
        split = batch, height // block, block, width // block, block, channels
        result = batch, height // block, width // block, channels * block**2
    else:
        uneven = channels % block**2
        split = batch, height, width, block, block, channels // block**2
        result = batch, height * block, width * block, channels // block**2
    if uneven:
        p.refuse(f"block_size is {block}, which does not divide shape {list(dims)}")
    if 0 in result:
        p.empty(out, result)
        return
    turned = p.new(x, tuple(split[axis] for axis in (0, 1, 3, 2, 4, 5)))
    p.run(B.TRANSPOSE, [p.reshaped(x, split), p.ints([0, 1, 3, 2, 4, 5])], [turned])
    p.run(B.RESHAPE, [turned, p.ints(result)], [out], new_shape=None)


def _as_floats(p, x, out):
    """The operator on the bytes of int32 tensors, which it only moves."""
    moved, result = (p.new(t, p.b.dims(p.op, t) or None if t is x else t.dims, type=TensorType.FLOAT32)
                     for t in (x, out))
    p.run(B.BITCAST, [x], [moved])
    p.same([moved], [result])
    p.run(B.BITCAST, [result], [out])
