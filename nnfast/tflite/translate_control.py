"""Operators that call other subgraphs of the file: IF, WHILE."""

from ..model.types import LifeTime, Operand, OperandType, OperationType
from .builder import translates
from .schema import Builtin

T = OperandType


def _graph(b, op, index, tensors, outputs):
    """(operand that refers to a subgraph, the subgraph), which must have these numbers of inputs and outputs."""
    place = b.graphs.refer(b, op, index, tensors)
    inputs = len(tensors)
    graph = b.graphs.referenced[place]
    found = len(graph.inputs), len(graph.outputs)
    if found != (inputs, outputs):
        b.refuse(op, f"runs subgraph {index}, which has {found[0]} inputs and {found[1]} outputs, must have {inputs}"
                     f" and {outputs}")
    return b.add(Operand(T.SUBGRAPH, lifetime=LifeTime.SUBGRAPH, subgraph=place)), graph


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
    """Operands of the inputs from place `first` on."""
    if not op.outputs or -1 in (*op.inputs, *op.outputs) or len(op.inputs) <= first:
        b.refuse(op, f"has {len(op.inputs)} inputs and {len(op.outputs)} outputs, must have {first + 1} and 1 or more,"
                     " none omitted")
    return [b.operand(op, b.tensor(op, place)) for place in range(first, len(op.inputs))]


def _fit(b, op, graph, what, operands, results):
    """Check inputs and outputs of a subgraph against the operands outside."""
    for side, inner, outer in (("input", graph.inputs, operands), ("output", graph.outputs, results)):
        for place, (k, record) in enumerate(zip(inner, outer)):
            _check_fit(b, op, f"{side} {place} of the {what}", graph.operands[k], record)


@translates(Builtin.IF)
def if_(b, op):
    """IF; both branches take all inputs after the condition."""
    inputs = _start(b, op, 1)
    condition = b.operand(op, b.tensor(op, 0))
    _check_flag(b, op, b.operands[condition], "condition")
    sides = [b.tensor(op, place) for place in range(1, len(op.inputs))], len(op.outputs)
    branches = [_graph(b, op, index, *sides) for index in (op.options.then_graph, op.options.else_graph)]
    outputs = [b.output(op, (), place) for place in range(len(op.outputs))]
    for (_, graph), what in zip(branches, ("then branch", "else branch")):
        _fit(b, op, graph, what, [b.operands[k] for k in inputs], [b.operands[k] for k in outputs])
    b.emit(OperationType.IF, (condition, *(operand for operand, _ in branches), *inputs), outputs)


@translates(Builtin.WHILE)
def while_(b, op):
    """WHILE; every input is also an output."""
    inputs, count = _start(b, op, 0), len(op.inputs)
    if len(op.outputs) != count:
        b.refuse(op, f"has {count} inputs and {len(op.outputs)} outputs, must have as many")
    tensors = [b.tensor(op, place) for place in range(count)]
    condition, test = _graph(b, op, op.options.condition_graph, tensors, 1)
    body, graph = _graph(b, op, op.options.body_graph, tensors, count)
    _check_flag(b, op, test.operands[test.outputs[0]], "condition")
    outputs = [b.output(op, (), place) for place in range(count)]
    outside = [b.operands[k] for k in inputs]
    _fit(b, op, test, "condition", outside, ())
    _fit(b, op, graph, "body", outside, [b.operands[k] for k in outputs])
    for place, (x, y) in enumerate(zip(graph.inputs, graph.outputs)):
        _check_fit(b, op, f"value {place} of the body", graph.operands[x], graph.operands[y])
    b.emit(OperationType.WHILE, (condition, body, *inputs), outputs)
