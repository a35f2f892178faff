"""Models sent to the driver's process: one sealed memfd with a header and the constants.

Layout: magic, length of the header and of the whole, header (msgpack of ModelRecord), then the constants, each at the
next multiple of 64 bytes, in the order in which the header first refers to them; nothing follows the last one.
service/server/model_reader.py reads it.
"""

import struct

from ...errors import GeneralFailure, InvalidArgument
from ...model.records import laid_out
from .channel import sealed_memfd

MAGIC = b"NNFMDL02"
START = struct.Struct("<8sQQ")


def pack(model):
    """Descriptor of a sealed memfd with the model. Raises InvalidArgument for values that cannot be encoded."""
    try:
        header, chunks, end = laid_out(model, START.size)
    except (TypeError, OverflowError, ValueError, AttributeError) as error:
        raise InvalidArgument(f"main: the model cannot be sent to the driver's process: {error}") from None
    chunks.insert(0, START.pack(MAGIC, len(header), end))
    try:
        return sealed_memfd(chunks)
    except OSError as error:
        raise GeneralFailure(f"model: no memory to send it in: {error.strerror}") from None
