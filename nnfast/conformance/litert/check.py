"""Every operator of a model beside LiteRT, from the same inputs: what `nnfast check` tells."""

from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import InvalidArgument
from ...litert.details import NUMPY_TYPES
from ...litert.interpreter import Interpreter
from ...tflite.reader import ModelFile
from .alone import inputs_of, run_alone
from .compare import BOUND, CARRIED, DIFFERS, SAME, SKIPPED, WITHIN, Difference, compare, distance
from .peer import Peer
from .samples import random_call

OWN = ("BUILTIN_WITHOUT_DEFAULT_DELEGATES",)
USUAL = ("AUTO",)
"""Resolvers with LiteRT's optimized kernels, and with XNNPACK, which keeps no intermediate results."""

_ORDER = SKIPPED, SAME, WITHIN, CARRIED, DIFFERS


@dataclass(slots=True)
class Row:
    """One output of one operator.

    index, operator: place and name of the operator in the file; tensor, name, dtype, shape: of its output (dtype and
    shape as LiteRT has them); bound: of floats, as a share of the largest value; difference: the worst of all calls.
    """

    index: int
    operator: str
    tensor: int
    name: str
    dtype: str = ""
    shape: tuple = ()
    bound: float = BOUND
    difference: Difference = Difference(SKIPPED, text="has no value in LiteRT, or none that is a number")

    def __str__(self):
        return f"operator {self.index} {self.operator}, tensor {self.tensor} {self.name!r}: {self.difference.text}"


@dataclass(slots=True)
class Report:
    """What came of a check.

    version, resolver: of LiteRT, and whose kernels it ran; calls: how many; rows: a Row for each output of each
    operator of the main subgraph; fused: whether the model gives the same outputs where intermediate results are not
    kept.
    """

    version: str
    resolver: str
    calls: int
    rows: list = field(default_factory=list)
    fused: bool = True

    @property
    def first(self):
        """The first Row that differs, or None."""
        return next((row for row in self.rows if row.difference.is_wrong), None)

    @property
    def is_well(self):
        return self.first is None and self.fused


class Subject:
    """A model file in nnfast's Interpreter.

    path: of the file; inputs: {input name: tensor index}, in the names of the file's signature where it has one.
    """

    def __init__(self, path):
        self.path, self.file = path, ModelFile(path)
        self.graph = self.file.graph(0)
        signature = next((s for s in self.file.signatures if s.graph == 0), None)
        names = {} if signature is None else {index: name for name, index in signature.inputs.items()}
        self.inputs = {names.get(index, self.graph.tensors[index].name): index for index in self.graph.inputs}
        self.details = {row["index"]: row for row in Interpreter(path).get_input_details()}

    @property
    def has_state(self):
        return any(t.is_variable for t in self.graph.tensors) or any(
            operator.name == "VAR_HANDLE" for operator in self.graph.operators)

    def has_numbers(self, tensor):
        """Whether a tensor holds numbers: LiteRT crashes when it is asked for the value of a resource."""
        return np.dtype(NUMPY_TYPES[self.graph.tensors[tensor].type]).kind in "biufc"

    def unwritten(self):
        """Tensors that LiteRT does not write: results of WHILE that nobody reads and that its body passes through."""
        read = set(self.graph.outputs).union(*(operator.inputs for operator in self.graph.operators))
        bodies = ((operator, self.file.graph(operator.options.body_graph)) for operator in self.graph.operators
                  if operator.name == "WHILE")
        return {tensor for operator, body in bodies
                for source, result, tensor in zip(body.inputs, body.outputs, operator.outputs)
                if source == result and tensor not in read}

    def random_calls(self, shapes, seed):
        """Inputs of one call, of two where the model has state.

        shapes: {tensor index: dimensions} of inputs that do not have the file's.
        """
        generator = np.random.default_rng(seed)
        wanted = [tuple(shapes.get(index, self.details[index]["shape"])) for index in self.graph.inputs]
        dtypes = [self.details[index]["dtype"] for index in self.graph.inputs]
        for index in self.graph.inputs:
            if not self.has_numbers(index):
                raise InvalidArgument(f"{self.path}: input {self.graph.tensors[index].name!r} holds no numbers")
        self._ready(dict(zip(self.graph.inputs, wanted)), keep=False)  # before memory is filled: bad files end here
        return [random_call(self.graph, wanted, dtypes, generator) for _ in range(1 + self.has_state)]

    def run(self, calls, tensors, keep):
        """Values of tensors after each call, {tensor index: array}; those without one are left out."""
        interpreter, found = self._ready({index: array.shape for index, array in calls[0].items()}, keep), []
        try:
            for call in calls:
                for index, array in call.items():
                    interpreter.set_tensor(index, array)
                interpreter.invoke()
                found.append({})
                for tensor in tensors:
                    try:
                        found[-1][tensor] = interpreter.get_tensor(tensor)
                    except ValueError:
                        continue
        except (RuntimeError, ValueError) as error:
            raise error.__cause__ or InvalidArgument(f"{self.path}: {error}") from None
        return found

    def _ready(self, shapes, keep):
        """An Interpreter with memory for inputs of these shapes, {tensor index: dimensions}."""
        interpreter = Interpreter(self.path, experimental_preserve_all_tensors=keep)
        try:
            for index, shape in shapes.items():
                interpreter.resize_tensor_input(index, shape)
            interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise error.__cause__ or InvalidArgument(f"{self.path}: {error}") from None
        return interpreter


