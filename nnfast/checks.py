"""Checks of what callers hand to public calls, and how messages show it: any Python object is looked at safely.

Exceptions that the methods of a caller's own object raise (its __iter__, __index__, __eq__ ...) pass through.
"""

import os
from numbers import Integral, Real

import numpy as np

from .errors import InvalidArgument

SHOWN = 120
"""Characters of a value in a message."""
DEPTH = 3
_CONTAINERS = (list, tuple, set, frozenset, dict)
_PLAIN = (str, bytes, float, complex, bool, type(None))


def shown(value):
    """repr of a value for a message: short, whatever the value is; what has no repr is told by its type."""
    kind = type(value)
    if kind is int and value.bit_length() > 4 * SHOWN:
        return f"an int of {value.bit_length()} bits"
    if kind in (str, bytes, bytearray):
        return _cut(repr(value[:SHOWN]) + ("..." if len(value) > SHOWN else ""))
    if kind in _CONTAINERS and not _is_plain(value, DEPTH):
        return f"a {kind.__name__} of {len(value)}"
    try:
        return _cut(" ".join(repr(value).split()))
    except Exception:  # it says nothing of itself: its type does
        return kind_of(value)


def kind_of(value):
    """The type of a value, with its article: "an int", "a list"; None is "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' or name.startswith('nd') else 'a'} {name}"


def counted(count, noun):
    """A number of things for a message: "1 input", "2 inputs", "1,000 inputs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _is_plain(value, depth):
    """True when repr of a value is short work."""
    kind = type(value)
    if kind is int:
        return value.bit_length() <= 4 * SHOWN
    if kind not in _CONTAINERS:
        return kind in _PLAIN
    items = (*value, *value.values()) if kind is dict else value
    return depth > 0 and len(value) <= SHOWN and all(_is_plain(item, depth - 1) for item in items)


def _cut(text):
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def is_whole(value):
    """Whether a value is a whole number, and no boolean."""
    return type(value) is int or isinstance(value, Integral) and not isinstance(value, bool)


def whole(value, what, low=0, high=None):
    """A whole number as int. what: path of the message. Raises InvalidArgument."""
    if not is_whole(value) or value < low or high is not None and value > high:
        rule = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InvalidArgument(f"{what} is {shown(value)}, must be a whole number {rule}")
    return int(value)


def flag(value, what):
    """True or False as bool; 1 and 0 count, and numpy's. Raises InvalidArgument."""
    if isinstance(value, bool | np.bool_) or is_whole(value) and value in (0, 1):
        return bool(value)
    raise InvalidArgument(f"{what} is {shown(value)}, must be True or False")


def text(value, what):
    """A string. Raises InvalidArgument."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} is {shown(value)}, must be text")
    return value


def sequence(value, what, of="a list"):
    """The elements of a list, tuple or anything else that can be iterated, but for text, as a tuple.

    what: path of the message; of: what it must be. Raises InvalidArgument.
    """
    if isinstance(value, tuple | list):
        return tuple(value)
    if not isinstance(value, str | bytes | bytearray | dict) and hasattr(type(value), "__iter__"):
        try:
            return tuple(value)
        except (TypeError, ValueError, OverflowError, MemoryError):
            pass  # told below
    raise InvalidArgument(f"{what} is {shown(value)}, must be {of}")


def path(value, what):
    """A path as a string that the system takes. Raises InvalidArgument."""
    if not isinstance(value, str | bytes | os.PathLike):
        raise InvalidArgument(f"{what} is {shown(value)}, must be a path")
    try:
        name = os.fsdecode(value)
        fit = "\0" not in name and os.fsencode(name) is not None
    except (TypeError, ValueError):
        fit = False
    if not fit:
        raise InvalidArgument(f"{what} is {shown(value)}, must be a path of characters that the system has")
    return name


def is_number(value):
    """Whether a value is a real number, and no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def chosen_from(value, what, names):
    """One of some names. Raises InvalidArgument."""
    if not isinstance(value, str) or value not in names:
        raise InvalidArgument(f"{what} is {shown(value)}, must be one of {', '.join(names)}")
    return value


def dtype(value, what):
    """A numpy dtype, from whatever numpy takes for one. Raises InvalidArgument."""
    try:
        return np.dtype(value)
    except (TypeError, ValueError, OverflowError, RecursionError, SyntaxError, KeyError, AttributeError):
        raise InvalidArgument(f"{what} is {shown(value)}, must be a numpy dtype") from None


def called(value, what):
    """A function. Raises InvalidArgument."""
    if not callable(value):
        raise InvalidArgument(f"{what} is {shown(value)}, must be a function")
    return value
