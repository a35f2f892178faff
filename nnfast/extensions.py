"""Vendor extensions: operand types and operations that other packages add to the driver [NN 9].

    INT64 = Type("INT64", 0, np.int64, is_tensor=False)
    TWICE = Operation("TWICE", 0, "x:T -> y:T", {"T": [INT64]},
                      infer=lambda node: [node["x"].shape], run=lambda node, inputs: [inputs[0] * 2])
    register(Extension("com.example.twice", [INT64], [TWICE]))

Every `nnfast.Device` made after that runs them. docs/extensions.md tells how to write one.
"""

from __future__ import annotations

import threading
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from . import vlog
from .checks import called, counted, flag, sequence, shown, text
from .checks import dtype as checked_dtype
from .errors import Error, GeneralFailure, InvalidArgument
from .forks import importing, renewed
from .model import own
from .model.types import EXTENSION_NAME, Definition, OperandType, type_name
from .ops.base import ABBREVIATIONS, OpDef, Signature, ValueUnknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from numpy.typing import DTypeLike

    from . import typed

ENTRY_POINTS = "nnfast.extensions"
"""Group of entry points in which packages name their Extension objects."""

_LAST_ID = 0xFFFF
_registered, _lock = {}, renewed(threading.Lock())


class Type(Definition):
    """An operand type of an extension.

    id: its code there, 0 to 65535; dtype: of a scalar, or of one element of a tensor; is_tensor: False for a type of
    scalars. parameters: structured dtype of the bytes that must go with every operand of the type
    (Operand.extraParams); None: there are none. check(parameters) may raise ValueError for those that it does not
    accept. extension: name of the Extension that it is part of.
    """

    name: str
    id: int
    extension: str | None
    is_tensor: bool
    dtype: typed.DType
    parameters: typed.DType | None

    @vlog.log_errors(vlog.MANAGER, "extension type")
    def __init__(self, name: str, id: int, dtype: DTypeLike, is_tensor: bool = True,
                 parameters: DTypeLike | None = None, check: Callable[..., object] | None = None) -> None:
        self.name, self.id, self.extension = name, _id(name, id), None
        self.is_tensor = flag(is_tensor, f"extension type {name}: is_tensor")
        self.dtype, self.parameters, self._check = _dtype(name, dtype), None, check
        if parameters is not None:
            self.parameters = _dtype(name, parameters)
            if self.parameters.names is None:
                raise InvalidArgument(f"extension type {name}: parameters are {shown(parameters)}, must be a "
                                      f"structured dtype")
        if check is not None:
            called(check, f"extension type {name}: check")

    def pack(self, **fields: Any) -> bytes:
        """Bytes of the parameters with these fields, for an operand."""
        if self.parameters is None or set(fields) != set(self.parameters.names):
            wanted = ", ".join(self.parameters.names) if self.parameters is not None else "none"
            raise InvalidArgument(f"extension type {self.name}: got parameters {', '.join(fields)}, must be {wanted}")
        try:
            return np.array([tuple(fields[name] for name in self.parameters.names)], self.parameters).tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgument(f"extension type {self.name}: parameters {shown(fields)} do not fit "
                                  f"{self.parameters}: {error}") from None

    def unpack(self, path: str, raw: bytes | None) -> Any:
        """Record of an operand's parameter bytes (None = it has none). Raises InvalidArgument."""
        if self.parameters is None:
            if raw is not None:
                raise InvalidArgument(f"{path}: has parameters, {self.name} takes none")
            return None
        if raw is not None and not isinstance(raw, bytes):
            raise InvalidArgument(f"{path}: parameters are {shown(raw)}, must be bytes")
        if raw is None or len(raw) != self.parameters.itemsize:
            raise InvalidArgument(f"{path}: has {'no' if raw is None else len(raw)} bytes of parameters, {self.name} "
                                  f"needs {self.parameters.itemsize}")
        record = np.frombuffer(raw, self.parameters)[0]
        if self._check is not None:
            try:
                self._check(record)
            except ValueError as error:
                raise InvalidArgument(f"{path}: {error}") from None
        return record

    def __repr__(self) -> str:
        return f"<Type {self.id} {self.name} of {self.extension}>"


