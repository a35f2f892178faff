"""A fast checksum of large buffers (csrc/include/nnf/checksum.h)."""

from libc.stdint cimport uint64_t

cdef extern from "nnf/checksum.h":
    uint64_t nnf_checksum(const void *data, size_t size) nogil


def checksum(const unsigned char[::1] data):
    """64-bit checksum of the bytes; finds damage, not malice."""
    cdef uint64_t result
    cdef size_t size = data.shape[0]
    cdef const unsigned char *at = &data[0] if size else NULL
    with nogil:
        result = nnf_checksum(at, size)
    return result
