"""A model as records that msgspec writes and reads: its structure, and its constants in one piece of memory.

What makes a model of them again is in restored.py.
"""

import re
from functools import lru_cache
from math import prod

import numpy as np

from ..alignment import LINE, align
from ..checks import kind_of
from ..errors import InvalidArgument
from ..extras import msgspec
from .withheld import Withheld

MAX_RANK = 64
"""Of an array of numpy."""

_WITHHELD = -1
_DTYPE = re.compile(r"[<|](f[248]|[iu][1248]|b1)")


def _plain(value):
    """Numbers of numpy are numbers; there is nothing else that msgspec does not know."""
    if isinstance(value, np.integer | np.bool_):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    raise TypeError(f"{kind_of(value)} cannot be stored or sent")


encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode


class Record(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A part of messages and files."""


class Data(Record):
    """An array: where it begins in the memory of the constants."""

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
    channel_scales: tuple[float, ...] | None
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


class SignatureRecord(Record):
    key: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    is_loaded: bool


class ModelRecord(Record):
    main: GraphRecord
    referenced: list[GraphRecord]
    relaxed: bool
    states: list[StateRecord]
    name: str
    extensions: list[tuple[str, int]]
    arithmetic: str
    signatures: list[SignatureRecord]


class Constants:
    """Arrays in the order in which they will lie, from offset `end` on; one that is used twice lies there once.

    may_withhold: values that are not there (model.withheld) are no error.
    """

    def __init__(self, end=0, may_withhold=True):
        self.arrays, self.end = [], end
        self._may_withhold, self._known = may_withhold, {}

    def add(self, array):
        """The Data of an array; None for None."""
        if array is None:
            return None
        if self._may_withhold and isinstance(array, Withheld):
            return Data(_WITHHELD, array.dtype.str, array.shape)
        found = self._known.get(id(array))
        if found is None:
            flat = np.ascontiguousarray(array)
            found = self._known[id(array)] = Data(self.end, flat.dtype.str, array.shape)
            self.arrays.append(flat.reshape(-1).view(np.uint8))
            self.end += align(flat.nbytes)
        return found


def is_withheld(data):
    """Whether a Data stands for values that were not stored."""
    return data.offset == _WITHHELD


@lru_cache(64)
def _dtype_of(text):
    return np.dtype(text) if _DTYPE.fullmatch(text) else None


def dtype_of(data, path):
    """The dtype of a Data. Raises InvalidArgument for one that no constant has, and for a shape that no array has."""
    dtype = _dtype_of(data.dtype)
    if dtype is None or len(data.shape) > MAX_RANK or min(data.shape, default=0) < 0:
        raise InvalidArgument(f"{path}: a constant of dtype {data.dtype[:40]!r} and shape {list(data.shape[:8])}")
    return dtype


def array_of(data, parts, path):
    """The view that a Data means of the arrays `parts`, which count as one piece of memory. Raises InvalidArgument."""
    dtype = dtype_of(data, path)
    nbytes, start = prod(data.shape) * dtype.itemsize, data.offset
    for memory in parts:
        if start < memory.nbytes:
            break
        start -= memory.nbytes
    if data.offset % LINE or not 0 <= start <= start + nbytes <= memory.nbytes:
        raise InvalidArgument(f"{path}: the constant lies outside of the model's memory")
    return np.ndarray(data.shape, dtype, memory, start)


def record_of(model, constants, withheld=frozenset()):
    """The ModelRecord of a model, whose values go to Constants; but for those operands of the main graph."""
    def operand(o, keep=True):
        quant = o.channel_quant
        scales = None if quant is None or not keep or isinstance(quant.scales, Withheld) else tuple(quant.scales)
        return OperandRecord(o.type, tuple(o.dims), o.scale, o.zero_point, o.lifetime,
                             None if quant is None else quant.dim, scales,
                             constants.add(o.data if keep else Withheld(o.dtype, o.dims)), o.name, o.subgraph,
                             o.parameters)

    def graph(g, withheld=frozenset()):
        return GraphRecord([operand(o, place not in withheld) for place, o in enumerate(g.operands)],
                           [OperationRecord(p.type, tuple(p.inputs), tuple(p.outputs)) for p in g.operations],
                           tuple(g.inputs), tuple(g.outputs))

    return ModelRecord(graph(model.main, withheld), [graph(g) for g in model.referenced], bool(model.relaxed),
                       [StateRecord(s.input, s.output, constants.add(s.initial)) for s in model.states], model.name,
                       [tuple(entry) for entry in model.extensions], model.arithmetic,
                       [SignatureRecord(s.key, s.inputs, s.outputs, s.is_loaded) for s in model.signatures])


_MODELS = msgspec.msgpack.Decoder(ModelRecord)


def decode(data):
    """The ModelRecord of bytes. Raises InvalidArgument."""
    try:
        return _MODELS.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"its header does not describe a model: {error}") from None


def laid_out(model, first):
    """(header, chunks, end) of a model as bytes: `first` bytes of the caller's, the header (msgpack of ModelRecord),
    then the constants, each at a multiple of LINE. chunks: the header and what follows; end: where the last one ends.

    Raises TypeError, OverflowError, ValueError, AttributeError for what no message can hold.
    """
    constants = Constants(may_withhold=False)
    header = encode(record_of(model, constants))
    start = align(first + len(header))
    chunks = [header, bytes(start - first - len(header))]
    for array in constants.arrays:
        chunks += (array, bytes(align(array.nbytes) - array.nbytes))
    return header, chunks, start + constants.end
