"""What graphs keep besides tensors: resource variables and generators of random numbers, by name.

Every graph that uses one gets its value by an input of its own behind the file's, and gives it back by an output. IF
and WHILE pass these on, so that all graphs of a model share them; those of the main graph become Model.states.
"""

from typing import NamedTuple

import numpy as np

from ..errors import UnsupportedOperator
from ..model.types import LifeTime, Operand, OperandType, Operation, dtype_of, is_raw
from ..ops.own import BY_NAME
from ..record import replace


class Generator(NamedTuple):
    """Name of the generator of an operator that draws random numbers."""

    graph: int
    operator: int


class Held(NamedTuple):
    """What the graphs of a file that have run share: {name of a variable: value}, and numbers of the subgraphs of
    CALL_ONCE that have run.
    """

    values: dict
    done: frozenset


NOTHING_HELD = Held({}, frozenset())


def know(b, op, name, code, dims, scale=0.0, zero_point=0, label=""):
    """Note what the values of a variable are, if nothing is known yet: all graphs use the same type and dimensions."""
    initial = b.graphs.initial.get(name)
    if name in b.graphs.kept:
        return
    if initial is not None:
        dims = initial.shape or (1,)
        if initial.dtype.itemsize != dtype_of(code).itemsize:
            b.refuse(op, f"variable of {code.name} starts with values of {initial.dtype}, must be of its type")
    if not _can_be_kept(code, dims):
        b.refuse(op, f"variable of {code.name} {list(dims)} must have known dimensions and a type of NNAPI, one scale")
    b.graphs.kept[name] = Operand(code, tuple(dims), scale, zero_point, name=label)


def _can_be_kept(code, dims):
    return dims and 0 not in dims and code != OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL and \
        (not is_raw(getattr(code, "code", code)) or dtype_of(code) == np.int64)


def value_of(b, name):
    """Operand that holds a known variable at this point of the graph."""
    if name not in b.variables:
        b.variable_inputs[name], b.variables[name] = _input(b, b.graphs.kept[name])
    return b.variables[name]


def start_of(b, name):
    """Operand that a subgraph starts with for a variable: LiteRT prepares subgraphs anew for each operator that runs
    them, so that their generators start with 0 there.
    """
    return b.ints((0, 0)) if isinstance(name, Generator) else value_of(b, name)


def _input(b, kept):
    """(input operand, operand of its value): int64 comes into the model as pairs of int32, as states are of NNAPI."""
    if not b.is_main or dtype_of(kept.type) != np.int64:
        source = b.add(replace(kept, lifetime=LifeTime.SUBGRAPH_INPUT), b.inputs)
        return source, source
    pairs = Operand(OperandType.TENSOR_INT32, (*kept.dims, 2), lifetime=LifeTime.SUBGRAPH_INPUT, name=kept.name)
    source, target = b.add(pairs, b.inputs), b.temporary(kept.type, kept.dims, name=f"{kept.name}_wide")
    b.emit_own("TFL_BITCAST", (source,), (target,))
    return source, target


def states_of(b):
    """[(input operand, operand of the value after a run, first value or None)] of what the main graph keeps.

    What it only stores, other graphs of the file may read: its state is an input that nothing uses.
    """
    found = []
    for name, target in b.variables.items():
        value = b.operands[target]
        if name not in b.variable_inputs and _can_be_kept(value.type, value.dims):
            kept = b.graphs.kept[name] = Operand(value.type, value.dims, value.scale, value.zero_point, name=name[1])
            b.variable_inputs[name], _ = _input(b, kept)
            b.stored_only.add(name)
    for name, source in b.variable_inputs.items():
        before, target = b.operands[source], b.variables[name]
        after = b.operands[target]
        is_wide = after.dtype == np.int64 and before.dtype == np.int32 and before.dims[-1] == 2
        rank = len(before.dims) - is_wide
        if after.type != before.type and not is_wide or after.dims and len(after.dims) != rank:
            raise UnsupportedOperator("ASSIGN_VARIABLE", 0, f"variable {name[1]!r} changes its type or rank")
        initial = None if name in b.stored_only else b.graphs.initial.get(name)
        if initial is not None and initial.nbytes != before.nbytes:
            raise UnsupportedOperator("CALL_ONCE", 0, f"stores {list(initial.shape)} in variable {name[1]!r}, which "
                                                      f"was read before as {list(before.dims)}")
        copied = b.like(source, f"{before.name}_out")
        b.emit_own("TFL_BITCAST" if is_wide else "TFL_COPY", (target,), (copied,))
        found.append((source, copied, _first(initial, before)))
    return found


def _first(initial, before):
    if initial is None:
        return None
    first = np.array(initial).reshape(-1).view(before.dtype).reshape(before.dims)
    first.flags.writeable = False
    return first


def carried(b):
    """(names whose values come in, names whose values go out) of a graph that IF or WHILE run, in the order in which
    they stand behind its own inputs and outputs; adds the outputs.
    """
    stored = tuple(name for name, value in b.variables.items() if value != b.variable_inputs.get(name))
    for name in stored:
        target = b.like(b.variables[name], f"{b.graphs.kept[name].name}_out")
        b.emit_own("TFL_COPY", (b.variables[name],), (target,))
        b.mark_output(target, b.operands[target].name)
    return tuple(b.variable_inputs), stored


def passing(reference, names, stored, kept):
    """The Subgraph of a Reference, with the values of these names for inputs, and those of `stored` for outputs, behind
    its own; they include the graph's own. kept: Operand of each name.
    """
    graph = reference.graph
    operands, operations = list(graph.operands), list(graph.operations)
    counts = len(graph.inputs) - len(reference.reads), len(graph.outputs) - len(reference.writes)
    inputs, outputs = (dict(zip(own, places[count:])) for own, places, count in
                       ((reference.reads, graph.inputs, counts[0]), (reference.writes, graph.outputs, counts[1])))

    def added(name, lifetime):
        operands.append(replace(kept[name], lifetime=lifetime))
        return len(operands) - 1

    for name in names:
        if name not in inputs:
            inputs[name] = added(name, LifeTime.SUBGRAPH_INPUT)
    for name in stored:
        if name not in outputs:
            outputs[name] = added(name, LifeTime.SUBGRAPH_OUTPUT)
            operations.append(Operation(BY_NAME["TFL_COPY"], (inputs[name],), (outputs[name],)))
    return replace(graph, operands=tuple(operands), operations=tuple(operations),
                   inputs=(*graph.inputs[:counts[0]], *(inputs[name] for name in names)),
                   outputs=(*graph.outputs[:counts[1]], *(outputs[name] for name in stored)))
