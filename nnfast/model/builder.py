"""ModelBuilder: make a Model by hand, operand by operand."""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING

import numpy as np

from .. import vlog
from ..checks import flag as checked_flag
from ..checks import sequence, shown
from ..errors import InvalidArgument
from ..record import replace
from .mapped import may_vanish
from .types import (
    DTYPES,
    OEM_TYPES,
    ChannelQuant,
    Definition,
    LifeTime,
    Model,
    Operand,
    OperandType,
    Operation,
    OperationType,
    State,
    Subgraph,
    is_extension,
    is_raw,
    type_name,
)
from .validate import validate_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from numpy.typing import ArrayLike

    from .. import typed
    from .types import Model

_T = OperandType
_TENSOR_OF_DTYPE = {
    np.dtype(np.float32): _T.TENSOR_FLOAT32, np.dtype(np.float16): _T.TENSOR_FLOAT16,
    np.dtype(np.int32): _T.TENSOR_INT32, np.dtype(np.bool_): _T.TENSOR_BOOL8,
}
_QUANTIZED_OF_DTYPE = {
    np.dtype(np.uint8): _T.TENSOR_QUANT8_ASYMM, np.dtype(np.int8): _T.TENSOR_QUANT8_ASYMM_SIGNED,
    np.dtype(np.uint16): _T.TENSOR_QUANT16_ASYMM, np.dtype(np.int16): _T.TENSOR_QUANT16_SYMM,
}
_SCALAR_OF_KIND = (
    (bool | np.bool_, _T.BOOL), (int | np.int32, _T.INT32), (np.uint32, _T.UINT32), (np.float16, _T.FLOAT16),
    (float | np.float32, _T.FLOAT32),
)
_BOOL_TYPES = frozenset((_T.BOOL, _T.TENSOR_BOOL8))


