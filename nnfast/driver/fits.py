"""Operations that can never fit a memory limit, which getSupportedOperations must not promise.

If the constants of a model come near the limit, it is planned as by prepare, and the plan's packed weights, tables and
working memory count. If they exceed it by themselves, or shapes are not known yet, the constants' own sizes are the
estimate: packing makes most of them a little larger.
"""

from math import prod

from .._native.engine import UNLIMITED
from ..compiler.planner import Planner
from ..engine.budget import Budget
from ..engine.resources import Resources
from ..engine.segment import ROW_BYTES, Segment
from ..errors import Error
from ..model.types import LifeTime

PACKING = 8
"""Upper bound of the factor by which packing enlarges weights."""


class _Unknown(Exception):
    """Planning needs a value that is known only at execution."""


def beyond_limit(model, device, held, refused):
    """{operation index: reason} of the main graph's operations that exceed the device's budget; the model is resolved.

    held: bytes taken beside the plan while the model is prepared; refused: operations that are unsupported anyway.
    """
    limit, name = device.budget.smallest()
    operations = model.main.operations
    weights, working = _weights(model), [_temporaries(model.main, operation) for operation in operations]
    needed = sum(nbytes for index, nbytes in weights.items() if index not in refused)
    if held + PACKING * needed + sum(working) <= limit:
        return {}
    if held + needed <= limit and not refused:
        plan = _planned(model, limit, device)
        if plan is not None:
            needed = plan.held_bytes + plan.arena_bytes + plan.scratch * device.num_threads
            if held + needed <= limit:
                return {}
            weights = {row["index"]: ROW_BYTES + row["packed_bytes"] for row in plan.rows}
            most = max(1, *working)
            working = [(plan.arena_bytes + plan.scratch * device.num_threads) * nbytes // most for nbytes in working]
    reasons, used, peak = {}, held, 0
    for index, nbytes in enumerate(working):
        if index in refused:
            continue
        total = used + weights.get(index, 0) + max(peak, nbytes)
        if total > limit:
            reasons[index] = (f"main.operation[{index}] {_type(operations[index])}: with the operations before it, it "
                              f"needs {total} bytes of weights and working memory, {name} is {limit}; raise the limit "
                              f"or use a smaller model")
        else:
            used, peak = used + weights.get(index, 0), max(peak, nbytes)
    return reasons


def _type(operation):
    return getattr(operation.type, "name", operation.type)


def _planned(model, limit, device):
    """The plan of a model whose shapes are all known, else None. Planned with PACKING times the limit."""
    def unknown(operand):
        raise _Unknown

    graph = model.main
    shapes = {operand: graph.operands[operand].shape for operand in graph.inputs}
    if any(shape is None or None in shape for shape in shapes.values()):
        return None
    resources = Resources(device.num_threads, None, Budget(min(PACKING * limit, UNLIMITED)), device.precision,
                          without_passes=device.without_passes)
    try:
        segment = Planner(model, graph, "main", resources).segment(0, shapes, unknown)
    except (_Unknown, Error):
        return None
    return segment if segment.complete and isinstance(segment, Segment) else None


def _weights(model):
    """{operation index: bytes of its tables and constants}; a constant counts where it is first read."""
    known = {}
    return {index: ROW_BYTES + sum(nbytes)
            for index, nbytes in enumerate(_constants(model, model.main, known, set()))}


def _constants(model, graph, known, seen):
    """Yield, per operation, the bytes of each constant that no earlier one has read. known: {subgraph: bytes}."""
    for operation in graph.operations:
        found = []
        for operand in operation.inputs:
            record = graph.operands[operand]
            if record.lifetime == LifeTime.SUBGRAPH:
                if record.subgraph not in known:
                    inner = model.referenced[record.subgraph]
                    known[record.subgraph] = 0
                    known[record.subgraph] = sum(ROW_BYTES + sum(one) for one in
                                                 _constants(model, inner, known, set()))
                    found.append(known[record.subgraph])
            elif record.is_constant and operand not in seen:
                seen.add(operand)
                found.append(0 if record.data is None else record.data.nbytes)
        yield found


def _temporaries(graph, operation):
    """Bytes of the temporaries that an operation reads and writes, as far as their shapes are known."""
    total = 0
    for operand in {*operation.inputs, *operation.outputs}:
        record = graph.operands[operand]
        if record.lifetime == LifeTime.TEMPORARY_VARIABLE and record.shape is not None and None not in record.shape:
            total += prod(record.shape) * record.dtype.itemsize
    return total
