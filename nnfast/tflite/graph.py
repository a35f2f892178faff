"""A canonical graph under construction: its operands and operations, whatever file they come from."""

from math import prod

import numpy as np

from ..checks import shown
from ..errors import InvalidArgument
from ..model.types import (
    DTYPES,
    ChannelQuant,
    LifeTime,
    Operand,
    OperandType,
    Operation,
    OperationType,
)
from ..ops.own import BY_NAME as OWN_OPERATIONS
from ..record import replace
from .schema import TensorType

T = OperandType
MAX_CREATED = 1 << 24
"""Most elements of all constants that translation adds (missing biases); real models stay far below."""
MAX_ELEMENTS = (1 << 31) - 1
"""Most elements of one result."""
MOST_RANK = 4
"""Most dimensions of the tensors of NNAPI's operations."""


def frozen(array):
    """The array, read-only."""
    array.flags.writeable = False
    return array


def _numbers(values, dtype):
    try:
        return np.array(values, dtype)
    except OverflowError:
        raise InvalidArgument(f"needs {shown(values)}, which {np.dtype(dtype)} cannot hold") from None


class Graph:
    """Operands and operations, which are numbered as they are added, and those that are inputs and outputs.

    created: elements of all constants that were made up. `refuse` is that of a Builder.
    """

    def __init__(self):
        self.operands, self.operations = [], []
        self.inputs, self.outputs = [], []
        self.scalars, self.zeros = {}, {}
        self.created = 0

    def add(self, operand, *lists):
        """Add an operand, also to the given lists; returns its index."""
        self.operands.append(operand)
        index = len(self.operands) - 1
        for places in lists:
            places.append(index)
        return index

    def constant(self, array, code, scale=0.0, zero_point=0, name="", channel_quant=None):
        """Constant tensor over a read-only array; a single value gets rank 1."""
        array = array.reshape(array.shape or (1,))
        return self.add(Operand(code, array.shape, scale, zero_point, LifeTime.CONSTANT_REFERENCE, channel_quant,
                                array.view(DTYPES[code]), name))

    def check_symmetric(self, op, t):
        """Weights are int8 without zero points."""
        if t.type != TensorType.INT8 or not t.scales or min(t.scales) <= 0 or any(t.zero_points):
            self.refuse(op, f"tensor[{t.index}] {t.name!r} must be int8 with scales above 0 and zero points of 0")

    def channel_constant(self, op, t, channel_dim, shape=None):
        """TENSOR_QUANT8_SYMM_PER_CHANNEL over a constant int8 tensor, a single scale repeated."""
        self.check_symmetric(op, t)
        scales, count = t.scales, (shape or t.dims)[channel_dim]
        if len(scales) == 1:
            scales *= count
        elif t.channel_dim != channel_dim:
            self.refuse(op, f"tensor[{t.index}] has its scales along dimension {t.channel_dim}, must be {channel_dim}")
        array = t.array if shape is None else t.array.reshape(shape)
        return self.constant(array, T.TENSOR_QUANT8_SYMM_PER_CHANNEL, name=t.name,
                             channel_quant=ChannelQuant(channel_dim, scales))

    def ints(self, values, shape=None):
        """Constant TENSOR_INT32."""
        return self.constant(frozen(_numbers(values, np.int32).reshape(shape or (len(values),))), T.TENSOR_INT32)

    def reals(self, values):
        """Constant TENSOR_FLOAT32 of one dimension."""
        return self.constant(frozen(np.array(values, np.float32)), T.TENSOR_FLOAT32)

    def zero_values(self, op, code, count, scale=0.0):
        """Constant vector of zeros, for a bias that the file omits."""
        dtype = DTYPES[code]
        array = self.zeros.get((count, dtype))
        if array is None:
            self.created += count
            if not count or self.created > MAX_CREATED:
                self.refuse(op, f"has no bias, and one of {count} zeros is not possible")
            array = self.zeros[count, dtype] = frozen(np.zeros(count, dtype))
        return self.constant(array, code, scale)

    def _scalar(self, code, value):
        key = code, value
        if key not in self.scalars:
            data = frozen(_numbers(value, DTYPES[code]))
            self.scalars[key] = self.add(Operand(code, (), lifetime=LifeTime.CONSTANT_COPY, data=data))
        return self.scalars[key]

    def i32(self, value):
        return self._scalar(T.INT32, value)

    def bool(self, value):
        return self._scalar(T.BOOL, int(value))

    def real(self, code, value):
        """Float scalar that goes with tensors of type `code`."""
        return self._scalar(T.FLOAT16 if code == T.TENSOR_FLOAT16 else T.FLOAT32, value)

    def omitted(self, code, rank):
        """Operand for an omitted optional tensor; it keeps its type."""
        return self.add(Operand(code, (0,) * rank, lifetime=LifeTime.NO_VALUE))

    def temporary(self, code, dims, scale=0.0, zero_point=0, name="", channel_quant=None):
        return self.add(Operand(code, tuple(dims), scale, zero_point, channel_quant=channel_quant, name=name))

    def like(self, index, name="", dims=None):
        """A temporary of the type and quantization of another operand."""
        o = self.operands[index]
        return self.temporary(o.type, o.dims if dims is None else dims, o.scale, o.zero_point, name, o.channel_quant)

    def check_size(self, op, dims):
        if prod(d or 1 for d in dims) > MAX_ELEMENTS:
            self.refuse(op, f"result of shape {list(dims)} has more than {MAX_ELEMENTS} elements")

    def emit(self, code, inputs, outputs):
        self.operations.append(Operation(OperationType(code), tuple(inputs), tuple(outputs)))

    def emit_own(self, name, inputs, outputs):
        """Append an operation of nnfast's own by its name, or of a vendor by its Definition."""
        definition = OWN_OPERATIONS[name] if isinstance(name, str) else name
        self.operations.append(Operation(definition, tuple(inputs), tuple(outputs)))

    def reshape(self, op, source, code, dims, quant=(0.0, 0), target=None, name=""):
        """RESHAPE to dims with at most one unknown, of nnfast's own where a rank is above NNAPI's; returns the new
        operand (or the given target).
        """
        self.check_size(op, dims)
        if dims.count(0) > 1 or not dims:
            self.refuse(op, f"needs a RESHAPE to {list(dims)}, which has more than one unknown dimension")
        if target is None:
            target = self.temporary(code, dims, *quant, name=name)
        inputs = source, self.ints([d or -1 for d in dims])
        if max(len(self.operands[source].dims), len(dims)) > MOST_RANK:
            self.emit_own("TFL_RESHAPE", inputs, (target,))
        else:
            self.emit(OperationType.RESHAPE, inputs, (target,))
        return target

    def mark_output(self, index, name):
        """Make a result an output of the graph."""
        self.operands[index] = replace(self.operands[index], lifetime=LifeTime.SUBGRAPH_OUTPUT, name=name)
        self.outputs.append(index)
