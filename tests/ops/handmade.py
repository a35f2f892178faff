"""Short ways to build one operation of abbreviated operand types [NN 13.2] and to run its definition."""

import numpy as np
import pytest
from single_op import execute, tensor

from nnfast.errors import InvalidArgument
from nnfast.model.types import DTYPES, OperandType
from nnfast.ops.base import ABBREVIATIONS, Node, Tensor

PATH = "main.operation[3]"


def operand(abbreviation, values=None, scale=0.0, zero_point=0, shape=(), channels=(0, None)):
    """A tensor or scalar; without values it has only a shape. channels: (dimension, scales) of a per-channel type."""
    dim, scales = channels
    return tensor(ABBREVIATIONS[abbreviation], values, shape, scale, zero_point, scales, dim)


def omitted(abbreviation):
    """An input that is left out."""
    return Tensor(0, ABBREVIATIONS[abbreviation], None, present=False)


def result(abbreviation, scale=0.0, zero_point=0):
    """An output operand."""
    return operand(abbreviation, None, scale, zero_point, shape=None)


def node(op, inputs, output=None):
    """The operation over `inputs`; the output has the type and quantization of input 0 unless one is given."""
    source = inputs[0]
    if output is None:
        output = Tensor(0, source.type, None, source.scale, source.zero_point)
    return Node(op, f"{PATH} {op.name}", inputs, [output])


def run(op, inputs, output=None):
    """Validate, infer and compute; the output array."""
    return execute(node(op, inputs, output))[0]


def version(op, inputs, output=None):
    """HAL version that the use needs."""
    made = node(op, inputs, output)
    if op.validate is not None:
        op.validate(made)
    return made.version


def refuses(op, inputs, message, output=None):
    """The operation is refused with one line: path, operation, then exactly `message`."""
    with pytest.raises(InvalidArgument) as caught:
        run(op, inputs, output)
    assert str(caught.value) == f"{PATH} {op.name}{message}"


def all_codes(abbreviation):
    """All 256 codes of an 8-bit type, in order of their raw byte."""
    return np.arange(256, dtype=np.uint8).view(DTYPES[ABBREVIATIONS[abbreviation]])


def signed_codes(codes):
    """Codes of TENSOR_QUANT8_ASYMM moved to TENSOR_QUANT8_ASYMM_SIGNED."""
    return (np.asarray(codes, np.int64) - 128).astype(DTYPES[OperandType.TENSOR_QUANT8_ASYMM_SIGNED])
