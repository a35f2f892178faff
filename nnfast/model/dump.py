"""A model as Graphviz text, in the form of AOSP's GraphDump [NN 12.7]."""

from ..errors import one_line
from .types import LifeTime, OperandType, operation_name, type_name

_T = OperandType
_SHORT = {
    _T.FLOAT32: "F32", _T.INT32: "I32", _T.UINT32: "U32", _T.TENSOR_FLOAT32: "TF32", _T.TENSOR_INT32: "TI32",
    _T.TENSOR_QUANT8_ASYMM: "TQ8A", _T.OEM: "OEM", _T.TENSOR_OEM_BYTE: "TOEMB",
}
_LIFETIMES = {LifeTime.CONSTANT_COPY: ": COPY", LifeTime.CONSTANT_REFERENCE: ": REF", LifeTime.NO_VALUE: ": NO",
              LifeTime.SUBGRAPH: ": SUBGRAPH"}
_WITH_VALUE = frozenset((_T.FLOAT32, _T.INT32, _T.UINT32))


def to_dot(model, name=""):
    """Graphviz text of the main graph: operands and operations as nodes, uses as edges.

    name: for the first line; default: that of the model. Graphs of IF and WHILE are counted in a note, not drawn.
    """
    graph = model.main
    lines = [one_line(f"// {' '.join((name or model.name or 'model').split())}"), "digraph {"]
    if model.referenced:
        lines += [f"    // NOTE: {len(model.referenced)} subgraphs omitted", "    // To do: draw the subgraphs as well"]
    places = {}
    for role, operands in (("input", graph.inputs), ("output", graph.outputs)):
        for place, operand in enumerate(operands):
            places.setdefault(operand, f"{role}[{place}]")
    lines += [_operand(index, operand, places.get(index)) for index, operand in enumerate(graph.operands)]
    for index, operation in enumerate(graph.operations):
        lines += _operation(index, operation)
    return "\n".join([*lines, "}", ""])


def _operand(index, operand, place):
    style = "style=filled fillcolor=black fontcolor=white " if place else ""
    kind = _SHORT.get(operand.type) or type_name(operand.type)
    value = f" = {operand.data.reshape(-1)[0]:g}" if operand.type == _T.FLOAT32 and _is_shown(operand) else \
        f" = {operand.data.reshape(-1)[0]}" if _is_shown(operand) else ""
    dims = f"({'x'.join(map(str, operand.dims))})" if operand.dims else ""
    role = f" = {place}" if place else ""
    return f'    d{index} [{style}label="{index}{role}{_LIFETIMES.get(operand.lifetime, "")}\\n{kind}{value}{dims}"]'


def _is_shown(operand):
    return operand.type in _WITH_VALUE and operand.lifetime == LifeTime.CONSTANT_COPY


def _operation(index, operation):
    inputs, outputs = operation.inputs, operation.outputs
    most = max(len(inputs), len(outputs))
    ordering = "" if most <= 1 else " ordering=in" if len(inputs) == most else " ordering=out"
    yield f'    n{index} [shape=box{ordering} label="{index}: {operation_name(operation.type)}"]'
    for place, operand in enumerate(inputs):
        yield f"    d{operand} -> n{index}{f' [label={place}]' if len(inputs) > 1 else ''}"
    for place, operand in enumerate(outputs):
        yield f"    n{index} -> d{operand}{f' [label={place}]' if len(outputs) > 1 else ''}"
