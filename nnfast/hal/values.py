"""Checks of what a client hands in: every wrong type or number is an InvalidArgument that names the place."""

import numpy as np

from ..checks import shown
from ..errors import InvalidArgument
from .types import HALS, UINT32_MAX


def fail(path, text):
    """Refuse with one line: place, then rule."""
    raise InvalidArgument(f"{path}: {text}")


def record(value, kind, path):
    """A HIDL record of exactly one kind."""
    if type(value) is not kind:
        fail(path, f"is {type(value).__name__}, must be {kind.__name__}")
    return value


def vec(value, path):
    """A HIDL vector as a tuple."""
    if isinstance(value, tuple | list):
        return tuple(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    return fail(path, f"is {type(value).__name__}, must be a list")


def octets(value, path):
    """A HIDL vector of bytes, as bytes."""
    if isinstance(value, bytes | bytearray | memoryview) or isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return bytes(value)
    if not isinstance(value, tuple | list | np.ndarray):
        fail(path, f"is {type(value).__name__}, must be bytes")
    try:
        return bytes(vec(value, path))
    except (TypeError, ValueError):
        return fail(path, "holds something that is not a byte")


def is_integer(value):
    """True for whole numbers, of which True and False are none."""
    return type(value) is int or (isinstance(value, int | np.integer) and not isinstance(value, bool))


def uint32(value, path):
    """A number of 32 bits."""
    if not is_integer(value) or not 0 <= value <= UINT32_MAX:
        fail(path, f"is {shown(value)}, must be 0 to {UINT32_MAX}")
    return int(value)


def boolean(value, path):
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        fail(path, f"is {shown(value)}, must be True or False")
    return bool(value)


def member(value, enum, path):
    """A value of an enumeration, as its member."""
    if is_integer(value):
        try:
            return enum(int(value))
        except ValueError:
            pass  # said below
    return fail(path, f"is {shown(value)}, must be {', '.join(f'{m.value} ({m.name})' for m in enum)}")


def nanoseconds(value, path):
    """An optional time point or duration of 64 bits, None for none."""
    if value is None:
        return None
    if not is_integer(value) or not 0 <= value < 1 << 64:
        fail(path, f"is {shown(value)}, must be nanoseconds of 64 bits or None")
    return int(value)


def version(value):
    """A version of the HAL by its name."""
    if not isinstance(value, str) or value not in HALS:
        fail("hal", f"is {shown(value)}, must be one of {', '.join(HALS)}")
    return value
