"""Canonical execution requests and results (hal.md 2.5, 2.1)."""

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments in the order of the model's inputs and outputs, and the memory pools they lie in.

    pools: objects with the buffer protocol (bytearray, memoryview, mmap, numpy array), shared Memory, or a Buffer of
    the device; those that outputs lie in must be writable.
    """

    inputs: tuple
    outputs: tuple
    pools: tuple


@dataclass(frozen=True, slots=True)
class OutputShape:
    """Dimensions of one output (0 = unknown) and whether its buffer was large enough (hal.md 3.14)."""

    dims: tuple
    is_sufficient: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """Durations in microseconds; None where not measured (hal.md 3.15)."""

    on_device_us: int | None = None
    in_driver_us: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """What an execution reports beside the values in the pools."""

    shapes: tuple
    timing: Timing = Timing()
