"""PAD with zero, PAD_V2 with a given value, MIRROR_PAD with the input itself [NN 14.32, 15.69, 14.104]."""

from math import prod

import numpy as np

from .._native.movement import FillBytes, FillItems, StridedCopy
from ..model.types import OperandType, OperationType
from .base import OpDef, Signature, check_same_quant, is_quant8
from .movement import INDEX_BYTES, copy_choice, dense


def validate(node):
    """Rank up to 4, paddings of rank 2; before HAL 1.2 a TENSOR_QUANT8_ASYMM had to have zero point 0."""
    node.check_rank("input", 1, 4)
    node.check_rank("paddings", 2)
    if node["input"].type == OperandType.TENSOR_QUANT8_ASYMM and node["input"].zero_point != 0:
        node.require("1.2")


def infer(node):
    """Each dimension grows by its padding before and after."""
    shape, paddings = node["input"].shape, node.value("paddings")
    if paddings.shape != (len(shape), 2):
        node.fail("paddings", f"shape is {list(paddings.shape)}, must be [{len(shape)}, 2]")
    if paddings.min(initial=0) < 0:
        node.fail("paddings", f"holds {paddings.min()}, must not be negative")
    return [tuple(size + int(before) + int(after) for size, (before, after) in zip(shape, paddings, strict=True))]


def compute(node, inputs):
    """The input framed by its zero point, or 0."""
    return [np.pad(inputs[0], node.value("paddings"), constant_values=node["input"].zero_point)]


def lower(node, b):
    """Fill the output, then copy the input into it. The zero of every type is a repeated byte."""
    source, output = node["input"], node.outputs[0]
    fill = FillBytes((b.slot(output),), prod(output.shape) * source.dtype.itemsize, source.zero_point)
    b.emit_or_postpone(node, [fill, _copy_inside(node, b)])
    return None


def _copy_inside(node, b):
    """The copy of the input into the middle of the output."""
    source, output = node["input"], node.outputs[0]
    item = source.dtype.itemsize
    target = dense(output.shape, item)
    offset = sum(int(before) * step for (before, _), step in zip(node.value("paddings"), target))
    return StridedCopy((b.slot(source), b.slot(output)), source.shape, dense(source.shape, item), target, item, offset)


PAD = OpDef(
    OperationType.PAD,
    (Signature("input:T paddings:I32 -> output:T", ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same", moves=True,
)


# -- PAD_V2 ------------------------------------------------------------------------------------------------------------
def validate_v2(node):
    """Rank up to 4, paddings of rank 2."""
    node.check_rank("input", 1, 4)
    node.check_rank("paddings", 2)


def _pad_item(node, value):
    """The pad value as an element of the input; 8-bit types use its low byte as the code."""
    if is_quant8(node["input"]):
        value = value.astype(np.uint8).view(node["input"].dtype)
    return node.element("pad_value", value)


def compute_v2(node, inputs):
    """The input framed by the pad value."""
    source, paddings, value = inputs
    return [np.pad(source, paddings, constant_values=_pad_item(node, value))]


def lower_v2(node, b):
    """As `lower`, with a pad value that is known."""
    output, value = node.outputs[0], node["pad_value"].value
    if value is None:
        return "the pad value is not a constant"
    b.emit(FillItems((b.slot(output),), prod(output.shape), _pad_item(node, value).tobytes()))
    b.emit(_copy_inside(node, b))
    return None


PAD_V2 = OpDef(
    OperationType.PAD_V2,
    (Signature("input:T paddings:I32 pad_value:V -> output:T",
               ("1.2: F16 f16", "1.2: F32 f32", "1.2: Q8 i32", "1.3: Q8S i32")),),
    validate=validate_v2, infer=infer, compute=compute_v2, lower=lower_v2, quant="same", moves=True, coupled=False,
)


# -- MIRROR_PAD ------------------------------------------------------------------------------------------------------
_MODES = ("reflect", "symmetric")


def validate_mirror(node):
    """Paddings of shape [rank, 2], the output of the input's rank and quantization."""
    source, paddings, target = node["input"].shape, node["paddings"].shape, node.outputs[0].shape
    node.check_rank("paddings", 2)
    if source == ():
        node.fail("input", "rank is 0, must be at least 1")
    if paddings is not None and paddings[1] not in (None, 2):
        node.fail("paddings", f"dimension 1 is {paddings[1]}, must be 2")
    if source is not None and paddings is not None and paddings[0] not in (None, len(source)):
        node.fail("paddings", f"dimension 0 is {paddings[0]}, must be {len(source)}, the rank of the input")
    if source is not None and target is not None and len(source) != len(target):
        node.fail(0, f"rank is {len(target)}, must be {len(source)} as of the input")
    check_same_quant(node, "input")


def infer_mirror(node):
    """As PAD; no padding may exceed the input's dimension, less 1 in mode 0 (REFLECT)."""
    validate_mirror(node)
    result = infer(node)
    mode = node.check_in("mode", (0, 1))
    for dim, (size, pads) in enumerate(zip(node["input"].shape, node.value("paddings").tolist(), strict=True)):
        if max(pads) > size - 1 + mode:
            node.fail("paddings", f"dimension {dim} has {pads}, must be at most {size - 1 + mode} in mode {mode}")
    return result


def compute_mirror(node, inputs):
    """The input mirrored on every side."""
    return [np.pad(inputs[0], node.value("paddings"), _MODES[node.scalar("mode")])]


def lower_mirror(node, b):
    """A gather with mirrored indices."""
    source, mode = node["input"], _MODES[node.scalar("mode")]
    indices = []
    for size, pads in zip(source.shape, node.value("paddings").tolist()):
        if any(pads):
            b.reserve(INDEX_BYTES * (size + sum(pads)))
            indices.append(np.pad(np.arange(size), pads, mode))
        else:
            indices.append(size)
    return copy_choice(b, source, node.outputs[0], indices)


MIRROR_PAD = OpDef(
    OperationType.MIRROR_PAD,
    (Signature("input:T paddings:I32 mode:i32 -> output:T",
               ("aidl3: F16", "aidl3: F32", "aidl3: Q8", "aidl3: Q8S", "aidl3: I32")),),
    validate=validate_mirror, infer=infer_mirror, compute=compute_mirror, lower=lower_mirror, quant="same", moves=True,
)
