"""Models from clients (models.py, or files of TFLite): mapped if they cannot change, and decoded in small pieces.

Decoding a header takes Python time in proportion to its size. So it is decoded a few records at a time, in short calls
with a step (nnfast.pace) after every record, which lets other clients take their turns.
"""

import mmap
import os
import re
import struct
import weakref
from math import prod

import numpy as np

from ... import pace
from ..._native.codec import array_head, skip
from ..._native.engine import aligned_bytes
from ...alignment import align
from ...errors import Error, InvalidArgument
from ...extras import msgspec
from ...model.mapped import MappedFile
from ...model.records import (
    OperandRecord,
    OperationRecord,
    SignatureRecord,
    StateRecord,
    dtype_of,
)
from ...model.restored import signature_of
from ...model.types import ChannelQuant, Model, Operand, Operation, State, Subgraph
from ...seals import FROZEN, is_sealed
from ..wire.models import MAGIC, START
from .file_reader import import_file, is_file

MAX_HEADER = 1 << 22
"""Size limit of a header: 64 bytes for each of 65,536 operands. Freeing more at once would stall all clients."""

KEPT_BYTES, DECODING_BYTES = 24, 28
"""Memory per byte of a header, for the resulting model and, on top of that, for decoding. Upper bounds, reached by the
densest headers (empty operations, subgraphs and extensions); common ones take 13 and 6.
"""

PIECE_BYTES, PIECE_VALUES = 1 << 14, 1 << 12
"""Bytes decoded at once, unless a single record is larger."""

MAX_RECORD_BYTES, MAX_RECORD_VALUES = 1 << 20, 1 << 17
"""Limits of one operand, operation, or list of inputs, so that decoding it takes a few milliseconds at most."""

COPY_BYTES = 1 << 24

MOST_COPIED = 1 << 16
"""Size up to which a model is copied rather than mapped, which takes a descriptor and more time."""

_ARRAY = struct.Struct(">BI")
_ARRAY_MARK = 0xDD
_PLACE = re.compile(r"\[(\d+)\]")
_OPERANDS = msgspec.msgpack.Decoder(list[OperandRecord])
_OPERATIONS = msgspec.msgpack.Decoder(list[OperationRecord])
_STATES = msgspec.msgpack.Decoder(list[StateRecord])
_SIGNATURES = msgspec.msgpack.Decoder(list[SignatureRecord])
_EXTENSIONS = msgspec.msgpack.Decoder(list[tuple[str, int]])
_INDEXES = msgspec.msgpack.Decoder(tuple[int, ...])
_BOOL, _TEXT = msgspec.msgpack.Decoder(bool), msgspec.msgpack.Decoder(str)


class Source:
    """Bytes of a model that a client has sent.

    held: lists of Charges for them and for the model's objects; nbytes: memory that is held, with these objects;
    is_file: they are a `.tflite` file.
    """

    def __init__(self, content, held, objects, is_file):
        self.content, self._held, self.is_file = content, held, is_file
        self.nbytes = content.nbytes + objects

    def lift(self):
        """Move the charges from the client to the driver as a whole: the model is shared from now on."""
        for charges in self._held:
            for charge in charges:
                charge.lift()


def receive(fd, limit, client, lists, shapes=None):
    """(Model, Source) of a descriptor; client: whose quota they are charged to; lists: as for unpack.

    shapes: of inputs, by name or position, for which a file is imported; None: as far as the file tells them.
    Raises InvalidArgument, ResourceExhausted*, UnsupportedOperator for files.
    """
    bytes_held = []

    def hold(size, is_mapped):
        # Python's mmap duplicates the descriptor.
        bytes_held.extend(client.hold("model", memory=size, mapped=size * is_mapped, descriptors=int(is_mapped)))

    content = open_bytes(fd, limit, hold)
    # Views of the bytes refer to the array that owns them.
    owner = content.base if isinstance(content.base, np.ndarray) else content
    weakref.finalize(owner, bytes_held.clear).atexit = False
    if is_file(content):
        model, objects, objects_held = import_file(
            content, MAX_HEADER, lambda size: client.hold("model: its file", memory=size), shapes)
        weakref.finalize(model, objects_held.clear).atexit = False
        return model, Source(content, (bytes_held, objects_held), objects, True)
    header = START.unpack_from(content)[1]
    objects_held = client.hold("model: its header", memory=KEPT_BYTES * min(header, content.nbytes))
    decoding = client.hold("model: decoding its header", memory=DECODING_BYTES * min(header, content.nbytes))
    model = unpack(content, lists)
    del decoding
    weakref.finalize(model, objects_held.clear).atexit = False
    return model, Source(content, (bytes_held, objects_held), KEPT_BYTES * header, False)


