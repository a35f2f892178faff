"""Operations of a graph as Nodes, with the operand facts known so far."""

from math import prod
from types import MappingProxyType

import numpy as np

from ..errors import GeneralFailure, InvalidArgument
from ..model.types import QUANTIZED_TYPES, LifeTime, operation_name
from ..ops.base import Node, Tensor
from ..ops.registry import lookup
from ..record import record

MAX_RANK = 64
"""Largest rank of a numpy array."""


@record(slots=True)
class Known:
    """Facts known about an operand: shape as in ops.base.Tensor, effective quantization, value, presence.

    folded: the value was computed during planning (folding.py), so no step writes it.
    """

    shape: tuple | None
    scale: float
    zero_point: int
    value: np.ndarray | None = None
    present: bool = True
    folded: bool = False


class _Operands(dict):
    """{operand: Known}, initialized from the graph on first access."""

    def __init__(self, operands, quantization):
        super().__init__()
        self._operands, self._quantization = operands, quantization

    def __missing__(self, operand):
        record = self._operands[operand]
        scale, zero_point = self._quantization.get(operand, (record.scale, record.zero_point))
        known = self[operand] = Known(record.shape, scale, zero_point, record.data if record.is_constant else None,
                                      record.lifetime != LifeTime.NO_VALUE)
        return known


class Facts:
    """Facts about the operands of a subgraph; starts from the model and grows as operations are inferred.

    quantization: {operand: (scale, zero point)} where the effective one differs from the declared one.
    """

    def __init__(self, model, graph, name="main", quantization=MappingProxyType({})):
        self.model, self.graph, self.name = model, graph, name
        self.of = _Operands(graph.operands, quantization)

    def path(self, index):
        """`main.operation[3] CONV_2D`."""
        return f"{self.name}.operation[{index}] {operation_name(self.graph.operations[index].type)}"

    def tensor(self, operand):
        """The operand as a Tensor."""
        record, known = self.graph.operands[operand], self.of[operand]
        return Tensor(operand, record.type, known.shape, known.scale, known.zero_point, record.channel_quant,
                      known.value, known.present, record.parameters)

    def node(self, index, present=True):
        """Node of operation `index`; raises InvalidArgument if it is unknown or its types match no signature.

        present: also raise for an omitted input that is not optional.
        """
        operation = self.graph.operations[index]
        op = lookup(operation.type)
        if op is None:
            raise InvalidArgument(f"{self.path(index)}: the operation is not supported")
        node = Node(op, self.path(index), map(self.tensor, operation.inputs), map(self.tensor, operation.outputs),
                    self.model.relaxed, self.model.arithmetic)
        for place, (slot, tensor) in enumerate(zip(node.slots, node.inputs)):
            if present and not tensor.present and not slot.optional:
                raise InvalidArgument(f"{node.path} input {place} ({slot.name}): is omitted, must have a value")
        return node

    def inputs_known(self, node):
        """True if the shapes of all present inputs are known."""
        return all(t.is_known for t in node.inputs if t.present)

    def settle(self, node, shapes):
        """Merge inferred output shapes with the declared ones [NN 13.3] and record them.

        The node keeps the inferred shapes, all of whose elements its steps write; where a declared size replaces an
        inferred 0, the operand is larger (`widened`).
        """
        for place, (tensor, computed) in enumerate(zip(node.outputs, shapes)):
            known, tensor.shape = self.of[tensor.operand], tuple(computed)
            known.shape = self.merged(node.path, place, tensor.operand, tensor.shape)
            check_bytes(node, place, known.shape)
        self.settle_quantization(node)

    def settle_quantization(self, node):
        """Record the effective quantization of an operation's outputs, which may differ from the declared one."""
        for place, tensor in enumerate(node.outputs):
            known = self.of[tensor.operand]
            known.scale, known.zero_point = self._quantization(node, place, tensor)
            tensor.scale, tensor.zero_point = known.scale, known.zero_point

    def merged(self, path, place, operand, computed):
        """Shape of output `place`: computed where the model leaves it open; declared in place of a 0 [NN 13.3], but not
        with LiteRT's arithmetic, where tensors without elements are as good as others.
        """
        declared = self.graph.operands[operand].shape
        if declared is None:
            return computed
        if len(declared) != len(computed):
            raise GeneralFailure(f"{path} output {place}: shape is {list(computed)}, the model declares rank "
                                 f"{len(declared)}")
        shape = []
        for c, d in zip(computed, declared):
            if d is not None and c not in (0, None, d):
                raise GeneralFailure(f"{path} output {place}: shape is {list(computed)}, the model declares "
                                     f"{[x or 0 for x in declared]}")
            shape.append(c if d is None or self.model.arithmetic == "litert" and c is not None else d)
        return tuple(shape)

    def widened(self, node):
        """The settled outputs of a node whose inferred shape is empty but whose declared one is not: no step writes
        them.
        """
        return [tensor for tensor in node.outputs if self.of[tensor.operand].shape != tensor.shape]

    def _quantization(self, node, place, tensor):
        """Scale and zero point that the operation computes for this output; a model output must declare the same."""
        rule = node.op.quant[place] if isinstance(node.op.quant, tuple) else node.op.quant
        free = tensor.type not in QUANTIZED_TYPES if rule == "same" else rule == "free" or tensor.type not in rule
        if free:
            return tensor.scale, tensor.zero_point
        if rule == "same":
            first = next(t for t in node.inputs if t.type == tensor.type)
            wanted = (first.scale, first.zero_point)
        else:
            wanted = rule[tensor.type]
        declared = (tensor.scale, tensor.zero_point)
        record = self.graph.operands[tensor.operand]
        if wanted != declared and record.lifetime == LifeTime.SUBGRAPH_OUTPUT:
            raise GeneralFailure(f"{node.path} output {place}: scale {declared[0]:g} and zero point {declared[1]}, "
                                 f"must be {wanted[0]:g} and {wanted[1]}")
        return wanted


def check_bytes(node, place, shape):
    """Raise GeneralFailure for an output whose byte size exceeds uint32 [NN 13.2], or that numpy cannot hold."""
    if len(shape) > MAX_RANK:
        raise GeneralFailure(f"{node.path} output {place}: rank is {len(shape)}, must be at most {MAX_RANK}")
    # Even with a zero dimension, numpy multiplies the others, so their product is limited too.
    size, limit = prod(d for d in shape if d) * node.outputs[place].dtype.itemsize, 1 << (62 if 0 in shape else 32)
    if size >= limit:
        raise GeneralFailure(f"{node.path} output {place}: shape {list(shape)} takes {size} bytes, must be less than "
                             f"{limit}")


def check_zero_sized(node):
    """Raise GeneralFailure for zero dimensions that the operation does not accept [NN 13.3]; LiteRT's accept all."""
    rule = node.op.zero_sized
    if rule == "any" or node.arithmetic == "litert":
        return
    for place, tensor in enumerate(node.inputs):
        if tensor.present and tensor.shape and 0 in tensor.shape:
            if rule == "batch" and place == 0 and 0 not in tensor.shape[1:]:
                continue
            raise GeneralFailure(f"{node.path} input {place}: shape {list(tensor.shape)} has a zero dimension, which "
                                 f"the operation does not accept")
