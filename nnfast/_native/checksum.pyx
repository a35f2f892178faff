"""A fast checksum of large buffers (csrc/include/nnf/checksum.h), also of a file while it is read."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.errno cimport EBADF, EINTR, errno
from libc.stdint cimport uint64_t

import os

from .threads cimport nnf_run, nnf_share, nnf_step, run_alone

cdef extern from "nnf/checksum.h":
    uint64_t nnf_checksum(const void *data, size_t size) nogil

cdef extern from "<unistd.h>":
    ssize_t pread(int descriptor, void *data, size_t size, long offset) nogil

cdef enum:
    BLOCK = 1 << 18     # bytes that are still in the cache when they have been read
    GRAIN = 4           # blocks below which a second thread costs more than it saves
    SHORT = -1


cdef struct block:
    uint64_t sum
    int error           # 0, SHORT or errno


cdef struct reading:
    int descriptor      # -1: the data are there
    unsigned char *data
    size_t size, count
    block *blocks


cdef void do_blocks(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const reading *r = <const reading *>step.params
    cdef size_t first, last, i, size
    nnf_share(r.count, thread, threads, &first, &last)
    for i in range(first, last):
        size = min(<size_t>BLOCK, r.size - i * BLOCK)
        if r.descriptor >= 0:
            r.blocks[i].error = read_block(r.descriptor, r.data + i * BLOCK, size, i * BLOCK)
            if r.blocks[i].error:
                return
        r.blocks[i].sum = nnf_checksum(r.data + i * BLOCK, size)


cdef int read_block(int descriptor, unsigned char *data, size_t size, size_t at) noexcept nogil:
    cdef ssize_t count
    cdef size_t done = 0
    while done < size:
        count = pread(descriptor, data + done, size - done, <long>(at + done))
        if count > 0:
            done += count
        elif count == 0:
            return SHORT
        elif errno != EINTR:
            return errno
    return 0


cdef object run_blocks(int descriptor, unsigned char *data, size_t size, int threads):
    """Checksum, or None for a file that is too short."""
    cdef reading r
    cdef size_t i, words
    cdef uint64_t *sums
    r.descriptor, r.data, r.size, r.count = descriptor, data, size, (size + BLOCK - 1) // BLOCK
    r.blocks = <block *>PyMem_Calloc(r.count + 1, sizeof(block))
    sums = <uint64_t *>PyMem_Calloc(r.count + 1, sizeof(uint64_t))
    try:
        if r.blocks == NULL or sums == NULL:
            raise MemoryError()
        run_alone(do_blocks, &r, min(threads, 1 + <int>(r.count // GRAIN)))
        for i in range(r.count):
            if r.blocks[i].error == SHORT:
                return None
            if r.blocks[i].error:
                raise OSError(r.blocks[i].error, os.strerror(r.blocks[i].error))
            sums[i] = r.blocks[i].sum
        sums[r.count] = size
        words = (r.count + 1) * sizeof(uint64_t)
        return nnf_checksum(sums, words)
    finally:
        PyMem_Free(r.blocks)
        PyMem_Free(sums)


def checksum(const unsigned char[::1] data, int threads=1):
    """64-bit checksum of the bytes; finds damage, not malice. It does not depend on the threads."""
    return run_blocks(-1, <unsigned char *>&data[0] if data.shape[0] else NULL, data.shape[0], threads)


def read(int descriptor, unsigned char[::1] data, int threads=1):
    """Fill `data` from the beginning of a file, wherever its descriptor is; returns the checksum of what was read,
    None where the file is shorter. Raises OSError."""
    if descriptor < 0:
        raise OSError(EBADF, os.strerror(EBADF))
    return run_blocks(descriptor, &data[0] if data.shape[0] else NULL, data.shape[0], threads)
