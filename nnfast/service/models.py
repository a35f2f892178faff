"""Models on their way to the driver's process: one sealed memfd with a header and the constants.

Layout: magic, length of the header and of the whole, header (msgpack of ModelRecord), then the constants, each at a
multiple of 64 bytes, in the order in which the header names them first, with nothing between or behind them.
model_reader.py reads it.
"""

import os
import struct
import weakref

from ..errors import GeneralFailure, InvalidArgument
from ..model.records import laid_out
from .channel import sealed_memfd

MAGIC = b"NNFMDL02"
START = struct.Struct("<8sQQ")


def pack(model):
    """Descriptor of a sealed memfd with the model. Raises InvalidArgument for what no message can hold."""
    try:
        header, chunks, end = laid_out(model, START.size)
    except (TypeError, OverflowError, ValueError, AttributeError) as error:
        raise InvalidArgument(f"main: the model cannot be sent to the driver's process: {error}") from None
    chunks.insert(0, START.pack(MAGIC, len(header), end))
    try:
        return sealed_memfd(chunks)
    except OSError as error:
        raise GeneralFailure(f"model: no memory to send it in: {error.strerror}") from None


class LastModel:
    """Keeps the memfd of the model that was sent last, while that model lives: queries come before preparations."""

    def __init__(self):
        self._kept = None

    def descriptor(self, model):
        """A duplicate of the memfd; the caller closes it."""
        kept = self._kept
        if kept is None or kept[0]() is not model:
            fd = _Descriptor(pack(model))
            kept = self._kept = (weakref.ref(model, self._forget), fd)
        return os.dup(kept[1].fd)

    def _forget(self, reference):
        if self._kept is not None and self._kept[0] is reference:
            self._kept = None


class _Descriptor:
    """Closes a descriptor when it is dropped."""

    def __init__(self, fd):
        self.fd = fd

    def __del__(self):
        os.close(self.fd)
