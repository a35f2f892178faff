"""Steps of the element-wise family: operands that broadcast against each other, and choices."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_share_runs, nnf_step

cdef extern from "elementwise/elementwise.h":
    ctypedef void (*nnf_binary_f32_flat_fn)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                            float *y, float lo, float hi) noexcept nogil

    ctypedef struct nnf_binary_q8:
        int32_t zero_a
        int32_t multiplier_a
        int32_t shift_a
        int32_t zero_b
        int32_t multiplier_b
        int32_t shift_b
        int32_t zero_y
        int32_t multiplier_y
        int32_t shift_y
        int32_t left_a
        int32_t left_y
        int32_t lo
        int32_t hi

    ctypedef void (*nnf_binary_q8_flat_fn)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                           uint8_t *y, const nnf_binary_q8 *p) noexcept nogil

    ctypedef void (*nnf_binary_s32_flat_fn)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                            int32_t *y) noexcept nogil
    ctypedef void (*nnf_compare_f32_flat_fn)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                             uint8_t *y) noexcept nogil
    ctypedef void (*nnf_compare_s32_flat_fn)(size_t n, const int32_t *a, size_t step_a, const int32_t *b,
                                             size_t step_b, uint8_t *y) noexcept nogil
    ctypedef void (*nnf_binary_u8_flat_fn)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                           uint8_t *y) noexcept nogil
    ctypedef void (*nnf_select_flat_fn)(size_t n, const uint8_t *choice, const void *a, const void *b,
                                        void *y) noexcept nogil

cdef extern from "elementwise/elementwise_add.h":
    void nnf_plan_add(bint is_signed, nnf_binary_q8 *p)

cdef enum:
    BINARY_GRAIN = 16384       # elements below which a second thread costs more than it saves
    POWER_GRAIN = 2048  # the same for powers
    OUTER = 7           # most loops around the rows: rank 8 with every dimension broadcast differently from the next
    SHORT = 64          # elements of a row from which on it is worth a call of its own,
    SHORT_BYTES = 768   # and bytes, where gathering it is copying or filling
    GATHERED = 4096     # bytes of an operand that short rows are gathered in


cdef struct walk:
    # Rows of n elements; loop 0 is the outermost of `rank` loops around them. Strides are in elements.
    size_t n, step_a, step_b, rows
    int rank
    size_t size[OUTER]
    size_t stride_a[OUTER]
    size_t stride_b[OUTER]


def collapse(shape_a, shape_b):
    """Dimensions of the broadcast of two shapes as few (size, in_a, in_b), outermost first.

    in_a says that the operand has the dimension, else it repeats; neighbours that agree are one dimension.
    """
    rank = max(len(shape_a), len(shape_b))
    dims, kept = [], None
    for x, y in zip((1,) * (rank - len(shape_a)) + tuple(shape_a), (1,) * (rank - len(shape_b)) + tuple(shape_b)):
        if x == 1 and y == 1:
            continue
        size, flags = y if x == 1 else x, (x != 1, y != 1)
        if dims and flags == kept:
            size *= dims.pop()[0]
        dims.append((size, *flags))
        kept = flags
    return dims or [(1, True, True)]


def obstacle(shape_a, shape_b):
    """Why no step walks the broadcast of two shapes, or None when one does."""
    count = len(collapse(shape_a, shape_b))
    if count > OUTER + 1:
        return f"broadcast repeats {count} dimensions in turn, native up to {OUTER + 1}"
    return None


cdef int plan_walk(walk *w, shape_a, shape_b) except -1:
    reason = obstacle(shape_a, shape_b)
    if reason is not None:
        raise ValueError(reason)
    dims = collapse(shape_a, shape_b)
    w.rank = len(dims) - 1
    w.n, w.step_a, w.step_b = dims[w.rank]
    w.rows = 1
    cdef size_t along_a = w.n if w.step_a else 1, along_b = w.n if w.step_b else 1
    for d in reversed(range(w.rank)):
        size, in_a, in_b = dims[d]
        w.size[d] = size
        w.stride_a[d] = along_a if in_a else 0
        w.stride_b[d] = along_b if in_b else 0
        w.rows *= size
        along_a *= size if in_a else 1
        along_b *= size if in_b else 1
    return 0


cdef int in_one_row(Step step, const walk *w, size_t item, size_t item_y) except -1:
    # Says of a step that broadcasts nothing but single elements that it goes one by one.
    if w.rank == 0:
        step.one_by_one(w.n, (item * w.step_a, item * w.step_b, item_y))
    return 0


cdef inline void share(const walk *w, int thread, int threads, size_t *row, size_t *last, size_t *column,
                       size_t *end) noexcept nogil:
    # A thread's rows, or its part of the only row.
    row[0], last[0], column[0], end[0] = 0, w.rows, 0, w.n
    if w.rows > 1:
        nnf_share(w.rows, thread, threads, row, last)
    else:
        nnf_share_runs(w.n, thread, threads, column, end)


cdef inline void offsets(const walk *w, size_t row, size_t *a, size_t *b) noexcept nogil:
    cdef int d
    a[0] = b[0] = 0
    for d in range(w.rank - 1, -1, -1):
        a[0] += row % w.size[d] * w.stride_a[d]
        b[0] += row % w.size[d] * w.stride_b[d]
        row //= w.size[d]


# One row of a step's own type: n elements of operands whose strides are in elements.
ctypedef void (*row_fn)(const void *p, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                        void *y) noexcept nogil


cdef inline void gather(uint8_t *to, const uint8_t *x, size_t n, size_t step, size_t rows, size_t stride,
                        size_t item) noexcept nogil:
    # `rows` rows of n elements of 1, 2, 4 or 8 bytes side by side. n, step, stride: elements; step 0 repeats one.
    cdef size_t row, i, done = n * item, whole = rows * n * item
    cdef uint16_t short_word
    cdef uint32_t word
    cdef uint64_t long_word
    if step and stride:
        for row in range(rows):
            memcpy(to + row * n * item, x + row * stride * item, n * item)
    elif step:
        memcpy(to, x, done)
        while done < whole:
            memcpy(to + done, to, min(done, whole - done))
            done *= 2
    elif item == 4:
        for row in range(rows):
            memcpy(&word, x + row * stride * 4, 4)
            for i in range(row * n, (row + 1) * n):
                memcpy(to + i * 4, &word, 4)
    elif item == 1:
        for row in range(rows):
            memset(to + row * n, x[row * stride], n)
    elif item == 2:
        for row in range(rows):
            memcpy(&short_word, x + row * stride * 2, 2)
            for i in range(row * n, (row + 1) * n):
                memcpy(to + i * 2, &short_word, 2)
    else:
        for row in range(rows):
            memcpy(&long_word, x + row * stride * 8, 8)
            for i in range(row * n, (row + 1) * n):
                memcpy(to + i * 8, &long_word, 8)


cdef void walk_short_rows(const void *params, const walk *w, const uint8_t *a, const uint8_t *b, uint8_t *y,
                          size_t row, size_t last, size_t item, size_t item_y, row_fn do_row) noexcept nogil:
    # Rows first..last-1, as many of the innermost loop at once as fit: kernels take long rows. Operands that are not
    # dense over them are gathered; one that repeats over them only where its place changes.
    cdef uint8_t parts[2][GATHERED]
    cdef const uint8_t *x[2]
    cdef const uint8_t *at[2]
    cdef size_t held[2]
    cdef size_t steps[2]
    cdef size_t strides[2]
    cdef size_t offset[2]
    cdef int inner = w.rank - 1, side
    cdef size_t most = GATHERED // (w.n * item), count
    steps[0], steps[1] = w.step_a, w.step_b
    strides[0], strides[1] = w.stride_a[inner], w.stride_b[inner]
    at[0] = at[1] = NULL
    held[0] = held[1] = 0
    while row < last:
        count = min(most, w.size[inner] - row % w.size[inner], last - row)
        offsets(w, row, &offset[0], &offset[1])
        for side in range(2):
            x[side] = (a if side == 0 else b) + offset[side] * item
            if steps[side] and strides[side] == w.n:
                continue
            if strides[side] or at[side] != x[side] or held[side] < count:
                gather(parts[side], x[side], w.n, steps[side], count, strides[side], item)
                at[side], held[side] = x[side], count
            x[side] = parts[side]
        do_row(params, count * w.n, x[0], 1, x[1], 1, y + row * w.n * item_y)
        row += count


cdef inline void walk_rows(const nnf_step *step, const nnf_run *run, int thread, int threads, const walk *w,
                           size_t item, size_t item_y, row_fn do_row) noexcept nogil:
    # A thread's part of y = a op b; item, item_y: bytes of an element of the operands, of y.
    cdef const uint8_t *a = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *b = <const uint8_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, last, column, end, at_a, at_b
    share(w, thread, threads, &row, &last, &column, &end)
    if w.rank and w.n and (w.n < SHORT or (w.n * item < SHORT_BYTES and (item == 1 or (w.step_a and w.step_b)))):
        walk_short_rows(step.params, w, a, b, y, row, last, item, item_y, do_row)
        return
    for row in range(row, last):
        offsets(w, row, &at_a, &at_b)
        do_row(step.params, end - column, a + (at_a + column * w.step_a) * item, w.step_a,
               b + (at_b + column * w.step_b) * item, w.step_b, y + (row * w.n + column) * item_y)


cdef struct binary_f32:
    nnf_binary_f32_flat_fn kernel
    walk over
    float lo
    float hi


cdef void binary_f32_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                         void *y) noexcept nogil:
    cdef const binary_f32 *p = <const binary_f32 *>params
    p.kernel(n, <const float *>a, step_a, <const float *>b, step_b, <float *>y, p.lo, p.hi)


cdef void run_binary_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_f32 *p = <const binary_f32 *>step.params
    walk_rows(step, run, thread, threads, &p.over, sizeof(float), sizeof(float), binary_f32_row)


cdef class BinaryF32(Step):
    """y = clamp(a op b, lo, hi) on float32; slots a, b, y of broadcasting shapes.

    op: add, sub, mul, div, max, min, prelu, squared_difference, pow.
    """

    cdef binary_f32 p

    def __init__(self, slots, str op, shape_a, shape_b, float lo=float("-inf"), float hi=float("inf")):
        cdef const nnf_kernel *row = pick(f"{op}_f32_flat")
        self.p.kernel = <nnf_binary_f32_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        self.p.lo = lo
        self.p.hi = hi
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // (POWER_GRAIN if op == "pow" else BINARY_GRAIN), 64)
        in_one_row(self, &self.p.over, sizeof(float), sizeof(float))
        self.bind(run_binary_f32, &self.p, slots, row.name.decode())


cdef struct binary_q8:
    nnf_binary_q8_flat_fn kernel
    walk over
    nnf_binary_q8 constants


cdef void binary_q8_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                        void *y) noexcept nogil:
    cdef const binary_q8 *p = <const binary_q8 *>params
    p.kernel(n, <const uint8_t *>a, step_a, <const uint8_t *>b, step_b, <uint8_t *>y, &p.constants)


cdef void run_binary_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_q8 *p = <const binary_q8 *>step.params
    walk_rows(step, run, thread, threads, &p.over, 1, 1, binary_q8_row)


cdef halves(scale):
    # (multiplier, right shift, left shift)
    multiplier, shift = scale
    return multiplier, max(shift, 0), max(-shift, 0)


cdef class BinaryQ8(Step):
    """Quantized a op b on 8-bit codes [NN 14.0, 15.71]; slots a, b, y of broadcasting shapes.

    op: add, mul, prelu; is_signed: codes are int8; zeros: zero points of a, b, y; scales: (multiplier, right shift) of
    a, b, y for add (a negative multiplier subtracts), of y alone for mul, of the two sides, positive one first, for
    prelu, whose negative shifts go left; clamp: lowest and highest code of y.
    """

    cdef binary_q8 p

    def __init__(self, slots, str op, bint is_signed, shape_a, shape_b, zeros, scales, clamp):
        cdef const nnf_kernel *row = pick(f"{op}_{'qs8' if is_signed else 'qu8'}_flat")
        self.p.kernel = <nnf_binary_q8_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        cdef nnf_binary_q8 *c = &self.p.constants
        c.zero_a, c.zero_b, c.zero_y = zeros
        for _, shift in scales:
            if not (-31 if op == "prelu" else 0) <= shift <= 31:
                raise ValueError(f"shift is {shift}, must be in [0, 31]")
        *first, last = scales
        c.multiplier_y, c.shift_y, c.left_y = halves(last)
        if first:
            c.multiplier_a, c.shift_a, c.left_a = halves(first[0])
        if len(first) > 1:
            c.multiplier_b, c.shift_b = first[1]
        c.lo, c.hi = clamp
        if op == "add":
            nnf_plan_add(is_signed, c)
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // BINARY_GRAIN, 64)
        in_one_row(self, &self.p.over, 1, 1)
        self.bind(run_binary_q8, &self.p, slots, row.name.decode())


cdef struct binary_s32:
    nnf_binary_s32_flat_fn kernel
    walk over


cdef void binary_s32_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                         void *y) noexcept nogil:
    cdef const binary_s32 *p = <const binary_s32 *>params
    p.kernel(n, <const int32_t *>a, step_a, <const int32_t *>b, step_b, <int32_t *>y)


cdef void run_binary_s32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_s32 *p = <const binary_s32 *>step.params
    walk_rows(step, run, thread, threads, &p.over, sizeof(int32_t), sizeof(int32_t), binary_s32_row)


cdef class BinaryS32(Step):
    """y = a op b on int32; slots a, b, y of broadcasting shapes.

    op: add, sub, mul, which wrap; div, rounded down, by 0 0; max, min.
    """

    cdef binary_s32 p

    def __init__(self, slots, str op, shape_a, shape_b):
        cdef const nnf_kernel *row = pick(f"{op}_s32_flat")
        self.p.kernel = <nnf_binary_s32_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // BINARY_GRAIN, 64)
        in_one_row(self, &self.p.over, sizeof(int32_t), sizeof(int32_t))
        self.bind(run_binary_s32, &self.p, slots, row.name.decode())


cdef struct binary_bytes:
    nnf_binary_u8_flat_fn kernel
    walk over


cdef void binary_bytes_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                           void *y) noexcept nogil:
    cdef const binary_bytes *p = <const binary_bytes *>params
    p.kernel(n, <const uint8_t *>a, step_a, <const uint8_t *>b, step_b, <uint8_t *>y)


cdef void run_binary_bytes(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_bytes *p = <const binary_bytes *>step.params
    walk_rows(step, run, thread, threads, &p.over, 1, 1, binary_bytes_row)


cdef class BinaryBytes(Step):
    """y = a op b on bytes; slots a, b, y of broadcasting shapes.

    op, types: max, min of qu8 or qs8 codes; equal, not_equal, less, less_equal of b8 as they are, and, or of b8 as
    truth values (0 or 1 as the result).
    """

    cdef binary_bytes p

    def __init__(self, slots, str op, str types, shape_a, shape_b):
        cdef const nnf_kernel *row = pick(f"{op}_{types}_flat")
        self.p.kernel = <nnf_binary_u8_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // BINARY_GRAIN, 64)
        in_one_row(self, &self.p.over, 1, 1)
        self.bind(run_binary_bytes, &self.p, slots, row.name.decode())


cdef struct compare:
    nnf_compare_f32_flat_fn float_kernel   # one of the two
    nnf_compare_s32_flat_fn integer_kernel
    walk over


cdef void compare_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                      void *y) noexcept nogil:
    cdef const compare *p = <const compare *>params
    if p.float_kernel != NULL:
        p.float_kernel(n, <const float *>a, step_a, <const float *>b, step_b, <uint8_t *>y)
    else:
        p.integer_kernel(n, <const int32_t *>a, step_a, <const int32_t *>b, step_b, <uint8_t *>y)


cdef void run_compare(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const compare *p = <const compare *>step.params
    walk_rows(step, run, thread, threads, &p.over, sizeof(int32_t), 1, compare_row)


cdef class Compare(Step):
    """y = 1 where a relation b, else 0; relation: equal, not_equal, less, less_equal; types: f32 or s32.

    slots a, b, y of broadcasting shapes; y holds bytes.
    """

    cdef compare p

    def __init__(self, slots, str relation, str types, shape_a, shape_b):
        cdef const nnf_kernel *row = pick(f"{relation}_{types}_flat")
        if types == "f32":
            self.p.float_kernel = <nnf_compare_f32_flat_fn>row.fn
        else:
            self.p.integer_kernel = <nnf_compare_s32_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // BINARY_GRAIN, 64)
        in_one_row(self, &self.p.over, sizeof(int32_t), 1)
        self.bind(run_compare, &self.p, slots, row.name.decode())


cdef struct select:
    nnf_select_flat_fn kernel
    size_t count
    size_t item


cdef void run_select(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const select *p = <const select *>step.params
    cdef const uint8_t *choice = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *a = <const uint8_t *>run.slot[step.slots[1]]
    cdef const uint8_t *b = <const uint8_t *>run.slot[step.slots[2]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[3]]
    cdef size_t first, last, at
    nnf_share_runs(p.count, thread, threads, &first, &last)
    at = first * p.item
    p.kernel(last - first, choice + first, a + at, b + at, y + at)


SELECTED = {1: "qu8", 2: "f16", 4: "s32", 8: "x64"}
"""Kernel types by the bytes of an item."""


cdef class Select(Step):
    """y = a where the byte of choice is not 0, else b: `count` items of 1, 2, 4 or 8 bytes; slots choice, a, b, y."""

    cdef select p

    def __init__(self, slots, size_t count, size_t item):
        if item not in SELECTED:
            raise ValueError(f"item has {item} bytes, must have 1, 2, 4 or 8")
        cdef const nnf_kernel *row = pick(f"select_{SELECTED[item]}_flat")
        self.p.kernel = <nnf_select_flat_fn>row.fn
        self.p.count = count
        self.p.item = item
        self.work = count
        self.tiles = <int>min(1 + count // BINARY_GRAIN, 64)
        self.one_by_one(count, (1, item, item, item))
        self.bind(run_select, &self.p, slots, row.name.decode())
