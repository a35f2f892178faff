"""What binding a request has to know of its model, prepared or not."""

from ..model.types import Definition, OperandType

CHECKED_TYPES = frozenset((OperandType.TENSOR_INT32, OperandType.INT32, OperandType.UINT32, OperandType.BOOL))
"""Types of indexes, sizes and flags: copied out of shared memory, as they must not change between check and use. The
same holds for types of extensions."""


def is_checked(operand):
    """True for operands (or TensorInfos) whose values must not change while an execution uses them."""
    return operand.type in CHECKED_TYPES or isinstance(operand.type, Definition)


class RequestForm:
    """The arguments of a valid graph.

    inputs, outputs: [(operand index, Operand)]. read_back: outputs not to be computed in memory that a client can
    change. results: {operand: shape} of the outputs for the declared input shapes, None if known only at execution.
    """

    def __init__(self, graph):
        self.inputs = tuple([(o, graph.operands[o]) for o in graph.inputs])
        self.outputs = tuple([(o, graph.operands[o]) for o in graph.outputs])
        self.read_back = _read_back(graph)
        self.results = None

    def twin(self):
        """The same for another prepared model, which is told from this one by its form."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


def _read_back(graph):
    """Outputs that an execution may read after it has written them.

    If any operation reads a computed checked value, these are all checked outputs: the value may be one of them, or
    share memory with one.
    """
    outputs = frozenset(o for o in graph.outputs if is_checked(graph.operands[o]))
    computed = {o for operation in graph.operations for o in operation.outputs if is_checked(graph.operands[o])}
    return outputs if any(computed.intersection(operation.inputs) for operation in graph.operations) else frozenset()
