"""Memory that weights lie in: private copies of files, and mappings of files that cannot shrink.

Whoever may write to a file may cut it short, and the next access to a mapping of it would end this process with
SIGBUS. Files in a file system are therefore read, never mapped; only memory sealed with F_SEAL_SHRINK is mapped.
"""

import contextlib
import mmap
import os

import numpy as np

from .._native.rings import Mapping

MADV_POPULATE_WRITE = 23
"""Since Linux 5.14; the mmap module has no name for it."""

WORTH = 1 << 16
"""Bytes of a constant from which on its pages are worth a system call."""


def read_file(fd, size):
    """The first `size` bytes of a file as a read-only memoryview of private memory; EOFError when there are fewer."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # A fault for each small page costs more than the copy of its bytes: few pages, where the system has large ones, and
    # all of them at once.
    for advice in (mmap.MADV_HUGEPAGE, MADV_POPULATE_WRITE):
        with contextlib.suppress(OSError):  # Linux before 5.14, or built without large pages
            memory.madvise(advice)
    view, done = memoryview(memory), 0
    while done < size:
        count = os.preadv(fd, [view[done:]], done)
        if not count:
            raise EOFError(f"ends after {done} of {size} bytes")
        done += count
    return view.toreadonly()


class MappedFile(mmap.mmap):
    """A sealed file mapped for reading alone: its pages may be dropped at any time and come back when they are read."""

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


def may_vanish(array):
    """True for a view of a mapping that is not known to stay whole and as it is."""
    return isinstance(_memory(array), mmap.mmap | Mapping) and _owner(array) is None


def _owner(array):
    """The MappedFile that an array is a view of, or None."""
    memory = _memory(array)
    return memory if isinstance(memory, MappedFile) else None


def _memory(array):
    """The object whose memory an array is a view of; the first array of its chain where it has its own."""
    while isinstance(array, np.ndarray | memoryview):
        base = array.base if isinstance(array, np.ndarray) else array.obj
        if base is None:
            break
        array = base
    return array
