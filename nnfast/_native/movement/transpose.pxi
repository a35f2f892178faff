"""Strided copies: TRANSPOSE, and the parts of tensors that others take or fill. Matrices are turned by kernels."""

cdef extern from "transpose/transpose.h":
    ctypedef void (*nnf_transpose_fn)(size_t rows, size_t columns, const uint8_t *x, size_t from_, uint8_t *y,
                                      size_t to) noexcept nogil

cdef enum:
    PANEL = 512     # elements that a strided copy turns at a time: few lines of x and y at once, few steps around them
    PANEL_ROWS = 8  # least rows of y that share the lines of x
    BESIDE = 256    # rows of x that become a few columns of y
    LINE = 64       # least bytes of a line of x in a panel that a kernel turns
    NEAR = 16384    # bytes that a panel has which nothing turns


cdef struct strided:
    int loops                   # around the panels
    size_t size[LOOPS]
    size_t from_[LOOPS]         # strides in bytes
    size_t to[LOOPS]
    size_t rows, columns, column_from, column_to, item, start, offset
    size_t across, across_from, across_to   # elements side by side in x, one for each row of a panel
    size_t panel, panels        # of these, how many make a panel
    nnf_transpose_fn turn       # NULL where elements lie side by side on one side only


cdef inline void move(size_t item, const uint8_t *x, uint8_t *y, size_t count, size_t from_,
                      size_t to) noexcept nogil:
    # Merged elements are aligned as one of them: memcpy of a size known here is one load and one store all the same.
    cdef size_t i
    if item == 4:
        for i in range(count):
            memcpy(y + i * to, x + i * from_, 4)
    elif item == 1:
        for i in range(count):
            y[i * to] = x[i * from_]
    elif item == 2:
        for i in range(count):
            memcpy(y + i * to, x + i * from_, 2)
    elif item == 8:
        for i in range(count):
            memcpy(y + i * to, x + i * from_, 8)
    elif item == 16:
        for i in range(count):
            memcpy(y + i * to, x + i * from_, 16)
    elif item == 64:
        for i in range(count):
            memcpy(y + i * to, x + i * from_, 64)
    else:
        for i in range(count):
            copy_item(y + i * to, x + i * from_, item)


cdef void run_strided(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const strided *p = <const strided *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]] + p.start
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]] + p.offset
    cdef size_t row, first, last, rest, source, target, width, i
    cdef int d
    nnf_share(p.rows * p.panels, thread, threads, &first, &last)
    for row in range(first, last):
        rest = row // p.panels
        i = row % p.panels * p.panel
        width = min(p.panel, p.across - i)
        source, target = i * p.across_from, i * p.across_to
        for d in range(p.loops - 1, -1, -1):
            source += rest % p.size[d] * p.from_[d]
            target += rest % p.size[d] * p.to[d]
            rest //= p.size[d]
        if p.turn != NULL:
            p.turn(width, p.columns, x + source, p.column_from, y + target, p.across_to)
        elif width > p.columns:
            for i in range(p.columns):
                move(p.item, x + source + i * p.column_from, y + target + i * p.column_to, width, p.across_from,
                     p.across_to)
        else:
            for i in range(width):
                move(p.item, x + source + i * p.across_from, y + target + i * p.across_to, p.columns, p.column_from,
                     p.column_to)


def merge(shape, from_, to, size_t item):
    """Dimensions of a strided copy as few (size, from, to), outermost first, and the bytes that lie together.

    Strides are in bytes; neighbours that step alike are one dimension, and what is dense at the end joins the item.
    """
    dims, inner = [], None
    for row in reversed([row for row in zip(shape, from_, to) if row[0] != 1]):
        size, source, target = row
        if inner is None and not dims and source == item and target == item:
            item *= size
        elif inner is not None and source == inner[0] * inner[1] and target == inner[0] * inner[2]:
            inner = (inner[0] * size, inner[1], inner[2])
        else:
            if inner is not None:
                dims.append(inner)
            inner = row
    if inner is not None:
        dims.append(inner)
    dims.reverse()
    return dims, item


cdef class StridedCopy(Step):
    """Elements of `item` bytes from slot x to slot y, along `shape` with strides in bytes.

    start, offset: bytes of x and y before the first element. Nothing overlaps; at most 6 dimensions are left when
    those that step alike are merged.
    """

    cdef strided p

    def __init__(self, slots, shape, from_, to, size_t item, size_t offset=0, size_t start=0):
        cdef const nnf_kernel *row
        dims, self.p.item = merge(shape, from_, to, item)
        if len(dims) > LOOPS:
            raise ValueError("more dimensions than a step can walk")
        self.p.offset = offset
        self.p.start = start
        self.p.rows = self.p.columns = self.p.across = 1
        if dims:
            self.p.columns, self.p.column_from, self.p.column_to = dims.pop()
        # Of the other dimensions, the one along which x lies closer than along the columns is turned with them.
        turned = min(range(len(dims)), key=lambda d: dims[d][1], default=None)
        is_turned = turned is not None and dims[turned][1] < self.p.column_from
        if dims:
            self.p.across, self.p.across_from, self.p.across_to = dims.pop(turned if is_turned else -1)
        name = "strided copy"
        self.p.panel = PANEL_ROWS
        if is_turned and self.p.item in (1, 2, 4, 8) and \
                self.p.across_from == self.p.item and self.p.column_to == self.p.item:
            row = pick(f"transpose_x{8 * self.p.item}_tile")
            self.p.turn = <nnf_transpose_fn>row.fn
            # A few columns side by side in y are written as they come; of more, lines at a time.
            self.p.panel = BESIDE if self.p.columns <= 4 and self.p.across_to == self.p.columns * self.p.item \
                else LINE // self.p.item
            name = f"{name} + {row.name.decode()}"
        self.p.panel *= max(1, PANEL // max(1, self.p.columns) // self.p.panel)
        if not is_turned:
            self.p.panel = max(1, NEAR // max(1, self.p.columns * self.p.item))
        self.p.panels = (self.p.across + self.p.panel - 1) // self.p.panel
        self.p.loops = len(dims)
        for d in range(self.p.loops):
            self.p.size[d], self.p.from_[d], self.p.to[d] = dims[d]
            self.p.rows *= self.p.size[d]
        self.work = self.p.rows * self.p.across * self.p.columns * self.p.item
        self.tiles = <int>min(tiles_of(<size_t>self.work), max(1, self.p.rows * self.p.panels))
        self.bind(run_strided, &self.p, slots, name)
