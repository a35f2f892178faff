"""Canonical execution requests and results [NN 2.5, 2.1]."""

from dataclasses import dataclass

from ..checks import flag, is_whole, sequence, shown
from ..errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class RequestArgument:
    """Where one argument lies: `length` bytes from `offset` in pool `pool`.

    dims: () = as in the model, else the complete shape. has_no_value: the (optional) input is omitted.
    """

    pool: int = 0
    offset: int = 0
    length: int = 0
    dims: tuple = ()
    has_no_value: bool = False

    def __post_init__(self):
        if not (type(self.pool) is type(self.offset) is type(self.length) is int and type(self.dims) is tuple
                and type(self.has_no_value) is bool):
            _settle(self, pool=_integer(self.pool, "pool"), offset=_integer(self.offset, "offset"),
                    length=_integer(self.length, "length"), dims=sequence(self.dims, "request argument: dims"),
                    has_no_value=flag(self.has_no_value, "request argument: has_no_value"))
        for dim in self.dims:
            if type(dim) is not int:
                _settle(self, dims=tuple([_integer(d, "dimension") for d in self.dims]))
                break


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments in the order of the model's inputs and outputs, and the memory pools they lie in.

    pools: objects with the buffer protocol (bytearray, memoryview, mmap, numpy array), shared Memory, or a Buffer of
    the device; those that outputs lie in must be writable.
    """

    inputs: tuple
    outputs: tuple
    pools: tuple

    def __post_init__(self):
        for name in ("inputs", "outputs", "pools"):
            value = getattr(self, name)
            if type(value) is not tuple and type(value) is not list:
                value = sequence(value, f"request {name}:")
                _settle(self, **{name: value})
            if name != "pools":
                for place, argument in enumerate(value):
                    if type(argument) is not RequestArgument:
                        raise InvalidArgument(f"request {name[:-1]} {place}: is a {type(argument).__name__}, must be "
                                              f"an nnfast.RequestArgument")


@dataclass(frozen=True, slots=True)
class OutputShape:
    """Dimensions of one output (0 = unknown) and whether its buffer was large enough [NN 3.14]."""

    dims: tuple
    is_sufficient: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """Durations in microseconds; None where not measured [NN 3.15]."""

    on_device_us: int | None = None
    in_driver_us: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """What an execution reports beside the values in the pools."""

    shapes: tuple
    timing: Timing = Timing()


def _settle(record, **fields):
    """Give a frozen record its fields in their plain form, while it is made."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def _integer(value, name):
    if not is_whole(value):
        raise InvalidArgument(f"request argument: {name} is {shown(value)}, must be a whole number")
    return int(value)
