"""Memfds of other processes: looked at and mapped without a wait, so that a thread keeps the GIL over it.

Each system call that Python makes gives the GIL away, and beside busy threads it takes a while to come back. What is
asked here is answered by the kernel alone, whoever holds the other end: the seals come first, which only memfds have.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.number cimport PyNumber_Index
from libc.errno cimport errno
from libc.stdint cimport uint64_t
from posix.fcntl cimport fcntl
from posix.mman cimport MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE, mmap, munmap
from posix.stat cimport fstat, struct_stat
from posix.types cimport off_t

import os


cdef extern from "<fcntl.h>":
    enum:
        F_GET_SEALS
        F_DUPFD_CLOEXEC


def sealed_file(int fd, int seals):
    """(device, inode, bytes) of a memfd that has all these seals, or None for any other file."""
    cdef struct_stat found
    cdef int has = fcntl(fd, F_GET_SEALS)
    if has < 0 or has & seals != seals or fstat(fd, &found) < 0:
        return None
    return found.st_dev, found.st_ino, found.st_size


def duplicate(fd):
    """A copy of a descriptor, closed on exec. Raises OSError; TypeError or OverflowError for what cannot be one."""
    cdef int number = PyNumber_Index(fd), copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
    if copy < 0:
        raise OSError(errno, os.strerror(errno))
    return copy


cdef class Mapping:
    """A shared mapping of `size` bytes from `offset`, a page's start, of a memfd that cannot shrink; a buffer.

    held: what counts as long as anything refers to the mapping. Raises OSError.
    """

    cdef void *at
    cdef size_t size
    cdef bint writable
    cdef public object held

    def __cinit__(self, int fd, uint64_t offset, size_t size, bint writable):
        cdef void *at = mmap(NULL, size, PROT_READ | (PROT_WRITE if writable else 0), MAP_SHARED, fd, <off_t>offset)
        if at == MAP_FAILED:
            raise OSError(errno, os.strerror(errno))
        self.at, self.size, self.writable = at, size, writable

    def __dealloc__(self):
        if self.at != NULL:
            with nogil:  # pages that nobody else has are freed
                munmap(self.at, self.size)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.at, <Py_ssize_t>self.size, not self.writable, flags)
