"""Models on their way to the driver's process: one sealed memfd with a header and the constants.

Layout: magic, length of the header and of the whole, header (msgpack of ModelRecord), then the constants, each at a
multiple of 64 bytes. The reader maps it and copies nothing, where nobody can change or shorten it any more; else it
reads a private copy.
"""

import mmap
import os
import re
import struct
import weakref
from math import prod

import msgspec
import numpy as np

from .._native.plan import aligned_bytes
from ..errors import GeneralFailure, InvalidArgument
from ..model.mapped import MappedFile
from ..model.types import ChannelQuant, Model, Operand, Operation, State, Subgraph
from .channel import is_sealed, sealed_memfd
from .records import Record, encode

MAGIC = b"NNFMDL01"
MAX_HEADER = 1 << 28
_START = struct.Struct("<8sQQ")
_LINE = 64
_DTYPE = re.compile(r"[<|](f[248]|[iu][1248]|b1)")


class Data(Record):
    """An array behind the header: offset from the first constant."""

    offset: int
    dtype: str
    shape: tuple[int, ...]


class OperandRecord(Record):
    type: int
    dims: tuple[int, ...]
    scale: float
    zero_point: int
    lifetime: int
    channel_dim: int | None
    channel_scales: tuple[float, ...]
    data: Data | None
    name: str
    subgraph: int | None
    parameters: bytes | None


class OperationRecord(Record):
    type: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class GraphRecord(Record):
    operands: list[OperandRecord]
    operations: list[OperationRecord]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class StateRecord(Record):
    input: int
    output: int
    initial: Data | None


class ModelRecord(Record):
    main: GraphRecord
    referenced: list[GraphRecord]
    relaxed: bool
    states: list[StateRecord]
    name: str
    extensions: list[tuple[str, int]]


_DECODER = msgspec.msgpack.Decoder(ModelRecord)


def _align(size):
    return (size + _LINE - 1) // _LINE * _LINE


# -- client ------------------------------------------------------------------------------------------------------------
class _Constants:
    """Arrays in the order in which they will lie in the file; one that is used twice lies there once."""

    def __init__(self):
        self.arrays, self.end = [], 0
        self._known = {}

    def add(self, array):
        if array is None:
            return None
        found = self._known.get(id(array))
        if found is None:
            flat = np.ascontiguousarray(array)
            found = self._known[id(array)] = Data(self.end, flat.dtype.str, array.shape)
            self.arrays.append(flat.reshape(-1).view(np.uint8))
            self.end += _align(flat.nbytes)
        return found


def pack(model):
    """Descriptor of a sealed memfd with the model. Raises InvalidArgument for what no message can hold."""
    constants = _Constants()
    try:
        header = encode(_record(model, constants))
    except (TypeError, OverflowError, ValueError, AttributeError) as error:
        raise InvalidArgument(f"main: the model cannot be sent to the driver's process: {error}") from None
    start = _align(_START.size + len(header))
    chunks = [_START.pack(MAGIC, len(header), start + constants.end), header,
              bytes(start - _START.size - len(header))]
    for array in constants.arrays:
        chunks += (array, bytes(_align(array.nbytes) - array.nbytes))
    try:
        return sealed_memfd(chunks)
    except OSError as error:
        raise GeneralFailure(f"model: no memory to send it in: {error.strerror}") from None


def _record(model, constants):
    def operand(o):
        quant = o.channel_quant
        return OperandRecord(o.type, tuple(o.dims), o.scale, o.zero_point, o.lifetime,
                             None if quant is None else quant.dim, () if quant is None else tuple(quant.scales),
                             constants.add(o.data), o.name, o.subgraph, o.parameters)

    def graph(g):
        return GraphRecord([operand(o) for o in g.operands],
                           [OperationRecord(p.type, tuple(p.inputs), tuple(p.outputs)) for p in g.operations],
                           tuple(g.inputs), tuple(g.outputs))

    return ModelRecord(graph(model.main), [graph(g) for g in model.referenced], bool(model.relaxed),
                       [StateRecord(s.input, s.output, constants.add(s.initial)) for s in model.states], model.name,
                       [tuple(entry) for entry in model.extensions])


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


