"""Constants of a loaded file: the memory of each large one is freed separately when no longer needed."""

import numpy as np

from .._native.engine import Pages

WORTH = 1 << 13
"""Bytes from which a constant may have whole pages of its own to free."""


def apart(arrays):
    """The large ones of arrays over memory from model.mapped.read_file, as {key: array} over the same bytes.

    arrays: {key: array}; nothing else may read their bytes. The memory of each returned array is freed with its last
    view, independently of the others. Overlapping arrays are left out.
    """
    spans = sorted((array.ctypes.data, array.ctypes.data + array.nbytes, key)
                   for key, array in arrays.items() if array.nbytes)
    result, end = {}, 0
    for place, (start, stop, key) in enumerate(spans):
        if stop - start >= WORTH and start >= end and (place + 1 == len(spans) or spans[place + 1][0] >= stop):
            result[key] = np.frombuffer(Pages(arrays[key]), arrays[key].dtype)
        end = max(end, stop)
    return result
