"""Changes of a model that leave it one: other operations, types, shapes, quantization, operands, values and lifetimes.

A changed value of a message seldom gets past the reader. These changes reach what lies behind it: validation, inference
of shapes, planning and kernels. What depends on a changed fact (the size of a constant) follows it.
"""

from math import prod

import numpy as np

from ..model.types import CONSTANT_LIFETIMES, DTYPES, ChannelQuant, LifeTime, OperandType, OperationType
from ..record import replace
from .flat import other_shape
from .signed import FLOATS, NUMBERS

TYPES = [kind for kind in OperandType if kind in DTYPES]
OPERATIONS = list(OperationType)
LARGEST, MOST_SCALES = 1 << 12, 1 << 8
"""Elements of a constant, and scales of an operand, that changes make at most."""


def changed(model, random):
    """The model with one to three facts of one of its graphs changed; it may break any rule."""
    graphs = [model.main, *model.referenced]
    place = random.randrange(len(graphs))
    graph = graphs[place]
    for _ in range(random.choice((1, 1, 2, 3))):
        graph = random.choice(CHANGES)(graph, random)
    graphs[place] = replace(graph, operands=tuple(map(_fitted, graph.operands)))
    return replace(model, main=graphs[0], referenced=tuple(graphs[1:]))


def _fitted(operand):
    """The operand with as many bytes of constant data as its type and shape need, by repetition of those there are."""
    data, dtype = operand.data, DTYPES.get(operand.type)
    if operand.lifetime not in CONSTANT_LIFETIMES or data is None or dtype is None:
        return operand if data is None else replace(operand, data=None)
    if data.dtype == dtype and data.shape == operand.dims or not data.size:
        return operand
    if not 0 < prod(operand.dims) <= LARGEST:
        return operand
    whole = np.resize(np.ascontiguousarray(data).reshape(-1).view(np.uint8), prod(operand.dims) * dtype.itemsize)
    array = whole.view(dtype).reshape(operand.dims)
    array.flags.writeable = False
    return replace(operand, data=array)


def _with_operands(graph, changes):
    """changes: {index: operand}."""
    return replace(graph, operands=tuple(changes.get(place, o) for place, o in enumerate(graph.operands)))


def _with_operation(graph, place, operations):
    """The graph with these operations in the place of one."""
    return replace(graph, operations=(*graph.operations[:place], *operations, *graph.operations[place + 1:]))


def _alike(graph, field, random):
    """{index: operand} of one operand, or of all that have the same type or dims."""
    place = random.randrange(len(graph.operands))
    wanted = getattr(graph.operands[place], field)
    if random.random() < 0.4:
        return {place: graph.operands[place]}
    return {index: o for index, o in enumerate(graph.operands) if getattr(o, field) == wanted}


def _type(graph, random):
    kind = random.choice(TYPES)
    return _with_operands(graph, {place: replace(o, type=kind) for place, o in _alike(graph, "type", random).items()})


def _dims(graph, random):
    chosen = _alike(graph, "dims", random)
    dims = other_shape(next(iter(chosen.values())).dims, random)
    return _with_operands(graph, {index: replace(o, dims=tuple(dims)) for index, o in chosen.items()})


def _quantization(graph, random):
    changes = {}
    for place, operand in _alike(graph, "type", random).items():
        scale = random.choice((0.0, 0.5, 0.25, 1 / 128, 1e-3, 3.0, random.choice(FLOATS)))
        point = random.choice((0, 0, 3, -128, 128, random.choice(NUMBERS)))
        quant = operand.channel_quant
        if random.random() < 0.2 and operand.dims:
            dim = random.randrange(len(operand.dims))
            quant = ChannelQuant(dim, (scale,) * min(operand.dims[dim], MOST_SCALES))
        elif random.random() < 0.2:
            quant = None
        changes[place] = replace(operand, scale=scale, zero_point=point, channel_quant=quant)
    return _with_operands(graph, changes)


def _lifetime(graph, random):
    place = random.randrange(len(graph.operands))
    operand = graph.operands[place]
    lifetime = random.choice(list(LifeTime))
    data = operand.data
    if lifetime in CONSTANT_LIFETIMES and data is None and operand.type in DTYPES:
        data = np.zeros(1, DTYPES[operand.type])
    return _with_operands(graph, {place: replace(operand, lifetime=lifetime, data=data)})


def _value(graph, random):
    """Small or odd numbers in a constant."""
    constants = [place for place, o in enumerate(graph.operands) if o.data is not None and o.data.size]
    if not constants:
        return graph
    place = random.choice(constants)
    operand = graph.operands[place]
    data = np.array(operand.data)
    flat = data.reshape(-1)
    with np.errstate(all="ignore"):
        if data.dtype.kind == "f":
            flat[random.randrange(flat.size)] = random.choice(FLOATS)
        else:
            number = random.choice((0, 1, 2, 3, -1, -2, 127, -128, random.choice(NUMBERS)))
            flat[random.randrange(flat.size)] = np.array(number & (1 << 64) - 1, np.uint64).astype(data.dtype)
    data.flags.writeable = False
    return _with_operands(graph, {place: replace(operand, data=data)})


def _operation(graph, random):
    """Another operation on the same operands."""
    if not graph.operations:
        return graph
    place = random.randrange(len(graph.operations))
    return _with_operation(graph, place, [replace(graph.operations[place], type=random.choice(OPERATIONS))])


def _wiring(graph, random):
    """Other operands as inputs or outputs of an operation or of the graph; an operand or operation more or less."""
    if not graph.operations:
        return graph
    place = random.randrange(len(graph.operations))
    operation = graph.operations[place]
    match random.randrange(6):
        case 0:
            return replace(graph, operands=(*graph.operands, random.choice(graph.operands)))
        case 1:
            return _with_operation(graph, place, [operation] * random.choice((0, 2)))
        case _:
            whole = random.random() < 0.25
            holder = graph if whole else operation
            end = random.choice(("inputs", "inputs", "outputs"))
            ends = list(getattr(holder, end))
            at = random.randrange(len(ends) + 1)
            ends[at:at + random.randrange(2)] = [random.randrange(len(graph.operands))] * random.randrange(2)
            holder = replace(holder, **{end: tuple(ends)})
            return holder if whole else _with_operation(graph, place, [holder])


CHANGES = (_operation, _type, _type, _dims, _dims, _quantization, _lifetime, _value, _value, _wiring)
