"""Lists of tensors in loops: replaces the operators that converters emit for "list[i] = item" by one operation.

TensorFlow's loops keep a result for each round in a list, a tensor of one more dimension. Files spell "list[i] = item"
as CONCATENATION(list[:i], item, list[i + 1:]) with two SLICEs whose sizes are computed, so that each round has shapes
of its own and is planned anew. TFL_SET_ITEM has the shape of the list whatever i is.
"""

from collections import Counter

import numpy as np

from ..model.types import Operation
from ..ops.own import BY_NAME
from ..record import replace

_SAME_NUMBER = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "RANK_0", "RANK_1", "PACK")
"""Operations that pass a single number through."""


def with_items_set(graph):
    """The Subgraph with TFL_SET_ITEM for such a CONCATENATION, without what nothing else reads."""
    writer = {operand: operation for operation in graph.operations for operand in operation.outputs}
    operations = []
    for operation in graph.operations:
        found = _item(graph, writer, operation)
        operations.append(operation if found is None else
                          Operation(BY_NAME["TFL_SET_ITEM"], found, operation.outputs))
    if operations == list(graph.operations):
        return graph
    return _without_unread(replace(graph, operations=tuple(operations)), graph)


def _item(graph, writer, operation):
    """(list, item, index) of a CONCATENATION that puts an item into a list, else None."""
    if _name(operation) != "CONCATENATION" or len(operation.inputs) != 4:
        return None
    before, item, after, axis = operation.inputs
    parts = [graph.operands[k] for k in (before, item, after, *operation.outputs)]
    if _constant(graph, axis) != [0] or parts[1].dims[:1] != (1,) or \
            len({(part.type, part.scale, part.zero_point) for part in parts}) != 1:
        return None
    left, right = writer.get(before), writer.get(after)
    if left is None or right is None or _name(left) != "SLICE" or _name(right) != "SLICE" or \
            left.inputs[0] != right.inputs[0]:
        return None
    size, begin = (_head(graph, writer, k, fill) for k, fill in ((left.inputs[2], -1), (right.inputs[1], 0)))
    if size is None or begin is None or any(_constant(graph, left.inputs[1]) or [1]) or \
            set(_constant(graph, right.inputs[2]) or [0]) != {-1}:
        return None
    if not _is_next(graph, writer, _source(graph, writer, begin), _source(graph, writer, size)):
        return None
    return left.inputs[0], item, size


def _name(operation):
    return operation.type.name.removeprefix("TFL_")


def _constant(graph, operand):
    """Values of a small constant as a list; None for anything else."""
    record = graph.operands[operand]
    return record.data.reshape(-1).tolist() if record.is_constant and record.data.size <= 8 else None


def _head(graph, writer, operand, fill):
    """The first part, a single number, of a concatenated vector whose other elements all are `fill`; else None."""
    made = writer.get(operand)
    if made is None or _name(made) != "CONCATENATION" or len(made.inputs) != 3:
        return None
    first, others, _ = made.inputs
    is_one = graph.operands[first].dims == (1,) and graph.operands[first].dtype == np.int32
    return first if is_one and set(_constant(graph, others) or [None]) == {fill} else None


def _source(graph, writer, operand):
    """The operand that a single number comes from."""
    while operand in writer and _name(writer[operand]) in _SAME_NUMBER and graph.operands[operand].dims in ((), (1,)):
        operand = writer[operand].inputs[0]
    return operand


def _is_next(graph, writer, operand, number):
    """Whether an operand is a number plus 1."""
    made = writer.get(operand)
    if made is None or _name(made) != "ADD" or _constant(graph, made.inputs[2]) != [0]:
        return False
    terms = made.inputs[:2]
    return any(_source(graph, writer, x) == number and _constant(graph, y) == [1] for x, y in (terms, terms[::-1]))


def _without_unread(graph, before):
    """The graph without operations whose results only replaced ones read, and without their operands."""
    read = Counter(operand for operation in graph.operations for operand in operation.inputs)
    lost = Counter(operand for operation in before.operations for operand in operation.inputs) - read
    kept, gone, outputs = [], set(), set(graph.outputs)
    for operation in reversed(graph.operations):
        if any(k in lost for k in operation.outputs) and not any(read[k] or k in outputs for k in operation.outputs):
            gone.update(operation.outputs)
            lost.update(operation.inputs)
            read.subtract(operation.inputs)
        else:
            kept.append(operation)
    numbers = {k: place for place, k in enumerate(k for k in range(len(graph.operands)) if k not in gone)}

    def renumbered(operands):
        return tuple(numbers[k] for k in operands)

    operations = tuple(replace(o, inputs=renumbered(o.inputs), outputs=renumbered(o.outputs)) for o in reversed(kept))
    return replace(graph, operands=tuple(graph.operands[k] for k in numbers), operations=operations,
                   inputs=renumbered(graph.inputs), outputs=renumbered(graph.outputs))
