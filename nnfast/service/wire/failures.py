"""Conversion between errors and Failure messages."""

from ...errors import Cancelled, Error, GeneralFailure, OutputInsufficientSize, ResourceExhaustedTransient
from .protocol import Failure, Shape

_CLASSES = {kind.status: kind for kind in Error.__subclasses__() if kind is not Cancelled}


def failure(error):
    """The Failure message for an exception; any other than nnfast's errors becomes GeneralFailure."""
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
