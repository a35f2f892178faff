"""Canonical execution requests and results [NN 2.5, 2.1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..checks import flag, is_whole, kind_of, sequence, shown
from ..errors import InvalidArgument
from ..record import record

if TYPE_CHECKING:
    from .. import typed


@record(frozen=True, slots=True)
class RequestArgument:
    """Location of one argument: `length` bytes from byte `offset` of pool number `pool`.

    dims: complete shape, () = as in the model. has_no_value: omit this optional input; all else must be zero or empty.
    For a pool that is a Buffer, offset and length are 0. Raises InvalidArgument for anything but whole numbers.
    """

    pool: int = 0
    offset: int = 0
    length: int = 0
    dims: Sequence[int] = ()
    has_no_value: bool = False

    def __post_init__(self) -> None:
        if not (type(self.pool) is type(self.offset) is type(self.length) is int and type(self.dims) is tuple
                and type(self.has_no_value) is bool):
            _settle(self, pool=_integer(self.pool, "pool"), offset=_integer(self.offset, "offset"),
                    length=_integer(self.length, "length"), dims=sequence(self.dims, "request argument: dims"),
                    has_no_value=flag(self.has_no_value, "request argument: has_no_value"))
        for dim in self.dims:
            if type(dim) is not int:
                _settle(self, dims=tuple([_integer(d, "dimension") for d in self.dims]))
                break


@record(frozen=True, slots=True)
class Request:
    """Arguments in the order of the model's inputs and outputs, states included, and the memory pools they are in.

        pool = bytearray(76)                         # 3 floats at 0, 3 floats at 64
        Request([RequestArgument(0, 0, 12)], [RequestArgument(0, 64, 12)], [pool])

    inputs, outputs: sequences of RequestArgument. pools: objects with the buffer protocol (bytearray, memoryview, mmap,
    numpy array), Memory, or a Buffer of the device; pools with outputs must be writable. Raises InvalidArgument.
    """

    inputs: Sequence[RequestArgument]
    outputs: Sequence[RequestArgument]
    pools: Sequence[typed.Pool]

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs", "pools"):
            value = getattr(self, name)
            if type(value) is not tuple and type(value) is not list:
                value = sequence(value, f"request {name}:")
                _settle(self, **{name: value})
            if name != "pools":
                for place, argument in enumerate(value):
                    if type(argument) is not RequestArgument:
                        raise InvalidArgument(f"request {name[:-1]} {place}: is {kind_of(argument)}, must be "
                                              f"an nnfast.RequestArgument")


@record(frozen=True, slots=True)
class OutputShape:
    """Dimensions of one output (0 = unknown), and whether its memory was large enough [NN 3.14]."""

    dims: tuple[int, ...]
    is_sufficient: bool


@record(frozen=True, slots=True)
class Timing:
    """Durations in microseconds; None if not measured [NN 3.15].

    on_device_us: of the computation. in_driver_us: of the whole call, that included.
    """

    on_device_us: int | None = None
    in_driver_us: int | None = None


@record(frozen=True, slots=True)
class ExecutionResult:
    """Result of an execution; the values are in the pools.

    shapes: an OutputShape per output. timing: Timing, filled in where measure_timing asked for it.
    """

    shapes: tuple[OutputShape, ...]
    timing: Timing = Timing()


def _settle(record, **fields):
    """Set normalized fields of a frozen record during its construction."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def _integer(value, name):
    if not is_whole(value):
        raise InvalidArgument(f"request argument: {name} is {shown(value)}, must be a whole number")
    return int(value)
