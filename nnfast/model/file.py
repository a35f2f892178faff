"""Files of nnfast's own with models: what Model.save writes and nnfast.load reads (docs/models.md).

Layout, little endian: magic (8 bytes), version of the format (4), CRC-32 of all bytes from 16 on (4), bytes of the
header (8), bytes of the file (8); then the header and the constants as records.laid_out puts them there.
"""

import os
import stat
import struct

import numpy as np

from ..alignment import align
from ..checks import path as checked_path
from ..errors import InvalidArgument
from ..forks import importing
from .mapped import read_file

MAGIC = b"NNFMODEL"
VERSION = 1
_START = struct.Struct("<8sIIQQ")
_SUMMED = 16


def save(model, path):
    """Write a model to a file. Raises InvalidArgument for a model with values that are not there (those of a prepared
    model), for what is no path, and where the file cannot be written.
    """
    path = checked_path(path, "save path:")
    try:
        header, chunks, end = _records().laid_out(model, _START.size)
    except (TypeError, OverflowError, ValueError, AttributeError) as error:
        raise InvalidArgument(f"main: the model cannot be saved: {error}") from None
    start = _START.pack(MAGIC, VERSION, 0, len(header), end)
    total = _checksum([start[_SUMMED:], *chunks])
    try:
        with open(path, "wb") as stream:
            stream.write(_START.pack(MAGIC, VERSION, total, len(header), end))
            stream.writelines(chunks)
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be written: {error.strerror or error}") from None


def _records():
    """The module of the records, which most programs need not have."""
    with importing:
        from . import records
    return records


def _checksum(chunks):
    with importing:
        import zlib

    total = 0
    for chunk in chunks:
        total = zlib.crc32(chunk, total)
    return total


def is_saved(source):
    """Whether a path or bytes begin as a file of `save`; False for what cannot be read."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source[:len(MAGIC)]) == MAGIC
    try:
        handle = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, TypeError, ValueError):
        return False
    try:
        return stat.S_ISREG(os.fstat(handle).st_mode) and os.pread(handle, len(MAGIC), 0) == MAGIC
    except OSError:
        return False
    finally:
        os.close(handle)


def content_of(source):
    """(name for messages, bytes) of a path or bytes. Raises InvalidArgument."""
    if isinstance(source, bytes | bytearray | memoryview):
        return "model", memoryview(bytes(source))
    try:
        with open(source, "rb") as stream:
            data = read_file(stream.fileno(), os.fstat(stream.fileno()).st_size)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidArgument(f"{os.fsdecode(source)}: cannot be read: {getattr(error, 'strerror', None) or error}"
                              ) from None
    return os.path.basename(os.fsdecode(source)), data


def decoded(data):
    """(ModelRecord, memory of the constants) of a file's bytes. Raises InvalidArgument."""
    if len(data) < _START.size:
        raise InvalidArgument(f"ends after {len(data)} bytes, a saved model has at least {_START.size}")
    _, version, total, header, end = _START.unpack_from(data)
    if version != VERSION:
        raise InvalidArgument(f"is in version {version} of the format, this nnfast reads {VERSION}")
    start = align(_START.size + header)
    if end != len(data) or start > end:
        raise InvalidArgument(f"has {len(data)} bytes, must have {end}, and {start} before the constants")
    if _checksum([data[_SUMMED:]]) != total:
        raise InvalidArgument("is damaged: its checksum is not that of its content")
    return _records().decode(data[_START.size:_START.size + header]), np.frombuffer(data, np.uint8)[start:]
