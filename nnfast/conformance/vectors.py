"""Reader of the conformance vectors, format 1 [NN 16.1]: files of small models with inputs and right outputs.

`read` looks at the head of each test only; `Vector.case` builds the model and decodes the values, so that choosing
tests out of thousands stays cheap. Whatever breaks the format is an InvalidArgument that names file, test and place.
"""

import base64
import binascii
import gzip
import json
import zlib
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

import numpy as np

from ..errors import InvalidArgument
from ..model.types import (
    DTYPES,
    VERSIONS,
    ChannelQuant,
    LifeTime,
    Model,
    Operand,
    OperandType,
    Operation,
    OperationType,
    Subgraph,
)

SUFFIX = ".json.gz"
MAX_BYTES = 256 << 20
"""Unpacked size at which a file is refused; the largest real one has 4 MB."""

FOLDER_VERSIONS = {
    "V1_0": "1.0", "V1_1": "1.1", "V1_2": "1.2", "V1_3": "1.3", "V1_3_cts_only": "1.3", "AIDL_V2": "aidl2",
    "AIDL_V3": "aidl3", "experimental": "experimental",
}
"""HAL version of tests that do not say theirs; "experimental" is newer than every HAL."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A vector ready to run.

    inputs: one array per model input, None where the request omits it. expected, ignored: one per model output.
    """

    name: str
    model: Model
    inputs: tuple
    expected: tuple
    ignored: tuple
    multinomial_tolerance: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Head of one test. operations: names of all operations in any of its graphs; version: HAL it needs."""

    source: str
    name: str
    version: str
    relaxed: bool
    expect_failure: bool
    multinomial_tolerance: float
    operations: frozenset
    _model: dict = field(repr=False)

    @property
    def folder(self):
        return self.source.partition("/")[0]

    @property
    def main_operations(self):
        """Names of the operations of the main graph, in order."""
        return tuple(operation["type"] for operation in self._model["main"]["operations"])

    def uses(self, type_name, counts):
        """True when an operation of any graph reads or writes this operand type; counts(name): whether it counts.

        Raises InvalidArgument when an operation names an operand that does not exist.
        """
        for graph in (self._model["main"], *self._model["referenced"]):
            where = f"{self.source}: test {self.name}"
            operands = _get(graph, "operands", list, where)
            for operation in graph["operations"]:
                if not counts(operation["type"]):
                    continue
                places = *_get(operation, "inputs", list, where), *_get(operation, "outputs", list, where)
                for place in places:
                    if type(place) is not int or not 0 <= place < len(operands):
                        raise InvalidArgument(f"{where}: {operation['type']} names operand {place!r}, there are "
                                              f"{len(operands)} operands")
                    if _get(operands[place], "type", str, where) == type_name:
                        return True
        return False

    def case(self):
        """Build the model and decode its values; raises InvalidArgument."""
        where = f"{self.source}: test {self.name}"
        referenced = _get(self._model, "referenced", list, where)
        builder = _Builder(where, len(referenced))
        main, values, ignored = builder.subgraph(_get(self._model, "main", dict, where), "main")
        others = tuple(builder.subgraph(sub, f"referenced[{place}]")[0] for place, sub in enumerate(referenced))
        for place in main.outputs:
            if values[place] is None and not self.expect_failure:
                raise InvalidArgument(f"{where}: main.operands[{place}]: is an output, its data must not be null")
        expected = [values[place] for place in main.outputs]
        for order, place in enumerate(main.outputs):
            if expected[order] is None:
                expected[order] = np.zeros(main.operands[place].dims, main.operands[place].dtype)
        model = Model(main, others, self.relaxed, name=self.name)
        return Case(self.name, model, tuple(values[place] for place in main.inputs), tuple(expected),
                    tuple(ignored[place] for place in main.outputs), self.multinomial_tolerance)


def _why(error):
    return "no such file or folder" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"


def collect(paths):
    """Vector files under the given files and folders, each once, in order; raises InvalidArgument for a wrong path."""
    found = {}
    for path in map(Path, paths):
        try:
            path.stat()
        except OSError as error:
            raise InvalidArgument(f"{path}: {_why(error)}") from None
        if path.is_dir():
            inside = sorted(path.rglob("*" + SUFFIX))
            if not inside:
                raise InvalidArgument(f"{path}: holds no *{SUFFIX} file")
            found.update(dict.fromkeys(inside))
        else:
            found[path] = None
    return list(found)


def read(path):
    """Vectors of one file, in order; raises InvalidArgument when it cannot be read or breaks the format."""
    try:
        with gzip.open(path) as stream:
            text = stream.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise InvalidArgument(f"{path}: unpacks to more than {MAX_BYTES} bytes")
        document = json.loads(text)
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise InvalidArgument(f"{path}: damaged gzip data: {error}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or "format" not in document:
        raise InvalidArgument(f"{path}: not a vector file: no 'format' key")
    if document["format"] != 1:
        raise InvalidArgument(f"{path}: format is {document['format']!r}, must be 1")
    source = _get(document, "source", str, path)
    return [_vector(test, source, f"{path}: tests[{place}]")
            for place, test in enumerate(_get(document, "tests", list, path))]


def _vector(test, source, where):
    name = _get(test, "name", str, where)
    where = f"{where} {name}"
    version = _get(test, "min_hal", str, where)
    if version == "unknown":
        folder = source.partition("/")[0]
        if folder not in FOLDER_VERSIONS:
            raise InvalidArgument(f"{where}: min_hal is unknown and folder {folder!r} has no version")
        version = FOLDER_VERSIONS[folder]
    elif version not in VERSIONS:
        raise InvalidArgument(f"{where}: min_hal is {version!r}, must be one of {', '.join(VERSIONS)} or unknown")
    model = _get(test, "model", dict, where)
    operations = set()
    for sub in [_get(model, "main", dict, where), *_get(model, "referenced", list, where)]:
        operations.update(_get(operation, "type", str, where) for operation in _get(sub, "operations", list, where))
    return Vector(source, name, version, _get(test, "relaxed", bool, where), _get(test, "expect_failure", bool, where),
                  float(_get(test, "multinomial_tolerance", (int, float), where)), frozenset(operations), model)


class _Builder:
    """Turns the JSON of one model into records; `where` starts every message."""

    def __init__(self, where, referenced):
        self.where, self.referenced = where, referenced

    def fail(self, place, text):
        raise InvalidArgument(f"{self.where}: {place}: {text}")

    def subgraph(self, json_sub, path):
        """(Subgraph, value or None per operand, ignored flag per operand)."""
        rows = _get(json_sub, "operands", list, f"{self.where}: {path}")
        parsed = [self.operand(row, f"{path}.operands[{place}]") for place, row in enumerate(rows)]
        operations = tuple(
            self.operation(row, len(parsed), f"{path}.operations[{place}]")
            for place, row in enumerate(_get(json_sub, "operations", list, f"{self.where}: {path}")))
        inputs = self.indexes(json_sub, "inputs", len(parsed), path)
        outputs = self.indexes(json_sub, "outputs", len(parsed), path)
        graph = Subgraph(tuple(operand for operand, _, _ in parsed), operations, inputs, outputs)
        return graph, [value for _, value, _ in parsed], [ignored for _, _, ignored in parsed]

    def operation(self, row, count, place):
        name = _get(row, "type", str, f"{self.where}: {place}")
        if name not in OperationType.__members__:
            self.fail(place, f"operation {name!r} is not known")
        return Operation(OperationType[name], self.indexes(row, "inputs", count, place),
                         self.indexes(row, "outputs", count, place))

    def indexes(self, row, key, count, place):
        indexes = self.integers(row, key, place)
        for index in indexes:
            if index >= count:
                self.fail(place, f"{key} hold operand {index}, there are {count} operands")
        return indexes

    def integers(self, row, key, place):
        numbers = _get(row, key, list, f"{self.where}: {place}")
        for number in numbers:
            if type(number) is not int or not 0 <= number < 1 << 32:
                self.fail(place, f"{key} hold {number!r}, must be integers in [0, 2^32)")
        return tuple(numbers)

    def operand(self, row, place):
        where = f"{self.where}: {place}"
        kind = self.member(OperandType, _get(row, "type", str, where), place)
        if kind not in DTYPES:
            self.fail(place, f"type {kind.name} has no values")
        lifetime = self.member(LifeTime, _get(row, "lifetime", str, where), place)
        dims = self.integers(row, "dims", place)
        value = self.value(row, kind, dims, place)
        scale, zero_point = float(_get(row, "scale", (int, float), where)), _get(row, "zero_point", int, where)
        operand = Operand(kind, dims, scale, zero_point, lifetime, self.channel_quant(row, place))
        if lifetime in (LifeTime.CONSTANT_COPY, LifeTime.CONSTANT_REFERENCE):
            if value is None:
                self.fail(place, "is a constant, its data must not be null")
            operand = replace(operand, data=value)
        elif lifetime == LifeTime.SUBGRAPH:
            if value is None or value.size != 1 or value.reshape(-1)[0] >= self.referenced:
                self.fail(place, f"data must be the index of one of the {self.referenced} referenced subgraphs")
            operand = replace(operand, subgraph=int(value.reshape(-1)[0]))
        return operand, value, _get(row, "ignored", bool, where)

    def member(self, enum, name, place):
        if name not in enum.__members__:
            self.fail(place, f"{enum.__name__} {name!r} is not known")
        return enum[name]

    def channel_quant(self, row, place):
        if row.get("channel_quant") is None:
            return None
        where = f"{self.where}: {place}"
        entry = _get(row, "channel_quant", dict, where)
        scales = _get(entry, "scales", list, where)
        if not all(type(scale) in (int, float) for scale in scales):
            self.fail(place, "channel_quant scales must be numbers")
        return ChannelQuant(_get(entry, "dim", int, where), tuple(float(scale) for scale in scales))

    def value(self, row, kind, dims, place):
        """Read-only array of dtype DTYPES[kind] and shape dims, or None."""
        if row.get("data") is None:
            return None
        try:
            raw = base64.b64decode(_get(row, "data", str, f"{self.where}: {place}"), validate=True)
        except (binascii.Error, ValueError) as error:
            if isinstance(error, InvalidArgument):
                raise
            self.fail(place, f"data is not base64: {error}")
        dtype = DTYPES[kind]
        if len(raw) != prod(dims) * dtype.itemsize:
            self.fail(place, f"data has {len(raw)} bytes, {kind.name} {list(dims)} takes {prod(dims) * dtype.itemsize}")
        array = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(dims)
        array.flags.writeable = False
        return array


_KIND_NAMES = {list: "a list", dict: "an object", str: "a text", int: "an integer", bool: "true or false"}


def _get(row, key, kind, where):
    """row[key], which must be of a kind; a bool is no number here."""
    if not isinstance(row, dict):
        raise InvalidArgument(f"{where}: must be an object with key {key!r}")
    if key not in row:
        raise InvalidArgument(f"{where}: key {key!r} is missing")
    value = row[key]
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        raise InvalidArgument(f"{where}: {key} is {str(value)[:40]!r}, must be {_KIND_NAMES.get(kind, 'a number')}")
    return value
