"""Constants of a file that was read: each large one gives its memory back when it is no longer needed."""

import numpy as np

from .._native.engine import Pages

WORTH = 1 << 13
"""Bytes of a constant from which on it may have pages of its own to give back."""


def apart(arrays):
    """The large ones of the arrays over memory of model.mapped.read_file, as {key: array} over the same bytes.

    arrays: {key: array}; nothing else is to read their bytes. The memory of each array that is returned goes with its
    last view, whatever becomes of the others. Arrays that overlap are left out.
    """
    spans = sorted((array.ctypes.data, array.ctypes.data + array.nbytes, key)
                   for key, array in arrays.items() if array.nbytes)
    result, end = {}, 0
    for place, (start, stop, key) in enumerate(spans):
        if stop - start >= WORTH and start >= end and (place + 1 == len(spans) or spans[place + 1][0] >= stop):
            result[key] = np.frombuffer(Pages(arrays[key]), arrays[key].dtype)
        end = max(end, stop)
    return result
