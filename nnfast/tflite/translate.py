"""Translates a file's subgraphs, each operator by its function in the table of translations."""

from contextlib import contextmanager, suppress
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from .. import pace, vlog
from ..errors import Error, InternalError, UnsupportedOperator, guarded
from ..forks import importing
from ..model.types import Definition, Model, OperationType, Subgraph
from ..record import record, replace
from .follow import StaleShape, learn
from .forms import form
from .lists import with_items_set
from .own import EXTENDED, coded, extensions_of, result
from .rules import TRANSLATIONS
from .schema import CUSTOM, Builtin
from .states import NOTHING_HELD, carried, passing, states_of

AREAS = (
    "conv", "elementwise", "shape", "quant", "binary", "unary", "reduce", "slice", "blocks", "recurrent", "select",
    "lookup", "bidirectional", "control", "detection",
)
"""Areas (translate_<area>.py) in the order in which an operator is looked up; frequent ones first."""
OWN_AREAS = ("own", "window", "stablehlo", "variables", "random", "strings", "composite", "custom")
"""Areas of operators that the standard lacks."""
PARTED_AREAS = "parts_moved", "parts_recurrent"
"""Modules beside parts.py of operators that are replaced by others."""
CHANNELS = {
    OperationType.CONV_2D: 1, OperationType.DEPTHWISE_CONV_2D: 1, OperationType.GROUPED_CONV_2D: 1,
    OperationType.TRANSPOSE_CONV_2D: 1, OperationType.DEQUANTIZE: 0,
}
"""Operations of the standard that take a computed tensor with a scale for each channel, and the place of that."""
UNBENT = {
    Builtin.ADD, Builtin.SUB, Builtin.MUL, Builtin.DIV, Builtin.CONV_2D, Builtin.DEPTHWISE_CONV_2D,
    Builtin.TRANSPOSE_CONV, Builtin.AVERAGE_POOL_2D, Builtin.MAX_POOL_2D, Builtin.L2_POOL_2D, Builtin.CONV_3D,
    Builtin.CONV_3D_TRANSPOSE,
}
"""Operators whose fused activations LiteRT applies as bounds of the results."""
CURVES = 4, 5
"""Fused activations that have no bounds: TANH, SIGN_BIT."""
MAX_DEPTH = 8
"""Deepest nesting of subgraphs; real files have a few levels."""
MOST_INLINED = 1 << 17
"""Most operators and tensors of inlined bodies; those of a malicious file may refer to each other."""


@record(frozen=True, slots=True, eq=False)
class Reference:
    """A subgraph of the file that operators call, with the variables that it uses (states.py).

    counts: numbers of the file's inputs and outputs; resources: name of the variable that each output of the file is,
    None for tensors, the only ones that the Subgraph has; reads, writes: names of variables that come in and go out.
    """

    index: int
    graph: Subgraph
    counts: tuple
    resources: tuple
    reads: tuple
    writes: tuple


