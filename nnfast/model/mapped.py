"""Files that hold weights, mapped into memory."""

import mmap

import numpy as np

WORTH = 1 << 16
"""Bytes of a constant from which on its pages are worth a system call."""


class MappedFile(mmap.mmap):
    """A file mapped for reading alone: its pages may be dropped at any time, they come back when they are read."""

    def release(self):
        """Let the system take the pages back."""
        self.madvise(mmap.MADV_DONTNEED)


def release(model):
    """Drop the pages of the files that a model's constants are views of: packed weights live elsewhere now.

    The constants stay what they are; what still reads them finds the pages in the system's cache.
    """
    files = {}
    for graph in (model.main, *model.referenced):
        for operand in graph.operands:
            if operand.data is not None and operand.data.nbytes >= WORTH:
                owner = _owner(operand.data)
                if owner is not None:
                    files[id(owner)] = owner
    for owner in files.values():
        owner.release()


def _owner(array):
    """The MappedFile that an array is a view of, or None."""
    while isinstance(array, np.ndarray):
        array = array.base
    owner = array.obj if isinstance(array, memoryview) else array
    return owner if isinstance(owner, MappedFile) else None
