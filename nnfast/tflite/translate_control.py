"""Operators that call other subgraphs of the file: IF, WHILE."""

from ..checks import counted
from ..model.types import LifeTime, Operand, OperandType, OperationType
from ..record import replace
from .own import result
from .rules import counts_of, translates
from .schema import Builtin
from .states import Generator, start_of

T = OperandType


def _graph(b, op, index, tensors, outputs):
    """Reference of a subgraph, which must have these numbers of inputs and outputs."""
    inputs = len(tensors)
    reference = b.graphs.refer(b, op, index, tensors)
    found = reference.counts
    if found != (inputs, outputs):
        b.refuse(op, f"runs subgraph {index}, which has {counts_of(*found)}, must have {inputs} and {outputs}")
    return reference


def _operand(b, op, reference, names, stored=()):
    """Operand that refers to a subgraph with these variables."""
    place = b.graphs.place(b, op, reference, names, stored)
    return b.add(Operand(T.SUBGRAPH, lifetime=LifeTime.SUBGRAPH, subgraph=place))


def _check_flag(b, op, record, what):
    if record.type != T.TENSOR_BOOL8 or record.dims not in ((), (0,), (1,)):
        b.refuse(op, f"{what} is {record.type.name} {list(record.dims)}, must be one TENSOR_BOOL8")


def _check_fit(b, op, what, first, second):
    """Check operands for the same value inside and outside of a subgraph."""
    sides = [(record.type, record.scale, record.zero_point) for record in (first, second)]
    dims = first.dims, second.dims
    if sides[0] != sides[1] or all(dims) and (
            len(dims[0]) != len(dims[1]) or any(x and y and x != y for x, y in zip(*dims))):
        shown = " and ".join(f"{side[0].name} {list(d)} {side[1:]}" for side, d in zip(sides, dims))
        b.refuse(op, f"{what} is {shown} on the two sides of the subgraph, must agree")


def _start(b, op, first):
    """(tensors of the inputs from place `first` on, operands of those that are no variables)."""
    if -1 in (*op.inputs, *op.outputs) or len(op.inputs) < first:
        b.refuse(op, f"has {counted(len(op.inputs), 'input')}, must have {first} or more, none omitted")
    tensors = [b.tensor(op, place) for place in range(first, len(op.inputs))]
    return tensors, [b.any_operand(op, t) for t in tensors if t.index not in b.resources]


def _results(b, op, *references):
    """Operands of the outputs of an operator that runs one of these subgraphs; variables are noted.

    A shape that the file declares does not count where all subgraphs give another one.
    """
    outputs, graphs = [], [reference.graph for reference in references]
    for place, (index, name) in enumerate(zip(op.outputs, references[0].resources)):
        if name is not None:
            b.resources[index] = name
            continue
        found = {graph.operands[graph.outputs[len(outputs)]].dims for graph in graphs}
        dims = b.result(op, place).dims and found.pop()
        if dims and not found and 0 not in (*dims, *b.tensors[index].dims) and dims != b.tensors[index].dims:
            b.tensors[index] = replace(b.tensors[index], dims=dims)
        b.current[index] = result(b, op, place, (1,) if b.result(op, place).dims == () else None)
        outputs.append(b.current[index])
    return outputs


def _fit(b, op, reference, what, operands, results):
    """Check inputs and outputs of a subgraph against the operands outside."""
    graph = reference.graph
    for side, inner, outer in (("input", graph.inputs, operands), ("output", graph.outputs, results)):
        for place, (k, index) in enumerate(zip(inner, outer)):
            _check_fit(b, op, f"{side} {place} of the {what}", graph.operands[k], b.operands[index])


def _fit_variables(b, op, reference, what, names, values):
    """Check what a subgraph takes and leaves of variables against their values outside."""
    graph, outside = reference.graph, dict(zip(names, values))
    for name, index in outside.items():
        kept = b.graphs.kept[name]
        _check_fit(b, op, f"variable {kept.name!r} of the {what}", kept, b.operands[index])
    for own, places in ((reference.reads, graph.inputs), (reference.writes, graph.outputs)):
        for name, k in zip(own, places[len(places) - len(own):]):
            _check_fit(b, op, f"variable {b.graphs.kept[name].name!r} of the {what}", graph.operands[k],
                       b.operands[outside[name]])


def _union(*names):
    return tuple(dict.fromkeys(name for some in names for name in some))


def _emit(b, op, kind, inputs, results, stored, values):
    """Emit the operation; values: operands of the variables, those in `stored` first, whose next values follow the
    results.
    """
    after = [b.like(value, b.operands[value].name) for value in values[:len(stored)]]
    b.emit(kind, inputs, (*results, *after))
    b.variables |= {name: value for name, value in zip(stored, after) if not isinstance(name, Generator)}


@translates(Builtin.IF)
def if_(b, op):
    """IF; both branches take all inputs after the condition, and the variables of either."""
    tensors, inputs = _start(b, op, 1)
    condition = b.operand(op, b.tensor(op, 0))
    _check_flag(b, op, b.operands[condition], "condition")
    branches = [_graph(b, op, index, tensors, len(op.outputs)) for index in (op.options.then_graph,
                                                                             op.options.else_graph)]
    then, other = branches
    if then.resources != other.resources:
        b.refuse(op, "gives back variables that depend on the branch")
    stored = _union(then.writes, other.writes)
    names = _union(stored, then.reads, other.reads)
    values = [start_of(b, name) for name in names]
    outputs = _results(b, op, then, other)
    if not outputs and not stored:
        return  # nothing comes of either branch
    for reference, what in zip(branches, ("then branch", "else branch")):
        _fit(b, op, reference, what, inputs, outputs)
        _fit_variables(b, op, reference, what, names, values)
    graphs = [_operand(b, op, reference, names, stored) for reference in branches]
    _emit(b, op, OperationType.IF, (condition, *graphs, *inputs, *values), outputs, stored, values)


@translates(Builtin.WHILE)
def while_(b, op):
    """WHILE; every input is also an output. Variables that the loop only reads come behind those."""
    tensors, inputs = _start(b, op, 0)
    count = len(tensors)
    if len(op.outputs) != count:
        b.refuse(op, f"has {counts_of(count, len(op.outputs))}, must have as many")
    test = _graph(b, op, op.options.condition_graph, tensors, 1)
    body = _graph(b, op, op.options.body_graph, tensors, count)
    if test.writes:
        b.refuse(op, "changes variables, or draws random numbers, in its condition")
    if test.resources != (None,) or body.resources != tuple(b.resources.get(t.index) for t in tensors):
        b.refuse(op, "changes which variables its values are, or has one for its condition")
    _check_flag(b, op, test.graph.operands[test.graph.outputs[0]], "condition")
    stored = body.writes
    names = _union(stored, body.reads, test.reads)
    values = [start_of(b, name) for name in names]
    outputs = _results(b, op, body)
    if not outputs and not stored:
        b.refuse(op, "has no values and changes no variables")
    _fit(b, op, test, "condition", inputs, ())
    _fit(b, op, body, "body", inputs, outputs)
    for place, (x, y) in enumerate(zip(body.graph.inputs, body.graph.outputs[:len(outputs)])):
        _check_fit(b, op, f"value {place} of the body", body.graph.operands[x], body.graph.operands[y])
    for reference, what in ((test, "condition"), (body, "body")):
        _fit_variables(b, op, reference, what, names, values)
    graphs = _operand(b, op, test, names), _operand(b, op, body, names, stored)
    _emit(b, op, OperationType.WHILE, (*graphs, *inputs, *values), outputs, stored, values)
