"""Which shared memory can be mapped without fear: memfds of ordinary pages, sealed."""

import fcntl
import os
from functools import cache

from ._native.rings import sealed_file

SHRINK = fcntl.F_SEAL_SHRINK
FROZEN = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


@cache
def _ordinary():
    """Device number of the file system that holds memfds of ordinary pages."""
    fd = os.memfd_create("nnfast")
    try:
        return os.fstat(fd).st_dev
    finally:
        os.close(fd)


def is_sealed(fd, seals):
    """True when `fd` is a memfd with all these seals, whose pages are there when they are touched.

    Huge pages (MFD_HUGETLB) may be used up by others by then, which would be a SIGBUS.
    """
    return find(fd, seals) is not None


def find(fd, seals):
    """(identity, bytes) of a file for which `is_sealed` is true, or None."""
    found = sealed_file(fd, seals)
    return None if found is None or found[0] != _ordinary() else (found[:2], found[2])
