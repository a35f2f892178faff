"""Basis of all operator translations: the graph under construction, and the table of translation functions."""

from dataclasses import replace
from math import prod

import numpy as np

from ..errors import InvalidArgument, UnsupportedOperator
from ..model import own
from ..model.types import (
    DTYPES,
    QUANT8_ASYMM_TYPES,
    QUANT_RANGE,
    ChannelQuant,
    LifeTime,
    Operand,
    OperandType,
    Operation,
    OperationType,
    State,
)
from ..ops.own import BY_NAME as OWN_OPERATIONS
from .follow import Follower
from .narrow import is_narrow, real, widened
from .schema import DTYPES as FILE_DTYPES
from .schema import TensorType
from .sparse import densified

T = OperandType
FLOATS = (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16)
QUANT8 = (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED)
FLOATS_QUANT8 = FLOATS + QUANT8
FLOATS_QUANT8_INT = FLOATS_QUANT8 + (T.TENSOR_INT32,)

OPERAND_TYPES = {
    TensorType.FLOAT32: T.TENSOR_FLOAT32, TensorType.FLOAT16: T.TENSOR_FLOAT16, TensorType.INT32: T.TENSOR_INT32,
    TensorType.UINT8: T.TENSOR_QUANT8_ASYMM, TensorType.INT8: T.TENSOR_QUANT8_ASYMM_SIGNED,
    TensorType.BOOL: T.TENSOR_BOOL8,
}
MAX_CREATED = 1 << 24
"""Most elements of all constants that translation adds (missing biases); real models stay far below."""
MAX_ELEMENTS = (1 << 31) - 1
"""Most elements of one result."""

TRANSLATIONS = {}
"""Builtin code, or name of a custom operator -> function(builder, operator)."""


def translates(*codes):
    """Register a function as the translation of operators."""
    def register(function):
        for code in codes:
            TRANSLATIONS[code] = function
        return function
    return register


def type_label(code):
    """Name of a file's element type."""
    return TensorType(code).name.lower()