class Operation(Definition):
    """An operation of an extension.

    id: its code there, 0 to 65535.
    signature: operands as ``"n:N -> sequence:S"``: ``name:variable``; ``name?`` may be omitted, ``name*`` repeats.
    types: {variable: what it may be}, each a Type or the name of a type of the standard; operands that share a variable
    have the same type. All functions look at the operation through its `node` (ops.base.Node):
    infer(node): list of output shapes (tuples); input shapes are known. Asking for a value that is not known yet
        (node.scalar, node.value) puts planning off until it is.
    run(node, inputs): list of output arrays from read-only input arrays (None = omitted), of the output types' dtypes.
    validate(node): rules of model time, before shapes and values are known; node.fail(...) refuses.
    data_dependent: only run knows the shapes of the outputs; infer is not needed then.
    zero_sized: accept inputs with a zero dimension.
    Several threads may call them at once. What they raise that is not an nnfast.Error ends as GeneralFailure.
    """

    name: str
    id: int
    extension: str | None
    op: OpDef

    @vlog.log_errors(vlog.MANAGER, "extension operation")
    def __init__(self, name: str, id: int, signature: str, types: dict[str, Any], run: Callable[..., Any],
                 infer: Callable[..., Any] | None = None, validate: Callable[..., Any] | None = None,
                 data_dependent: bool = False, zero_sized: bool = False) -> None:
        self.name, self.id, self.extension = name, _id(name, id), None
        if infer is None and not data_dependent:
            raise InvalidArgument(f"extension operation {name}: has no infer, only data dependent ones need none")
        text(signature, f"extension operation {name}: signature")
        called(run, f"extension operation {name}: run")
        for what, function in (("infer", infer), ("validate", validate)):
            if function is not None:
                called(function, f"extension operation {name}: {what}")
        data_dependent = flag(data_dependent, f"extension operation {name}: data_dependent")
        zero_sized = flag(zero_sized, f"extension operation {name}: zero_sized")
        if not isinstance(types, dict) or not all(isinstance(variable, str) for variable in types):
            raise InvalidArgument(f"extension operation {name}: types is {shown(types)}, must be a dict of lists by "
                                  f"variable")
        choices = {}
        for variable, kinds in types.items():
            kinds = sequence(kinds, f"extension operation {name}: types of {variable}", "a list of types")
            choices[variable] = tuple(_type(name, kind) for kind in kinds)
        try:
            form = Signature.over(signature, choices, "1.2")
        except (KeyError, ValueError) as error:
            raise InvalidArgument(f"extension operation {name}: signature {shown(signature)}: {error}") from None
        if set(choices) != set(form.variables):
            raise InvalidArgument(f"extension operation {name}: types are of {', '.join(choices)}, the signature has "
                                  f"variables {', '.join(form.variables)}")
        self._infer, self._run, self._validate = infer, run, validate
        self.op = OpDef(self, (form,), infer=self._shapes, compute=self._results,
                        validate=self._rules if validate is not None else None,
                        zero_sized="any" if zero_sized else "none", data_dependent=data_dependent)

    def _rules(self, node):
        try:
            self._call("validate", self._validate, node)
        except ValueUnknown:
            raise GeneralFailure(f"{node.path}: validate asks for a value that only an execution knows; that is for "
                                 f"infer to do") from None

    def _shapes(self, node):
        if self._infer is None:
            return [t.shape for t in node.outputs]
        shapes = self._call("infer", self._infer, node)
        if not isinstance(shapes, list | tuple) or len(shapes) != len(node.outputs) or \
                not all(map(_is_shape, shapes)):
            raise GeneralFailure(f"{node.path}: infer of the extension gave {shown(shapes)}, must be a list of "
                                 f"{len(node.outputs)} shapes")
        return shapes

    def _results(self, node, inputs):
        """Output arrays, checked: a mistake of the extension must not reach what others compute."""
        given = [None if array is None else _read_only(array) for array in inputs]
        results = self._call("run", self._run, node, given)
        if not isinstance(results, list | tuple) or len(results) != len(node.outputs):
            raise GeneralFailure(f"{node.path}: run of the extension must give a list of {len(node.outputs)} arrays")
        checked = []
        for place, (tensor, result) in enumerate(zip(node.outputs, results)):
            if not isinstance(result, np.ndarray | np.generic) or result.dtype != tensor.dtype:
                kind = getattr(result, "dtype", type(result).__name__)
                raise GeneralFailure(f"{node.path} output {place}: run of the extension gave {kind}, must be an array "
                                     f"of {tensor.dtype}")
            array = np.ascontiguousarray(result).reshape(result.shape)
            if not self.op.data_dependent and 0 not in array.shape and array.shape != tensor.shape:
                raise GeneralFailure(f"{node.path} output {place}: run of the extension gave shape "
                                     f"{list(array.shape)}, infer said {list(tensor.shape)}")
            shared = any(other is not None and np.may_share_memory(array, other) for other in given)
            checked.append(array.copy() if shared else array)
        return checked

    def _call(self, phase, function, node, *arguments):
        try:
            return function(node, *arguments)
        except (Error, ValueUnknown):
            raise
        except Exception as error:
            raise GeneralFailure(f"{node.path}: {phase} of extension {self.extension} raised {type(error).__name__}: "
                                 f"{error}") from error

    def __repr__(self) -> str:
        return f"<Operation {self.id} {self.name} of {self.extension}>"


