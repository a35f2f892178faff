"""Canonical models and requests as HIDL ones, laid out as the standard's tests do it [NN 16.2]."""

from collections import Counter

import numpy as np

from ..driver.memory import Memory as SharedMemory
from ..errors import InvalidArgument
from ..model.types import LifeTime
from .pools import from_memory
from .types import (
    HALS,
    MODELS,
    DataLocation,
    ExtensionNameAndPrefix,
    MemoryPool,
    Operand,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
    SymmPerChannelQuantParams,
)

_ALIGNMENT = 4


class Layout:
    """Turns a canonical model, and others that share most of their operands with it, into models of one version.

    Constants of lifetime CONSTANT_COPY go one after the other into operandValues, those of CONSTANT_REFERENCE into one
    pool, each at a multiple of 4 bytes. Nothing is checked: a wrong model becomes a wrong HIDL model.
    """

    def __init__(self, model, hal):
        self.hal, self._base = hal, model
        self._values, self._places = _Values(), {}  # (address, bytes) of a constant -> its DataLocation
        self._shared = self._lay_out(model)
        self._pools = [] if self._shared is None else [from_memory(self._shared)]
        self._operands = {id(operand): self._operand(operand, count) for graph in (model.main, *model.referenced)
                          for operand, count in zip(graph.operands, _consumers(graph))}

    def _lay_out(self, model):
        """Place all constants; the pool of the shared ones, or None."""
        shared, end = [], 0
        for graph in (model.main, *model.referenced):
            for operand in graph.operands:
                if operand.lifetime == LifeTime.CONSTANT_COPY:
                    self._places[_key(operand.data)] = self._values.add(operand.data)
                elif operand.lifetime == LifeTime.CONSTANT_REFERENCE:
                    self._places[_key(operand.data)] = DataLocation(0, end, operand.data.nbytes)
                    shared.append((end, operand.data))
                    end += _padded(operand.data.nbytes)
        if not shared:
            return None
        memory = SharedMemory.create(end)
        raw = memory.array()
        for offset, data in shared:
            raw[offset:offset + data.nbytes] = np.frombuffer(data.tobytes(), np.uint8)
        return memory

    def model(self, model=None):
        """HIDL model of the model that was laid out, or of another one that resembles it."""
        source = model or self._base
        values = _Values(self._values)
        graphs = [self._graph(graph, values) for graph in (source.main, *source.referenced)]
        kind = MODELS[self.hal]
        extensions = [ExtensionNameAndPrefix(name, prefix) for name, prefix in source.extensions]
        if self.hal == "1.3":
            return kind(graphs[0], graphs[1:], values.joined(), list(self._pools), source.relaxed, extensions)
        main = graphs[0]
        fields = main.operands, main.operations, main.inputIndexes, main.outputIndexes, values.joined(), \
            list(self._pools), source.relaxed, extensions
        return kind(*fields[:{"1.0": 6, "1.1": 7, "1.2": 8}[self.hal]])

    def _graph(self, graph, values):
        operands = []
        for operand, consumers in zip(graph.operands, _consumers(graph)):
            known = self._operands.get(id(operand))
            operands.append(known if known is not None and known.numberOfConsumers == consumers else
                            self._operand(operand, consumers, values))
        return Subgraph(operands, [Operation(int(o.type), list(o.inputs), list(o.outputs)) for o in graph.operations],
                        list(graph.inputs), list(graph.outputs))

    def _operand(self, operand, consumers, values=None):
        if operand.subgraph is not None:
            location = DataLocation(0, operand.subgraph, 0)
        elif operand.data is None:
            location = DataLocation()
        else:
            location = self._places.get(_key(operand.data)) or values.add(operand.data)
        return Operand(int(operand.type), list(operand.dims), consumers, operand.scale, operand.zero_point,
                       int(operand.lifetime), location, _extra(operand))


class _Values:
    """operandValues that grow; those of the base model stay as they are."""

    def __init__(self, base=None):
        self._base = b"" if base is None else base.joined()
        self._more, self._end = [], len(self._base)

    def add(self, data):
        raw = data.tobytes()
        location = DataLocation(0, self._end, len(raw))
        self._more.append(raw + bytes(_padded(len(raw)) - len(raw)))
        self._end += len(self._more[-1])
        return location

    def joined(self):
        if self._more:
            self._base, self._more = self._base + b"".join(self._more), []
        return self._base


def _consumers(graph):
    """How often the operations read each operand."""
    counts = Counter(operand for operation in graph.operations for operand in operation.inputs)
    return [counts[place] for place in range(len(graph.operands))]


def from_canonical(model, hal):
    """HIDL model of a canonical one, which must be one of version `hal`."""
    if HALS.index(hal) < 3 and model.referenced:
        raise InvalidArgument(f"model: has referenced subgraphs, HAL {hal} has none")
    return Layout(model, hal).model()


def request_from_canonical(request, hal):
    """HIDL request of a canonical one; its pools must be nnfast.Memory, or Buffers in 1.3."""
    pools = []
    for pool in request.pools:
        if not isinstance(pool, SharedMemory):
            pools.append(MemoryPool(token=pool.token))
        else:
            pools.append(MemoryPool(from_memory(pool)) if hal == "1.3" else from_memory(pool))
    return Request([_argument(a) for a in request.inputs], [_argument(a) for a in request.outputs], pools)


def _argument(argument):
    return RequestArgument(argument.has_no_value, DataLocation(argument.pool, argument.offset, argument.length),
                           list(argument.dims))


def _extra(operand):
    quant = operand.channel_quant
    return operand.parameters if quant is None else SymmPerChannelQuantParams(list(quant.scales), quant.dim)


def _key(data):
    return data.__array_interface__["data"][0], data.nbytes


def _padded(nbytes):
    return nbytes + _ALIGNMENT - 1 & ~(_ALIGNMENT - 1)
