"""Keyed digests of large buffers, also of a file while it is read: who does not know the key cannot forge one.

Pieces of 4 KB go through a universal hash at the speed of memory (csrc/include/nnf/digest.h), its sums and the length
through keyed BLAKE2b.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.errno cimport EBADF, EINTR, errno
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

import os

from ..digests import blake2b

from .threads cimport nnf_run, nnf_step, run_alone

cdef extern from "nnf/digest.h":
    enum:
        NNF_DIGEST_PIECE
        NNF_DIGEST_WORDS

    void nnf_digest_pieces(const uint64_t *key, const void *data, size_t size, uint64_t *sum) nogil

cdef extern from *:
    """
    #define nnf_take(next, count) __atomic_fetch_add(next, count, __ATOMIC_RELAXED)
    """
    size_t nnf_take(size_t *next, size_t count) nogil

cdef extern from "<unistd.h>":
    ssize_t pread(int descriptor, void *data, size_t size, long offset) nogil

cdef enum:
    DIGEST_BLOCK = 1 << 18   # bytes that are read and added at once: still near; whole pieces
    GRAIN = 4           # blocks that a thread takes at a time: fewer are not worth a second one
    SHORT = -1

KEY_BYTES = 32


cdef struct reading:
    const uint64_t *key
    int descriptor      # -1: the data are there
    unsigned char *data
    size_t size, count
    size_t next         # block that nobody has taken yet
    uint64_t *sums
    int *errors         # of each block: 0, SHORT or errno
    void *meanwhile     # list: a function that the caller's thread runs first; what it raises is added. Or NULL


cdef void do_blocks(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef reading *r = <reading *>step.params
    cdef size_t first, i, size
    if thread == 0 and r.meanwhile != NULL:
        with gil:
            if not do_meanwhile(<list>r.meanwhile):
                nnf_take(&r.next, r.count)  # what is left is of no use
    while True:
        first = nnf_take(&r.next, GRAIN)
        if first >= r.count:
            return
        for i in range(first, min(first + GRAIN, r.count)):
            size = min(<size_t>DIGEST_BLOCK, r.size - i * DIGEST_BLOCK)
            if r.descriptor >= 0:
                r.errors[i] = read_block(r.descriptor, r.data + i * DIGEST_BLOCK, size, i * DIGEST_BLOCK)
                if r.errors[i]:
                    nnf_take(&r.next, r.count)
                    return
            nnf_digest_pieces(r.key, r.data + i * DIGEST_BLOCK, size,
                              r.sums + i * (2 * DIGEST_BLOCK // NNF_DIGEST_PIECE))


cdef bint do_meanwhile(list work) noexcept:
    try:
        work[0]()
        return True
    except BaseException as error:
        work.append(error)
        return False


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


def same_digest(bytes one, bytes other):
    """Whether two digests are equal. The time it takes tells nothing but their lengths."""
    cdef const unsigned char *a = one
    cdef const unsigned char *b = other
    cdef unsigned char difference = 0
    if len(one) != len(other):
        return False
    for i in range(len(one)):
        difference |= a[i] ^ b[i]
    return difference == 0


cdef class KeyedDigest:
    """Digests of 32 bytes under a key of 32 bytes. They do not depend on the number of threads."""

    cdef uint64_t words[NNF_DIGEST_WORDS]
    cdef bytes key

    def __init__(self, bytes key):
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {len(key)} bytes, must have {KEY_BYTES}")
        expanded = bytearray()
        for place in range(NNF_DIGEST_PIECE // 64):
            expanded += blake2b(place.to_bytes(8, "little"), key=key, person=b"nnfast pieces").digest()
        memcpy(self.words, <const char *>expanded, NNF_DIGEST_PIECE)
        self.key = key

    def of(self, const unsigned char[::1] data, int threads=1, meanwhile=None):
        """Digest of the bytes of a buffer; meanwhile: as of `read`."""
        return self.run_blocks(-1, <unsigned char *>&data[0] if data.shape[0] else NULL, data.shape[0], threads,
                               meanwhile)

    def read(self, int descriptor, unsigned char[::1] data, int threads=1, meanwhile=None):
        """Fill `data` from the beginning of a file, wherever its descriptor is; returns the digest of what was read,
        None where the file is shorter. Raises OSError.

        meanwhile(): called first, on this thread, while the others of `threads` read already; what it raises ends the
        reading and is raised."""
        if descriptor < 0:
            raise OSError(EBADF, os.strerror(EBADF))
        return self.run_blocks(descriptor, &data[0] if data.shape[0] else NULL, data.shape[0], threads, meanwhile)

    cdef object run_blocks(self, int descriptor, unsigned char *data, size_t size, int threads, meanwhile):
        cdef reading r
        cdef list work = [meanwhile]
        cdef size_t i, pieces = (size + NNF_DIGEST_PIECE - 1) // NNF_DIGEST_PIECE
        r.key, r.descriptor, r.data, r.size = self.words, descriptor, data, size
        r.count = (size + DIGEST_BLOCK - 1) // DIGEST_BLOCK
        r.next, r.meanwhile = 0, NULL if meanwhile is None else <void *>work
        r.errors = <int *>PyMem_Calloc(r.count + 1, sizeof(int))
        r.sums = <uint64_t *>PyMem_Calloc(pieces + 1, 2 * sizeof(uint64_t))
        try:
            if r.errors == NULL or r.sums == NULL:
                raise MemoryError()
            run_alone(do_blocks, &r, min(threads, <int>(r.count // GRAIN) + (1 if meanwhile is None else 2)))
            if len(work) > 1:
                raise work[1]
            for i in range(r.count):
                if r.errors[i] == SHORT:
                    return None
                if r.errors[i]:
                    raise OSError(r.errors[i], os.strerror(r.errors[i]))
            total = blake2b(size.to_bytes(8, "little"), key=self.key, digest_size=32, person=b"nnfast buffer")
            total.update((<unsigned char *>r.sums)[:pieces * 2 * sizeof(uint64_t)])
            return total.digest()
        finally:
            PyMem_Free(r.errors)
            PyMem_Free(r.sums)
