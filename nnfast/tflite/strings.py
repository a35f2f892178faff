"""Tensors of strings, whose elements become their numbers among the Strings of a model (ops/tfl_strings.py)."""

import numpy as np

from ..errors import InvalidArgument, UnsupportedOperator
from ..record import replace
from .schema import Builtin, TensorType

B = Builtin
TAKE_STRINGS = frozenset((
    B.RESHAPE, B.GATHER, B.GATHER_ND, B.SLICE, B.STRIDED_SLICE, B.TILE, B.SQUEEZE, B.EXPAND_DIMS, B.SHAPE, B.RANK,
    B.FILL, B.EQUAL, B.NOT_EQUAL, B.SKIP_GRAM, B.HASHTABLE_LOOKUP, B.HASHTABLE_IMPORT, B.HASHTABLE_FIND, B.IF, B.WHILE,
))
"""Operators whose kernels in LiteRT work on strings."""


def texts_of(data):
    """The strings of a constant, bytes: their number, where each begins and the last one ends, all int32, and the
    characters. Raises ValueError.
    """
    if data.size < 8:
        raise ValueError(f"has {data.size} bytes, must have 8 at least")
    words = data[:data.size // 4 * 4].view(np.int32)
    count = int(words[0])
    if not 0 <= count <= words.size - 2:
        raise ValueError(f"holds {count} strings in {data.size} bytes")
    ends = words[1:count + 2].astype(np.int64)
    if np.any(np.diff(ends) < 0) or ends[0] < 4 * (count + 2) or ends[-1] > data.size:
        raise ValueError("holds strings that lie beside it or overlap")
    raw = data.tobytes()
    return [raw[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist())]


def constant(t, label):
    """Array of bytes, dtype object, of a constant of strings. Raises InvalidArgument."""
    try:
        texts = texts_of(t.data)
        array = np.empty(len(texts), object)
        array[:] = texts
        return array.reshape(t.dims)
    except ValueError as error:
        raise InvalidArgument(f"{label}: tensor[{t.index}] {t.name!r}: {error}") from None


def numbered(graph, strings, label):
    """A FileGraph with numbers among `strings` in place of strings. Raises InvalidArgument for damaged constants,
    UnsupportedOperator for operators that do not take strings.
    """
    texts = {t.index for t in graph.tensors if t.type == TensorType.STRING}
    if not texts:
        return graph
    refused = [(op.name, op.index, "does not work on strings, neither do LiteRT's kernels") for op in graph.operators
               if op.code not in TAKE_STRINGS and not texts.isdisjoint((*op.inputs, *op.outputs))]
    if refused:
        raise UnsupportedOperator(*refused[0], others=refused[1:])
    return replace(graph, tensors=tuple(_numbered(t, strings, label) if t.index in texts else t for t in graph.tensors))


def _numbered(t, strings, label):
    data = t.data
    if data is not None:
        data = strings.numbers_of(constant(t, label)).reshape(-1).view(np.uint8)
        data.flags.writeable = False
    return replace(t, type=TensorType.INT32, data=data)
