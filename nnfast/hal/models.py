"""HIDL models to canonical ones: the rules that exist only in HIDL [NN 2.2-2.4, 5.2, 9.3, 11.3, 11.7].

Locations, operandValues, pools, numberOfConsumers, the map of extensions, and what each version has. All other rules
are those of the canonical model, which the device checks.
"""

from collections import Counter
from math import prod

import numpy as np

from ..errors import GeneralFailure
from ..model import types as canonical
from ..model.validate import check_extensions
from .pools import to_memory
from .types import (
    HALS,
    MODELS,
    OPERAND_TYPES,
    OPERATION_TYPES,
    UINT32_MAX,
    DataLocation,
    ExtensionNameAndPrefix,
    Operand,
    Operation,
    Subgraph,
    SymmPerChannelQuantParams,
)
from .values import boolean, fail, is_integer, octets, record, uint32, vec

_LIFETIMES = canonical.LifeTime
_CONSTANTS, _SUBGRAPH = frozenset(map(int, canonical.CONSTANT_LIFETIMES)), int(_LIFETIMES.SUBGRAPH)
_STORED = {int(code): (dtype, code in canonical.SCALAR_TYPES) for code, dtype in canonical.DTYPES.items()}
_KNOWN = {hal: (frozenset(map(int, OPERAND_TYPES[hal])), frozenset(map(int, OPERATION_TYPES[hal]))) for hal in HALS}
_VALUE_TYPES = frozenset(map(int, canonical.SCALAR_TYPES | {canonical.OperandType.TENSOR_INT32}))
"""Types whose constants are rules (axes, sizes): kept as they were when they were checked."""


def to_canonical(model, hal):
    """The nnfast.Model of a HIDL model of version `hal`. Raises InvalidArgument with the path of the broken rule."""
    record(model, MODELS[hal], "model")
    return _Reader(model, hal).model()