class Builder:
    """A canonical graph under construction, addressed by the file's tensors.

    `tensors` may change as translation goes on: a folded DEQUANTIZE turns its output into a constant.
    """

    def __init__(self, tensors, inputs, names, label, size, graph=0, is_main=True,
                 arithmetic="litert"):
        """tensors: FileTensors; inputs: indexes of the graph's; names: signature names of inputs and of outputs by
        tensor index; label, size: the file's name for messages and its bytes; graph: number of the subgraph; is_main:
        whether it becomes the model's main graph; arithmetic: the model's.
        """
        self.arithmetic = arithmetic
        self.graph, self.is_main, self.graphs = graph, is_main, None
        self.tensors = list(tensors)
        self.file_inputs, self.names, self.label, self.size = inputs, names, label, size
        self.operands, self.operations = [], []
        self.inputs, self.outputs = [], []
        self.states = {}
        self.current = {}
        self.rank_0, self.constants = {}, {}
        # Resource variables by name; resources: names by tensor; initial: where an initializing subgraph stores values.
        self.resources, self.variables, self.variable_inputs, self.initial = {}, {}, {}, None
        self.follower, self.is_learning = Follower(self), False
        self.scalars, self.folded, self.zeros = {}, {}, {}
        self.created = self.widened = 0

    def start(self):
        """Make operands for the graph's inputs. Ranks that the file does not give are inferred during translation."""
        self.is_learning |= any(t.dims is None for t in self.tensors)
        for t in self.tensors:
            if t.is_sparse and t.data is not None and t.dims and t.type in FILE_DTYPES:
                self._densify(t)
            if is_narrow(t):
                self._widen(t)
        for index in self.file_inputs:
            t = self.tensors[index]
            if index in self.resources:
                continue
            if self.is_main and t.dims is None and not t.shape:
                t = self.tensors[index] = replace(t, dims=())  # as TFLite takes it
            self.current[index] = self._input(None, t, self.names[0].get(index) or t.name)

    def _densify(self, t):
        try:
            array = densified(t, MAX_CREATED - self.created)
        except ValueError as error:
            raise InvalidArgument(f"{self.label}: subgraph[{self.graph}].tensor[{t.index}].sparsity: {error}") from None
        self.created += array.size
        self.tensors[t.index] = replace(t, data=_frozen(array.reshape(-1).view(np.uint8)), sparsity=None)

    def _widen(self, t):
        try:
            array = widened(t) if t.blocks is None else real(t, self.tensors[t.blocks.scales])
        except ValueError as error:
            raise InvalidArgument(f"{self.label}: subgraph[{self.graph}].tensor[{t.index}].quantization: "
                                  f"{error}") from None
        kind = TensorType.INT8 if t.blocks is None else TensorType.FLOAT32
        self.tensors[t.index] = replace(t, type=kind, data=_frozen(array.reshape(-1).view(np.uint8)), blocks=None)

    def inherit(self, tensors, names):
        """Take inputs' ranks that the file does not give here from the tensors outside, and names of variables."""
        for index, outer, name in zip(self.file_inputs, tensors, names):
            if self.tensors[index].dims is None and outer.dims == ():
                self.tensors[index] = replace(self.tensors[index], dims=())
            if name is not None:
                self.resources[index] = name

    def bind(self, shapes):
        """Set input shapes, {tensor index: dims}; shapes of computed tensors are inferred."""
        self.is_learning = True
        for k, t in enumerate(self.tensors):
            if k in shapes:
                self.tensors[k] = replace(t, dims=tuple(shapes[k]))
            elif t.data is None and k not in self.file_inputs and not t.is_variable and t.dims and 0 not in t.shape:
                self.tensors[k] = replace(t, dims=None)

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

    # -- refusals ----------------------------------------------------------------------------------------------------
    def refuse(self, op, reason):
        """Raise for an operator (None: the graph's inputs or outputs) that cannot be translated."""
        if op is None:
            raise InvalidArgument(f"{self.label}: subgraph[{self.graph}]: {reason}")
        raise UnsupportedOperator(op.name, op.index, reason)

    def supported_type(self, op, t):
        """Operand type of a tensor."""
        code = OPERAND_TYPES.get(t.type)
        if code is not None and not t.is_sparse:
            return code
        what = "is sparse" if code is not None else f"has type {type_label(t.type)}"
        self.refuse(op, f"tensor[{t.index}] {t.name!r} {what}, NNAPI has no such tensors")

    def any_type(self, op, t):
        """(type, scale, zero point, channel quantization) of any tensor of numbers: a type of the standard, or of
        nnfast's own.
        """
        if t.type not in FILE_DTYPES or t.is_sparse:
            what = "is sparse" if t.type in FILE_DTYPES else f"has type {type_label(t.type)}"
            self.refuse(op, f"tensor[{t.index}] {t.name!r} {what}, nnfast has no such tensors")
        if t.type in (TensorType.INT8, TensorType.UINT8, TensorType.INT16) and t.scales:
            return self._quantized_type(op, t)
        if t.type in (TensorType.INT8, TensorType.UINT8) or t.type not in OPERAND_TYPES:
            return own.TENSOR_OF[FILE_DTYPES[t.type]], 0.0, 0, None
        return OPERAND_TYPES[t.type], 0.0, 0, None

    def _quantized_type(self, op, t):
        if len(t.scales) > 1:
            if t.type == TensorType.INT8 and not any(t.zero_points) and min(t.scales) > 0:
                return T.TENSOR_QUANT8_SYMM_PER_CHANNEL, 0.0, 0, ChannelQuant(t.channel_dim, t.scales)
            if t.data is None:
                return own.TENSOR_OF[FILE_DTYPES[t.type]], 0.0, 0, None  # no type has these: the bare codes
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has {len(t.scales)} scales, must be int8 with scales above 0"
                            " and zero points of 0")
        if t.type != TensorType.INT16:
            return OPERAND_TYPES[t.type], *self.quant(op, t), None
        if t.scales[0] <= 0 or t.zero_points[0]:
            self.refuse(op, f"tensor[{t.index}] has scale {t.scales[0]} and zero point {t.zero_points[0]}, must be"
                            " above 0 and 0")
        return T.TENSOR_QUANT16_SYMM, t.scales[0], 0, None

    def check_types(self, op, allowed, *tensors):
        """All tensors must have one type, among `allowed`; returns it."""
        found = [self.supported_type(op, t) for t in tensors]
        if found[0] not in allowed or len(set(found)) != 1:
            labels = ", ".join(type_label(t.type) for t in tensors)
            choice = " or ".join(code.name for code in allowed)
            self.refuse(op, f"takes tensors of types {labels}; NNAPI takes one type, {choice}")
        return found[0]

    def check_counts(self, op, low, high=None, outputs=1):
        """Numbers of inputs and outputs, none of the first `low` inputs omitted."""
        high = low if high is None else high
        if not low <= len(op.inputs) <= high or len(op.outputs) != outputs:
            rule = f"{low}" if low == high else f"{low} to {high}"
            counts = f"{len(op.inputs)} inputs and {len(op.outputs)} outputs"
            self.refuse(op, f"has {counts}, must have {rule} and {outputs}")
        if -1 in op.inputs[:low] or -1 in op.outputs:
            self.refuse(op, "omits an operand that is required")

    def check_rank(self, op, t, low, high=4):
        """Rank of a tensor's operand, which must be known."""
        dims = self.dims(op, t)
        if dims and not low <= len(dims) <= high:
            self.refuse(op, f"tensor[{t.index}] has rank {len(dims)}, NNAPI takes {low} to {high}")

    def check_same_quant(self, op, source, target):
        """NNAPI gives the output the input's quantization; the file must agree."""
        if self.supported_type(op, source) in QUANT8_ASYMM_TYPES:
            before, after = self.quant(op, source), self.quant(op, target)
            if before != after:
                self.refuse(op, f"output has (scale, zero point) {after}, NNAPI gives it the input's {before}")

    def source(self, op, count, types, low=0, high=4):
        """(tensor, its dims) of input 0, one of `count`, whose type and quantization the output shares."""
        self.check_counts(op, count)
        x = self.tensor(op, 0)
        self.check_types(op, types, x, self.result(op))
        self.check_same_quant(op, x, self.result(op))
        self.check_rank(op, x, low, high)
        return x, self.dims(op, x)

    def activation(self, op, allowed=(0, 1, 2, 3)):
        """Fused activation; TFLite's numbers are NNAPI's up to TANH."""
        code = op.options.activation
        if code not in allowed:
            self.refuse(op, f"fused activation is {code}, NNAPI takes {', '.join(map(str, allowed))}")
        return self.i32(code)

    def padding(self, op):
        """Implicit padding scheme: TFLite's SAME 0, VALID 1 are NNAPI's 1, 2."""
        if op.options.padding not in (0, 1):
            self.refuse(op, f"padding is {op.options.padding}, must be 0 (SAME) or 1 (VALID)")
        return self.i32(op.options.padding + 1)

    def positive(self, op, field):
        """Scalar operand of an option that must be at least 1."""
        value = getattr(op.options, field)
        if value < 1:
            self.refuse(op, f"{field} is {value}, must be at least 1")
        return self.i32(value)

    def image_size(self, op):
        """[height, width], the constant input 1 of a RESIZE operator."""
        size = self.integers(op, self.tensor(op, 1), "size")
        if len(size) != 2 or min(size) < 1:
            self.refuse(op, f"size {size} must be two values of at least 1")
        return size

    # -- tensors of the file -----------------------------------------------------------------------------------------
    def tensor(self, op, place):
        """Input tensor, or None if it is omitted."""
        if place >= len(op.inputs) or op.inputs[place] == -1:
            return None
        return self.tensors[op.inputs[place]]

    def result(self, op, place=0):
        """Output tensor."""
        return self.tensors[op.outputs[place]]

    def quant(self, op, t):
        """(scale, zero point) of a tensor of a per-tensor quantized type; (0.0, 0) for other types."""
        code = self.supported_type(op, t)
        if code not in QUANT8_ASYMM_TYPES:
            return 0.0, 0
        if len(t.scales) != 1:
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has {len(t.scales)} scales, NNAPI takes one here")
        low, high = QUANT_RANGE[code]
        scale, point = t.scales[0], t.zero_points[0]
        if scale <= 0 or not low <= point <= high:
            self.refuse(op, f"tensor[{t.index}] has scale {scale} and zero point {point}, must be above 0 and in"
                        f" [{low}, {high}]")
        return scale, point

    def operand(self, op, t):
        """Operand that currently holds a tensor's value."""
        index = self.current.get(t.index)
        if index is None:
            if t.is_variable:
                self.refuse(op, f"reads variable tensor[{t.index}] {t.name!r}, only recurrent operators may")
            index = self.current[t.index] = self._constant(op, t)
        return index

    def dims(self, op, t):
        """Dimensions of a tensor as its operand has them; () = unknown rank."""
        if t.index not in self.current and t.data is not None:
            return _operand_dims(t.dims)
        return self.operands[self.operand(op, t)].dims

    def is_constant(self, t):
        return t.data is not None

    def integers(self, op, t, what):
        """Value of a constant integer tensor as a flat list."""
        if t.data is None or t.type not in (TensorType.INT32, TensorType.INT64) or t.is_sparse:
            self.refuse(op, f"{what} must be a constant int32 or int64 tensor")
        values = [int(v) for v in t.array.reshape(-1)]
        if any(not -(1 << 31) <= v < 1 << 31 for v in values):
            self.refuse(op, f"{what} {values} do not fit int32")
        return values

    def _input(self, op, t, name=None):
        code, scale, point, channels = self.any_type(op, t)
        dims = self.channel_dims(op, t, _operand_dims(t.dims), channels)
        return self.add(Operand(code, dims, scale, point, LifeTime.SUBGRAPH_INPUT, channels,
                                name=t.name if name is None else name), self.inputs)

    def _constant(self, op, t):
        if t.data is None:
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has no elements")
        code = self.supported_type(op, t)
        scale, point = self.quant(op, t)
        return self.constant(t.array, code, scale, point, t.name)

    # -- operands ----------------------------------------------------------------------------------------------------
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

    def channel_constant(self, op, t, channel_dim, shape=None):
        """TENSOR_QUANT8_SYMM_PER_CHANNEL over a constant int8 tensor, a single scale repeated."""
        scales, count = t.scales, (shape or t.dims)[channel_dim]
        if t.type != TensorType.INT8 or not scales or min(scales) <= 0 or any(t.zero_points):
            self.refuse(op, f"tensor[{t.index}] {t.name!r} must be int8 with scales above 0 and zero points of 0")
        if len(scales) == 1:
            scales *= count
        elif t.channel_dim != channel_dim:
            self.refuse(op, f"tensor[{t.index}] has its scales along dimension {t.channel_dim}, must be {channel_dim}")
        array = t.array if shape is None else t.array.reshape(shape)
        return self.constant(array, T.TENSOR_QUANT8_SYMM_PER_CHANNEL, name=t.name,
                             channel_quant=ChannelQuant(channel_dim, scales))

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

    def ints(self, values, shape=None):
        """Constant TENSOR_INT32."""
        return self.constant(_frozen(np.array(values, np.int32).reshape(shape or (len(values),))), T.TENSOR_INT32)

    def reals(self, values):
        """Constant TENSOR_FLOAT32 of one dimension."""
        return self.constant(_frozen(np.array(values, np.float32)), T.TENSOR_FLOAT32)

    def zero_values(self, op, code, count, scale=0.0):
        """Constant vector of zeros, for a bias that the file omits."""
        dtype = DTYPES[code]
        array = self.zeros.get((count, dtype))
        if array is None:
            self.created += count
            if not count or self.created > MAX_CREATED:
                self.refuse(op, f"has no bias, and one of {count} zeros is not possible")
            array = self.zeros[count, dtype] = _frozen(np.zeros(count, dtype))
        return self.constant(array, code, scale)

    def widen(self, op, t):
        """Bytes of a float16 constant as float32, one copy per buffer of the file."""
        if t.buffer not in self.folded:
            # Buffers of a malicious file may overlap; in valid files, values are at most half the file's bytes.
            self.widened += t.data.size // 2
            if self.widened > self.size:
                self.refuse(op, "widens the same bytes of the file too often")
            self.folded[t.buffer] = _frozen(t.array.astype(np.float32).reshape(-1).view(np.uint8))
        return self.folded[t.buffer]

    def _scalar(self, code, value):
        key = code, value
        if key not in self.scalars:
            data = _frozen(np.array(value, DTYPES[code]))
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

    def output(self, op, dims=(), place=0):
        """Operand for a result; `dims` are used where the file gives none."""
        t = self.result(op, place)
        code = self.supported_type(op, t)
        scale, point = self.quant(op, t)
        if t.dims is not None:
            dims = _operand_dims(t.dims)
        self.check_size(op, dims)
        index = self.current[t.index] = self.temporary(code, dims, scale, point, t.name)
        return index

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
        """RESHAPE to dims with at most one unknown; returns the new operand (or the given target)."""
        self.check_size(op, dims)
        if dims.count(0) > 1 or not dims:
            self.refuse(op, f"needs a RESHAPE to {list(dims)}, which has more than one unknown dimension")
        if target is None:
            target = self.temporary(code, dims, *quant, name=name)
        self.emit(OperationType.RESHAPE, (source, self.ints([d or -1 for d in dims])), (target,))
        return target

    # -- state -------------------------------------------------------------------------------------------------------
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

    # -- the end -----------------------------------------------------------------------------------------------------
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

    def any_operand(self, op, t):
        """As operand, also of constants of types of nnfast's own."""
        if t.index in self.current:
            return self.current[t.index]
        code, scale, point, channels = self.any_type(op, t)
        if t.data is None or code == OPERAND_TYPES.get(t.type):
            return self.operand(op, t)
        array = t.array.reshape(t.dims or (1,)).view(Operand(code).dtype)
        return self.add(Operand(code, array.shape, scale, point, LifeTime.CONSTANT_REFERENCE, channels, array, t.name))

    def mark_output(self, index, name):
        """Make a result an output of the graph."""
        self.operands[index] = replace(self.operands[index], lifetime=LifeTime.SUBGRAPH_OUTPUT, name=name)
        self.outputs.append(index)

    def _copy(self, index, t):
        source = self.operands[index]
        if source.type not in FLOATS_QUANT8_INT or not source.dims or source.dims.count(0) > 1:
            target = self.like(index, t.name)
            self.emit_own("TFL_COPY", (index,), (target,))
            return target
        return self.reshape(None, index, source.type, source.dims, (source.scale, source.zero_point), name=t.name)


def _operand_dims(dims):
    """Dims of the file in NNAPI's form: a scalar is a tensor of shape [1]."""
    return () if dims is None else dims or (1,)


def _first(state):
    """First value of a variable tensor: LiteRT clears uint8 ones to code 0; None: the zero of the type."""
    return _frozen(np.zeros(state.dims, np.uint8)) if state.type == T.TENSOR_QUANT8_ASYMM else None


def _frozen(array):
    array.flags.writeable = False
    return array
