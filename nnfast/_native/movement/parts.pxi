"""Several tensors and one: CONCATENATION. No kernels but a table's: memcpy."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free

cdef extern from "activation/activation.h":
    ctypedef void (*nnf_lookup_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const uint8_t *table) noexcept nogil


cdef struct part:
    size_t size
    bint mapped
    uint8_t table[256]


cdef struct concatenation:
    nnf_lookup_qu8_flat_fn lookup
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
    cdef const concatenation *p = <const concatenation *>step.params
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[p.count]]
    cdef const uint8_t *x
    cdef const part *each
    cdef size_t row, first, last, at = 0
    cdef int i
    for i in range(p.count):
        each = &p.parts[i]
        x = <const uint8_t *>run.slot[step.slots[i]]
        if p.rows == 1:
            nnf_share(each.size, thread, threads, &first, &last)
            put(p, each, x + first, y + at + first, last - first)
        else:
            nnf_share(p.rows, thread, threads, &first, &last)
            for row in range(first, last):
                put(p, each, x + row * each.size, y + row * p.width + at, each.size)
        at += each.size


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
        self.bind(run_concatenation, &self.p, slots, row.name.decode() if self.packed else "copy")

    def __dealloc__(self):
        PyMem_Free(self.p.parts)
