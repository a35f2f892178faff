"""Several tensors and one: parts side by side, and apart where each has one element. Kernels interleave such parts."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free

cdef extern from "activation/activation.h":
    ctypedef void (*nnf_lookup_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const uint8_t *table) noexcept nogil

cdef extern from "transpose/transpose.h":
    ctypedef void (*nnf_interleave_fn)(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y) noexcept nogil
    ctypedef void (*nnf_deinterleave_fn)(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y) noexcept nogil

cdef enum:
    TOGETHER = 8192  # bytes of y that all parts fill before the next: they stay in the first cache

cdef struct part:
    size_t size
    bint mapped
    uint8_t table[256]


cdef struct concatenation:
    nnf_lookup_qu8_flat_fn lookup
    nnf_interleave_fn interleave    # of 2 to 4 parts whose rows are one element; NULL: others
    size_t rows, width
    int count
    part *parts


cdef inline void put(const concatenation *p, const part *each, const uint8_t *x, uint8_t *y,
                     size_t count) noexcept nogil:
    if each.mapped:
        p.lookup(count, x, y, each.table)
    elif count:
        memcpy(y, x, count)


cdef void run_concatenation(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    """Of a single row."""
    cdef const concatenation *p = <const concatenation *>step.params
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[p.count]]
    cdef const uint8_t *x
    cdef const part *each
    cdef size_t first, last
    cdef int i
    for i in range(p.count):
        each = &p.parts[i]
        x = <const uint8_t *>run.slot[step.slots[i]]
        nnf_share(each.size, thread, threads, &first, &last)
        put(p, each, x + first, y + first, last - first)
        y += each.size


cdef void run_rows_concatenation(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const concatenation *p = <const concatenation *>step.params
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[p.count]]
    cdef const uint8_t *x
    cdef const part *each
    cdef size_t row, first, last, at, count, together = max(1, TOGETHER // max(1, p.width))
    cdef int i
    nnf_share(p.rows, thread, threads, &first, &last)
    while first < last:
        count, at = min(together, last - first), first * p.width
        for i in range(p.count):
            each = &p.parts[i]
            x = <const uint8_t *>run.slot[step.slots[i]] + first * each.size
            if each.mapped:
                for row in range(count):
                    p.lookup(each.size, x + row * each.size, y + at + row * p.width, each.table)
            else:
                move(each.size, x, y + at, count, each.size, p.width)
            at += each.size
        first += count


cdef void run_interleaving(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const concatenation *p = <const concatenation *>step.params
    cdef const uint8_t *x[4]
    cdef size_t first, last
    cdef int i
    nnf_share(p.rows, thread, threads, &first, &last)
    for i in range(p.count):
        x[i] = <const uint8_t *>run.slot[step.slots[i]] + first * p.parts[i].size
    p.interleave(p.count, last - first, x, <uint8_t *>run.slot[step.slots[p.count]] + first * p.width)


cdef class Concatenate(Step):
    """Rows of the inputs side by side; slots: the inputs, then y.

    sizes: bytes of a row of each input; tables: uint8[256] for an input whose bytes are mapped, else None.
    """

    cdef concatenation p

    def __init__(self, slots, size_t rows, sizes, tables):
        cdef const nnf_kernel *row = pick("lookup_qu8_flat")
        cdef const uint8_t[::1] codes
        cdef int i
        self.p.lookup = <nnf_lookup_qu8_flat_fn>row.fn
        self.p.rows = rows
        self.p.count = len(sizes)
        self.p.parts = <part *>PyMem_Calloc(max(1, self.p.count), sizeof(part))
        if self.p.parts == NULL:
            raise MemoryError()
        for i in range(self.p.count):
            self.p.parts[i].size = sizes[i]
            self.p.width += self.p.parts[i].size
            if tables[i] is not None:
                codes = np.ascontiguousarray(tables[i], np.uint8)
                if codes.shape[0] != 256:
                    raise ValueError(f"table has {codes.shape[0]} entries, must have 256")
                memcpy(self.p.parts[i].table, &codes[0], 256)
                self.p.parts[i].mapped = True
                self.packed += 256
        self.work = rows * self.p.width
        self.tiles = tiles_of(<size_t>self.work)
        name = row.name.decode() if self.packed else "copy"
        item = sizes[0] if sizes and len(set(sizes)) == 1 else 0
        if rows > 1 and 2 <= self.p.count <= 4 and not self.packed and item in (1, 2, 4, 8):
            row = pick(f"interleave_x{8 * item}_flat")
            self.p.interleave = <nnf_interleave_fn>row.fn
            self.bind(run_interleaving, &self.p, slots, row.name.decode())
        else:
            self.bind(run_concatenation if rows == 1 else run_rows_concatenation, &self.p, slots, name)

    def __dealloc__(self):
        PyMem_Free(self.p.parts)


cdef struct separation:
    nnf_deinterleave_fn deinterleave
    size_t rows, item
    int count


cdef void run_separation(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const separation *p = <const separation *>step.params
    cdef uint8_t *y[4]
    cdef size_t first, last
    cdef int i
    nnf_share(p.rows, thread, threads, &first, &last)
    for i in range(p.count):
        y[i] = <uint8_t *>run.slot[step.slots[i + 1]] + first * p.item
    p.deinterleave(p.count, last - first, <const uint8_t *>run.slot[step.slots[0]] + first * p.item * p.count, y)


cdef class Separate(Step):
    """Rows of 2 to 4 elements of 1, 2, 4 or 8 bytes, each element to an output of its own.

    Slots: x, then the outputs.
    """

    cdef separation p

    def __init__(self, slots, size_t rows, size_t item):
        cdef const nnf_kernel *row
        self.p.rows, self.p.item, self.p.count = rows, item, len(slots) - 1
        if not (2 <= self.p.count <= 4 and item in (1, 2, 4, 8)):
            raise ValueError(f"{self.p.count} elements of {item} bytes, must be 2 to 4 of 1, 2, 4 or 8")
        row = pick(f"deinterleave_x{8 * item}_flat")
        self.p.deinterleave = <nnf_deinterleave_fn>row.fn
        self.work = rows * item * <size_t>self.p.count
        self.tiles = tiles_of(<size_t>self.work)
        self.bind(run_separation, &self.p, slots, row.name.decode())