def open_bytes(fd, limit, hold=None):
    """The bytes behind a descriptor as a read-only array: mapped, without reading them, if they cannot change and are
    not few, else copied.

    hold(size, is_mapped): called first, may raise. Raises InvalidArgument, and what hold and the pace raise.
    """
    try:
        size = os.fstat(fd).st_size
        if not START.size <= size <= limit:
            raise InvalidArgument(f"model: its memory has {size} bytes, must be {START.size} to {limit}")
        sealed = size > MOST_COPIED and is_sealed(fd, FROZEN)
        if hold is not None:
            hold(size, sealed)
        if sealed:
            return np.frombuffer(MappedFile(fd, size, mmap.MAP_SHARED, mmap.PROT_READ), np.uint8)
        content = aligned_bytes(size)
        view, at = memoryview(content), 0
        while at < size:
            got = os.preadv(fd, [view[at:at + COPY_BYTES]], at)
            if not got:
                raise InvalidArgument(f"model: its memory ends after {at} of {size} bytes")
            at += got
            pace.step()
        content.flags.writeable = False
        return content
    except Error:  # also of hold and of the pace: a missed deadline is an OSError too
        raise
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"model: its memory cannot be read: {error}") from None


def unpack(content, lists=None):
    """The Model in the bytes of `models.pack`; its constants are views of them. Raises InvalidArgument.

    lists: receives the lists of its records, so that the caller can free those bit by bit.
    """
    magic, header, whole = START.unpack_from(content)
    if magic != MAGIC:
        raise InvalidArgument("model: the memory does not hold a model")
    if header > MAX_HEADER:
        raise InvalidArgument(f"model: its header has {header} bytes, must be at most {MAX_HEADER}")
    if whole != content.nbytes or align(START.size + header) > whole:
        raise InvalidArgument("model: the header does not fit its memory")
    constants = _Constants(content[align(START.size + header):])
    data = memoryview(content)[START.size:START.size + header]
    model = _Header(data, constants, [] if lists is None else lists).model()
    constants.check_end()
    return model


class _Constants:
    """The arrays after a header, which refers to them in the order of their offsets."""

    def __init__(self, content):
        self._content, self._end, self._known = content, 0, {}

    def array(self, data, path):
        """The array that a Data names, None for None."""
        if data is None:
            return None
        dtype = dtype_of(data, path)
        nbytes = prod(data.shape) * dtype.itemsize
        if data.offset == self._end and nbytes <= self._content.nbytes - self._end:
            self._known[data.offset] = nbytes
            self._end += align(nbytes)
        elif nbytes > self._known.get(data.offset, -1):
            raise InvalidArgument(f"{path}: the constant lies at byte {data.offset} of the model's memory, must lie at "
                                  f"{self._end}, behind the one before it, or be one of those before it")
        return self._content[data.offset:data.offset + nbytes].view(dtype).reshape(data.shape)

    def check_end(self):
        """Raise InvalidArgument if bytes are left that belong to no constant."""
        if self._end != self._content.nbytes:
            raise InvalidArgument(f"model: its memory has {self._content.nbytes} bytes behind the header, must be "
                                  f"{self._end}, where the last constant ends")


