"""Models on their way to the driver's process: one sealed memfd with a header and the constants.

Layout: magic, length of the header and of the whole, header (msgpack of ModelRecord), then the constants, each at a
multiple of 64 bytes, in the order in which the header names them first, with nothing between or behind them.
model_reader.py reads it.
"""

import os
import struct
import weakref

import numpy as np

from ..errors import GeneralFailure, InvalidArgument
from .channel import sealed_memfd
from .records import Record, encode

MAGIC = b"NNFMDL01"
START = struct.Struct("<8sQQ")
LINE = 64


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


def align(size):
    """Size rounded up to where the next constant begins."""
    return (size + LINE - 1) // LINE * LINE


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
            self.end += align(flat.nbytes)
        return found


def pack(model):
    """Descriptor of a sealed memfd with the model. Raises InvalidArgument for what no message can hold."""
    constants = _Constants()
    try:
        header = encode(_record(model, constants))
    except (TypeError, OverflowError, ValueError, AttributeError) as error:
        raise InvalidArgument(f"main: the model cannot be sent to the driver's process: {error}") from None
    start = align(START.size + len(header))
    chunks = [START.pack(MAGIC, len(header), start + constants.end), header,
              bytes(start - START.size - len(header))]
    for array in constants.arrays:
        chunks += (array, bytes(align(array.nbytes) - array.nbytes))
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
