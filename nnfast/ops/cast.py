"""CAST between number types, by raw value: quantization plays no part [NN 15.45]."""

from itertools import product
from math import prod

import numpy as np

from .._native.elementwise import CAST_SOURCES, Cast, Convert
from .._native.movement import CopyBytes
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, Signature

_FLOATS = {OperandType.TENSOR_FLOAT16, OperandType.TENSOR_FLOAT32}
_NUMBERS = ("F16", "F32", "I32", "Q8")
_INTEGER_RANGE = {OperandType.TENSOR_QUANT8_ASYMM: (0, 255), OperandType.TENSOR_INT32: (-2**31, 2**31 - 1)}


def validate(node):
    """A fully declared output must have exactly the declared dimensions of an input of known rank."""
    declared, shape = node.outputs[0], node["input"].shape
    if shape is not None and declared.is_known and declared.shape != shape:
        node.fail(0, f"shape is {_text(declared.shape)}, must be the input's, {_text(shape)}")


def _text(shape):
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def infer(node):
    """Output shape is the input's."""
    return [node["input"].shape]


def compute(node, inputs):
    """To floats: round to nearest even. To integers: truncate, clamped to the range of the type; NaN becomes 0.

    In LiteRT integers wrap, and NaN becomes the highest number.
    """
    x, output = inputs[0], node.outputs[0]
    if node["input"].type == output.type:
        return [x.copy()]
    if node.is_litert and x.dtype.kind == "f" and output.type in _INTEGER_RANGE:
        return [within(x, output.dtype)]
    if not node.is_litert and output.type in _INTEGER_RANGE:
        low, high = _INTEGER_RANGE[output.type]
        whole = np.asarray(x, np.float64)  # holds every int32, float32 and float16
        x = np.clip(np.trunc(np.where(np.isnan(whole), 0, whole)), low, high)
    with np.errstate(over="ignore"):
        return [np.asarray(x).astype(output.dtype)]


def within(x, dtype):
    """Floats cut towards zero within the range of an integer type, NaN as its highest number, as LiteRT has it."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    wide = x.astype(np.float64)
    above = ~(wide < high)
    whole = np.where(above, 0, np.maximum(wide, low)).astype(dtype)
    return np.where(above, dtype.type(high), whole)


def lower_same(node, b):
    """Share the input's memory if possible, else copy."""
    source, output = node.inputs[0], node.outputs[0]
    if not b.alias(0, 0):
        b.emit(CopyBytes((b.slot(source), b.slot(output)), prod(output.shape) * output.dtype.itemsize))


def lower(node, b):
    """Share the input's memory if the type stays and that is possible; convert between the two floats by a step."""
    source, output = node["input"], node.outputs[0]
    count = prod(output.shape)
    if source.type == output.type:
        return lower_same(node, b)
    if {source.type, output.type} == _FLOATS:
        b.emit(Convert((b.slot(source), b.slot(output)), count, narrow=output.type == OperandType.TENSOR_FLOAT16))
    elif source.dtype.name in CAST_SOURCES and output.type != OperandType.TENSOR_FLOAT16:
        b.emit(Cast((b.slot(source), b.slot(output)), count, source.dtype.name, output.dtype.name,
                    not node.is_litert and output.type in _INTEGER_RANGE))
    else:
        return f"no native kernel from {type_name(source.type)} to {type_name(output.type)}"
    return None


CAST = OpDef(
    OperationType.CAST,
    (
        Signature("input:T -> output:U", tuple(f"1.2: {a} {b}" for a, b in product(_NUMBERS, repeat=2))),
        Signature("input:T -> output:T", ("1.3: B8", "1.3: Q16A", "1.3: Q16S", "1.3: Q8S", "1.3: Q8SY")),
    ),
    validate=validate, infer=infer, compute=compute, lower=lower, moves=True, coupled=False,
)
