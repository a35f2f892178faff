"""Copies by indices that only an execution knows. No kernels: memcpy."""

from libc.stdint cimport int32_t, int64_t, uint8_t
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


cdef struct set_item:
    size_t size, item


cdef void run_set_item(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const set_item *p = <const set_item *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *item = <const uint8_t *>run.slot[step.slots[1]]
    cdef int32_t index = (<const int32_t *>run.slot[step.slots[2]])[0]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[3]]
    cdef size_t first, last, from_, to
    if index < 0 or <size_t>index >= p.size:
        nnf_decline(run)
        return
    nnf_share(p.size * p.item, thread, threads, &first, &last)
    from_ = min(max(first, <size_t>index * p.item), last)
    to = min(max(first, (<size_t>index + 1) * p.item), last)
    if from_ > first:
        memcpy(y + first, x + first, from_ - first)
    if to > from_:
        memcpy(y + from_, item + (from_ - <size_t>index * p.item), to - from_)
    if last > to:
        memcpy(y + to, x + to, last - to)


cdef class SetItem(Step):
    """y = x, a list of `size` items of `item` bytes, but y[index] is the item; slots x, item, index (int32), y.

    Declines when the index is outside of [0, size).
    """

    cdef set_item p

    def __init__(self, slots, size_t size, size_t item):
        self.p.size, self.p.item = size, item
        self.work = size * item
        self.tiles = <int>min(1 + <size_t>self.work // GATHER_GRAIN, 64)
        self.bind(run_set_item, &self.p, slots, "copy")


cdef struct put_box:
    int rank                    # dimensions around the rows
    int64_t room[LOOPS]         # the largest start along each, the last one that of the rows
    size_t size[LOOPS]
    size_t stride[LOOPS]        # in bytes of y
    size_t rows, row


cdef void run_put_box(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const put_box *p = <const put_box *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const int32_t *start = <const int32_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, first, last, rest, target
    cdef int d
    for d in range(p.rank):
        y += <size_t>min(max(<int64_t>start[d], 0), p.room[d]) * p.stride[d]
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        rest, target = row, 0
        for d in range(p.rank - 2, -1, -1):
            target += rest % p.size[d] * p.stride[d]
            rest //= p.size[d]
        memcpy(y + target, x + row * p.row, p.row)


cdef class PutBox(Step):
    """x, of shape `box`, over the elements of y, of `shape`, from `start` on, which moves where x would not fit.

    Slots x, start (int32), y. item: bytes of an element. At most 6 dimensions.
    """

    cdef put_box p

    def __init__(self, slots, shape, box, size_t item):
        cdef int d
        cdef size_t stride = item
        if not 1 <= len(shape) <= LOOPS:
            raise ValueError(f"rank is {len(shape)}, must be 1 to {LOOPS}")
        self.p.rank = len(shape)
        self.p.rows, self.p.row = 1, box[len(box) - 1] * item
        for d in range(self.p.rank - 1, -1, -1):
            self.p.room[d], self.p.size[d], self.p.stride[d] = shape[d] - box[d], box[d], stride
            stride *= shape[d]
            self.p.rows *= box[d] if d < self.p.rank - 1 else 1
        self.work = self.p.rows * self.p.row
        self.tiles = <int>max(1, min(1 + <size_t>self.work // GATHER_GRAIN, self.p.rows, 64))
        self.bind(run_put_box, &self.p, slots, "put")
