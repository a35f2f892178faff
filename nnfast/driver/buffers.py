"""Driver-allocated memory for arguments of prepared models (memory domains) [NN 6]."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .. import vlog
from .._native.engine import aligned_bytes
from ..checks import is_number, is_whole, sequence, shown, whole
from ..errors import GeneralFailure, InvalidArgument
from ..model.types import UINT32_MAX, Definition, type_name
from ..record import record
from .memory import FileBytes, Memory

if TYPE_CHECKING:
    from typing import Any

    from .. import typed
    from ..model.types import Operand

INPUT, OUTPUT = "input", "output"
_NO_VALUE = "has no value yet; copy into it or run a model into it first"


@record(frozen=True, slots=True)
class Role:
    """A use of a buffer: as input or output number `index` of a prepared model.

    prepared: PreparedModel of the device that allocates. frequency: hint how often the buffer is used so, in (0, 1].
    """

    prepared: typed.Prepared
    index: int
    frequency: float = 1.0


def combine_dims(a, b):
    """Dimensions that agree with both (0 = unknown, () = unknown rank), or None if there are none [NN 6.2]."""
    a, b = tuple(a), tuple(b)
    if not a or not b:
        return a or b
    if len(a) != len(b) or any(x and y and x != y for x, y in zip(a, b)):
        return None
    return tuple(x or y for x, y in zip(a, b))


class Buffer:
    """Device memory for one argument, usable in the roles it was allocated for; made by Device.allocate.

    token: its number on the device. dims: tuple of dimensions known from the roles and from `allocate` (0 = unknown).
    To use it, put it into Request.pools and refer to that pool with offset and length 0. It has a value after copy_from
    or a successful execution into it, and loses the value when either fails [NN 6.5]. Callers must not let executions
    and copies on one buffer overlap.

        buffer = device.allocate(output_roles=[Role(prepared, 0)])
    """

    token: int
    dims: tuple[int, ...]
    type: int
    dtype: typed.DType
    is_scalar: bool

    def __init__(self, token: int, operand: Operand, dims: typed.Dims, roles: Any, budget: Any) -> None:
        self.token, self.dims, self._budget = token, dims, budget
        self.type, self.dtype, self.is_scalar = operand.type, operand.dtype, operand.is_scalar
        self._roles = roles
        self._memory = None
        self._value = None
        if self._known(dims):
            self._storage(self._shape(dims))

    def _shape(self, dims):
        return () if self.is_scalar else tuple(dims)

    def _known(self, dims):
        return self.is_scalar or (bool(dims) and all(dims))

    def _storage(self, shape):
        """The buffer's memory as an array of `shape`, allocated now where the shape was not known before."""
        nbytes = prod(shape) * self.dtype.itemsize
        if self._memory is None or self._memory.nbytes < nbytes:
            memory = aligned_bytes(nbytes)
            if self._budget is not None:
                self._budget.take(nbytes, memory, f"buffer {self.token}")
            self._memory = memory
        return self._memory[:nbytes].view(self.dtype).reshape(shape)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the value, or None while there is none."""
        return None if self._value is None else self._value.shape

    # -- copies [NN 6.6] ---------------------------------------------------------------------------------------------
    @vlog.log_errors(vlog.MEMORY, "copy_from")
    def copy_from(self, source: typed.Buffer | Memory, dims: typed.Dims = ()) -> None:
        """Set the value from a buffer-protocol object of exactly its size in bytes.

        dims: the shape, needed where `self.dims` leaves it open. Raises InvalidArgument for a wrong size or dims; the
        buffer then has no value.
        """
        self._value = None
        dims = dimensions(dims, f"buffer {self.token} copy_from:")
        raw = bytes_of_object(source, "copy_from source", writable=False)
        if self.is_scalar and dims:
            raise InvalidArgument(f"buffer {self.token} copy_from: dims are {list(dims)}, a scalar has none")
        if not all(dims):
            raise InvalidArgument(f"buffer {self.token} copy_from: dims are {list(dims)}, none may be 0")
        full = combine_dims(self.dims, dims)
        if full is None or not self._known(full):
            raise InvalidArgument(f"buffer {self.token} copy_from: dims are {list(dims)}, must complete "
                                  f"{list(self.dims)}")
        array = self._storage(self._shape(full))
        if raw.nbytes != array.nbytes:
            raise InvalidArgument(f"buffer {self.token} copy_from: the source has {raw.nbytes} bytes, must have "
                                  f"exactly {array.nbytes}")
        array.reshape(-1).view(np.uint8)[:] = raw
        self._value = array
        if vlog.mask & vlog.MEMORY:
            vlog.log(vlog.MEMORY, "%r: copied %d bytes in", self, raw.nbytes)

    @vlog.log_errors(vlog.MEMORY, "copy_to")
    def copy_to(self, target: typed.Buffer | Memory) -> None:
        """Copy the value into a writable buffer-protocol object of exactly its size in bytes.

        Raises InvalidArgument for another size, GeneralFailure if there is no value.
        """
        raw = bytes_of_object(target, "copy_to target", writable=True)
        known = self._value.nbytes if self._value is not None else \
            prod(self._shape(self.dims)) * self.dtype.itemsize if self._known(self.dims) else None
        if known is not None and raw.nbytes != known:
            raise InvalidArgument(f"buffer {self.token} copy_to: the target has {raw.nbytes} bytes, must have exactly "
                                  f"{known}")
        if self._value is None:
            raise GeneralFailure(f"buffer {self.token} copy_to: {_NO_VALUE}")
        raw[:] = np.ascontiguousarray(self._value).reshape(-1).view(np.uint8)
        if isinstance(target, Memory) and not target.is_sealed:
            target.write(0, raw)
        if vlog.mask & vlog.MEMORY:
            vlog.log(vlog.MEMORY, "%r: copied %d bytes out", self, raw.nbytes)

    # -- executions [NN 6.4, 6.5] ------------------------------------------------------------------------------------
    def check_role(self, path: str, form: Any, kind: str, index: int) -> None:
        """Raise InvalidArgument for a use that the buffer was not allocated for. form: RequestForm of the model."""
        if (id(form), kind, index) not in self._roles:
            raise InvalidArgument(f"{path}: buffer {self.token} was not allocated for {kind} {index} of this prepared "
                                  f"model; name the role at allocate")

    def read(self, path: str, dims: typed.Dims) -> typed.Array:
        """The value as an array, for an input of dimensions `dims`; raises if there is none or it does not match."""
        if self._value is None:
            raise GeneralFailure(f"{path}: buffer {self.token} {_NO_VALUE}")
        if not self.is_scalar and combine_dims(self._value.shape, dims) is None:
            raise InvalidArgument(f"{path}: buffer {self.token} holds {list(self._value.shape)}, the argument asks for "
                                  f"{list(dims)}")
        return self._value

    def start_writing(self) -> None:
        """Drop the value: an execution is about to write, and the new one counts only if it succeeds."""
        self._value = None

    def place(self, shape: tuple[int, ...]) -> typed.Array | None:
        """Array for a result of `shape`, or None if the buffer cannot hold that."""
        return None if self.misfit(shape) else self._storage(shape)

    def misfit(self, shape: tuple[int, ...]) -> str:
        """Why the buffer cannot hold a result of `shape`, or ""."""
        if self.is_scalar or not self.dims:
            return ""
        if len(shape) == len(self.dims) and all(d in (0, s) for d, s in zip(self.dims, shape)):
            return ""
        return f"buffer {self.token} was allocated for {list(self.dims)}, the result is {list(shape)}"

    def store(self, array: typed.Array) -> None:
        """Take the result of a successful execution as the value."""
        target = self._storage(array.shape)
        if target.ctypes.data != array.ctypes.data:
            target[...] = array
        self._value = target

    def __repr__(self) -> str:
        state = "no value" if self._value is None else f"value of {list(self._value.shape)}"
        return f"<Buffer {self.token} {type_name(self.type)} {list(self.dims)}: {state}>"


@record(frozen=True, slots=True)
class NamedBuffer:
    """Stands for a buffer of which only the token is known, where a request is checked without its device."""

    token: int
    dims = ()

    def check_role(self, path, form, kind, index):
        """Accept: only the device knows the roles."""


def allocate(device, dims, input_roles, output_roles):
    """See Device.allocate."""
    dims = dimensions(dims, "allocate:")
    roles, operands = {}, []
    for kind, given in ((INPUT, input_roles), (OUTPUT, output_roles)):
        for place, role in enumerate(sequence(given, f"allocate {kind}_roles:", "a list of Roles")):
            path = f"allocate {kind}_roles[{place}]"
            key, operand = _role(device, path, kind, role)
            if key in roles:
                raise InvalidArgument(f"{path}: {kind} {role.index} of this prepared model is listed already")
            # Holding the model keeps its id() from being reused by a later one.
            roles[key] = role.prepared
            operands.append((path, operand))
    if not operands:
        raise InvalidArgument("allocate: needs at least one role; name what the buffer is for")
    first_path, first = operands[0]
    for path, operand in operands:
        for name in ("type", "scale", "zero_point", "channel_quant"):
            if getattr(operand, name) != getattr(first, name):
                raise InvalidArgument(f"{path}: {name} is {getattr(operand, name)}, must be as in {first_path}: "
                                      f"{getattr(first, name)}")
        full = combine_dims(dims, operand.dims)
        if full is None:
            raise InvalidArgument(f"{path}: dimensions are {list(operand.dims)}, which do not go with {list(dims)}")
        dims = full
    if first.is_scalar and dims:
        raise InvalidArgument(f"allocate: dims are {list(dims)}, the roles are of a scalar, which has none")
    if isinstance(first.type, Definition):
        raise GeneralFailure(f"allocate: the roles are of {first.type.name}, there are no buffers for types of "
                             f"extensions; use client memory")
    try:
        buffer = device.tokens.add(lambda token: Buffer(token, first, dims, roles, device.budget))
    except MemoryError as error:
        raise GeneralFailure(f"allocate: out of memory: {error}") from None
    if vlog.mask & vlog.MEMORY:
        vlog.log(vlog.MEMORY, "%r: allocated for %d roles", buffer, len(roles))
    return buffer


def _role(device, path, kind, role):
    """((identity of the model's form, kind, index), operand) of a role."""
    prepared = role.prepared if isinstance(role, Role) else None
    made_by = getattr(prepared, "device", None)  # perhaps a variant of the device, which shares its models
    if getattr(made_by, "models", None) is not device.models or prepared not in device.models:
        raise foreign(path, role)
    graph = prepared.model.main
    listed = graph.inputs if kind == INPUT else graph.outputs
    if not is_whole(role.index) or not 0 <= role.index < len(listed):
        raise InvalidArgument(f"{path}: index is {shown(role.index)}, the model has {len(listed)} {kind}s")
    if not is_number(role.frequency) or not 0 < role.frequency <= 1:
        raise InvalidArgument(f"{path}: frequency is {shown(role.frequency)}, must be above 0 and at most 1")
    return (id(prepared.executor.form), kind, role.index), graph.operands[listed[role.index]]


def foreign(path, role):
    """The InvalidArgument for a role that is none of this device."""
    if not isinstance(role, Role):
        return InvalidArgument(f"{path}: is {shown(role)}, must be a Role")
    return InvalidArgument(f"{path}: prepared is {shown(role.prepared)}, must be a model that this device prepared")


def dimensions(dims, what):
    """`dims` as a tuple of int (0 = unknown). what: start of the error message. Raises InvalidArgument."""
    given = sequence(dims, f"{what} dims", "a list of whole numbers")
    return tuple([whole(dim, f"{what} dims[{axis}]", 0, UINT32_MAX) for axis, dim in enumerate(given)])


def bytes_of_object(memory, what, writable):
    if isinstance(memory, Memory):
        opened = memory.open()
        memory = opened.read(0, opened.nbytes) if isinstance(opened, FileBytes) else opened
    try:
        raw = np.frombuffer(memory, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise InvalidArgument(f"{what}: {error}") from None
    if writable and not raw.flags.writeable:
        raise InvalidArgument(f"{what}: is read-only")
    return raw
