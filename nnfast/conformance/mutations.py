"""Models broken in exactly one place, which a driver must refuse before it runs anything [NN 11.9, 11.10].

`model_mutations` gives every mutation of [NN 11.9] rows 1 to 20 that the standard wants refused, in the main graph
and, beyond the standard's own tests [NN 11.16], in the referenced ones. Row 8, numberOfConsumers, has no counterpart:
the canonical model does not store what follows from the rest. Rows 21 and 22 are arguments of prepare: `ARGUMENTS`.
The faces of HAL 1.0 to 1.3 get the codes and types that are wrong, or known, in their version.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..model.types import (
    CONSTANT_LIFETIMES,
    DTYPES,
    QUANT8_ASYMM_TYPES,
    QUANTIZED_TYPES,
    SCALAR_TYPES,
    ChannelQuant,
    LifeTime,
    Model,
    Operand,
    OperandType,
    Operation,
    OperationType,
)

_T, _O, _L = OperandType, OperationType, LifeTime

CODES = {
    "1.0": ((-1, 6, 9999, 10002), (-1, 29, 9999, 10001)),
    "1.1": ((-1, 6, 9999, 10002), (-1, 38, 9999, 10001)),
    "1.2": ((0xFFFFFFFF, 14, 9999, 10002), (95, 9999, 10001)),
    "1.3": ((0xFFFFFFFF, 16, 9999, 10002), (102, 9999, 10001)),
    "canonical": ((0xFFFFFFFF, 16, 9999, 10002), (-1, 106, 9999, 10001)),
}
"""Rows 2 and 11: face -> invalid codes of operand types, and of operations. The canonical model has the
AIDL operations up to 105 too."""

_PREFERENCES = ("preference", {"preference": -1}), ("preference", {"preference": 3})
_PRIORITIES = ("priority", {"priority": -1}), ("priority", {"priority": 3})
ARGUMENTS = {"1.0": (), "1.1": _PREFERENCES, "1.2": _PREFERENCES, "1.3": _PREFERENCES + _PRIORITIES,
             "canonical": _PREFERENCES + _PRIORITIES}
"""Rows 21 and 22: face -> (rule, arguments of prepare)."""

TYPES = tuple(kind for kind in OperandType if kind not in (_T.OEM, _T.TENSOR_OEM_BYTE))
_NEWEST_TYPE = {"1.0": 5, "1.1": 5, "1.2": 13}
_TENSORS = frozenset(TYPES) - SCALAR_TYPES - {_T.SUBGRAPH}
_WRITTEN = (_L.TEMPORARY_VARIABLE, _L.SUBGRAPH_OUTPUT)
_FLOATS = frozenset((_T.TENSOR_FLOAT16, _T.TENSOR_FLOAT32))
_COUNTED = _FLOATS | QUANT8_ASYMM_TYPES | {_T.TENSOR_INT32}
_FILTERS = frozenset((_T.TENSOR_QUANT8_ASYMM, _T.TENSOR_QUANT8_SYMM_PER_CHANNEL))

_FREE_TYPES = {
    (_O.LSH_PROJECTION, "input", 1): frozenset(TYPES),
    (_O.CAST, "input", 0): _COUNTED, (_O.CAST, "output", 0): _COUNTED,
    (_O.ARGMAX, "input", 0): _COUNTED, (_O.ARGMIN, "input", 0): _COUNTED,
    (_O.QUANTIZE, "input", 0): _FLOATS, (_O.QUANTIZE, "output", 0): QUANT8_ASYMM_TYPES,
    (_O.RANDOM_MULTINOMIAL, "input", 0): _FLOATS,
    (_O.DEQUANTIZE, "input", 0): QUANT8_ASYMM_TYPES | _FILTERS | {_T.TENSOR_QUANT8_SYMM},
    (_O.DEQUANTIZE, "output", 0): _FLOATS,
    (_O.CONV_2D, "input", 1): _FILTERS, (_O.DEPTHWISE_CONV_2D, "input", 1): _FILTERS,
    (_O.GROUPED_CONV_2D, "input", 1): _FILTERS, (_O.TRANSPOSE_CONV_2D, "input", 1): _FILTERS,
    (_O.AXIS_ALIGNED_BBOX_TRANSFORM, "input", 1): QUANT8_ASYMM_TYPES,
    (_O.RANK, "input", 0): _TENSORS,
}
"""Row 10 exemptions: types that an operand of an operation may become. CAST, ARGMAX and ARGMIN excuse only their own
data operands here; the standard's tests leave out every operand of such a model."""

_FREE_OUTPUTS = frozenset((
    _O.SPLIT, _O.BIDIRECTIONAL_SEQUENCE_LSTM, _O.BIDIRECTIONAL_SEQUENCE_RNN, _O.UNIDIRECTIONAL_SEQUENCE_LSTM,
    _O.UNIDIRECTIONAL_SEQUENCE_RNN,
))
"""Row 15 exemptions: operations whose outputs may be fewer."""