class ModelBuilder:
    """Collects operands and operations; `build()` checks them and returns a Model.

    Methods that make an operand return its handle (its index in the graph); the others return the builder::

        b = nnfast.ModelBuilder("tiny")
        x = b.input("TENSOR_FLOAT32", (1, 4), name="x")
        w = b.constant(np.eye(4, dtype=np.float32))
        bias = b.constant(np.zeros(4, np.float32))
        y = b.output("TENSOR_FLOAT32", (1, 4), name="y")
        model = b.operation("FULLY_CONNECTED", [x, w, bias, b.scalar(1)], [y]).build()

    Types and operations are given by name, enumeration member or number; those of vendor extensions as the extension's
    own Type and Operation, or by extension_code(). Wrong arguments raise InvalidArgument.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._relaxed = False
        self._operands = []
        self._operations = []
        self._inputs = []
        self._outputs = []
        self._states = []
        self._children = []
        self._prefixes = {}  # name of an extension -> prefix, in the order of first use

    # -- operands ------------------------------------------------------------------------------------------------
    def operand(self, type: typed.OperandKind, dims: Sequence[int | None] = (), scale: float = 0.0, zero_point: int = 0,
                channel_quant: typed.ChannelScales | None = None, name: str = "",
                parameters: bytes | None = None) -> int:
        """New operand for the result of an operation; returns its handle. inputs() and outputs() can list it too.

        type: OperandType, its name or number. dims: dimensions, 0 or None = unknown; () for scalars and unknown rank.
        scale, zero_point: quantization of the tensor. channel_quant: (dim, scales) of a per-channel type. name: for
        explain() and for runs by name. parameters: bytes for a type of an extension. Raises InvalidArgument.
        """
        code = self._code(OperandType, type, "operand type")
        return self._append(Operand(code, _dims(dims), _scale(scale), _integer(zero_point, "zero point"),
                                    channel_quant=_channel_quant(channel_quant), name=name,
                                    parameters=_parameters(parameters)))

    def input(self, type: typed.OperandKind, dims: Sequence[int | None] = (), scale: float = 0.0, zero_point: int = 0,
              channel_quant: typed.ChannelScales | None = None, name: str = "", parameters: bytes | None = None) -> int:
        """New operand that is the graph's next input. Returns its handle.

            x = b.input("TENSOR_QUANT8_ASYMM", (1, 224, 224, 3), scale=1 / 255, name="image")

        type, dims, scale, zero_point, channel_quant, name, parameters: as of `operand`.
        """
        handle = self.operand(type, dims, scale, zero_point, channel_quant, name, parameters)
        self._inputs.append(handle)
        return handle

    def output(self, type: typed.OperandKind, dims: Sequence[int | None] = (), scale: float = 0.0, zero_point: int = 0,
               channel_quant: typed.ChannelScales | None = None, name: str = "",
               parameters: bytes | None = None) -> int:
        """New operand that is the graph's next output. Returns its handle.

        type, dims, scale, zero_point, channel_quant, name, parameters: as of `operand`.
        """
        handle = self.operand(type, dims, scale, zero_point, channel_quant, name, parameters)
        self._outputs.append(handle)
        return handle

    def constant(self, array: ArrayLike, type: typed.OperandKind | None = None, scale: float = 0.0, zero_point: int = 0,
                 channel_quant: typed.ChannelScales | None = None, name: str = "",
                 parameters: bytes | None = None) -> int:
        """New constant tensor with the value, dtype and shape of `array`; returns its handle.

        type: by default from the dtype: float32, float16, int32, bool; with a scale uint8, int8 (asymmetric signed),
        uint16 (asymmetric), int16; int8 with channel_quant. Lists become float32 or int32, or the dtype of `type`. For
        a type of an extension the array must have that type's dtype, unless `type` is the extension's own Type.
        Writable arrays and arrays over a mapped file are copied; other contiguous read-only ones are used without a
        copy. scale, zero_point, channel_quant, name, parameters: as of `operand`. Raises InvalidArgument.
        """
        scale, channel_quant = _scale(scale), _channel_quant(channel_quant)
        if not isinstance(array, np.ndarray):
            array = _array_of(array, None if type is None else self._dtype(type))
        code = _infer_type(array.dtype, scale, channel_quant) if type is None else \
            self._code(OperandType, type, "operand type")
        if array.ndim == 0:
            raise InvalidArgument("constant: array has rank 0, must be at least 1; use scalar() for scalar operands")
        if array.size == 0:
            raise InvalidArgument(f"constant: array has shape {list(array.shape)}, must have no zero dimension")
        return self._append(Operand(code, array.shape, scale, _integer(zero_point, "zero point"),
                                    LifeTime.CONSTANT_COPY, channel_quant, _frozen(array, code, type), name,
                                    parameters=_parameters(parameters)))

    def scalar(self, value: Any, type: typed.OperandKind | None = None, name: str = "",
               parameters: bytes | None = None) -> int:
        """New constant scalar of a Python number (value); type by default BOOL for a bool, INT32 for an int, FLOAT32
        for a float. name, parameters: as of `operand`. Returns its handle.
        """
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if type is None:
            code = next((code for kind, code in _SCALAR_OF_KIND if isinstance(value, kind)), None)
            if code is None:
                raise InvalidArgument(f"scalar: {shown(value)} has no default operand type, name one")
        else:
            code = self._code(OperandType, type, "operand type")
        data = np.asarray(value) if is_extension(code) and isinstance(value, np.generic) else \
            _array_of(value, self._dtype(code if type is None else type))
        if data.ndim:
            raise InvalidArgument(f"scalar: value has shape {list(data.shape)}, must be a single number")
        return self._append(Operand(code, (), lifetime=LifeTime.CONSTANT_COPY, data=_frozen(data, code, type),
                                    name=name, parameters=_parameters(parameters)))

    def omitted(self, type: typed.OperandKind, scale: float = 0.0, zero_point: int = 0,
                channel_quant: typed.ChannelScales | None = None) -> int:
        """New operand without a value (NO_VALUE), for an omitted optional input; type, scale, zero_point,
        channel_quant: as of `operand`. Returns its handle.
        """
        handle = self.operand(type, (), scale, zero_point, channel_quant)
        self._operands[handle] = replace(self._operands[handle], lifetime=LifeTime.NO_VALUE)
        return handle

    def subgraph(self, builder: ModelBuilder, name: str = "") -> int:
        """New SUBGRAPH operand for IF or WHILE that refers to another builder's graph, without copying it. Returns its
        handle.
        """
        if not isinstance(builder, ModelBuilder):
            raise InvalidArgument(f"subgraph: is {type(builder).__name__}, must be a ModelBuilder")
        self._children.append(builder)
        return self._append(Operand(_T.SUBGRAPH, lifetime=LifeTime.SUBGRAPH, name=name,
                                    subgraph=len(self._children) - 1))

    def extension_code(self, extension: str, id: int) -> int:
        """Code of the type or operation `id` of an extension, by the extension's name, in this builder's graph."""
        if not isinstance(extension, str):
            raise InvalidArgument(f"extension: is {shown(extension)}, must be the name of an extension")
        prefix = self._prefixes.setdefault(extension, len(self._prefixes) + 1)
        number = _integer(id, "extension id")
        if not 0 <= number <= 0xFFFF:
            raise InvalidArgument(f"extension id: is {shown(number)}, must be 0 to 65535")
        return prefix << 16 | number

    # -- structure -----------------------------------------------------------------------------------------------
    def operation(self, code: typed.OperationKind, inputs: Sequence[int], outputs: Sequence[int]) -> Self:
        """Append an operation. code: OperationType, its name or number; inputs, outputs: lists of operand handles, in
        the order of the standard. Returns the builder.
        """
        code = self._code(OperationType, code, "operation")
        self._operations.append(Operation(code, self._handles(inputs, "input"), self._handles(outputs, "output")))
        return self

    def add(self, code: typed.OperationKind, inputs: Sequence[int], out: Sequence[Any] | None = None,
            name: str = "") -> int:
        """Append an operation with one new output; returns the output's handle.

            y = b.add("RELU", [x])

        code, inputs: as of `operation`. out: (type, dims, scale, zero_point), trailing ones optional; by default as the
        first input, of unknown shape.
        """
        inputs, parameters = self._handles(inputs, "input"), None
        if out is None:
            if not inputs:
                raise InvalidArgument("add: without inputs the output's type must be given")
            like = self._operands[inputs[0]]
            out, parameters = (like.type, (), like.scale, like.zero_point), like.parameters
        elif isinstance(out, str | int | Definition):
            out = (out,)
        out = sequence(out, "add: out", "(type, dims, scale, zero_point)")
        if not 1 <= len(out) <= 4:
            raise InvalidArgument(f"add: out has {len(out)} parts, must be (type, dims, scale, zero_point)")
        handle = self.operand(*out, name=name, parameters=parameters)
        self.operation(code, inputs, [handle])
        return handle

    def inputs(self, *handles: int) -> Self:
        """Set all inputs of the graph, in order, instead of those from input()."""
        self._inputs = list(self._handles(handles, "input"))
        return self

    def outputs(self, *handles: int) -> Self:
        """Set all outputs of the graph, in order, instead of those from output()."""
        self._outputs = list(self._handles(handles, "output"))
        return self

    def relaxed(self, flag: bool = True) -> Self:
        """Allow float32 to be computed with the range and precision of float16."""
        self._relaxed = checked_flag(flag, "relaxed: flag")
        return self

    def state(self, input: int, output: int, initial: typed.Array | None = None) -> Self:
        """Make `output` the next value of `input` in streams; initial: first value (default: zero of its type)."""
        handles = self._handles((input, output), "state")
        self._states.append((*handles, None if initial is None else _initial(initial)))
        return self

    @vlog.log_errors(vlog.MODEL, "build")
    def build(self) -> Model:
        """The finished Model. Raises InvalidArgument for the first violated structural rule [NN 11.3-11.7]."""
        order, number = self._descendants()
        states = tuple(State(_position(self._inputs, source, "input"), _position(self._outputs, target, "output"),
                             initial) for source, target, initial in self._states)
        names = dict.fromkeys(name for builder in (self, *order) for name in builder._prefixes)
        prefixes = {name: place for place, name in enumerate(names, 1)}
        model = Model(self._graph("main", number, prefixes),
                      tuple(child._graph(f"referenced[{i}]", number, prefixes) for i, child in enumerate(order)),
                      self._relaxed, states, self._name, tuple(prefixes.items()))
        validate_model(model)
        if vlog.mask & vlog.MODEL:
            vlog.log(vlog.MODEL, "build %s: %d operations, %d operands", self._name or "model",
                      len(model.main.operations), len(model.main.operands))
        return model

    # -- inside --------------------------------------------------------------------------------------------------
    def _append(self, operand):
        self._operands.append(operand)
        return len(self._operands) - 1

    def _code(self, kind, value, what):
        """Enumeration member from itself, its name or number; unknown numbers are left for validate_model."""
        if isinstance(value, Definition):
            if value.extension is None:
                raise InvalidArgument(f"{what} {value.name} is not part of an extension")
            return self.extension_code(value.extension, value.id)
        return _code(kind, value, what)

    def _dtype(self, type):
        """dtype of what an operand stores."""
        if isinstance(type, Definition):
            return type.dtype
        return _dtype(self._code(OperandType, type, "operand type"))

    def _handles(self, handles, role):
        result = []
        for place, handle in enumerate(sequence(handles, f"{role} handles:", "a list of handles")):
            number = _integer(handle, f"{role} {place}: handle")
            if not 0 <= number < len(self._operands):
                raise InvalidArgument(f"{role} {place}: handle {shown(number)} is not an operand of this builder "
                                      f"(it has {len(self._operands)})")
            result.append(number)
        return tuple(result)

    def _descendants(self):
        """Builders of all subgraphs, each once, and their place in Model.referenced by identity."""
        order, number, waiting = [], {}, list(self._children)
        while waiting:
            child = waiting.pop(0)
            if child is self:
                raise InvalidArgument("referenced: a subgraph refers back to the main graph")
            if id(child) in number:
                continue
            if child._states:
                raise InvalidArgument(f"referenced[{len(order)}]: has states, only the main graph may")
            number[id(child)] = len(order)
            order.append(child)
            waiting += child._children
        return order, number

    def _graph(self, path, number, prefixes):
        inputs, outputs = set(self._inputs), set(self._outputs)
        renamed = {old << 16: prefixes[name] << 16 for name, old in self._prefixes.items() if prefixes[name] != old}

        def record(item):
            prefix = renamed.get(int(item.type) & ~0xFFFF)
            return item if prefix is None else replace(item, type=prefix | int(item.type) & 0xFFFF)

        operands = []
        for index, operand in enumerate(self._operands):
            where = f"{path}.operand[{index}]"
            if index in inputs and index in outputs:
                raise InvalidArgument(f"{where}: is both input and output of the graph")
            if index in inputs or index in outputs:
                if operand.lifetime != LifeTime.TEMPORARY_VARIABLE:
                    role = "input" if index in inputs else "output"
                    raise InvalidArgument(f"{where}: is {operand.lifetime.name}, cannot be an {role} of the graph")
                operand = replace(operand, lifetime=LifeTime.SUBGRAPH_INPUT if index in inputs else
                                  LifeTime.SUBGRAPH_OUTPUT)
            elif operand.subgraph is not None:
                operand = replace(operand, subgraph=number[id(self._children[operand.subgraph])])
            operands.append(record(operand))
        return Subgraph(tuple(operands), tuple(map(record, self._operations)), tuple(self._inputs),
                        tuple(self._outputs))


def _initial(value):
    try:
        return np.array(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InvalidArgument(f"state: initial value is {shown(value)}, must be an array") from None


def _code(kind, value, what):
    if isinstance(value, str):
        if value not in kind.__members__:
            raise InvalidArgument(f"{what} {shown(value)} is unknown")
        return kind[value]
    number = _integer(value, what)
    try:
        return kind(number)
    except ValueError:
        return number


def _dtype(code):
    if code not in DTYPES or code in OEM_TYPES:
        raise InvalidArgument(f"operand type {type_name(code)} stores no known values")
    return DTYPES[code]


def _integer(value, what):
    try:
        return as_index(value)
    except TypeError:
        raise InvalidArgument(f"{what} is {shown(value)}, must be an integer") from None


def _dims(dims):
    return tuple(0 if dim is None else _integer(dim, f"dimension {axis}")
                 for axis, dim in enumerate(sequence(dims, "dims", "a list of integers")))


def _scale(scale):
    """Scales are float32 in the standard: round once, here, so that equal scales compare equal."""
    try:
        with np.errstate(over="ignore"):
            return float(np.float32(scale))
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"scale is {shown(scale)}, must be a number") from None


def _channel_quant(quant):
    if quant is None:
        return None
    dim, scales = (quant.dim, quant.scales) if isinstance(quant, ChannelQuant) else _pair(quant)
    return ChannelQuant(_integer(dim, "channel dimension"), tuple(_scale(scale) for scale in scales))


def _pair(quant):
    try:
        dim, scales = quant
        iter(scales)
    except (TypeError, ValueError):
        raise InvalidArgument(f"channel_quant is {shown(quant)}, must be (dim, scales)") from None
    return dim, scales


def _infer_type(dtype, scale, channel_quant):
    dtype = dtype.newbyteorder("=")
    if channel_quant is not None and dtype == np.int8:
        return _T.TENSOR_QUANT8_SYMM_PER_CHANNEL
    if dtype in _TENSOR_OF_DTYPE:
        return _TENSOR_OF_DTYPE[dtype]
    if dtype in _QUANTIZED_OF_DTYPE:
        if scale:
            return _QUANTIZED_OF_DTYPE[dtype]
        raise InvalidArgument(f"constant: {dtype} needs a scale or a type")
    hint = {"f": "; convert it to float32", "i": "; convert it to int32"}.get(dtype.kind, "")
    raise InvalidArgument(f"constant: dtype {dtype} has no operand type{hint}")


def _array_of(value, dtype):
    """Array of a Python value, in `dtype` (default float32 or int32); refuses integers that do not fit."""
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raw = np.asarray(None)
    if raw.dtype.kind not in "biuf":
        raise InvalidArgument(f"value {shown(value)} is neither a number nor a list of numbers")
    if dtype is None:
        dtype = np.dtype({"f": np.float32, "b": np.bool_}.get(raw.dtype.kind, np.int32))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if raw.dtype.kind == "f" and (raw != np.trunc(raw)).any() or \
                raw.size and not (limits.min <= raw.min() and raw.max() <= limits.max):
            raise InvalidArgument(f"value {shown(value)} does not fit {dtype}")
    with np.errstate(over="ignore"):
        return raw.astype(dtype)


def _parameters(value):
    if value is None:
        return None
    try:
        return bytes(memoryview(value))
    except (TypeError, ValueError, BufferError):
        raise InvalidArgument(f"parameters are {type(value).__name__}, must be bytes") from None


def _frozen(array, code, kind):
    """Contiguous, read-only array of the type's dtype; a copy if the caller could still write to it.

    kind: what the caller named as the type; the values of a type of an extension become bytes.
    """
    if is_raw(code):
        if isinstance(kind, Definition) and array.dtype != kind.dtype:
            raise InvalidArgument(f"constant: array is {array.dtype}, must be {kind.dtype} for {kind.name}")
        return np.frombuffer(array.tobytes(), np.uint8)
    wanted = _dtype(code)
    native = array.dtype.newbyteorder("=")
    if native != wanted and not (native == np.bool_ and code in _BOOL_TYPES):
        raise InvalidArgument(f"constant: array is {array.dtype}, must be {wanted} for {type_name(code)}")
    data = np.array(array, wanted, order="C", copy=True if array.flags.writeable or may_vanish(array) else None)
    data.flags.writeable = False
    return data


def _position(places, handle, role):
    if handle not in places:
        raise InvalidArgument(f"state: operand {handle} is not an {role} of the graph")
    return places.index(handle)
