"""STABLEHLO_COMPOSITE: inlines the subgraph of its decomposition."""

from ..record import replace
from .own import extends
from .rules import counts_of
from .schema import Builtin


@extends(Builtin.STABLEHLO_COMPOSITE)
def composite(b, op):
    """Translate every operator of the decomposition, on the composite's inputs and outputs."""
    index = op.options.decomposition_graph
    with b.graphs.inlining(b, op, index) as graph:
        counts = len(graph.inputs), len(graph.outputs)
        if counts != (len(op.inputs), len(op.outputs)) or -1 in (*op.inputs, *op.outputs):
            b.refuse(op, f"has {counts_of(len(op.inputs), len(op.outputs))}, its body has {counts[0]} and {counts[1]}")
        start = len(b.tensors)
        places = {k: start + k for k in range(len(graph.tensors))}
        b.tensors += [replace(t, index=start + t.index) for t in graph.tensors]
        written = {k for inner in graph.operators for k in inner.outputs}
        places |= {inner: outer for inner, outer in zip(graph.outputs, op.outputs) if inner in written}
        places |= dict(zip(graph.inputs, op.inputs))
        for inner in graph.operators:
            b.graphs.operator(b, replace(inner, inputs=tuple(places.get(k, -1) for k in inner.inputs),
                                         outputs=tuple(places.get(k, -1) for k in inner.outputs)))
        for inner, outer in zip(graph.outputs, op.outputs):
            if places[inner] != outer:
                source = b.operand(op, b.tensors[places[inner]])
                b.current[outer] = target = b.output(op, b.operands[source].dims, op.outputs.index(outer))
                b.emit_own("TFL_COPY", (source,), (target,))