class _Header:
    """Reads the msgpack of a ModelRecord from its beginning to its end."""

    def __init__(self, data, constants, lists):
        self._data, self._at, self._constants, self._lists = data, 0, constants, lists

    def model(self):
        """The Model."""
        self._fields("main", 8)
        main = self._graph("main")
        referenced = tuple([self._graph(f"referenced[{place}]") for place in range(self._head("referenced"))])
        relaxed = self._value(_BOOL, "relaxed")
        states = tuple([State(s.input, s.output, self._constants.array(s.initial, path))
                        for path, s in self._records(_STATES, "state")])
        name = self._value(_TEXT, "name")
        extensions = tuple([entry for _, entry in self._records(_EXTENSIONS, "extension")])
        arithmetic = self._value(_TEXT, "arithmetic")
        signatures = tuple([signature_of(entry) for _, entry in self._records(_SIGNATURES, "signature")])
        if self._at != len(self._data):
            raise InvalidArgument(f"main: the header ends at byte {self._at}, has {len(self._data)}")
        return Model(main, referenced, relaxed, states, name, extensions, arithmetic, signatures)

    def _graph(self, name):
        self._fields(name, 4)
        operands, operations = [], []
        self._lists += operands, operations
        for path, o in self._records(_OPERANDS, f"{name}.operand"):
            operands.append(self._operand(path, o))
        for _, o in self._records(_OPERATIONS, f"{name}.operation"):
            operations.append(Operation(o.type, o.inputs, o.outputs))
        return Subgraph(tuple(operands), tuple(operations), self._value(_INDEXES, f"{name}.inputs"),
                        self._value(_INDEXES, f"{name}.outputs"))

    def _operand(self, path, o):
        quant = None if o.channel_dim is None else ChannelQuant(o.channel_dim, o.channel_scales or ())
        return Operand(o.type, o.dims, o.scale, o.zero_point, o.lifetime, quant, self._constants.array(o.data, path),
                       o.name, o.subgraph, o.parameters)

    def _head(self, path):
        """The number of elements of an array that begins here."""
        try:
            count, self._at = array_head(self._data, self._at)
        except ValueError as error:
            raise InvalidArgument(f"{path}: {error}") from None
        return count

    def _fields(self, path, count):
        found = self._head(path)
        if found != count:
            raise InvalidArgument(f"{path}: has {found} fields in the header, must have {count}")

    def _skip(self, path, count, most_bytes, most_values):
        try:
            return skip(self._data, self._at, count, most_bytes, most_values)
        except ValueError as error:
            raise InvalidArgument(f"{path}: {error}") from None

    def _records(self, decoder, path):
        """(path, record) for each element of the array that begins here."""
        count, done = self._head(path), 0
        while done < count:
            got, end = self._skip(f"{path}[{done}]", count - done, PIECE_BYTES, PIECE_VALUES)
            if not got:
                got, end = self._one(f"{path}[{done}]")
            piece = b"".join((_ARRAY.pack(_ARRAY_MARK, got), self._data[self._at:end]))
            for place, record in enumerate(_decode(decoder, piece, path, done), done):
                yield f"{path}[{place}]", record
                pace.step()
            self._at, done = end, done + got

    def _value(self, decoder, path):
        end = self._one(path)[1]
        value, self._at = _decode(decoder, self._data[self._at:end], path, None), end
        return value

    def _one(self, path):
        """(1, end) of the value that begins here. Raises InvalidArgument for one that is too large."""
        got, end = self._skip(path, 1, MAX_RECORD_BYTES, MAX_RECORD_VALUES)
        if not got:
            raise InvalidArgument(f"{path}: has more than {MAX_RECORD_BYTES} bytes or {MAX_RECORD_VALUES} values in "
                                  f"the header")
        return got, end


def _decode(decoder, data, path, first):
    """Decode some bytes; first: number of the first record, None for a single value. Raises InvalidArgument."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        text, _, where = str(error).partition(" - at `$")
        found = None if first is None else _PLACE.match(where)
        if found is not None:
            path = f"{path}[{first + int(found[1])}]"
        raise InvalidArgument(f"{path}: {text}") from None
