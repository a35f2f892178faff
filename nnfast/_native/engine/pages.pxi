"""Bytes that give their memory back to the system as soon as no array of them is left."""

from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uintptr_t

cdef extern from "<sys/mman.h>":
    enum:
        MADV_DONTNEED

    int madvise(void *address, size_t size, int advice) nogil

cdef extern from "<unistd.h>":
    enum:
        _SC_PAGESIZE

    long sysconf(int name) nogil


cdef class Pages:
    """A read-only buffer over a part of a private anonymous mapping, of which nothing else is to read that part.

    When it goes, so do the pages that lie wholly inside of it, and not with the mapping alone. Whoever breaks the rule
    reads zeros.
    """

    cdef Py_buffer memory

    def __cinit__(self, memory):
        PyObject_GetBuffer(memory, &self.memory, PyBUF_SIMPLE)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.memory.buf, self.memory.len, 1, flags)

    def __dealloc__(self):
        cdef uintptr_t size = <uintptr_t>sysconf(_SC_PAGESIZE), start = <uintptr_t>self.memory.buf
        cdef uintptr_t first = (start + size - 1) // size * size, end = (start + self.memory.len) // size * size
        if self.memory.buf == NULL:  # the constructor failed
            return
        if first < end:
            madvise(<void *>first, end - first, MADV_DONTNEED)
        PyBuffer_Release(&self.memory)
