"""The walk over a file's subgraphs: each operator through its entry in the table of translations."""

from importlib import import_module

import numpy as np

from ..errors import UnsupportedOperator
from ..forks import importing
from ..model.types import Model, Subgraph
from .builder import TRANSLATIONS
from .schema import CUSTOM

AREAS = (
    "conv", "elementwise", "shape", "quant", "binary", "unary", "reduce", "slice", "blocks", "recurrent", "select",
    "lookup", "bidirectional", "control", "detection",
)
"""The files translate_<area>.py, in the order in which an operator is looked for; frequent ones first."""
MAX_DEPTH = 8
"""Subgraphs inside each other; real files have a few."""
_VARIABLES = "keeps its state in a resource, which starts with what another subgraph of the file stores in it"
REFUSED = {
    "CALL_ONCE": "fills resources by another subgraph of the file, NNAPI has no resources",
    "ASSIGN_VARIABLE": _VARIABLES, "READ_VARIABLE": _VARIABLES, "VAR_HANDLE": _VARIABLES,
    "COS": "is not an operation of NNAPI, and SIN of a shifted input rounds differently",
    "ROUND": "rounds halves to even, NNAPI has FLOOR only",
}
"""Builtin operators that NNAPI comes close to -> why they are refused."""


class Graphs:
    """The subgraphs of a file under translation: the main one, and those that IF and WHILE reach.

    open_graph(index) -> (Builder, operators, output tensors); count: how many subgraphs the file has.
    """

    def __init__(self, open_graph, count):
        self.open_graph, self.count = open_graph, count
        self.referenced, self.places = [], {}
        self.running, self.heights = [], {}

    def translate(self, index, parent=None):
        """(Subgraph, states) of one subgraph of the file."""
        builder, operators, outputs = self.open_graph(index)
        builder.graphs = self
        if parent is not None:
            builder.created, builder.widened = parent.created, parent.widened
        for op in operators:
            if translation(_key(op)) is None:
                raise UnsupportedOperator(op.name, op.index, _reason(op))
        self.running.append(index)
        self.heights[index] = 1
        builder.start()
        for op in operators:
            TRANSLATIONS[_key(op)](builder, op)
        states = builder.finish(outputs)
        self.running.pop()
        if parent is not None:
            parent.created, parent.widened = builder.created, builder.widened
        return Subgraph(tuple(builder.operands), tuple(builder.operations), tuple(builder.inputs),
                        tuple(builder.outputs)), states

    def refer(self, b, op, index):
        """Place among Model.referenced of a subgraph that an operator runs; each is translated once."""
        if not 0 < index < self.count or index in self.running:
            b.refuse(op, f"runs subgraph {index}, must be one of the {self.count - 1} behind the main one, and not its"
                         " own")
        # What is translated already may be deep itself.
        if len(self.running) + self.heights.get(index, 1) > MAX_DEPTH:
            b.refuse(op, f"runs subgraphs inside each other, more than {MAX_DEPTH}, which is too deep")
        if index not in self.places:
            try:
                graph, _ = self.translate(index, b)
            except UnsupportedOperator as error:
                inner = f"in subgraph {index}: {error.reason}"
                raise UnsupportedOperator(error.operator, error.index, inner) from None
            self.places[index] = len(self.referenced)
            self.referenced.append(graph)
        self.heights[b.graph] = max(self.heights[b.graph], self.heights[index] + 1)
        return self.places[index]


def translation(key):
    """Function(builder, operator) of a builtin code or custom name, or None. Files are imported until one has it."""
    for area in AREAS:
        if key in TRANSLATIONS:
            break
        with importing:
            import_module(f".translate_{area}", __package__)
    return TRANSLATIONS.get(key)


def translate(open_graph, count, name):
    """Canonical Model of a checked file.

    open_graph, count: as Graphs; name: the model's. Variables become inputs and outputs behind the file's own, tied by
    Model.states. Raises UnsupportedOperator for the first operator without a translation, InvalidArgument for inputs
    and outputs that NNAPI cannot have.
    """
    graphs = Graphs(open_graph, count)
    # Scales out of a damaged file may overflow float32; the rules that follow refuse the infinities.
    with np.errstate(all="ignore"):
        main, states = graphs.translate(0)
    return Model(main, tuple(graphs.referenced), states=states, name=name)


def _key(op):
    return op.custom if op.code == CUSTOM else op.code


def _reason(op):
    kind = "is a custom operator" if op.code == CUSTOM else "has no translation"
    return REFUSED.get(op.name) or f"{kind}; NNAPI models hold the standard's operations only"
