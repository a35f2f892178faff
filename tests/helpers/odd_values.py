"""Values that no parameter expects, and what a public call may do with them."""

import inspect
import os

import numpy as np

from nnfast.errors import Error

MISSING = inspect.Parameter.empty
LONGEST = 1000


class Boom(Exception):
    """What the methods of a caller's own object raise."""


def _raise(self, *args, **options):
    raise Boom("raised by an object of the caller's")


def _with(name, result=None):
    """An object with one method, which raises, or gives a result."""
    method = _raise if result is None else lambda self, *args: result
    return type(f"With{name.strip('_').title()}", (), {name: method})()


def nested(kind, depth=2000):
    """A list, tuple or dict in itself, many levels deep."""
    value = kind()
    for _ in range(depth):
        value = {"x": value} if kind is dict else kind([value])
    return value


def closed_file():
    with open(os.devnull, "rb") as stream:
        return stream


def closed_descriptor():
    read, write = os.pipe()
    os.close(read)
    os.close(write)
    return read


def read_only(array):
    array.flags.writeable = False
    return array


def generator():
    yield from (1, 2)


class Numberlike:
    """Counts as a whole number where operator.index is asked, and prints as nothing sensible."""

    def __index__(self):
        return 1 << 80

    def __repr__(self):
        raise Boom("repr")


ODD = {
    "none": lambda: None, "true": lambda: True, "ellipsis": lambda: ..., "object": object,
    "zero": lambda: 0, "minus one": lambda: -1, "two": lambda: 2, "2**31": lambda: 1 << 31, "2**32": lambda: 1 << 32,
    "2**63": lambda: 1 << 63, "2**64 - 1": lambda: (1 << 64) - 1, "huge": lambda: 10**400, "too long": lambda: 10**5000,
    "minus huge": lambda: -10**5000, "half": lambda: 0.5, "nan": lambda: float("nan"), "inf": lambda: float("inf"),
    "minus inf": lambda: float("-inf"), "1e300": lambda: 1e300, "complex": lambda: 1j,
    "bytes": lambda: b"abc", "bytearray": lambda: bytearray(40), "memoryview": lambda: memoryview(bytes(8))[::2],
    "empty text": lambda: "", "text": lambda: "abc", "lines": lambda: "a\nb\r\x1b[31m", "nul": lambda: "a\0b",
    "surrogates": lambda: "\ud800\udcff", "long text": lambda: "x" * 1_000_000, "long bytes": lambda: b"\0" * 1_000_000,
    "empty list": list, "list": lambda: [1, 2], "tuple": lambda: ("x",), "dict": lambda: {"x": 1},
    "set": lambda: {1, "a"},
    "list of none": lambda: [None], "list of huge": lambda: [10**5000, -1], "list of text": lambda: ["a", "\0"],
    "list of nan": lambda: [float("nan")], "list of objects": lambda: [object(), object],
    "pairs": lambda: [(1, 2), (3,)],
    "deep list": lambda: nested(list), "deep tuple": lambda: nested(tuple), "deep dict": lambda: nested(dict),
    "long list": lambda: [0] * 100_000, "generator": generator, "iterator": lambda: iter([1]),
    "range": lambda: range(5),
    "array of rank 0": lambda: np.array(3), "array": lambda: np.arange(2, dtype=np.float32),
    "array of objects": lambda: np.array([None, "x"], object), "structured array": lambda: np.zeros(2, [("a", "f4")]),
    "strided array": lambda: np.zeros(8, np.float32)[::4], "read-only array": lambda: read_only(np.ones(2, np.float32)),
    "swapped array": lambda: np.ones(2, ">f4"), "array of text": lambda: np.array(["a", "b"]),
    "array of dates": lambda: np.array(["2020-01-01"], "M8[D]"), "masked array": lambda: np.ma.ones(2),
    "array of no elements": lambda: np.zeros((0, 3), np.float32), "numpy integer": lambda: np.uint64(1 << 63),
    "numpy nan": lambda: np.float16("nan"), "numpy bool": lambda: np.bool_(True), "dtype": lambda: np.dtype("f4"),
    "class": lambda: int, "function": lambda: (lambda *_: None), "module": lambda: os, "exception": lambda: Boom("x"),
    "closed file": closed_file, "closed descriptor": closed_descriptor, "numberlike": Numberlike,
    "len raises": lambda: _with("__len__"), "iter raises": lambda: _with("__iter__"),
    "index raises": lambda: _with("__index__"), "float raises": lambda: _with("__float__"),
    "array raises": lambda: _with("__array__"), "fspath raises": lambda: _with("__fspath__"),
    "eq raises": lambda: _with("__eq__"), "repr raises": lambda: _with("__repr__"),
    "str raises": lambda: _with("__str__"),
    "bool raises": lambda: _with("__bool__"), "hash raises": lambda: _with("__hash__"),
    "fileno raises": lambda: _with("fileno"), "getattr raises": lambda: _with("__getattr__"),
    "len lies": lambda: _with("__len__", 1 << 62), "iter lies": lambda: _with("__iter__", iter([1, 2])),
    "index lies": lambda: _with("__index__", "one"), "array lies": lambda: _with("__array__", np.array("x")),
    "fspath lies": lambda: _with("__fspath__", 5), "fileno lies": lambda: _with("fileno", 1 << 70),
    "call raises": lambda: _with("__call__"),
}


def parameters(function):
    """Names of the parameters that a caller gives by name."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind in kinds and p.name != "self"]


def complaint(error):
    """What is wrong with an exception that left a public call, or None."""
    if isinstance(error, Boom):
        return None  # the caller's own object raised it
    if type(error) is TimeoutError:
        return None  # of concurrent.futures, whose Future an Execution is
    if not isinstance(error, Error):
        return f"{type(error).__name__}: {str(error)[:200]}"
    text = str(error)
    if len(text) > LONGEST or not text.isprintable() or not text:
        return f"message of {type(error).__name__}, {len(text)} characters: {text[:200]!r}"
    return None


def attempt(call, *args, **options):
    """What is wrong with how a call ends, or None."""
    try:
        result = call(*args, **options)
        if inspect.isgenerator(result):
            list(result)
    except Exception as error:
        return complaint(error)
    return None
