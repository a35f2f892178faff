"""Shape inference and constant folding during translation: shapes from shapes, small values from values.

Files say shapes, but those of an input that is to have another size do not hold, nor do those of ranks that a converter
did not know, and those of results may be left from another size. What operations infer holds, as in LiteRT.
"""

from contextlib import contextmanager, suppress
from math import prod

import numpy as np

from ..errors import Error, GeneralFailure, InvalidArgument
from ..model.types import LifeTime, operation_name
from ..ops.base import Node, Tensor, ValueUnknown
from ..ops.control_flow import ControlDef
from ..ops.registry import lookup
from ..record import replace

MAX_FOLDED = 4096
"""Most elements of a result that is folded during translation: shapes and parts of them."""
MOST_BESIDE_NOTHING = 1 << 59
"""Product of the other sizes where one is 0: numpy multiplies these even so."""


class StaleShape(Exception):
    """The file declares another shape for a result of an operator than follows from its inputs."""


class Follower:
    """Known shapes and values of the operands of a growing Builder graph.

    corrects: a declared shape that does not hold is replaced; otherwise StaleShape is raised for it.
    """

    def __init__(self, b):
        self.b, self.done, self.corrects = b, 0, False
        self._shapes, self._values, self._constants = {}, {}, {}

    def forget(self, operands, operations):
        """Forget operands and operations from these numbers on: they were undone, and the numbers may be reused."""
        for known in (self._shapes, self._values, self._constants):
            for operand in [operand for operand in known if operand >= operands]:
                del known[operand]
        self.done = min(self.done, operations)

    @contextmanager
    def correcting(self):
        """Context in which declared shapes are corrected."""
        before, self.corrects = self.corrects, True
        try:
            yield
        finally:
            self.corrects = before

    def follow(self, start=0):
        """Infer the operations added since the last call, from number `start` on. Raises nnfast.Error for operands that
        an operation does not accept.
        """
        for node in self._nodes(max(start, self.done)):
            self._look(node)
        self.done = len(self.b.operations)

    def check(self, start):
        """Infer the shapes, but no values, of operations from number `start` on. What an operation does not accept is
        left for the time when the model is prepared.
        """
        with suppress(Error):
            for node in self._nodes(start):
                self._shaped(node)

    def _nodes(self, start):
        """Nodes of the operations from number `start` on, except those of control flow."""
        for index in range(start, len(self.b.operations)):
            operation = self.b.operations[index]
            op = lookup(operation.type)
            if not isinstance(op, ControlDef):
                yield Node(op, f"operation[{index}] {operation_name(operation.type)}",
                           map(self._tensor, operation.inputs), map(self._tensor, operation.outputs),
                           arithmetic=self.b.arithmetic)

    def _tensor(self, operand):
        tensor = self._constants.get(operand)
        if tensor is not None:
            return tensor
        record = self.b.operands[operand]
        tensor = Tensor(operand, record.type, self._shapes.get(operand, record.shape), record.scale, record.zero_point,
                        record.channel_quant, self.value(operand), record.lifetime != LifeTime.NO_VALUE)
        if record.is_constant:
            self._constants[operand] = tensor
        return tensor

    def _shaped(self, node):
        """The shapes of a node's results, which are noted; None where they cannot be known."""
        op = node.op
        for place, (slot, tensor) in enumerate(zip(node.slots, node.inputs)):
            if not tensor.present and not slot.optional:
                raise InvalidArgument(f"{node.path} input {place} ({slot.name}): is omitted, must have a value")
        if op.validate is not None:
            op.validate(node)
        present = [t for t in node.inputs if t.present]
        if not all(t.is_known for t in present):
            return None
        if self.b.arithmetic != "litert" and op.zero_sized == "none" and any(0 in t.shape for t in present):
            raise GeneralFailure(f"{node.path}: takes a tensor without elements, which NNAPI does not")
        try:
            shapes = op.infer(node)
        except ValueUnknown:
            return None
        if not op.data_dependent:
            for place, (tensor, shape) in enumerate(zip(node.outputs, shapes)):
                self._settle(node, place, tensor, tuple(shape))
        return shapes

    def _look(self, node):
        op, shapes = node.op, self._shaped(node)
        if shapes is None:
            return
        present = [t for t in node.inputs if t.present]
        is_small = sum(prod(t.shape) for t in present) <= MAX_FOLDED and all(t.value is not None for t in present)
        if not op.data_dependent:
            is_small &= 0 < sum(map(prod, shapes)) <= MAX_FOLDED
        if is_small:
            with np.errstate(all="ignore"):
                arrays = op.compute(node, [t.value for t in node.inputs])
            for place, (tensor, array) in enumerate(zip(node.outputs, arrays)):
                if array.dtype != tensor.dtype:
                    raise GeneralFailure(f"{node.path} output {place}: the file says {tensor.dtype}, must be "
                                         f"{array.dtype}")
                self._shapes[tensor.operand], self._values[tensor.operand] = array.shape, array

    def _settle(self, node, place, tensor, shape):
        declared = tensor.shape
        if declared is not None and (len(declared) != len(shape) or
                                     any(d not in (None, s) for d, s in zip(declared, shape))):
            if tensor.channel_quant is not None:
                raise GeneralFailure(f"{node.path} output {place}: shape is {list(shape)}, the file says "
                                     f"{[d or 0 for d in declared]}, with a scale for each channel")
            if not self.corrects:
                raise StaleShape(f"{node.path} output {place}: shape is {list(shape)}, the file declares "
                                 f"{[d or 0 for d in declared]}")
            record = self.b.operands[tensor.operand]
            self.b.operands[tensor.operand] = replace(record, dims=shape if 0 not in shape else ())
        self.b.check_size(None, shape)
        self._shapes[tensor.operand] = shape

    def settle(self, operand, shape):
        """Note the shape of an operand, whose sizes of 0 are known."""
        self._shapes[operand] = tuple(shape)

    def shape(self, operand):
        """Shape of an operand, None if not completely known."""
        shape = self._shapes.get(operand, self.b.operands[operand].shape)
        return None if shape is None or None in shape else shape

    def value(self, operand):
        """Value of an operand, or None; that of a tensor without elements is known by its shape."""
        record, shape = self.b.operands[operand], self._shapes.get(operand, ())
        if self.b.arithmetic == "litert" and 0 in shape and prod(filter(None, shape)) < MOST_BESIDE_NOTHING:
            return np.empty(shape, record.dtype)
        return self._values.get(operand, record.data)