_POOL = frozenset(((7, 8), (10, 11)))
_OPTIONAL = {
    _O.DEPTHWISE_CONV_2D: frozenset(((8, 9), (11, 12))),
    _O.CONV_2D: _POOL, _O.AVERAGE_POOL_2D: _POOL, _O.MAX_POOL_2D: _POOL, _O.L2_POOL_2D: _POOL,
    _O.RESIZE_BILINEAR: frozenset((place, count) for count in (4, 5, 6) for place in range(3, count)),
    _O.RESIZE_NEAREST_NEIGHBOR: frozenset((place, count) for count in (5, 6) for place in range(3, count)),
    _O.SPACE_TO_DEPTH: frozenset(((2, 3),)), _O.DEPTH_TO_SPACE: frozenset(((2, 3),)),
    _O.BATCH_TO_SPACE_ND: frozenset(((2, 3),)), _O.SPACE_TO_BATCH_ND: frozenset(((3, 4),)),
    _O.L2_NORMALIZATION: frozenset(((1, 2),)), _O.LOCAL_RESPONSE_NORMALIZATION: frozenset(((5, 6),)),
    _O.SOFTMAX: frozenset(((2, 3),)),
}
"""Rows 15 and 17 exemptions: (input, number of inputs) that may be left out."""

_EXTENSIBLE = {
    _O.L2_NORMALIZATION: (1,), _O.LOCAL_RESPONSE_NORMALIZATION: (5,), _O.SOFTMAX: (2,),
    _O.RESIZE_BILINEAR: range(6), _O.RESIZE_NEAREST_NEIGHBOR: range(6),
}
"""Row 19 exemptions: numbers of inputs to which one may be added."""

