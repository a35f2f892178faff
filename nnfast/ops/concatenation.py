"""CONCATENATION of tensors along one axis; quantized inputs take the output's scale (ops_a.md B)."""

import numpy as np

from ..model.quant import round_half_away
from ..model.types import QUANT_RANGE, OperandType, OperationType
from .base import OpDef, Signature, is_quant8


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
    """uint8[256]: raw output byte for each raw byte of an input; None when they are the same."""
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


CONCATENATION = OpDef(
    OperationType.CONCATENATION,
    (Signature("input*:T axis:i32 -> output:T", ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, zero_sized="any",
)