def learn(b, op, mark):
    """Set the file's tensors to the inferred shapes and values of an operator's results.

    mark: from Builder.mark before the operator was translated; if all results are known values, its translation is
    undone. Raises nnfast.Error.
    """
    b.follower.follow(mark[1])
    found = {index: b.rank_0.get(index, b.current[index]) for index in op.outputs if index in b.current}
    shapes = {index: b.follower.shape(operand) for index, operand in found.items()}
    values = {index: b.follower.value(operand) for index, operand in found.items()}
    if found and all(value is not None for value in values.values()):
        b.go_back(mark)
    for index, shape in shapes.items():
        if shape is None:
            continue
        t = b.tensors[index]
        is_scalar = shape == () or shape == (1,) and (t.dims == () or t.dims is None and _scalars_only(b, op))
        t = b.tensors[index] = replace(t, dims=() if is_scalar else shape)
        if index not in b.current:
            _fold(b, t, values[index])
        elif shape and 0 not in shape:
            record = b.operands[b.current[index]]
            b.operands[b.current[index]] = replace(record, dims=shape)


def _scalars_only(b, op):
    return all(b.tensors[index].dims == () for index in op.inputs if index != -1)


def _fold(b, t, value):
    """Make a tensor a constant of the file."""
    data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    data.flags.writeable = False
    b.tensors[t.index] = replace(t, data=data if data.size else None)
    b.created += value.size