_ZERO_POINTS = {
    _T.TENSOR_QUANT8_ASYMM: (-1, 256), _T.TENSOR_QUANT8_ASYMM_SIGNED: (-129, 128),
    _T.TENSOR_QUANT8_SYMM: (-129, -1, 1, 128), _T.TENSOR_QUANT16_ASYMM: (-1, 65536),
    _T.TENSOR_QUANT16_SYMM: (-32769, -1, 1, 32768),
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """rule: which row of [NN 11.9], in words; where: the mutated part and how; model: the result."""

    rule: str
    where: str
    model: Model


def model_mutations(model, hal="canonical"):
    """Every Mutation of a model, one after the other; hal: the face that is to refuse them."""
    yield from _Graph(hal, "main", model.main, lambda graph: replace(model, main=graph)).mutations()
    for index, referenced in enumerate(model.referenced):
        def put(graph, index=index):
            return replace(model, referenced=_swapped(model.referenced, index, graph))

        yield from _Graph(hal, f"referenced[{index}]", referenced, put).mutations()


def _swapped(items, index, item):
    return (*items[:index], item, *items[index + 1:])


def _without(items, index):
    return (*items[:index], *items[index + 1:])


def _dropped(indexes, operand):
    """Index list without an operand; those behind it move up."""
    return tuple(i - (i > operand) for i in indexes if i != operand)


class _Graph:
    """The mutations of one graph. put: function that returns the model with another graph in its place."""

    def __init__(self, hal, path, graph, put):
        self.path, self.graph, self.put = path, graph, put
        self.type_codes, self.operation_codes = CODES[hal]
        self.types = [kind for kind in TYPES if kind <= _NEWEST_TYPE.get(hal, kind)]
        self.has_unknown_rank = hal not in ("1.0", "1.1")
        self.read = {operand for operation in graph.operations for operand in operation.inputs}
        self.computed = {operand for operation in graph.operations for operand in operation.outputs}

    def mutations(self):
        for index, operand in enumerate(self.graph.operands):
            where = f"{self.path}.operand[{index}]"
            for rule, what, graph in self._operand(index, operand):
                yield Mutation(rule, f"{where} {what}", self.put(graph))
        for index, operation in enumerate(self.graph.operations):
            where = f"{self.path}.operation[{index}] {_O(operation.type).name}"
            for rule, what, graph in self._operation(index, operation):
                yield Mutation(rule, f"{where} {what}", self.put(graph))

    # -- rows 2 to 7, 10, 15 -----------------------------------------------------------------------------------------
    def _operand(self, index, operand):
        for rule, change in (("operand type", self._unknown_type), ("operand rank", self._rank),
                             ("operand scale", self._scale), ("operand zero point", self._zero_point)):
            for fields in change(operand):
                yield rule, _shown(fields), self._with_operand(index, **fields)
        yield from self._lifetimes(index, operand)
        for kind in self.types:
            if kind != operand.type and not self._may_become(index, kind):
                yield "type of an operation's operand", f"to {kind.name}", replace(
                    self.graph, operands=_swapped(self.graph.operands, index, consistent(operand, kind)))
        if index in self.read and not self._may_go(index):
            yield "operand removed", "", self._without_operand(index)

    def _with_operand(self, index, **fields):
        operands = self.graph.operands
        return replace(self.graph, operands=_swapped(operands, index, replace(operands[index], **fields)))

    def _unknown_type(self, operand):
        for code in self.type_codes:
            yield {"type": code}

    def _rank(self, operand):
        if operand.type in SCALAR_TYPES:
            yield {"dims": (0,)}
        elif not self.has_unknown_rank:
            yield {"dims": ()}

    @staticmethod
    def _scale(operand):
        bad = 0.0 if operand.type in QUANTIZED_TYPES and operand.type != _T.TENSOR_QUANT8_SYMM_PER_CHANNEL else 1.0
        yield {"scale": -1.0 if operand.type == _T.TENSOR_INT32 else bad}

    @staticmethod
    def _zero_point(operand):
        for value in _ZERO_POINTS.get(operand.type, (1,)):
            yield {"zero_point": value}

    def _lifetimes(self, index, operand):
        """Rows 6 (lists follow the lifetime) and 7 (they do not)."""
        zeros = _zeros(operand)
        if operand.lifetime in _WRITTEN:
            swap = [_L.SUBGRAPH_INPUT, _L.CONSTANT_COPY]
            stay = _L.TEMPORARY_VARIABLE if operand.lifetime == _L.SUBGRAPH_OUTPUT else _L.SUBGRAPH_OUTPUT
        elif operand.lifetime == _L.SUBGRAPH_INPUT:
            swap, stay = _WRITTEN, _L.CONSTANT_COPY
        elif operand.lifetime in CONSTANT_LIFETIMES:
            swap, stay = _WRITTEN, _L.SUBGRAPH_INPUT
        else:
            return
        for lifetime in swap:
            if lifetime == _L.CONSTANT_COPY and zeros is None:
                continue
            changed = self._with_operand(index, lifetime=lifetime, data=zeros if lifetime in CONSTANT_LIFETIMES
                                         else None)
            inputs, outputs = (tuple(i for i in places if i != index) for places in
                               (self.graph.inputs, self.graph.outputs))
            if lifetime == _L.SUBGRAPH_INPUT:
                inputs += (index,)
            elif lifetime == _L.SUBGRAPH_OUTPUT:
                outputs += (index,)
            yield "operand lifetime, lists adjusted", f"to {lifetime.name}", replace(changed, inputs=inputs,
                                                                                    outputs=outputs)
        if stay != _L.CONSTANT_COPY or zeros is not None:
            yield "operand lifetime, lists not adjusted", f"to {stay.name}", self._with_operand(
                index, lifetime=stay, data=zeros if stay == _L.CONSTANT_COPY else None)

    def _uses(self, index):
        """(operation, "input" or "output", place) of every use of an operand."""
        for operation in self.graph.operations:
            for role, places in (("input", operation.inputs), ("output", operation.outputs)):
                for place, operand in enumerate(places):
                    if operand == index:
                        yield operation, role, place

    def _may_become(self, index, kind):
        return any(kind in _FREE_TYPES.get((operation.type, role, place), ())
                   for operation, role, place in self._uses(index))

    def _may_go(self, index):
        for operation, role, place in self._uses(index):
            if operation.type in _FREE_OUTPUTS if role == "output" else _may_lack(operation, place):
                return True
        return False

    def _without_operand(self, index):
        graph = self.graph
        operations = tuple(Operation(o.type, _dropped(o.inputs, index), _dropped(o.outputs, index))
                           for o in graph.operations)
        return replace(graph, operands=_without(graph.operands, index), operations=operations,
                       inputs=_dropped(graph.inputs, index), outputs=_dropped(graph.outputs, index))

    # -- rows 1, 9, 11 to 14, 16 to 20 -------------------------------------------------------------------------------
    def _operation(self, index, operation):
        graph = self.graph
        rest = _without(graph.operations, index)
        if any(operand in self.computed for operand in operation.inputs):
            yield "execution order", "to the front", replace(graph, operations=(operation, *rest))
        if any(operand in self.read for operand in operation.outputs):
            yield "execution order", "to the end", replace(graph, operations=(*rest, operation))
        for place in range(len(operation.outputs)):
            yield "second writer", f"of output {place}", self._second_writer(operation, place)
        for code in self.operation_codes:
            yield "operation type", f"to {code}", self._with_operation(index, type=code)
        for role in ("inputs", "outputs"):
            yield from self._operation_lists(index, operation, role)
        for place, operand in enumerate(operation.outputs):
            if operand in self.read:
                fresh = self._grown(self._unread(operand))
                outputs = _swapped(operation.outputs, place, len(graph.operands))
                yield "missing writer", f"of output {place}", replace(fresh, operations=_swapped(
                    graph.operations, index, replace(operation, outputs=outputs)))
        yield "operation removed", "", replace(graph, operations=rest)
        yield from self._added(index, operation)

    def _operation_lists(self, index, operation, role):
        """Rows 12, 13 (an index that does not exist), 17, 18 (one operand less)."""
        places = getattr(operation, role)
        for place in range(len(places)):
            yield "operand index", f"{role} {place}", self._with_operation(
                index, **{role: _swapped(places, place, len(self.graph.operands))})
            if role == "outputs" or not _may_lack(operation, place):
                yield f"operation {role[:-1]} removed", str(place), self._with_operation(
                    index, **{role: _without(places, place)})

    def _added(self, index, operation):
        """Rows 19 and 20: one INT32 scalar more, which is an input or output of the graph too."""
        graph, new = self.graph, len(self.graph.operands)
        if len(operation.inputs) not in _EXTENSIBLE.get(operation.type, ()):
            yield "operation input added", "", replace(
                self._grown(Operand(_T.INT32, lifetime=_L.SUBGRAPH_INPUT)), inputs=(*graph.inputs, new),
                operations=_swapped(graph.operations, index, replace(operation, inputs=(*operation.inputs, new))))
        yield "operation output added", "", replace(
            self._grown(Operand(_T.INT32, lifetime=_L.SUBGRAPH_OUTPUT)), outputs=(*graph.outputs, new),
            operations=_swapped(graph.operations, index, replace(operation, outputs=(*operation.outputs, new))))

    def _with_operation(self, index, **fields):
        operations = self.graph.operations
        return replace(self.graph, operations=_swapped(operations, index, replace(operations[index], **fields)))

    def _second_writer(self, operation, place):
        """The operation again at the end; of its outputs only `place` is written twice."""
        fresh = [self._unread(operand) for at, operand in enumerate(operation.outputs) if at != place]
        new = iter(range(len(self.graph.operands), len(self.graph.operands) + len(fresh)))
        outputs = tuple(operand if at == place else next(new) for at, operand in enumerate(operation.outputs))
        return replace(self._grown(*fresh), operations=(*self.graph.operations, replace(operation, outputs=outputs)))

    def _unread(self, operand):
        return replace(self.graph.operands[operand], lifetime=_L.TEMPORARY_VARIABLE)

    def _grown(self, *operands):
        return replace(self.graph, operands=(*self.graph.operands, *operands))


def _may_lack(operation, place):
    """True when the operation may be valid without this input [NN 11.10].

    PACK, which is younger than that list, takes any number of tensors behind its axis.
    """
    count = len(operation.inputs)
    if operation.type in (_O.CONCATENATION, _O.PACK):
        axis = 0 if operation.type == _O.PACK else count - 1
        return count > 2 and place != axis
    return (place, count) in _OPTIONAL.get(operation.type, ())


def _shown(fields):
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def _zeros(operand):
    """Zeros for an operand that becomes a constant; None when its size is not known."""
    if operand.type not in DTYPES or (operand.type not in SCALAR_TYPES and (not operand.dims or 0 in operand.dims)):
        return None
    return np.zeros(operand.dims, operand.dtype)


def consistent(operand, kind):
    """The operand as another type, with dims, scale, zero point and scales made plausible [NN 11.9 row 10].

    A constant keeps its bytes, as in a HAL model: where their number fits, only the operation can object.
    """
    if kind in (_T.TENSOR_QUANT8_ASYMM_SIGNED, _T.SUBGRAPH):
        return _with_bytes(replace(operand, type=kind))
    if kind in SCALAR_TYPES:
        return _with_bytes(replace(operand, type=kind, dims=(), scale=0.0, zero_point=0))
    dims = operand.dims or (1,)
    if kind == _T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        return _with_bytes(replace(operand, type=kind, dims=dims, scale=0.0, zero_point=0,
                                   channel_quant=ChannelQuant(0, (1.0,) * dims[0])))
    if kind == _T.TENSOR_INT32:
        return _with_bytes(replace(operand, type=kind, dims=dims, zero_point=0))
    if kind in QUANTIZED_TYPES:
        return _with_bytes(replace(operand, type=kind, dims=dims, scale=operand.scale or 1.0))
    return _with_bytes(replace(operand, type=kind, dims=dims, scale=0.0, zero_point=0))


def _with_bytes(operand):
    data = operand.data
    if data is None or operand.type not in DTYPES or prod(operand.dims) * operand.dtype.itemsize != data.nbytes:
        return operand
    return replace(operand, data=data.reshape(-1).view(operand.dtype).reshape(operand.dims))