class _Reader:
    """Reads one model by the rules of one version."""

    def __init__(self, model, hal):
        self.source, self.hal, self.level = model, hal, HALS.index(hal)
        self.values = np.frombuffer(octets(model.operandValues, "operandValues"), np.uint8)
        self.pools = [self.pool(place, pool) for place, pool in enumerate(vec(model.pools, "pools"))]
        self.extensions = self.map_of_extensions() if self.level >= 2 else ()
        self.prefixes = frozenset(prefix for _, prefix in self.extensions)
        self.referenced = vec(model.referenced, "referenced") if self.level == 3 else ()
        self.operand_types, self.operation_types = _KNOWN[hal]
        self.last_lifetime = _LIFETIMES.SUBGRAPH if self.level == 3 else _LIFETIMES.NO_VALUE

    def model(self):
        source = self.source
        if self.level == 3:
            main = self.graph(record(source.main, Subgraph, "main"), "main")
        else:
            main = self.graph(source, "main")
        referenced = tuple(self.graph(record(graph, Subgraph, f"referenced[{place}]"), f"referenced[{place}]")
                           for place, graph in enumerate(self.referenced))
        relaxed = self.level >= 1 and boolean(source.relaxComputationFloat32toFloat16,
                                              "relaxComputationFloat32toFloat16")
        return canonical.Model(main, referenced, relaxed, extensions=self.extensions)

    def pool(self, place, pool):
        """Bytes of a constant pool: its mapping where nobody can shrink it, else a copy."""
        path = f"pools[{place}]"
        memory = to_memory(pool, self.hal, path)
        try:
            opened = memory.open()
            return opened if isinstance(opened, np.ndarray) else opened.read(0, opened.nbytes)
        except GeneralFailure as error:
            return fail(path, error)

    def map_of_extensions(self):
        """(name, prefix) of the extensions that the model uses."""
        path, entries = "extensionNameToPrefix", []
        for place, entry in enumerate(vec(self.source.extensionNameToPrefix, path)):
            record(entry, ExtensionNameAndPrefix, f"{path}[{place}]")
            entries.append((entry.name, entry.prefix))
        check_extensions(path, entries)
        return tuple(entries)

    # -- graphs ------------------------------------------------------------------------------------------------------
    # A model may have thousands of operands and is read at every query and preparation: the usual types take a short
    # way here, everything else the checks of `values`, which say what is wrong.
    def graph(self, graph, path):
        operations = tuple([self.operation(o, path, place)
                            for place, o in enumerate(vec(graph.operations, f"{path}.operations"))])
        consumers = Counter(operand for operation in operations for operand in operation.inputs)
        operands = tuple([self.operand(o, f"{path}.operand[{place}]", consumers[place])
                          for place, o in enumerate(vec(graph.operands, f"{path}.operands"))])
        return canonical.Subgraph(operands, operations, self.indexes(graph.inputIndexes, f"{path}.inputs"),
                                  self.indexes(graph.outputIndexes, f"{path}.outputs"))

    def operation(self, operation, path, place):
        path = f"{path}.operation[{place}]"
        record(operation, Operation, path)
        code = operation.type
        if type(code) is not int or code not in self.operation_types:
            code = self.code(code, self.operation_types, f"{path}: operation type")
        return canonical.Operation(code, self.indexes(operation.inputs, path),
                                   self.indexes(operation.outputs, path))

    @staticmethod
    def indexes(value, path):
        indexes = vec(value, path)
        for index in indexes:
            if type(index) is not int:
                return tuple(uint32(index, f"{path}[{place}]") for place, index in enumerate(indexes))
        return indexes

    def code(self, code, known, what):
        """A type code: one of this version, or one of an extension in the model's map."""
        if not is_integer(code):
            fail(what, f"is {code!r}, must be a type code")
        code = int(code)
        if code in known:
            return code
        prefix = (code & UINT32_MAX) >> 16
        if self.level < 2 or not prefix or not -1 << 31 <= code <= UINT32_MAX:
            fail(what, f"{code} does not exist in HAL {self.hal}")
        if prefix not in self.prefixes:
            fail(what, f"0x{code & UINT32_MAX:08x} has a prefix that is not in extensionNameToPrefix")
        return code & UINT32_MAX

    # -- operands ----------------------------------------------------------------------------------------------------
    def operand(self, operand, path, consumers):
        record(operand, Operand, path)
        code = operand.type
        if type(code) is not int or code not in self.operand_types:
            code = self.code(code, self.operand_types, f"{path}: type")
        dims = self.dimensions(operand.dimensions, path)
        if self.level < 2 and not dims and code not in canonical.SCALAR_TYPES:
            fail(path, f"rank is 0 (unknown), must be at least 1 in HAL {self.hal}")
        lifetime = operand.lifetime
        if not is_integer(lifetime) or not 0 <= lifetime <= self.last_lifetime:
            fail(path, f"lifetime is {lifetime!r}, must be 0..{self.last_lifetime:d} in HAL {self.hal}")
        if not is_integer(operand.numberOfConsumers) or operand.numberOfConsumers != consumers:
            fail(path, f"numberOfConsumers is {operand.numberOfConsumers!r}, the operations read it {consumers} times")
        location = operand.location
        if type(location) is not DataLocation:
            record(location, DataLocation, f"{path} location")
        data = subgraph = None
        if lifetime in _CONSTANTS:
            data = self.value(path, code, dims, lifetime, location)
        elif lifetime == _SUBGRAPH:
            if not _is_zero(location.poolIndex) or not _is_zero(location.length):
                fail(path, f"location is {location}, a subgraph has only an offset")
            subgraph = uint32(location.offset, f"{path} location offset")
        elif not (_is_zero(location.poolIndex) and _is_zero(location.offset) and _is_zero(location.length)):
            fail(path, f"location is {location}, must be all zero for lifetime {_LIFETIMES(lifetime).name}")
        quant = parameters = None
        if operand.extraParams is not None:
            quant, parameters = self.extra_params(operand.extraParams, code, path)
        return canonical.Operand(code, dims, operand.scale, operand.zeroPoint, int(lifetime), quant, data, "",
                                 subgraph, parameters)

    @staticmethod
    def dimensions(value, path):
        dims = tuple(value) if type(value) is list else vec(value, f"{path} dimensions")
        for dim in dims:
            if type(dim) is not int or not 0 <= dim <= UINT32_MAX:
                break
        else:
            return dims
        if not all(is_integer(dim) and 0 <= dim <= UINT32_MAX for dim in dims):
            fail(path, f"dimensions are {list(dims)}, each must be 0 (unknown) to {UINT32_MAX}")
        return tuple(map(int, dims))

    def extra_params(self, extra, code, path):
        """(per-channel quantization, bytes of an extension), one of them None."""
        if self.level < 2:
            fail(path, f"extraParams is {type(extra).__name__}, HAL {self.hal} has none")
        if isinstance(extra, bytes | bytearray):
            if not canonical.is_raw(code):
                fail(path, "extraParams holds data of an extension, must not for a type of the standard")
            return None, bytes(extra)
        record(extra, SymmPerChannelQuantParams, f"{path} extraParams")
        return canonical.ChannelQuant(uint32(extra.channelDim, f"{path} channelDim"),
                                      vec(extra.scales, f"{path} scales")), None

    def value(self, path, code, dims, lifetime, location):
        """Read-only array of a constant: over the memory it came in where that is aligned and stays as it is."""
        pool, offset, length = location.poolIndex, location.offset, location.length
        if not type(pool) is type(offset) is type(length) is int or min(pool, offset, length) < 0 or \
                max(pool, offset, length) > UINT32_MAX:
            for name in ("poolIndex", "offset", "length"):
                uint32(getattr(location, name), f"{path} location {name}")
        if lifetime == _LIFETIMES.CONSTANT_COPY:
            if pool:
                fail(path, f"pool is {pool}, must be 0 for a constant in operandValues")
            source = self.values
        else:
            if pool >= len(self.pools):
                fail(path, f"pool is {pool}, the model has {len(self.pools)} pools")
            source = self.pools[pool]
        if canonical.is_raw(code):  # how many bytes it takes is for the device to know
            self.inside(path, source, lifetime, pool, offset, length)
            array = source[offset:offset + length].copy()
            array.flags.writeable = False
            return array
        dtype, is_scalar = _STORED[code]
        if is_scalar and dims:
            fail(path, f"rank is {len(dims)}, must be 0 for scalar {canonical.type_name(code)}")
        if not is_scalar and (not dims or 0 in dims):
            fail(path, f"dimensions of a constant are {list(dims)}, must be known")
        needed = prod(dims) * dtype.itemsize
        if needed > UINT32_MAX:
            fail(path, f"dimensions {list(dims[:8])} need more than {UINT32_MAX} bytes")
        if length != needed:
            fail(path, f"length is {length}, must be {needed} for {canonical.type_name(code)} {list(dims)}")
        self.inside(path, source, lifetime, pool, offset, length)
        array = source[offset:offset + length].view(dtype).reshape(dims)
        if code in _VALUE_TYPES or not array.flags.aligned:
            array = array.copy()
        array.flags.writeable = False
        return array

    @staticmethod
    def inside(path, source, lifetime, pool, offset, length):
        if offset + length > source.nbytes:
            where = "operandValues" if lifetime == _LIFETIMES.CONSTANT_COPY else f"pools[{pool}]"
            fail(path, f"bytes {offset}..{offset + length} must lie in {where} of {source.nbytes} bytes")


def _is_zero(value):
    return is_integer(value) and value == 0
