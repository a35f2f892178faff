"""Plain copies, fills and copies by indices: memcpy and simple loops. Rows the other way round are a kernel's."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

cdef extern from "reverse/reverse.h":
    ctypedef void (*nnf_reverse_fn)(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from_,
                                    uint8_t *y) noexcept nogil

cdef enum:
    COPY_GRAIN = 262144  # bytes below which a second thread costs more than it saves
    LOOPS = 6       # most dimensions that a copy walks
    CHOICES = 12    # most of a copy by indices: each of six may be repeated
    FILLED = 6720   # bytes that a fill copies at once: whole items of any size up to 8


cdef int tiles_of(size_t count):
    return <int>min(1 + count // COPY_GRAIN, 64)


cdef struct span:
    size_t count
    int value


cdef void run_copy_bytes(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const span *p = <const span *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share(p.count, thread, threads, &first, &last)
    if last > first:
        memcpy(y + first, x + first, last - first)


cdef class CopyBytes(Step):
    """`count` bytes from slot x to slot y, which do not overlap."""

    cdef span p

    def __init__(self, slots, size_t count):
        self.p.count = count
        self.work = count
        self.tiles = tiles_of(count)
        self.bind(run_copy_bytes, &self.p, slots, "copy")


cdef void run_fill_bytes(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const span *p = <const span *>step.params
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[0]]
    cdef size_t first, last
    nnf_share(p.count, thread, threads, &first, &last)
    if last > first:
        memset(y + first, p.value, last - first)


cdef class FillBytes(Step):
    """`count` bytes of slot y become `value`."""

    cdef span p

    def __init__(self, slots, size_t count, int value):
        self.p.count = count
        self.p.value = value & 255
        self.work = count
        self.tiles = tiles_of(count)
        self.bind(run_fill_bytes, &self.p, slots, "fill")


cdef struct fill_items:
    size_t count, item
    uint8_t value[8]
    bint is_even         # all bytes of the value are the same


cdef void run_fill_items(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const fill_items *p = <const fill_items *>step.params
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[0]]
    cdef size_t first, last, done = p.item, whole
    nnf_share(p.count, thread, threads, &first, &last)
    if last == first:
        return
    y += first * p.item
    whole = (last - first) * p.item
    if p.is_even:
        memset(y, p.value[0], whole)
        return
    memcpy(y, p.value, p.item)
    while done < whole:
        # What is there already again, as far as it stays in the first cache.
        memcpy(y + done, y, min(min(done, FILLED), whole - done))
        done += min(min(done, FILLED), whole - done)


cdef class FillItems(Step):
    """`count` items of slot y become `value`, bytes of one item, at most 8."""

    cdef fill_items p

    def __init__(self, slots, size_t count, bytes value):
        if not 1 <= len(value) <= 8:
            raise ValueError(f"item has {len(value)} bytes, must have 1 to 8")
        self.p.count = count
        self.p.item = len(value)
        memcpy(self.p.value, <const char *>value, self.p.item)
        self.p.is_even = value == value[:1] * len(value)
        self.work = count * self.p.item
        self.tiles = tiles_of(<size_t>self.work)
        self.bind(run_fill_items, &self.p, slots, "fill")


cdef const nnf_kernel *reversing(size_t item) except? NULL:
    """The kernel that turns rows of items of so many bytes; NULL: there is none."""
    if item in (1, 2, 4, 8):
        return pick(f"reverse_x{8 * item}_rows")
    return NULL


cdef struct indexed:
    nnf_reverse_fn turn             # of columns that are dense the other way round; NULL: others
    int loops                       # around the columns
    size_t size[CHOICES]
    const size_t *offset[CHOICES]   # byte offsets in x, along each loop; NULL: multiples of `stride`
    Py_ssize_t stride[CHOICES]
    const size_t *column
    Py_ssize_t column_stride
    size_t rows, columns, item, start


cdef inline void pick_columns(const indexed *p, const uint8_t *x, uint8_t *y) noexcept nogil:
    cdef size_t i
    cdef Py_ssize_t k
    if p.column == NULL:
        if p.item == 4:
            for k in range(<Py_ssize_t>p.columns):
                memcpy(y + k * 4, x + k * p.column_stride, 4)
        elif p.item == 1 and p.column_stride == 0:
            memset(y, x[0], p.columns)
        elif p.item == 1:
            for k in range(<Py_ssize_t>p.columns):
                y[k] = x[k * p.column_stride]
        elif p.item == 2:
            for k in range(<Py_ssize_t>p.columns):
                memcpy(y + k * 2, x + k * p.column_stride, 2)
        elif p.item == 8:
            for k in range(<Py_ssize_t>p.columns):
                memcpy(y + k * 8, x + k * p.column_stride, 8)
        else:
            for k in range(<Py_ssize_t>p.columns):
                memcpy(y + k * p.item, x + k * p.column_stride, p.item)
    elif p.item == 4:
        for i in range(p.columns):
            memcpy(y + i * 4, x + p.column[i], 4)
    elif p.item == 1:
        for i in range(p.columns):
            y[i] = x[p.column[i]]
    else:
        for i in range(p.columns):
            memcpy(y + i * p.item, x + p.column[i], p.item)


cdef inline Py_ssize_t offset_of(const indexed *p, int d, size_t place) noexcept nogil:
    return <Py_ssize_t>p.offset[d][place] if p.offset[d] != NULL else <Py_ssize_t>place * p.stride[d]


cdef void run_indexed(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const indexed *p = <const indexed *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]] + p.start
    cdef const uint8_t *source
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t row, last, rest, place, count, i, width = p.columns * p.item
    cdef int d, inner = p.loops - 1
    nnf_share(p.rows, thread, threads, &row, &last)
    while row < last:
        rest, place, count = row, 0, 1
        if inner >= 0:
            place = row % p.size[inner]
            count = min(last - row, p.size[inner] - place)
            rest = row // p.size[inner]
        source = x
        for d in range(inner - 1, -1, -1):
            source += offset_of(p, d, rest % p.size[d])
            rest //= p.size[d]
        if p.turn != NULL and (inner < 0 or p.offset[inner] == NULL):
            p.turn(count, p.columns, source + p.item - width + (offset_of(p, inner, place) if inner >= 0 else 0),
                   p.stride[inner] if inner >= 0 else 0, y + row * width)
        else:
            for i in range(count):
                pick_columns(p, source + (offset_of(p, inner, place + i) if inner >= 0 else 0), y + (row + i) * width)
        row += count


def choices(shape, indices, size_t item):
    """Dimensions of a copy by indices as few (count, positions or None, stride in bytes), the bytes that lie together
    and where the first lie; arguments as of IndexedCopy. Positions are None where the stride alone tells them, so that
    nothing is made that is as long as a dimension."""
    dims, stride, together, start = [], item, True, 0
    for size, chosen in zip(reversed(shape), reversed(indices), strict=True):
        if isinstance(chosen, int):
            if chosen < 0 or chosen % size:
                raise ValueError(f"{chosen} positions of {size}, must be a multiple")
            if together:
                item *= size
            elif size > 1:
                dims.append((size, None, stride))
            if chosen == 0:
                dims = [(0, None, 0)]
            elif chosen > size:
                dims.append((chosen // size, None, 0))
            together = together and chosen == size
        elif isinstance(chosen, range):
            ends = chosen.start, chosen.start + (len(chosen) - 1) * chosen.step
            if chosen and not 0 <= min(ends) <= max(ends) < size:
                raise ValueError(f"{chosen} must lie in [0, {size})")
            start += chosen.start * stride if chosen else 0
            dims.append((len(chosen), None, chosen.step * stride))
            together = False
        else:
            chosen = np.ascontiguousarray(chosen, np.int64)
            if chosen.size and not 0 <= chosen.min() <= chosen.max() < size:
                raise ValueError(f"indices span {chosen.min()} to {chosen.max()}, must lie in [0, {size})")
            dims.append((chosen.size, chosen, stride))
            together = False
        stride *= size
    merged, inner = [], None
    for outer in dims:
        if inner is not None and outer[1] is None and inner[1] is None and outer[2] == inner[0] * inner[2]:
            inner = outer[0] * inner[0], None, inner[2]
        else:
            if inner is not None:
                merged.append(inner)
            inner = outer
    if inner is not None:
        merged.append(inner)
    merged.reverse()
    return merged, item, start


cdef class IndexedCopy(Step):
    """y[i, j, ...] = x[indices[0][i], indices[1][j], ...]: any choice of positions along each dimension; slots x, y.

    shape: of x; indices: for each of its dimensions, the positions that y takes, all in range, as an
    array, a range, or a number: so many in order, from the first again and again. item: bytes of an element. At most 6
    dimensions.
    """

    cdef indexed p

    def __init__(self, slots, shape, indices, size_t item):
        cdef const size_t[::1] offsets
        cdef const size_t *table
        cdef const nnf_kernel *row
        cdef int d
        dims, self.p.item, self.p.start = ([(0, None, 0)], item, 0) if 0 in shape else choices(shape, indices, item)
        dims = dims or [(1, None, 0)]
        if len(dims) > CHOICES:
            raise ValueError("more dimensions than a step can walk")
        self.keep = []
        self.p.loops = len(dims) - 1
        self.p.rows = 1
        for d, (count, chosen, stride) in enumerate(dims):
            table = NULL
            if chosen is not None and count:
                offsets = (chosen * stride).astype(np.uintp)
                table = &offsets[0]
                self.keep.append(offsets)
                self.packed += 8 * count
            if d < self.p.loops:
                self.p.size[d], self.p.stride[d], self.p.offset[d] = count, stride, table
                self.p.rows *= count
            else:
                self.p.columns, self.p.column_stride, self.p.column = count, stride, table
        name = "indexed copy"
        if self.p.column == NULL and self.p.column_stride == -<Py_ssize_t>self.p.item:
            row = reversing(self.p.item)
            if row != NULL:
                self.p.turn = <nnf_reverse_fn>row.fn
                name = f"{name} + {row.name.decode()}"
        self.work = self.p.rows * self.p.columns * self.p.item
        self.tiles = <int>max(1, min(tiles_of(<size_t>self.work), self.p.rows))
        self.bind(run_indexed, &self.p, slots, name)