class Extension:
    """A named set of operand types and operations, each by its id.

    name: as a vendor's reverse domain: small letters, digits and _, at least one dot ("com.example.fibonacci").
    """

    name: str
    types: dict[int, Type]
    operations: dict[int, Operation]

    @vlog.log_errors(vlog.MANAGER, "extension")
    def __init__(self, name: str, types: Iterable[Type] = (), operations: Iterable[Operation] = ()) -> None:
        if not isinstance(name, str) or not EXTENSION_NAME.fullmatch(name):
            raise InvalidArgument(f"extension name: is {shown(name)}, must be small letters, digits and _ in parts "
                                  f"with dots between")
        self.name = name
        self.types, self.operations = self._by_id(Type, types), self._by_id(Operation, operations)
        for member in (*self.types.values(), *self.operations.values()):
            member.extension = name

    def _by_id(self, kind, members):
        found, names = {}, set()
        for member in sequence(members, f"extension {self.name}: {kind.__name__.lower()}s", "a list"):
            if not isinstance(member, kind):
                raise InvalidArgument(f"extension {self.name}: {shown(member)} is not an extensions.{kind.__name__}")
            if member.extension is not None:
                raise InvalidArgument(f"extension {self.name}: {member.name} is part of {member.extension} already")
            if member.id in found or member.name in names:
                raise InvalidArgument(f"extension {self.name}: {member.name} and id {member.id} must be used once")
            found[member.id] = member
            names.add(member.name)
        return found

    def __repr__(self) -> str:
        types, operations = counted(len(self.types), "type"), counted(len(self.operations), "operation")
        return f"<Extension {self.name}: {types}, {operations}>"


@vlog.log_errors(vlog.MANAGER, "register")
def register(extension: Extension) -> Extension:
    """Make an Extension known to all devices that are made from now on; returns it."""
    if not isinstance(extension, Extension):
        raise InvalidArgument(f"register: got {shown(extension)}, must be an extensions.Extension")
    if extension.name == own.NAME:
        raise InvalidArgument(f"register: {own.NAME} is nnfast's own extension; take another name")
    with _lock:
        if _registered.get(extension.name, extension) is not extension:
            raise InvalidArgument(f"register: another extension {extension.name} is registered already")
        _registered[extension.name] = extension
    if vlog.mask & vlog.MANAGER:
        vlog.log(vlog.MANAGER, "register: %r", extension)
    return extension


def unregister(name: str) -> None:
    """Forget an extension; devices that have it keep it."""
    text(name, "unregister: name")
    with _lock:
        _registered.pop(name, None)


def registered() -> dict[str, Extension]:
    """{name: Extension} of what is registered now."""
    with _lock:
        return dict(_registered)


def load_installed(failed: Callable[[Any, Exception], object] | None = None) -> list[str]:
    """Register the extensions of installed packages (entry points of group "nnfast.extensions"); their names.

    failed(entry, error): told of each that cannot be imported or registered; None: the first such error is raised.
    """
    with importing:
        from importlib import metadata

    names = []
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            names.append(register(entry.load()).name)
        except Exception as error:
            if failed is None:
                raise
            failed(entry, error)
    return names


def chosen(given: Iterable[Extension | str] | None) -> dict[str, Extension]:
    """{name: Extension} of a device: all registered ones (None), or those listed, as objects or by registered name."""
    known = registered()
    if given is None:
        return known
    found = {}
    for extension in sequence(given, "Device extensions: is", "a list of names or extensions"):
        if isinstance(extension, str):
            if extension not in known:
                raise InvalidArgument(f"Device extensions: {shown(extension)} is not registered; there are "
                                      f"{', '.join(sorted(known)) or 'none'}")
            extension = known[extension]
        if not isinstance(extension, Extension):
            raise InvalidArgument(f"Device extensions: {shown(extension)} is neither a name nor an "
                                  "extensions.Extension")
        if extension.name in found:
            raise InvalidArgument(f"Device extensions: {extension.name} is listed twice")
        found[extension.name] = extension
    return found


def _id(name, id):
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"extension member: name is {shown(name)}, must be a string")
    if isinstance(id, bool) or not isinstance(id, Integral) or not 0 <= id <= _LAST_ID:
        raise InvalidArgument(f"extension member {name}: id is {shown(id)}, must be 0 to {_LAST_ID}")
    return int(id)


def _dtype(name, dtype):
    found = checked_dtype(dtype, f"extension type {name}: dtype")
    if found.hasobject or not found.itemsize or found.subdtype is not None or not found.isnative:
        raise InvalidArgument(f"extension type {name}: dtype is {found}, must be of a fixed size in native byte order")
    return found


def _type(name, kind):
    if isinstance(kind, str) and kind in OperandType.__members__:
        kind = OperandType[kind]
    if isinstance(kind, Type) or kind in ABBREVIATIONS.values():
        return kind
    text = repr(kind) if isinstance(kind, str) or not isinstance(kind, int) else type_name(kind)
    raise InvalidArgument(f"extension operation {name}: {text} is not an operand type")


def _is_shape(shape):
    return isinstance(shape, tuple | list) and all(isinstance(d, Integral) and d >= 0 for d in shape)


def _read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view
