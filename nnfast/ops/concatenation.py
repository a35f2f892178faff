"""CONCATENATION of tensors along one axis, and PACK along a new one [NN 14.2, 14.103].

Quantized inputs of CONCATENATION take the output's scale; those of PACK must have it.
"""

from math import prod

import numpy as np

from .._native.movement import Concatenate
from ..model.quant import round_half_away
from ..model.types import QUANT_RANGE, OperandType, OperationType
from .base import OpDef, Signature, check_same_quant, is_quant8


def validate(node):
    """Ranks 1 to 4, all equal; before HAL 1.2 every TENSOR_QUANT8_ASYMM had to share scale and zero point."""
    output = node.outputs[0]
    for place, source in enumerate(node.group("input")):
        if source.shape is not None and not 1 <= len(source.shape) <= 4:
            node.fail("input", f"rank is {len(source.shape)}, must be 1 to 4", place)
        if source.type == OperandType.TENSOR_QUANT8_ASYMM and not _same_quant(source, output):
            node.require("1.2")


def infer(node):
    """The inputs' shape with the sizes along the axis added up."""
    shapes = [source.shape for source in node.group("input")]
    first = shapes[0]
    axis = node.axis(negative=False)
    for place, shape in enumerate(shapes):
        if len(shape) != len(first):
            node.fail("input", f"rank is {len(shape)}, must be {len(first)} as of input 0", place)
        for dim, (size, wanted) in enumerate(zip(shape, first, strict=True)):
            if dim != axis and size != wanted:
                text = f"dimension {dim} is {size}, must be {wanted} as of input 0 (the axis is {axis})"
                node.fail("input", text, place)
    if is_quant8(node.outputs[0]):
        for place in range(len(shapes)):
            requantize_table(node, place)
    return [first[:axis] + (sum(shape[axis] for shape in shapes),) + first[axis + 1:]]


def requantize_table(node, place):
    """uint8[256]: raw output byte for each raw byte of an input; None for the identity."""
    source, output = node.group("input")[place], node.outputs[0]
    if _same_quant(source, output):
        return None
    # The reference works on unsigned codes and shifts the signed ones into them.
    shift = -QUANT_RANGE[source.type][0]
    codes = np.arange(256, dtype=np.uint8).view(source.dtype).astype(np.int64) + shift
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.float32(source.scale) * (np.float32(1) / np.float32(output.scale))
        bias = np.float32(-(source.zero_point + shift)) * ratio
        real = round_half_away(codes.astype(np.float32) * ratio + bias)
    if not np.isfinite(real).all():
        node.fail("input", f"scale {source.scale:.9g} is out of range for an output scale of {output.scale:.9g}", place)
    moved = np.clip(real.astype(np.float64) + (output.zero_point + shift), 0, 255) - shift
    return moved.astype(output.dtype).view(np.uint8)


def _same_quant(a, b):
    return a.scale == b.scale and a.zero_point == b.zero_point


def compute(node, inputs):
    """Copies, through `requantize_table` where the quantization differs."""
    parts = []
    for place, part in enumerate(inputs[:-1]):
        table = requantize_table(node, place) if is_quant8(node.outputs[0]) else None
        parts.append(part if table is None else table[part.view(np.uint8)].view(part.dtype))
    return [np.concatenate(parts, node.axis(negative=False))]


def lower(node, b):
    """One step that copies rows of every input, through `requantize_table` where the quantization differs."""
    sources, output, axis = node.group("input"), node.outputs[0], node.axis(negative=False)
    sizes = [prod(source.shape[axis:]) * output.dtype.itemsize for source in sources]
    mapped = is_quant8(output)
    tables = [requantize_table(node, place) if mapped else None for place in range(len(sources))]
    slots = [*(b.slot(source) for source in sources), b.slot(output)]
    b.emit(Concatenate(slots, prod(output.shape[:axis]), sizes, tables))
    return None


CONCATENATION = OpDef(
    OperationType.CONCATENATION,
    (Signature("input*:T axis:i32 -> output:T", ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, zero_sized="any", moves=True,
)


# -- PACK --------------------------------------------------------------------------------------------------------------
def validate_pack(node):
    """One quantization; known ranks are equal, at least 1, and one less than the output's."""
    check_same_quant(node, "input")
    target = node.outputs[0].shape
    ranks = [None if source.shape is None else len(source.shape) for source in node.group("input")]
    known = [rank for rank in ranks if rank is not None]
    for place, rank in enumerate(ranks):
        if rank == 0:
            node.fail("input", "rank is 0, must be at least 1", place)
        if rank is not None and rank != known[0]:
            node.fail("input", f"rank is {rank}, must be {known[0]} as of the other inputs", place)
    if target is not None and known and len(target) != known[0] + 1:
        node.fail(0, f"rank is {len(target)}, must be {known[0] + 1}, one more than that of the inputs")


def infer_pack(node):
    """The inputs' common shape with their number inserted at the axis."""
    validate_pack(node)
    shapes = [source.shape for source in node.group("input")]
    for place, shape in enumerate(shapes):
        if shape != shapes[0]:
            node.fail("input", f"shape is {list(shape)}, must be {list(shapes[0])} as of the first", place)
    axis = node.axis(rank=len(shapes[0]) + 1, negative=False)
    return [shapes[0][:axis] + (len(shapes),) + shapes[0][axis:]]


def compute_pack(node, inputs):
    """Copies side by side along the new axis."""
    return [np.stack(inputs[1:], node.axis(rank=inputs[1].ndim + 1, negative=False))]


def lower_pack(node, b):
    """One step that copies rows of every input."""
    sources, output = node.group("input"), node.outputs[0]
    axis = node.axis(rank=len(output.shape), negative=False)
    size = prod(output.shape[axis + 1:]) * output.dtype.itemsize
    slots = [*(b.slot(source) for source in sources), b.slot(output)]
    b.emit(Concatenate(slots, prod(output.shape[:axis]), [size] * len(sources), [None] * len(sources)))
    return None


PACK = OpDef(
    OperationType.PACK,
    (Signature("axis:i32 input*:T -> output:T",
               ("aidl2: F16", "aidl2: F32", "aidl2: Q8", "aidl2: Q8S", "aidl2: I32")),),
    validate=validate_pack, infer=infer_pack, compute=compute_pack, lower=lower_pack, quant="same", moves=True,
)