class Graphs:
    """The subgraphs of a file under translation: the main one, and those that IF and WHILE reach.

    open_graph(index) -> (Builder, operators, output tensors); file_graph(index) -> FileGraph; count: how many subgraphs
    the file has; held: the Held variables of all graphs of the file that have run; strings: where those of the file
    are numbered, None if it may have none.
    """

    def __init__(self, open_graph, file_graph, count, held, strings):
        self.open_graph, self.file_graph, self.count = open_graph, file_graph, count
        self.referenced, self.references, self.places = [], {}, {}
        self.declared = {}  # dims that the inputs of subgraphs declare
        self.running, self.heights = [], {}
        self.initial, self.once, self.initialized = dict(held.values), {}, held.done
        self.kept, self.inlined = {}, 0
        self.strings, self.tables = strings, {}

    def translate(self, index):
        """(Subgraph, states) of the main graph."""
        builder, outputs = self._translated(index)
        states = builder.finish(outputs, states_of(builder))
        self.running.pop()
        return _subgraph(builder), states

    def _reference(self, index, parent, *outside):
        """The Reference of a subgraph. outside: tensors, names and shapes of inputs, as of Builder.inherit."""
        builder, outputs = self._translated(index, parent, outside)
        builder.finish(outputs)
        reads, writes = carried(builder)
        self.running.pop()
        parent.created, parent.widened = builder.created, builder.widened
        return Reference(index, with_items_set(_subgraph(builder)), (len(builder.file_inputs), len(outputs)),
                         tuple(map(builder.resources.get, outputs)), reads, writes)

    def _translated(self, index, parent=None, outside=()):
        """(Builder, output tensors) of a subgraph of the file that is not finished."""
        builder, operators, outputs = self.open_graph(index)
        builder.graphs = self
        if parent is not None:
            builder.created, builder.widened = parent.created, parent.widened
            builder.inherit(*outside)
        self.running.append(index)
        self.heights[index] = 1
        builder.start(operators, outputs)
        refused = []
        for op in operators:
            try:
                self.operator(builder, op)
            except UnsupportedOperator as error:
                refused.append((error.operator, error.index, error.reason))
                refused += error.others
                _skip(builder, op)
        if refused:
            raise UnsupportedOperator(*refused[0], others=refused[1:])
        return builder, outputs

    def operator(self, b, op):
        """Translate an operator, to operations of the standard if possible, else to our own.

        Shapes of its results that the file declares do not count where others follow from its inputs.
        """
        try:
            self._operator(b, op)
        except StaleShape as stale:
            if vlog.mask & vlog.MODEL:
                vlog.log(vlog.MODEL, "load %s: operator[%d] %s: %s", b.label, op.index, op.name, stale)
            b.forget_shapes(op)
            with b.follower.correcting():
                self._operator(b, op)

    def _operator(self, b, op):
        pace.step()
        op, before, first = _without_curve(b, op), b.mark(), None
        for find in (lambda key: form(b, op), translation, extension, parts):
            translate_one = find(_key(op))
            if translate_one is None:
                continue
            try:
                with guarded(f"operator[{op.index}] {op.name}", StaleShape):
                    translate_one(b, op)
                    _check_standard(b, op, before)
                    if b.is_learning or find is not translation or b.lacks_shape(op):
                        learn(b, op, before)
                    elif not b.is_verified(op):
                        b.follower.check(before[1])
                return
            except StaleShape:
                b.go_back(before)
                raise
            except InternalError:
                raise
            except UnsupportedOperator as error:
                first = first or error
            except Error as error:
                first = first or UnsupportedOperator(op.name, op.index, str(error))
            b.go_back(before)
        raise first or UnsupportedOperator(op.name, op.index, _reason(op))

    def initialize(self, b, op, index):
        """Store into `initial` what a subgraph that runs once assigns to variables, unless it has run; fill tables."""
        with self.inlining(b, op, index) as graph:
            inner, *_ = self.open_graph(index)
            inner.graphs, inner.initial, inner.is_learning = self, {}, True
            inner.created, inner.widened = b.created, b.widened
            if graph.inputs:
                b.refuse(op, f"runs subgraph {index} once, which has inputs, must have none")
            for operator in graph.operators:
                self.operator(inner, operator)
            b.created, b.widened = inner.created, inner.widened
        if index not in self.initialized:
            self.once[index] = inner.initial
            self.initial |= inner.initial

    def _count(self, b, op, *copied):
        self.inlined += sum(map(len, copied))
        if self.inlined > MOST_INLINED:
            b.refuse(op, "runs the same subgraphs too often")

    @contextmanager
    def inlining(self, b, op, index):
        """The FileGraph of a subgraph that is inlined for an operator, within the limits."""
        if not 0 < index < self.count or index in self.running:
            b.refuse(op, f"runs subgraph {index}, must be one of the {self.count - 1} behind the main one, and not its"
                         " own")
        if len(self.running) >= MAX_DEPTH:
            b.refuse(op, f"runs subgraphs inside each other, more than {MAX_DEPTH}, which is too deep")
        graph = self.file_graph(index)
        self._count(b, op, graph.operators, graph.tensors)
        self.running.append(index)
        try:
            yield graph
        finally:
            self.running.pop()

    def refer(self, b, op, index, tensors):
        """Reference of a subgraph that an operator calls on these tensors; translated once for the same variables and
        shapes.
        """
        if not 0 <= index < self.count or index in self.running:
            b.refuse(op, f"runs subgraph {index}, must be one of the {self.count - 1} beside the main one, and not its"
                         " own")
        # A subgraph translated before may contain further levels.
        if len(self.running) + self.heights.get(index, 1) > MAX_DEPTH:
            b.refuse(op, f"runs subgraphs inside each other, more than {MAX_DEPTH}, which is too deep")
        names, shapes = tuple(b.resources.get(t.index) for t in tensors), self._stale(index, tensors)
        key = index, names, shapes
        if key not in self.references:
            if any(names) or any(shapes):
                self._count(b, op, self.file_graph(index).tensors)
            depth = len(self.running)
            try:
                self.references[key] = self._reference(index, b, tensors, names, shapes)
            except UnsupportedOperator as error:
                found = (error.operator, error.index, error.reason), *error.others
                inner = [(name, place, f"in subgraph {index}: {reason}") for name, place, reason in found]
                raise UnsupportedOperator(*inner[0], others=inner[1:]) from None
            finally:
                del self.running[depth:]
        self.heights[b.graph] = max(self.heights[b.graph], self.heights[index] + 1)
        return self.references[key]

    def _stale(self, index, tensors):
        """Shapes of the tensors outside for inputs of a subgraph that declare others; None for all other inputs."""
        if index not in self.declared:
            graph = self.file_graph(index)
            self.declared[index] = [graph.tensors[k].dims for k in graph.inputs]
        return tuple(t.dims if t.dims and dims and 0 not in (*t.dims, *dims) and t.dims != dims else None
                     for t, dims in zip(tensors, self.declared[index]))

    def place(self, b, op, reference, names=(), stored=()):
        """Index in Model.referenced of a Reference with the values of `names` behind its inputs, and those of `stored`
        behind its outputs.
        """
        key = reference, names, stored
        if key not in self.places:
            graph = reference.graph
            if (names, stored) != (reference.reads, reference.writes):
                self._count(b, op, graph.operands, graph.operations)
                graph = passing(reference, names, stored, self.kept)
            self.places[key] = len(self.referenced)
            self.referenced.append(graph)
        return self.places[key]