# -- server ------------------------------------------------------------------------------------------------------------
def open_bytes(fd, limit):
    """The bytes behind a descriptor as a read-only array: mapped where they cannot change, else copied.

    Raises InvalidArgument.
    """
    try:
        size = os.fstat(fd).st_size
        if not _START.size <= size <= limit:
            raise InvalidArgument(f"model: its memory has {size} bytes, must be {_START.size} to {limit}")
        if is_sealed(fd):
            content = np.frombuffer(MappedFile(fd, size, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ), np.uint8)
        else:
            content = aligned_bytes(size)
            view, at = memoryview(content), 0
            while at < size:
                got = os.preadv(fd, [view[at:]], at)
                if not got:
                    raise InvalidArgument(f"model: its memory ends after {at} of {size} bytes")
                at += got
            content.flags.writeable = False
        return content
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"model: its memory cannot be read: {error}") from None


def unpack(content):
    """The Model in the bytes of `pack`; its constants are views of them. Raises InvalidArgument."""
    magic, header, whole = _START.unpack_from(content)
    if magic != MAGIC:
        raise InvalidArgument("model: the memory holds no model")
    if header > MAX_HEADER or whole != content.nbytes or _align(_START.size + header) > whole:
        raise InvalidArgument("model: the header does not fit its memory")
    try:
        record = _DECODER.decode(bytes(content[_START.size:_START.size + header]))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidArgument(_located(error)) from None
    return _model(record, content[_align(_START.size + header):])


_PATH = re.compile(r"\[(?:0|1\]\[(\d+))\](?:\[([01])\]\[(\d+)\])?")


def _located(error):
    """A refusal of msgspec in our form: path first."""
    text, _, path = str(error).partition(" - at `$")
    found = _PATH.match(path)
    if found is None:
        return f"main: {text}"
    graph, kind, place = found.groups()
    where = "main" if graph is None else f"referenced[{graph}]"
    return f"{where}: {text}" if kind is None else f"{where}.{('operand', 'operation')[int(kind)]}[{place}]: {text}"


def _model(record, constants):
    def array(data, path):
        if data is None:
            return None
        if not _DTYPE.fullmatch(data.dtype) or any(d < 0 for d in data.shape):
            raise InvalidArgument(f"{path}: a constant of dtype {data.dtype!r} and shape {list(data.shape)}")
        dtype = np.dtype(data.dtype)
        nbytes = prod(data.shape) * dtype.itemsize
        if data.offset % _LINE or not 0 <= data.offset <= data.offset + nbytes <= constants.nbytes:
            raise InvalidArgument(f"{path}: the constant lies outside of the model's memory")
        return constants[data.offset:data.offset + nbytes].view(dtype).reshape(data.shape)

    def operand(o, path):
        quant = None if o.channel_dim is None else ChannelQuant(o.channel_dim, o.channel_scales)
        return Operand(o.type, o.dims, o.scale, o.zero_point, o.lifetime, quant, array(o.data, path), o.name,
                       o.subgraph, o.parameters)

    def graph(g, name):
        return Subgraph(tuple(operand(o, f"{name}.operand[{place}]") for place, o in enumerate(g.operands)),
                        tuple(Operation(p.type, p.inputs, p.outputs) for p in g.operations), g.inputs, g.outputs)

    states = tuple(State(s.input, s.output, array(s.initial, f"state[{place}]"))
                   for place, s in enumerate(record.states))
    referenced = tuple(graph(g, f"referenced[{place}]") for place, g in enumerate(record.referenced))
    return Model(graph(record.main, "main"), referenced, record.relaxed, states, record.name,
                 tuple(tuple(entry) for entry in record.extensions))
