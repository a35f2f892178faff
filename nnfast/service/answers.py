"""Records of the driver to messages, and errors to Failure and back."""

import numpy as np

from ..errors import Cancelled, Error, GeneralFailure, OutputInsufficientSize, ResourceExhaustedTransient
from .protocol import Failure, Prepared, Shape, Tensor

_CLASSES = {kind.status: kind for kind in Error.__subclasses__() if kind is not Cancelled}


def failure(error):
    """The Failure of an exception; what is no error of ours has no business in its text."""
    if isinstance(error, MemoryError) and not isinstance(error, Error):
        error = ResourceExhaustedTransient(f"out of memory: {error}")
    if not isinstance(error, Error):
        error = GeneralFailure(f"internal error: {type(error).__name__}: {error}")
    shapes = [Shape(tuple(shape.dims), shape.is_sufficient) for shape in error.shapes] \
        if isinstance(error, OutputInsufficientSize) else []
    return Failure(int(error.status), str(error), shapes, isinstance(error, Cancelled))


def raise_failure(message, output_shape):
    """Raise the error of a Failure. output_shape: class of the shapes."""
    if message.cancelled:
        raise Cancelled(message.text)
    kind = _CLASSES.get(message.status, GeneralFailure)
    if kind is OutputInsufficientSize:
        raise kind(message.text, [output_shape(shape.dims, shape.is_sufficient) for shape in message.shapes])
    raise kind(message.text)


def prepared_answer(number, held):
    """What the client is told of a prepared model."""
    prepared = held.prepared
    return Prepared(number, prepared.model.name, len(prepared.model.main.operations), prepared.priority,
                    [_tensor(info) for info in prepared.inputs], [_tensor(info) for info in prepared.outputs],
                    held.results, prepared.is_plain)


def _tensor(info):
    kind = info.type if isinstance(info.type, int) else -1  # of an extension: the device alone knows more
    return Tensor(info.name, info.shape, np.dtype(info.dtype).str, int(kind), float(info.scale), int(info.zero_point),
                  info.channel_axis, info.operand, tuple(map(float, info.channel_scales)))
