"""Checks of the arrays that a caller hands to run."""

import numpy as np

from ..errors import InvalidArgument


def named(given, infos, role):
    """List in model order from a dict by name."""
    names = [info.name for info in infos]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InvalidArgument(f"run {role} {unknown[0]!r}: no such {role}; there are {', '.join(map(repr, names))}")
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidArgument(f"run {role} {missing[0]!r}: is missing")
    return [given[name] for name in names]


def check_input(info, array):
    """Refuse anything but a C-contiguous array of exactly the input's dtype and shape."""
    _check_array("input", info, array)
    if info.shape is None:
        if not array.ndim or 0 in array.shape:
            raise InvalidArgument(f"run input {info.name!r}: shape is {_text(array.shape)}, must be positive")
        return
    if len(array.shape) != len(info.shape) or any(w not in (None, g) or not g for g, w in zip(array.shape, info.shape)):
        wanted = ["?" if d is None else d for d in info.shape]
        raise InvalidArgument(f"run input {info.name!r}: shape is {_text(array.shape)}, must be {_text(wanted)}")


def check_output(info, array, shape, dtype, others):
    """Refuse an output array that does not fit, cannot be written, or shares memory with another argument."""
    _check_array("output", info, array)
    if array.shape != shape:
        raise InvalidArgument(f"run output {info.name!r}: shape is {_text(array.shape)}, must be {_text(shape)}")
    if not array.flags.writeable:
        raise InvalidArgument(f"run output {info.name!r}: the array is read-only")
    if any(other is not None and np.may_share_memory(array, other) for other in others):
        raise InvalidArgument(f"run output {info.name!r}: shares memory with another input or output; give it its own")


def _check_array(role, info, array):
    if not isinstance(array, np.ndarray):
        raise InvalidArgument(f"run {role} {info.name!r}: is a {type(array).__name__}, must be a numpy array of dtype "
                              f"{info.dtype}")
    if array.dtype != info.dtype:
        raise InvalidArgument(f"run {role} {info.name!r}: dtype is {_dtype(array.dtype)}, must be {info.dtype}")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise InvalidArgument(f"run {role} {info.name!r}: the array is not C-contiguous and aligned; pass "
                              f"np.ascontiguousarray(x)")


def _dtype(dtype):
    return f"{dtype} with swapped bytes" if not dtype.isnative else str(dtype)


def _text(shape):
    return "[" + ", ".join(map(str, shape)) + "]"
