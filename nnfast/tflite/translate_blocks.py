"""Operators that move pixels or pad: DEPTH_TO_SPACE to SPACE_TO_BATCH_ND, PAD, PADV2, MIRROR_PAD, RESIZE_*."""

from ..model.types import OperandType, OperationType
from .rules import FLOATS, FLOATS_QUANT8, FLOATS_QUANT8_INT, translates
from .schema import Builtin

T = OperandType


@translates(Builtin.DEPTH_TO_SPACE, Builtin.SPACE_TO_DEPTH)
def depth(b, op):
    """DEPTH_TO_SPACE, SPACE_TO_DEPTH."""
    x, dims = b.source(op, 1, FLOATS_QUANT8, 4)
    size, result = b.positive(op, "block_size"), ()
    block = op.options.block_size
    if dims and 0 not in dims[1:]:
        batch, height, width, channels = dims
        deep = op.code == Builtin.SPACE_TO_DEPTH
        if (height % block or width % block) if deep else channels % block**2:
            b.refuse(op, f"block_size is {block}, which does not divide shape {list(dims)}")
        result = (batch, height // block, width // block, channels * block**2) if deep else \
            (batch, height * block, width * block, channels // block**2)
    b.emit(OperationType[op.name], (b.operand(op, x), size), (b.output(op, result),))


def _pairs(b, op, place, what, count, dims=()):
    """Values of a constant [count, 2] input, flat, at least 0."""
    values = b.integers(op, b.tensor(op, place), what)
    if len(values) != 2 * count or min(values) < 0:
        b.refuse(op, f"{what} {values} must be two values of at least 0 for each of {count} dimensions {list(dims)}")
    return values


def _block(b, op):
    block = b.integers(op, b.tensor(op, 1), "block shape")
    if len(block) != 2 or min(block) < 1:
        b.refuse(op, f"block shape {block} must be two values of at least 1")
    return block


@translates(Builtin.SPACE_TO_BATCH_ND)
def space_to_batch(b, op):
    """SPACE_TO_BATCH_ND of images."""
    x, dims = b.source(op, 3, FLOATS_QUANT8, 4)
    block = _block(b, op)
    frame = _pairs(b, op, 2, "paddings", 2)
    result = ()
    if dims and 0 not in dims[1:3]:
        sizes = [dims[1] + frame[0] + frame[1], dims[2] + frame[2] + frame[3]]
        if sizes[0] % block[0] or sizes[1] % block[1]:
            b.refuse(op, f"block shape {block} does not divide the padded sizes {sizes}")
        result = (dims[0] * block[0] * block[1], sizes[0] // block[0], sizes[1] // block[1], dims[3])
    b.emit(OperationType.SPACE_TO_BATCH_ND, (b.operand(op, x), b.ints(block), b.ints(frame, (2, 2))),
           (b.output(op, result),))


@translates(Builtin.BATCH_TO_SPACE_ND)
def batch_to_space(b, op):
    """BATCH_TO_SPACE_ND of images; a SLICE applies the crops."""
    x, dims = b.source(op, 3, FLOATS_QUANT8, 4)
    block = _block(b, op)
    crops = _pairs(b, op, 2, "crops", 2)
    known, whole = bool(dims) and 0 not in dims, ()
    if known:
        if dims[0] % (block[0] * block[1]):
            b.refuse(op, f"block shape {block} does not divide the {dims[0]} batches")
        whole = (dims[0] // (block[0] * block[1]), dims[1] * block[0], dims[2] * block[1], dims[3])
    inputs = b.operand(op, x), b.ints(block)
    if not any(crops):
        b.emit(OperationType.BATCH_TO_SPACE_ND, inputs, (b.output(op, whole),))
        return
    sizes = [whole[1] - crops[0] - crops[1], whole[2] - crops[2] - crops[3]] if known else [0]
    if min(sizes) < 1:
        b.refuse(op, f"crops {crops} of shape {list(whole)} must be known and leave something")
    result = (whole[0], *sizes, whole[3])
    target = b.temporary(b.supported_type(op, x), whole, *b.quant(op, x))
    b.emit(OperationType.BATCH_TO_SPACE_ND, inputs, (target,))
    b.emit(OperationType.SLICE, (target, b.ints([0, crops[0], crops[2], 0]), b.ints(result)), (b.output(op, result),))


def _padded(b, op, dims):
    """(values, shape of the result) of constant paddings in input 1."""
    rank = len(dims) or len(b.integers(op, b.tensor(op, 1), "paddings")) // 2
    values = _pairs(b, op, 1, "paddings", rank, dims)
    if not values:
        b.refuse(op, "paddings must not be empty")
    return values, tuple(d and d + values[2 * k] + values[2 * k + 1] for k, d in enumerate(dims))


@translates(Builtin.PAD)
def pad(b, op):
    """PAD with zeros (the zero point)."""
    x, dims = b.source(op, 2, FLOATS_QUANT8, 1)
    values, result = _padded(b, op, dims)
    b.emit(OperationType.PAD, (b.operand(op, x), b.ints(values, (len(values) // 2, 2))), (b.output(op, result),))


@translates(Builtin.PADV2)
def pad_v2(b, op):
    """PAD_V2 with a constant value; of quantized tensors a code of the input's quantization."""
    x, dims = b.source(op, 3, FLOATS_QUANT8, 1)
    values, result = _padded(b, op, dims)
    filler = b.tensor(op, 2)
    code = b.check_types(op, FLOATS_QUANT8, x, filler)
    b.check_same_quant(op, x, filler)
    if not b.is_constant(filler) or filler.array.size != 1:
        b.refuse(op, "pads with a value that is not a constant of one element, NNAPI takes a scalar")
    value = filler.array.reshape(-1)[0]
    value = b.real(code, float(value)) if code in FLOATS else b.i32(int(value))
    b.emit(OperationType.PAD_V2, (b.operand(op, x), b.ints(values, (len(values) // 2, 2)), value),
           (b.output(op, result),))


@translates(Builtin.MIRROR_PAD)
def mirror_pad(b, op):
    """MIRROR_PAD; the modes 0 REFLECT and 1 SYMMETRIC are NNAPI's."""
    x, dims = b.source(op, 2, FLOATS_QUANT8_INT, 1)
    mode = op.options.mode
    if mode not in (0, 1):
        b.refuse(op, f"mode is {mode}, must be 0 (REFLECT) or 1 (SYMMETRIC)")
    values, result = _padded(b, op, dims)
    for k, size in enumerate(dims):
        if size and max(values[2 * k:2 * k + 2]) > size - 1 + mode:
            b.refuse(op, f"paddings {values} exceed what shape {list(dims)} has to mirror in mode {mode}")
    b.emit(OperationType.MIRROR_PAD, (b.operand(op, x), b.ints(values, (len(values) // 2, 2)), b.i32(mode)),
           (b.output(op, result),))


@translates(Builtin.RESIZE_BILINEAR, Builtin.RESIZE_NEAREST_NEIGHBOR)
def resize(b, op):
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR to a constant size; NNAPI takes the width first."""
    x, dims = b.source(op, 2, FLOATS_QUANT8, 4)
    height, width = b.image_size(op)
    align, half = op.options.align_corners, op.options.half_pixel_centers
    if align and half:
        b.refuse(op, "has align_corners and half_pixel_centers, NNAPI takes one of them")
    inputs = [b.operand(op, x), b.i32(width), b.i32(height)]
    if align or half or op.code == Builtin.RESIZE_NEAREST_NEIGHBOR:
        inputs.append(b.bool(False))
    if align or half:
        inputs += [b.bool(align), b.bool(half)]
    result = (dims[0], height, width, dims[3]) if dims else ()
    b.emit(OperationType[op.name], inputs, (b.output(op, result),))
