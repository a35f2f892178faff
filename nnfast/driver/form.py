"""What a request for a model looks like: all that binding one has to know, of a model that is prepared or not."""

from ..model.types import Definition, OperandType

CHECKED_TYPES = frozenset((OperandType.TENSOR_INT32, OperandType.INT32, OperandType.UINT32, OperandType.BOOL))
"""Indexes, sizes and flags: taken out of shared memory once: they must not change between check and use; so is what
an extension gives a meaning to."""


def is_checked(operand):
    """True for operands whose values must not change while an execution uses them; for TensorInfos likewise."""
    return operand.type in CHECKED_TYPES or isinstance(operand.type, Definition)


class RequestForm:
    """The arguments of a valid graph.

    inputs, outputs: [(operand index, Operand)]. read_back: outputs that must not be computed in memory which a client
    can change. results: {operand: shape} of the outputs for the declared shapes of the inputs, None where only an
    execution gives them.
    """

    def __init__(self, graph):
        self.inputs = tuple([(o, graph.operands[o]) for o in graph.inputs])
        self.outputs = tuple([(o, graph.operands[o]) for o in graph.outputs])
        self.read_back = _read_back(graph)
        self.results = None


def _read_back(graph):
    """Outputs that an execution may rely on after it has written them.

    That is so for all checked outputs once an operation reads any checked value that was computed: it may be an output,
    or lie where one does.
    """
    outputs = frozenset(o for o in graph.outputs if is_checked(graph.operands[o]))
    computed = {o for operation in graph.operations for o in operation.outputs if is_checked(graph.operands[o])}
    return outputs if any(computed.intersection(operation.inputs) for operation in graph.operations) else frozenset()
