"""Copies and sums by indices that only an execution knows. No kernels: memcpy and simple loops."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from .engine cimport Step
from .threads cimport nnf_decline, nnf_run, nnf_share, nnf_step

cdef enum:
    GATHER_GRAIN = 262144  # bytes below which a second thread costs more than it saves
    GATHER_DEPTH = 8       # dimensions that one tuple of indices chooses from


cdef struct gather:
    size_t lists, shared, count, item
    int width, depth
    size_t size[GATHER_DEPTH]


cdef inline int64_t index_of(const uint8_t *indices, int width, size_t i) noexcept nogil:
    # A constant of a file is aligned for 4 bytes, whatever its type: memcpy of a known size is one load.
    cdef int64_t wide
    cdef int16_t narrow
    if width == 4:
        return (<const int32_t *>indices)[i]
    if width == 8:
        memcpy(&wide, indices + 8 * i, 8)
        return wide
    memcpy(&narrow, indices + 2 * i, 2)
    return narrow


cdef inline void copy_item(uint8_t *y, const uint8_t *x, size_t item) noexcept nogil:
    # memcpy of a known size is a move or two, where a call costs more than a short item does.
    cdef size_t at = 0
    if item == 64:
        memcpy(y, x, 64)
    elif item == 4:
        memcpy(y, x, 4)
    elif item == 1:
        y[0] = x[0]
    elif item == 8:
        memcpy(y, x, 8)
    elif 16 <= item <= 128:
        while at + 16 < item:
            memcpy(y + at, x + at, 16)
            at += 16
        memcpy(y + item - 16, x + item - 16, 16)  # over what is there already, if need be
    else:
        memcpy(y, x, item)


cdef bint gather_by_one(const gather *p, const uint8_t *x, const uint8_t *indices, size_t first, size_t count,
                        uint8_t *y) noexcept nogil:
    """Items of a list by single indices, from number `first` on; whether all of these are inside."""
    cdef size_t i, item = p.item, size = p.size[0]
    cdef int width = p.width
    cdef uint64_t index
    for i in range(first, first + count):
        index = <uint64_t>index_of(indices, width, i)  # below 0: above any size
        if index >= size:
            return False
        copy_item(y, x + index * item, item)
        y += item
    return True


cdef bint gather_by_tuples(const gather *p, const uint8_t *x, size_t place, const uint8_t *indices, size_t first,
                           size_t count, uint8_t *y) noexcept nogil:
    """The same by tuples of indices; place: the number of the list."""
    cdef size_t i, source
    cdef uint64_t index
    cdef int d
    for i in range(first, first + count):
        source = place
        for d in range(p.depth):
            index = <uint64_t>index_of(indices, p.width, i * p.depth + d)
            if index >= p.size[d]:
                return False
            source = source * p.size[d] + index
        copy_item(y, x + source * p.item, p.item)
        y += p.item
    return True


cdef void run_gather(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const gather *p = <const gather *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *indices = <const uint8_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, last, place, turn, count, begin
    cdef bint inside
    nnf_share(p.lists * p.shared * p.count, thread, threads, &row, &last)
    while row < last:
        place, turn = row // p.count, row % p.count  # of a row: its b and s as one number, its i
        count, begin = min(last - row, p.count - turn), place // p.shared * p.count + turn
        if p.depth == 1:
            inside = gather_by_one(p, x + place * p.size[0] * p.item, indices, begin, count, y + row * p.item)
        else:
            inside = gather_by_tuples(p, x, place, indices, begin, count, y + row * p.item)
        if not inside:
            nnf_decline(run)
            return
        row += count


cdef class Gather(Step):
    """y[b, s, i] = x[b, s, *indices[b, i]] for `lists` b, `shared` s, `count` i: items of `item` bytes.

    Slots x, indices (integers of `width` bytes: 2, 4 or 8), y. sizes: of the dimensions of x that one tuple of indices
    chooses from, at most 8. Declines when an index is outside of [0, size).
    """

    cdef gather p

    def __init__(self, slots, size_t lists, size_t shared, sizes, size_t count, size_t item, int width=4):
        cdef int d
        if len(sizes) > GATHER_DEPTH:
            raise ValueError(f"sizes has {len(sizes)} dimensions, must have at most {GATHER_DEPTH}")
        if width not in (2, 4, 8):
            raise ValueError(f"width is {width}, must be 2, 4 or 8")
        self.p.lists, self.p.shared, self.p.count, self.p.item, self.p.width = lists, shared, count, item, width
        self.p.depth = len(sizes)
        for d in range(self.p.depth):
            self.p.size[d] = sizes[d]
        self.work = lists * shared * count * item
        self.tiles = <int>max(1, min(1 + <size_t>self.work // GATHER_GRAIN, lists * shared * count, 64))
        self.bind(run_gather, &self.p, slots, "gather")


ctypedef fused number:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float

ctypedef void (*add_fn)(const void *x, void *y, size_t count) noexcept nogil


cdef void add_numbers(const number *x, number *y, size_t count) noexcept nogil:
    cdef size_t i
    for i in range(count):
        if number is float:
            y[i] += x[i]
        else:
            y[i] = <number>(<uint64_t>y[i] + <uint64_t>x[i])


cdef add_fn adding(str dtype) except NULL:
    if dtype == "float32":
        return <add_fn>add_numbers[float]
    if dtype == "int64":
        return <add_fn>add_numbers[int64_t]
    if dtype == "int32":
        return <add_fn>add_numbers[int32_t]
    if dtype == "int16":
        return <add_fn>add_numbers[int16_t]
    if dtype == "int8":
        return <add_fn>add_numbers[int8_t]
    return <add_fn>add_numbers[uint8_t]


ADDED = {"float32": 4, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1}
"""Types that Scatter adds: bytes of a number."""


cdef struct scatter:
    add_fn add
    size_t count, numbers, item, whole
    int width, depth
    size_t size[GATHER_DEPTH]


cdef void run_scatter(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const scatter *p = <const scatter *>step.params
    cdef const uint8_t *indices = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, place
    cdef int64_t index
    cdef int d
    if thread:  # one after the other: one does all of it
        return
    memset(y, 0, p.whole)
    for row in range(p.count):
        place = 0
        for d in range(p.depth):
            index = index_of(indices, p.width, row * p.depth + d)
            if index < 0 or <size_t>index >= p.size[d]:
                nnf_decline(run)
                return
            place = place * p.size[d] + <size_t>index
        p.add(x + row * p.item, y + place * p.item, p.numbers)


cdef class Scatter(Step):
    """y = 0, then y[*indices[i]] += x[i] one after the other, for `count` i: items of `numbers` numbers of a dtype of
    ADDED.

    Slots indices (integers of `width` bytes: 2, 4 or 8), x, y, which x is not. sizes: of the dimensions of y that one
    tuple of indices chooses from, at most 8. Declines when an index is outside of [0, size).
    """

    cdef scatter p

    def __init__(self, slots, sizes, size_t count, size_t numbers, str dtype, int width=4):
        cdef int d
        if len(sizes) > GATHER_DEPTH:
            raise ValueError(f"sizes has {len(sizes)} dimensions, must have at most {GATHER_DEPTH}")
        if width not in (2, 4, 8):
            raise ValueError(f"width is {width}, must be 2, 4 or 8")
        self.p.add = adding(dtype)
        self.p.count, self.p.numbers, self.p.width, self.p.depth = count, numbers, width, len(sizes)
        self.p.item = numbers * <size_t>ADDED[dtype]
        self.p.whole = self.p.item
        for d in range(self.p.depth):
            self.p.size[d] = sizes[d]
            self.p.whole *= self.p.size[d]
        self.work = self.p.whole + count * self.p.item
        self.tiles = 1
        self.bind(run_scatter, &self.p, slots, "scatter")


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
