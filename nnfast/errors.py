"""Exceptions of nnfast: one class per NN HAL ErrorStatus [NN 1.4].

Every message is one line that says where, what, the rule and the fix, e.g.
``main.operation[3] CONV_2D input 1: rank is 3, must be 4``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class ErrorStatus(IntEnum):
    """NN HAL 1.3 ErrorStatus codes."""

    NONE = 0
    DEVICE_UNAVAILABLE = 1
    GENERAL_FAILURE = 2
    OUTPUT_INSUFFICIENT_SIZE = 3
    INVALID_ARGUMENT = 4
    MISSED_DEADLINE_TRANSIENT = 5
    MISSED_DEADLINE_PERSISTENT = 6
    RESOURCE_EXHAUSTED_TRANSIENT = 7
    RESOURCE_EXHAUSTED_PERSISTENT = 8


LONGEST_MESSAGE = 1000


def one_line(text: str) -> str:
    """The text with its line breaks escaped and, where it is too long for a message, without its middle."""
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:600]} ... {text[-200:]}"
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:600]} ... {text[-200:]}"


class Error(Exception):
    """Base of all errors that nnfast raises; `.status` is the HAL code.

    A message is one printable line of at most LONGEST_MESSAGE characters: what is longer loses its middle. Public calls
    raise nothing else, but for TypeError where the names or the number of arguments are wrong, TimeoutError and
    CancelledError of concurrent.futures out of an Execution, and what the methods of a caller's own objects raise.
    """

    status: ErrorStatus = ErrorStatus.GENERAL_FAILURE

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(one_line(a) if isinstance(a, str) else a for a in arguments))


class DeviceUnavailable(Error):
    """The device or its process is gone."""

    status = ErrorStatus.DEVICE_UNAVAILABLE


class DeadObject(DeviceUnavailable):
    """The process that the object lives in has ended; connect again and prepare anew."""


class GeneralFailure(Error):
    """An execution failed on the values it met (a bad index, a shape that does not fit)."""

    status = ErrorStatus.GENERAL_FAILURE


class InternalError(GeneralFailure):
    """A mistake of nnfast itself, not of the caller or the model; `__cause__` is the exception that it ended in."""


def internal(path: str, what: str) -> InternalError:
    """The InternalError of the operation at a path."""
    return InternalError(f"{path}: internal error, please report it with the model: {what}")


def detached(error: BaseException) -> BaseException:
    """A caught error, to be stored: without its traceback, nor those of errors that it took the place of.

    Their frames, and those that called them, would refer to where the error is stored: a cycle, which holds all the
    memory that they work with until a garbage collection comes by. A cause keeps its traceback, which is shown.
    """
    part: BaseException | None = error
    while part is not None:
        part.__traceback__ = None
        part = part.__context__ if part.__suppress_context__ and part.__cause__ is None else None
    return error


class guarded:
    """Context in which exceptions become an InternalError that names the path.

    Error, the classes `passing`, and what the interpreter says of itself (MemoryError, SystemError) stay as they are.
    """

    path: str
    passing: tuple[type[Exception], ...]

    __slots__ = ("passing", "path")

    def __init__(self, path: str, *passing: type[Exception]) -> None:
        self.path = path
        self.passing = passing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, (Error, MemoryError, SystemError, *self.passing)):
            raise internal(self.path, f"{type(error).__name__}: {error}") from error


class MissingPackage(GeneralFailure, ImportError):
    """A package that is not part of every installation is missing; the message names the extra that brings it."""


class OutputInsufficientSize(Error):
    """An output buffer is too small; `.shapes` holds (dimensions, is_sufficient) per output."""

    status = ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
    shapes: list[Any]

    def __init__(self, message: str, shapes: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.shapes = list(shapes)


class InvalidArgument(Error, ValueError):
    """A model, a request or an argument breaks a rule."""

    status = ErrorStatus.INVALID_ARGUMENT


class MissedDeadlineTransient(Error, TimeoutError):
    """The deadline passed; the same call may succeed later."""

    status = ErrorStatus.MISSED_DEADLINE_TRANSIENT


class MissedDeadlinePersistent(Error, TimeoutError):
    """The deadline cannot be met by this model on this device."""

    status = ErrorStatus.MISSED_DEADLINE_PERSISTENT


class ResourceExhaustedTransient(Error, MemoryError):
    """Memory ran out; the same call may succeed later."""

    status = ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT


class ResourceExhaustedPersistent(Error, MemoryError):
    """The model needs more memory than this device will ever give."""

    status = ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT


class UnsupportedOperator(InvalidArgument):
    """A model file has operators that nnfast cannot run.

    operator: name of the first; index: its position in the file; reason: why it cannot be translated. others: further
    ones, as (operator, index, reason).
    """

    SHOWN = 16
    operator: str
    index: int
    reason: str
    others: tuple[tuple[str, int, str], ...]

    def __init__(self, operator: str, index: int, reason: str, others: Iterable[tuple[str, int, str]] = ()) -> None:
        found = ((operator, index, reason), *others)
        lines = [f"operator[{place}] {name}: {why}" for name, place, why in found[:self.SHOWN]]
        if len(found) > self.SHOWN:
            lines.append(f"and {len(found) - self.SHOWN} more")
        super().__init__("; ".join(lines))
        self.operator = operator
        self.index = index
        self.reason = reason
        self.others = tuple(others)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.operator, self.index, self.reason, self.others)


class Cancelled(Error):
    """The caller cancelled the execution."""
