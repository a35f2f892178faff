"""Memory for what the steps of a plan keep: packed weights, side by side."""

import mmap

import numpy as np

from .._native.plan import ALIGNMENT, HUGE_PAGE, aligned_bytes

REGION = 4 * HUGE_PAGE
FEW = HUGE_PAGE // 2
"""Bytes of a plan that are not worth a huge page."""


class Room:
    """Gives out arrays for the weights of one plan, once these are many from regions of huge pages.

    To get pages from the system is a fifth of the time of packing the weights of a large network, and a huge page takes
    a fraction of the time of the 512 small ones. All arrays of a region keep it, so that they should live equally long.
    Where Linux has no huge pages on request, regions are made of small ones.
    """

    def __init__(self):
        self._given, self._left = 0, np.empty(0, np.uint8)

    def __call__(self, size):
        """Uninitialised uint8 array of `size` bytes that starts at a multiple of 64."""
        self._given += size
        if self._given <= FEW:
            return aligned_bytes(size)
        if size > self._left.nbytes:
            self._left = _region(max(REGION, size))
        array, self._left = self._left[:size], self._left[(size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT:]
        return array


def _region(size):
    """`size` bytes and up to a page more, from the beginning of a huge page on; what nobody touches takes no memory."""
    mapping = mmap.mmap(-1, size + 2 * HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            mapping.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # a kernel without them
    memory = np.frombuffer(mapping, np.uint8)
    start = -memory.ctypes.data % HUGE_PAGE
    return memory[start:start + (size + HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE]