def check(subject, calls, peer=None):
    """A Report of a Subject on inputs, one dict {tensor index: array} for each call; state goes from call to call.

    Where floats are beyond the bound, LiteRT's own kernels are asked how far they are from its reference, and their
    distance becomes the bound. Operators that differ still run once more by themselves, on LiteRT's values of their
    inputs: those that then do not differ only carry on what an earlier one has begun. peer: a Peer. Raises
    InvalidArgument, also where LiteRT is not there or does not run the model.
    """
    peer = peer or Peer()
    rows = [Row(operator.index, operator.custom or operator.name, tensor, subject.graph.tensors[tensor].name)
            for operator in subject.graph.operators for tensor in operator.outputs if tensor >= 0]
    tensors = [row.tensor for row in rows if subject.has_numbers(row.tensor)]
    outputs = list(subject.graph.outputs)
    ours = subject.run(calls, tensors, keep=True)
    unwritten = subject.unwritten()
    theirs = peer.run(subject.path, calls, [tensor for tensor in tensors if tensor not in unwritten])
    report = Report(peer.version, peer.resolver, len(calls), rows)
    for row in rows:
        _judge(row, ours, theirs)
    far = [row for row in rows if row.difference.is_wrong and np.dtype(row.dtype).kind in "fc"]
    if far:
        _widen(far, subject, calls, theirs, peer)
        for row in far:
            _judge(row, ours, theirs)
    _find_carried(rows, subject, calls, theirs)
    plain = subject.run(calls, outputs, keep=False)
    bounds = {row.tensor: row.bound for row in rows}
    report.fused = all(compare(now[t], kept[t], bounds.get(t, BOUND)).verdict in (SAME, WITHIN)
                       for now, kept in zip(plain, ours) for t in outputs if t in now and t in kept)
    return report


def _judge(row, ours, theirs):
    """Fill in the worst difference of all calls."""
    found = []
    for mine, reference in zip(ours, theirs):
        if row.tensor not in reference:
            continue
        value = reference[row.tensor]
        row.dtype, row.shape = str(value.dtype), value.shape
        found.append(compare(mine[row.tensor], value, row.bound) if row.tensor in mine else
                     Difference(SKIPPED, value.size, text="is not computed by itself"))
    if found:
        row.difference = max(found, key=lambda difference: _ORDER.index(difference.verdict))


def _widen(rows, subject, calls, theirs, peer):
    """Raise the bound of rows to the distance of LiteRT's own kernels from its reference, where that is larger."""
    version, resolver = peer.version, peer.resolver
    tensors = [row.tensor for row in rows]
    outputs = [tensor for tensor in tensors if tensor in subject.graph.outputs]
    for wanted, resolvers, preserve in ((tensors, OWN, True), (outputs, USUAL, False)):
        if not wanted:
            continue
        try:
            own = peer.run(subject.path, calls, wanted, resolvers, preserve)
        except InvalidArgument:  # these kernels do not run the model: no bound of theirs
            continue
        for row in rows:
            row.bound = max([row.bound, *(distance(mine[row.tensor], reference[row.tensor]) or 0
                                          for mine, reference in zip(own, theirs) if row.tensor in mine)])
    peer.version, peer.resolver = version, resolver


def _find_carried(rows, subject, calls, theirs):
    """Mark rows that differ only because their operators' inputs do."""
    wrong = [row for row in rows if row.difference.is_wrong]
    operators = {operator.index: operator for operator in subject.graph.operators}
    for index in dict.fromkeys(row.index for row in wrong):
        own = [row for row in wrong if row.index == index]
        found = [_alone(subject, operators[index], {**reference, **call}) for call, reference in zip(calls, theirs)]
        for row in own:
            if all(mine is not None and not compare(mine[row.tensor], reference[row.tensor]).is_wrong
                   for mine, reference in zip(found, theirs)):
                row.difference = replace(row.difference, verdict=CARRIED)


def _alone(subject, operator, values):
    """Outputs of an operator on these values of its inputs, None where it cannot be run by itself."""
    inputs = inputs_of(subject.graph, operator)
    if inputs is None or any(index not in values for index in inputs):
        return None
    try:
        return run_alone(subject.path, operator, {index: values[index] for index in inputs})
    except (RuntimeError, ValueError):
        return None
