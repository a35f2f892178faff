"""From the tensors of a subgraph of a file to a canonical graph: what every translation of an operator works on."""

from math import prod

import numpy as np

from ..errors import Error, InvalidArgument
from ..model.types import LifeTime, Operand, OperandType, State
from ..record import replace
from .follow import Follower, StaleShape
from .graph import MAX_CREATED, Graph, frozen
from .narrow import block_scales, is_narrow, products, real, widened
from .rules import FLOATS_QUANT8_INT, OPERAND_TYPES, Rules
from .schema import DTYPES as FILE_DTYPES
from .schema import TensorType
from .sparse import densified

T = OperandType


class Builder(Rules, Graph):
    """A Graph addressed by the file's tensors.

    `tensors` may change as translation goes on: a folded DEQUANTIZE turns its output into a constant.
    """

    def __init__(self, tensors, inputs, names, label, size, graph=0, is_main=True,
                 arithmetic="litert"):
        """tensors: FileTensors; inputs: indexes of the graph's; names: signature names of inputs and of outputs by
        tensor index; label, size: the file's name for messages and its bytes; graph: number of the subgraph; is_main:
        whether it becomes the model's main graph; arithmetic: the model's.
        """
        super().__init__()
        self.arithmetic = arithmetic
        self.graph, self.is_main, self.graphs = graph, is_main, None
        self.tensors = list(tensors)
        self.file_inputs, self.names, self.label, self.size = inputs, names, label, size
        self.states = {}
        self.current = {}
        self.rank_0, self.constants = {}, {}
        # Resource variables by name; resources: names by tensor; initial: where an initializing subgraph stores values.
        self.resources, self.variables, self.variable_inputs, self.initial = {}, {}, {}, None
        self.stored_only = set()
        self.follower, self.is_learning = Follower(self), False
        self.folded, self.widened = {}, 0
        self.verified = set()  # tensors whose declared shape follows from the inputs

    def start(self, operators=(), outputs=()):
        """Make operands for the graph's inputs. Ranks that the file does not give are inferred during translation.

        operators, outputs: of the graph, which say what becomes of weights in blocks.
        """
        self.is_learning |= any(t.dims is None for t in self.tensors)
        kept = products(self.tensors, operators, outputs)
        for t in self.tensors:
            if t.is_sparse and t.data is not None and t.dims and t.type in FILE_DTYPES:
                self._densify(t)
            if is_narrow(t):
                self._widen(t, t.index in kept)
            elif t.type == TensorType.INT4 and t.data is None and t.index not in self.file_inputs:
                self.tensors[t.index] = replace(t, type=TensorType.INT8, is_narrow=True)
        for index in self.file_inputs:
            t = self.tensors[index]
            if index in self.resources:
                continue
            if self.is_main and t.dims is None and not t.shape:
                t = self.tensors[index] = replace(t, dims=())  # as TFLite takes it
            operand = self.current[index] = self._input(None, t, self.names[0].get(index) or t.name)
            if self.is_main and self.arithmetic == "litert" and t.is_empty:
                self.is_learning = True
                self.follower.settle(operand, t.dims)
                self.current[index] = self.empty(None, t, (operand,))

    def _densify(self, t):
        try:
            array = densified(t, MAX_CREATED - self.created)
        except ValueError as error:
            raise InvalidArgument(f"{self.label}: subgraph[{self.graph}].tensor[{t.index}].sparsity: {error}") from None
        self.created += array.size
        self.tensors[t.index] = replace(t, data=frozen(array.reshape(-1).view(np.uint8)), sparsity=None)

    def _widen(self, t, keeps_blocks):
        is_real = t.blocks is not None and not keeps_blocks
        try:
            if keeps_blocks:
                self._widen_scales(t, self.tensors[t.blocks.scales])
            array = real(t, self.tensors[t.blocks.scales]) if is_real else widened(t)
        except ValueError as error:
            raise InvalidArgument(f"{self.label}: subgraph[{self.graph}].tensor[{t.index}].quantization: "
                                  f"{error}") from None
        self.tensors[t.index] = replace(t, type=TensorType.FLOAT32 if is_real else TensorType.INT8,
                                        data=frozen(array.reshape(-1).view(np.uint8)),
                                        blocks=t.blocks if keeps_blocks else None)

    def _widen_scales(self, t, scales):
        by = frozen(block_scales(t, scales).reshape(-1).view(np.uint8))
        self.tensors[scales.index] = replace(scales, type=TensorType.FLOAT32, data=by)

    def inherit(self, tensors, names, shapes):
        """Take inputs' ranks that the file does not give here from the tensors outside, and names of variables.

        shapes: of inputs that count instead of those that the file declares; None: the declared one counts.
        """
        for index, outer, name, shape in zip(self.file_inputs, tensors, names, shapes):
            if shape is not None:
                self.tensors[index] = replace(self.tensors[index], dims=shape)
            elif self.tensors[index].dims is None and outer.dims == ():
                self.tensors[index] = replace(self.tensors[index], dims=())
            if name is not None:
                self.resources[index] = name

    def bind(self, shapes):
        """Set input shapes, {tensor index: dims}; shapes of computed tensors are inferred."""
        self.is_learning = True
        for k, t in enumerate(self.tensors):
            if k in shapes:
                self.tensors[k] = replace(t, dims=tuple(shapes[k]), shape=tuple(shapes[k]), signature=())
            elif t.data is None and k not in self.file_inputs and not t.is_variable and t.dims and 0 not in t.shape:
                self.tensors[k] = replace(t, dims=None)

    def forget_shapes(self, op):
        """Take the shapes of an operator's results as unknown, whatever the file says."""
        for index in op.outputs:
            if index != -1:
                self.tensors[index] = replace(self.tensors[index], dims=None)

    def lacks_shape(self, op):
        """Whether the rank of a result is not known."""
        return any(index != -1 and self.tensors[index].dims is None for index in op.outputs)

    def is_verified(self, op):
        """Whether the declared shapes of all results are known to follow from the inputs."""
        return self.verified.issuperset(op.outputs)

    def mark(self):
        """The current state, for `go_back`."""
        return len(self.operands), len(self.operations), len(self.inputs), dict(self.variables), \
            dict(self.variable_inputs)

    def go_back(self, mark):
        """Undo what an attempt to translate an operator has added since `mark`."""
        operands, operations, inputs, variables, variable_inputs = mark
        self.variables, self.variable_inputs = dict(variables), dict(variable_inputs)
        del self.operands[operands:], self.operations[operations:], self.inputs[inputs:]
        self.follower.forget(operands, operations)
        for name in ("states", "current", "rank_0", "constants", "scalars"):
            setattr(self, name, {key: k for key, k in getattr(self, name).items() if k < operands})
        for index, operand in self.states.items():
            self.current.setdefault(index, operand)

    # -- tensors as operands -------------------------------------------------------------------------------------------
    def operand(self, op, t):
        """Operand that currently holds a tensor's value."""
        index = self.current.get(t.index)
        if index is None:
            if t.is_variable:
                self.refuse(op, f"reads variable tensor[{t.index}] {t.name!r}, only recurrent operators may")
            index = self.current[t.index] = self._constant(op, t)
        return index

    def any_operand(self, op, t):
        """As operand, also of constants of types of nnfast's own."""
        if t.index in self.current or t.data is None:
            return self.operand(op, t)
        code, scale, point, channels = self.any_type(op, t)
        if code == OPERAND_TYPES.get(t.type):
            return self.operand(op, t)
        array = t.array.reshape(t.dims or (1,)).view(Operand(code).dtype)
        return self.add(Operand(code, array.shape, scale, point, LifeTime.CONSTANT_REFERENCE, channels, array, t.name))

    def dims(self, op, t):
        """Dimensions of a tensor as its operand has them; () = unknown rank."""
        if t.index not in self.current and t.data is not None:
            return _operand_dims(t.dims)
        return self.operands[self.operand(op, t)].dims

    def channel_operand(self, op, t, channel_dim):
        """Operand of int8 weights with a scale for each channel: as channel_constant, or computed ones."""
        if self.is_constant(t):
            return self.channel_constant(op, t, channel_dim)
        if t.channel_dim != channel_dim:
            self.refuse(op, f"tensor[{t.index}] has its scales along dimension {t.channel_dim}, must be {channel_dim}")
        return self.operand(op, t)

    def channel_dims(self, op, t, dims, channels):
        """Dimensions of a tensor that is not constant; that of its ChannelQuant, if it has one, is known by that."""
        if channels is None:
            return dims
        dims, axis, count = dims or (0,) * len(t.shape), channels.dim, len(channels.scales)
        if axis >= len(dims) or dims[axis] not in (0, count):
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has {count} scales along dimension {axis} of {list(dims)}")
        return *dims[:axis], count, *dims[axis + 1:]

    def output(self, op, dims=(), place=0):
        """Operand for a result; `dims` are used where the file gives none.

        Raises StaleShape if both are completely known and differ.
        """
        t = self.result(op, place)
        code = self.supported_type(op, t)
        scale, point = self.quant(op, t)
        if t.dims is not None:
            declared = _operand_dims(t.dims)
            if dims and 0 not in (*dims, *declared):
                if tuple(dims) != declared:
                    raise StaleShape(f"output {place}: shape is {list(dims)}, the file declares {list(declared)}")
                self.verified.add(t.index)
            dims = declared
        self.check_size(op, dims)
        index = self.current[t.index] = self.temporary(code, dims, scale, point, t.name)
        return index

    def widen(self, op, t):
        """Bytes of a float16 constant as float32, one copy per buffer of the file."""
        if t.buffer not in self.folded:
            # Buffers of a malicious file may overlap; in valid files, values are at most half the file's bytes.
            self.widened += t.data.size // 2
            if self.widened > self.size:
                self.refuse(op, "widens the same bytes of the file too often")
            self.folded[t.buffer] = frozen(t.array.astype(np.float32).reshape(-1).view(np.uint8))
        return self.folded[t.buffer]

    def _input(self, op, t, name=None):
        code, scale, point, channels = self.any_type(op, t)
        dims = self.channel_dims(op, t, _operand_dims(t.dims), channels)
        return self.add(Operand(code, dims, scale, point, LifeTime.SUBGRAPH_INPUT, channels,
                                name=t.name if name is None else name), self.inputs)

    def empty(self, op, t, source=()):
        """Operand of a tensor without elements. source: of an input of the graph that has this shape, or nothing."""
        if not t.dims or 0 not in t.dims:
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has no elements")
        try:
            code, scale, point, channels = self.any_type(op, t)
        except Error:  # no type has these scales: the bare codes
            code, scale, point, channels = self.any_type(op, replace(t, scales=(), zero_points=()))
        target = self.temporary(code, t.dims, scale, point, t.name, channels)
        self.emit_own("TFL_EMPTY", (self.ints(t.dims), *source), (target,))
        self.follower.settle(target, t.dims)
        return target

    def _constant(self, op, t):
        if t.data is None:
            return self.empty(op, t)
        code = self.supported_type(op, t)
        scale, point = self.quant(op, t)
        return self.constant(t.array, code, scale, point, t.name)

    # -- state ---------------------------------------------------------------------------------------------------------
    def state(self, op, t, code):
        """Operand that holds a variable's value before this operator; it starts as a model input of zeros."""
        if t is None or not t.is_variable:
            self.refuse(op, "keeps a state that is not a variable tensor")
        if not self.is_main:
            self.refuse(op, f"keeps a state in tensor[{t.index}] of a subgraph that IF or WHILE run")
        if self.any_type(op, t)[0] != code or not t.dims or 0 in t.dims:
            self.refuse(op, f"state tensor[{t.index}] must be {code.name} with known dimensions")
        if t.index not in self.current:
            self.created += prod(t.dims) if code == T.TENSOR_QUANT8_ASYMM else 0  # what `_first` makes
            if self.created > MAX_CREATED:
                self.refuse(op, f"state tensor[{t.index}] of shape {list(t.dims)} is too large to be made up")
            self.current[t.index] = self._input(op, t)
            self.states[t.index] = self.current[t.index]
        return self.current[t.index]

    def next_state(self, op, t):
        """Operand for a variable's value after this operator; `state` must have been called for it."""
        index = self.like(self.current[t.index], f"{t.name}_out")
        self.current[t.index] = index
        return index

    # -- the end -------------------------------------------------------------------------------------------------------
    def finish(self, outputs, more=()):
        """Mark the model's outputs and connect the states; returns the tuple of State.

        more: (input operand, operand of the next value, first value) of further states.
        """
        written = {index for operation in self.operations for index in operation.outputs}
        for tensor in outputs:
            t = self.tensors[tensor]
            if tensor in self.resources and not self.is_main:
                continue
            if t.is_variable:
                self.refuse(None, f"output tensor[{tensor}] {t.name!r} is a variable, must be a result")
            index = self.any_operand(None, t)
            if index not in written or index in self.outputs:
                # An output must be the result of an operation, and each its own operand.
                index = self._copy(index, t)
            name = self.names[1].get(tensor) or t.name
            self.mark_output(index, name)
        states = []
        for tensor, source in self.states.items():
            self.mark_output(self.current[tensor], self.operands[self.current[tensor]].name)
            states.append(State(self.inputs.index(source), len(self.outputs) - 1, _first(self.operands[source])))
        for source, target, initial in more:
            self.mark_output(target, self.operands[target].name)
            states.append(State(self.inputs.index(source), len(self.outputs) - 1, initial))
        return tuple(states)

    def _copy(self, index, t):
        source = self.operands[index]
        if source.type not in FLOATS_QUANT8_INT or not 1 <= len(source.dims) <= 4 or source.dims.count(0) > 1:
            target = self.like(index, t.name)
            self.emit_own("TFL_COPY", (index,), (target,))
            return target
        return self.reshape(None, index, source.type, source.dims, (source.scale, source.zero_point), name=t.name)


def _operand_dims(dims):
    """Dims of the file in NNAPI's form: a scalar is a tensor of shape [1]."""
    return () if dims is None else dims or (1,)


def _first(state):
    """First value of a variable tensor: LiteRT clears uint8 ones to code 0; None: the zero of the type."""
    return frozen(np.zeros(state.dims, np.uint8)) if state.type == T.TENSOR_QUANT8_ASYMM else None
