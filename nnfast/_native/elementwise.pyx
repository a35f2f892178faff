"""Steps of the element-wise family: two operands that broadcast against each other."""

from libc.stdint cimport int32_t, uint8_t

from .kernels cimport nnf_kernel, pick
from .plan cimport Step
from .threads cimport nnf_run, nnf_share, nnf_step

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
        int32_t lo
        int32_t hi

    ctypedef void (*nnf_binary_q8_flat_fn)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                           uint8_t *y, const nnf_binary_q8 *p) noexcept nogil

cdef enum:
    GRAIN = 16384  # elements below which a second thread costs more than it saves
    OUTER = 7      # most loops around the rows: rank 8 with every dimension broadcast differently from the next


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


cdef int plan_walk(walk *w, shape_a, shape_b) except -1:
    dims = collapse(shape_a, shape_b)
    if len(dims) > OUTER + 1:
        raise ValueError("more broadcast dimensions than a step can walk")
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


cdef inline void share(const walk *w, int thread, int threads, size_t *row, size_t *last, size_t *column,
                       size_t *end) noexcept nogil:
    # A thread's rows, or its part of the only row.
    row[0], last[0], column[0], end[0] = 0, w.rows, 0, w.n
    if w.rows > 1:
        nnf_share(w.rows, thread, threads, row, last)
    else:
        nnf_share(w.n, thread, threads, column, end)


cdef inline void offsets(const walk *w, size_t row, size_t *a, size_t *b) noexcept nogil:
    cdef int d
    a[0] = b[0] = 0
    for d in range(w.rank - 1, -1, -1):
        a[0] += row % w.size[d] * w.stride_a[d]
        b[0] += row % w.size[d] * w.stride_b[d]
        row //= w.size[d]


cdef struct binary_f32:
    nnf_binary_f32_flat_fn kernel
    walk over
    float lo
    float hi


cdef void run_binary_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_f32 *p = <const binary_f32 *>step.params
    cdef const float *a = <const float *>run.slot[step.slots[0]]
    cdef const float *b = <const float *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]]
    cdef size_t row, last, column, end, at_a, at_b
    share(&p.over, thread, threads, &row, &last, &column, &end)
    for row in range(row, last):
        offsets(&p.over, row, &at_a, &at_b)
        p.kernel(end - column, a + at_a + column * p.over.step_a, p.over.step_a, b + at_b + column * p.over.step_b,
                 p.over.step_b, y + row * p.over.n + column, p.lo, p.hi)


cdef class BinaryF32(Step):
    """y = clamp(a op b, lo, hi) on float32; slots a, b, y of broadcasting shapes.

    op: add, sub, mul, div, max, min, prelu.
    """

    cdef binary_f32 p

    def __init__(self, slots, str op, shape_a, shape_b, float lo=float("-inf"), float hi=float("inf")):
        cdef const nnf_kernel *row = pick(f"{op}_f32_flat")
        self.p.kernel = <nnf_binary_f32_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        self.p.lo = lo
        self.p.hi = hi
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // GRAIN, 64)
        self.bind(run_binary_f32, &self.p, slots, row.name.decode())


cdef struct binary_q8:
    nnf_binary_q8_flat_fn kernel
    walk over
    nnf_binary_q8 constants


cdef void run_binary_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_q8 *p = <const binary_q8 *>step.params
    cdef const uint8_t *a = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *b = <const uint8_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, last, column, end, at_a, at_b
    share(&p.over, thread, threads, &row, &last, &column, &end)
    for row in range(row, last):
        offsets(&p.over, row, &at_a, &at_b)
        p.kernel(end - column, a + at_a + column * p.over.step_a, p.over.step_a, b + at_b + column * p.over.step_b,
                 p.over.step_b, y + row * p.over.n + column, &p.constants)


cdef class BinaryQ8(Step):
    """Quantized a op b on 8-bit codes (ops_a.md B ADD); op: add, mul; slots a, b, y of broadcasting shapes.

    is_signed: codes are int8; zeros: zero points of a, b, y; scales: (multiplier, right shift) of a, b, y for add (a
    negative multiplier subtracts), of y alone for mul; clamp: lowest and highest code of y.
    """

    cdef binary_q8 p

    def __init__(self, slots, str op, bint is_signed, shape_a, shape_b, zeros, scales, clamp):
        cdef const nnf_kernel *row = pick(f"{op}_{'qs8' if is_signed else 'qu8'}_flat")
        self.p.kernel = <nnf_binary_q8_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        cdef nnf_binary_q8 *c = &self.p.constants
        c.zero_a, c.zero_b, c.zero_y = zeros
        *first, (c.multiplier_y, c.shift_y) = scales
        if first:
            (c.multiplier_a, c.shift_a), (c.multiplier_b, c.shift_b) = first
        c.lo, c.hi = clamp
        for shift in (c.shift_a, c.shift_b, c.shift_y):
            if not 0 <= shift <= 31:
                raise ValueError(f"shift is {shift}, must be in [0, 31]")
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // GRAIN, 64)
        self.bind(run_binary_q8, &self.p, slots, row.name.decode())
