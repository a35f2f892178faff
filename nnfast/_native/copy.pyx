"""Steps that move elements and change none."""

from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from .plan cimport Step
from .threads cimport nnf_run, nnf_share, nnf_step

# Bytes below which a second thread costs more than it saves.
cdef enum:
    GRAIN = 262144


cdef struct copy_bytes:
    size_t count


cdef void run_copy_bytes(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const copy_bytes *p = <const copy_bytes *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share(p.count, thread, threads, &first, &last)
    if last > first:
        memcpy(y + first, x + first, last - first)


cdef class CopyBytes(Step):
    """`count` bytes from slot x to slot y, which do not overlap."""

    cdef copy_bytes p

    def __init__(self, slots, size_t count):
        self.p.count = count
        self.work = count
        self.tiles = <int>min(1 + count // GRAIN, 64)
        self.bind(run_copy_bytes, &self.p, slots, "copy")
