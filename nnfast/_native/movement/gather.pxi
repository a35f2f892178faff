"""Copies by indices that only an execution knows. No kernels: memcpy."""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from .engine cimport Step
from .threads cimport nnf_decline, nnf_run, nnf_share, nnf_step

cdef enum:
    GATHER_GRAIN = 262144  # bytes below which a second thread costs more than it saves


cdef struct gather:
    size_t before, size, count, item


cdef void run_gather(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const gather *p = <const gather *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const int32_t *indices = <const int32_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, first, last
    cdef int32_t index
    nnf_share(p.before * p.count, thread, threads, &first, &last)
    for row in range(first, last):
        index = indices[row % p.count]
        if index < 0 or <size_t>index >= p.size:
            nnf_decline(run)
            return
        memcpy(y + row * p.item, x + (row // p.count * p.size + <size_t>index) * p.item, p.item)


cdef class Gather(Step):
    """y[b, i] = x[b, indices[i]]: `before` times `count` items of `item` bytes; slots x, indices (int32), y.

    size: items in x for each b. Declines when an index is outside of [0, size).
    """

    cdef gather p

    def __init__(self, slots, size_t before, size_t size, size_t count, size_t item):
        self.p.before, self.p.size, self.p.count, self.p.item = before, size, count, item
        self.work = before * count * item
        self.tiles = <int>max(1, min(1 + <size_t>self.work // GATHER_GRAIN, before * count, 64))
        self.bind(run_gather, &self.p, slots, "gather")
