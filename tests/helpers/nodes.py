"""One operation by hand: its operands, its numpy form run alone, its refusals. No compiler, no driver.

A type is an OperandType or its abbreviation [NN 13.2]: T.TENSOR_FLOAT32 or "F32".
"""

import numpy as np
import pytest

from nnfast.errors import GeneralFailure, InvalidArgument
from nnfast.model.types import DTYPES, ChannelQuant, OperandType, OperationType, dtype_of
from nnfast.ops import registry
from nnfast.ops.base import ABBREVIATIONS, Node, Tensor

T = OperandType
PATH = "main.operation[3]"


def type_of(type_):
    """The OperandType of a type or of its abbreviation."""
    return ABBREVIATIONS[type_] if isinstance(type_, str) else type_


def operand(type_, value=None, scale=0.0, zero_point=0, shape=None, scales=None, dim=0):
    """A tensor or scalar with a value, or with only a shape; `scales` makes it per-channel along `dim`."""
    type_ = type_of(type_)
    if value is not None:
        value = np.ascontiguousarray(value, dtype_of(type_))
        shape = value.shape
    channels = None if scales is None else ChannelQuant(dim, tuple(scales))
    return Tensor(0, type_, shape, float(np.float32(scale)), zero_point, channels, value)


def floats(value, half=False):
    """A float32 (float16) tensor."""
    return operand(T.TENSOR_FLOAT16 if half else T.TENSOR_FLOAT32, value)


def ints(*values):
    """INT32 scalars."""
    return [operand(T.INT32, np.int32(value)) for value in values]


def flag(value):
    """A BOOL scalar."""
    return operand(T.BOOL, np.uint8(value))


def omitted(type_=T.TENSOR_FLOAT32, shape=(None,)):
    """An optional input that the request leaves out; its declared shape may be anything."""
    return Tensor(0, type_of(type_), shape, present=False)


def out(type_=T.TENSOR_FLOAT32, scale=0.0, zero_point=0):
    """An output whose shape is not declared."""
    return operand(type_, None, scale, zero_point)


def node(op, inputs, outputs=None):
    """The operation, an OpDef or a name; without outputs it has one, of the type and quantization of input 0."""
    if isinstance(op, str):
        op = registry.lookup(OperationType[op])
    if outputs is None:
        outputs = out(inputs[0].type, inputs[0].scale, inputs[0].zero_point)
    return Node(op, f"{PATH} {op.name}", inputs, outputs if isinstance(outputs, list) else [outputs])


def run(op, inputs, outputs=None):
    """Validate, infer and compute: the output array, or a list of arrays where `outputs` is a list."""
    arrays = execute(node(op, inputs, outputs))
    return arrays if isinstance(outputs, list) else arrays[0]


def execute(made):
    """Validate, infer and compute a node; the arrays of all outputs, their shapes and dtypes checked."""
    if made.op.validate:
        made.op.validate(made)
    shapes = made.op.infer(made)
    for place, shape in enumerate(shapes):
        made.outputs[place].shape = shape
    arrays = made.op.compute(made, [t.value if t.present else None for t in made.inputs])
    assert len(arrays) == len(shapes) == len(made.outputs)
    for array, shape, target in zip(arrays, shapes, made.outputs, strict=True):
        assert len(array.shape) == len(shape)
        assert all(size == wanted or (made.op.data_dependent and wanted is None)
                   for size, wanted in zip(array.shape, shape, strict=True))
        assert array.dtype == target.dtype
        assert array.flags.c_contiguous
    return arrays


def version(op, inputs, outputs=None):
    """HAL version that the use needs."""
    made = node(op, inputs, outputs)
    if made.op.validate is not None:
        made.op.validate(made)
    return made.version


def refuses(op, inputs, message, outputs=None):
    """The operation is refused with one line: path, operation, then exactly `message`."""
    _raises(InvalidArgument, op, inputs, message, outputs)


def fails(op, inputs, message, outputs=None):
    """The execution fails on the values, with exactly `message` behind path and operation."""
    _raises(GeneralFailure, op, inputs, message, outputs)


def _raises(error, op, inputs, message, outputs):
    with pytest.raises(error) as caught:
        run(op, inputs, outputs)
    assert str(caught.value) == f"{PATH} {op.name}{message}"


def all_codes(abbreviation):
    """All 256 codes of an 8-bit type, in order of their raw byte."""
    return np.arange(256, dtype=np.uint8).view(DTYPES[ABBREVIATIONS[abbreviation]])


def signed_codes(codes):
    """Codes of TENSOR_QUANT8_ASYMM moved to TENSOR_QUANT8_ASYMM_SIGNED."""
    return (np.asarray(codes, np.int64) - 128).astype(DTYPES[OperandType.TENSOR_QUANT8_ASYMM_SIGNED])