def _subgraph(builder):
    return Subgraph(tuple(builder.operands), tuple(builder.operations), tuple(builder.inputs), tuple(builder.outputs))


def translation(key):
    """Function(builder, operator) of a builtin code or custom name, or None."""
    return _found(key, TRANSLATIONS, AREAS)


def extension(key):
    """As translation, for operators and forms that the standard lacks."""
    return _found(key, EXTENDED, OWN_AREAS)


def _found(key, registry, areas):
    """Import modules of areas until one has registered the key."""
    for area in areas:
        if key in registry:
            break
        with importing:
            import_module(f".translate_{area}", __package__)
    return registry.get(key)


def parts(key):
    """As translation, for operators that can be replaced by others."""
    with importing:
        from .parts import PARTED, Parts

        for area in PARTED_AREAS:
            import_module(f".{area}", __package__)
    return PARTED.get(key) and (lambda b, op: PARTED[key](Parts(b, op)))


def translate(open_graph, file_graph, count, name, main=0, arithmetic="litert", held=NOTHING_HELD,
              strings=None):
    """Canonical Model of a checked file.

    open_graph, file_graph, count, held, strings: as Graphs; name, arithmetic: the model's; main: number of the subgraph
    that is its main graph. Variables become inputs and outputs behind the file's own, tied by Model.states. Raises
    UnsupportedOperator for all operators without a translation, InvalidArgument for inputs and outputs that NNAPI
    cannot have.
    """
    graphs = Graphs(open_graph, file_graph, count, held, strings)
    # Scales of a damaged file may overflow float32; later checks reject the infinities.
    with np.errstate(all="ignore"):
        graph, states = graphs.translate(main)
    extensions = extensions_of(graph, *graphs.referenced)
    if extensions:
        graph, graphs.referenced = coded(graph, extensions), [coded(g, extensions) for g in graphs.referenced]
    return Model(graph, tuple(graphs.referenced), states=states, name=name, extensions=extensions,
                 arithmetic=arithmetic)


def _check_standard(b, op, mark):
    """Raise for operations of the standard on tensors that it lacks: a form of our own may accept them."""
    for operation in b.operations[mark[1]:]:
        if isinstance(operation.type, Definition) or operation.type in (OperationType.IF, OperationType.WHILE):
            continue
        for place, index in enumerate((*operation.inputs, *operation.outputs)):
            o = b.operands[index]
            if isinstance(o.type, Definition):
                b.refuse(op, f"works on numbers of {o.type.name}, {operation.type.name} does not")
            if o.channel_quant is not None and not o.is_constant and CHANNELS.get(operation.type) != place:
                b.refuse(op, f"works on {o.name!r} with a scale for each channel, {operation.type.name} does not")


def _without_curve(b, op):
    """The operator without a fused activation that LiteRT's kernels do not apply."""
    if b.arithmetic == "litert" and op.code in UNBENT and op.options.activation in CURVES:
        return replace(op, options=SimpleNamespace(**vars(op.options) | {"activation": 0}))
    return op


def _skip(b, op):
    """Treat the results of an unsupported operator as anything, so that later operators are checked too."""
    for index in op.outputs:
        if index != -1:
            with suppress(UnsupportedOperator):
                b.current[index] = result(b, op, op.outputs.index(index))


def _key(op):
    return op.custom if op.code == CUSTOM else op.code


def _reason(op):
    kind = "is a custom operator" if op.code == CUSTOM else "has no translation"
    return kind
