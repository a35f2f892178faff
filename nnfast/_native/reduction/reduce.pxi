"""Steps that reduce some dimensions of a tensor."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "reduce/reduce.h":
    ctypedef struct nnf_reduce:
        size_t count[2]
        size_t stride[2]
        int32_t divisor
        uint8_t flip
        int32_t excess, multiplier, exponent, zero_point, lo, hi

    ctypedef void (*nnf_reduce_f32_fn)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const float *x,
                                       float *y) noexcept nogil
    ctypedef void (*nnf_reduce_q8_fn)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const uint8_t *x,
                                      uint8_t *y) noexcept nogil

    int NNF_REDUCE_TERMS

MOST_TERMS = NNF_REDUCE_TERMS - 1
"""Most terms of an 8-bit mean."""

cdef enum:
    REDUCE_GRAIN = 16384  # elements below which a second thread costs more than it saves
    REDUCE_ALONE = 8      # rows from which on threads share them instead of the columns


def groups(shape, axes):
    """Dimensions of a dense tensor as few (size, stride in elements, is reduced), outermost first, none of size 1.

    The kinds alternate: neighbours that are both reduced, or both kept, are one dimension.
    """
    found, stride, kind = [], 1, None
    for axis in reversed(range(len(shape))):
        size, reduced = shape[axis], axis in axes
        if size != 1:
            if reduced is kind:
                inner = found.pop()
                found.append((inner[0] * size, inner[1], reduced))
            else:
                found.append((size, stride, reduced))
            kind = reduced
        stride *= size
    found.reverse()
    return found


cdef struct walk:
    # Outputs are kept[0] x kept[1] results (of n columns each, or of one value), in this order.
    size_t n, width
    size_t kept[2]
    size_t along[2]
    nnf_reduce p


cdef bint plan_walk(walk *w, shape, axes) except -1:
    """Fills the walk; True when rows, False when columns are reduced."""
    dims = groups(shape, axes) or [(1, 1, False)]
    *outer, (n, _, rows) = dims
    kept = [d for d in outer if not d[2]]
    reduced = [d for d in outer if d[2]]
    if len(kept) > 2 or len(reduced) > 2:
        raise ValueError("more alternating dimensions than a step can walk")
    w.n = n
    w.width = 1 if rows else n
    w.kept[0] = w.kept[1] = w.p.count[0] = w.p.count[1] = 1
    for i, (size, stride, _) in enumerate(reversed(kept)):
        w.kept[1 - i], w.along[1 - i] = size, stride
    for i, (size, stride, _) in enumerate(reduced):
        w.p.count[i], w.p.stride[i] = size, stride
    return rows


cdef inline void share(const walk *w, int thread, int threads, size_t *row, size_t *last, size_t *column,
                       size_t *end) noexcept nogil:
    # A thread's results, or its part of the columns of each: never a part of one reduction.
    cdef size_t rows = w.kept[0] * w.kept[1]
    row[0], last[0], column[0], end[0] = 0, rows, 0, w.width
    if rows < REDUCE_ALONE and w.width > 1:
        nnf_share(w.width, thread, threads, column, end)
    else:
        nnf_share(rows, thread, threads, row, last)


cdef size_t work_of(const walk *w):
    return w.kept[0] * w.kept[1] * w.p.count[0] * w.p.count[1] * w.n


cdef int reduce_tiles(const walk *w):
    return <int>min(1 + work_of(w) // REDUCE_GRAIN, w.kept[0] * w.kept[1] * w.width, 64)


cdef struct reduction:
    nnf_reduce_f32_fn floats        # one of the two
    nnf_reduce_q8_fn codes
    walk over


cdef void run_reduction(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const reduction *p = <const reduction *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef void *y = run.slot[step.slots[1]]
    cdef size_t row, last, column, end, outer, inner, source, n, at, count
    share(&p.over, thread, threads, &row, &last, &column, &end)
    if column == end:
        return
    n = p.over.n if p.over.width == 1 else end - column
    outer, inner = row // p.over.kept[1], row % p.over.kept[1]
    while row < last:
        source = outer * p.over.along[0] + inner * p.over.along[1] + column
        at = row * p.over.width + column
        count = 1 if end - column < p.over.width else min(last - row, p.over.kept[1] - inner)
        if p.floats != NULL:
            p.floats(&p.over.p, count, p.over.along[1], n, <const float *>x + source, <float *>y + at)
        else:
            p.codes(&p.over.p, count, p.over.along[1], n, <const uint8_t *>x + source, <uint8_t *>y + at)
        row, inner = row + count, inner + count
        if inner == p.over.kept[1]:
            outer, inner = outer + 1, 0


cdef class ReduceF32(Step):
    """Reduction of float32 values along `axes` of a shape without zeros; op: sum, max, min, prod; slots x, y.

    divisor: what sums are divided by.
    """

    cdef reduction p

    def __init__(self, slots, str op, shape, axes, int32_t divisor=1):
        cdef bint rows = plan_walk(&self.p.over, shape, axes)
        cdef const nnf_kernel *row = pick(f"reduce_{op if rows else op + '_across'}_f32_rows")
        self.p.floats = <nnf_reduce_f32_fn>row.fn
        self.p.over.p.divisor = divisor
        self.work = work_of(&self.p.over)
        self.tiles = reduce_tiles(&self.p.over)
        self.bind(run_reduction, &self.p, slots, row.name.decode())


cdef class ReduceQ8(Step):
    """Reduction of 8-bit codes along `axes` of a shape without zeros; op: mean, max, min; slots x, y.

    is_signed: codes are int8; a mean has at most MOST_TERMS terms. scale: None for the quotient of the codes, or
    (input zero point, multiplier, exponent, output zero point, lowest code, highest code) of a mean as LiteRT has it.
    """

    cdef reduction p

    def __init__(self, slots, str op, bint is_signed, shape, axes, scale=None):
        cdef bint rows = plan_walk(&self.p.over, shape, axes)
        cdef const nnf_kernel *row = pick(f"reduce_{op if rows else op + '_across'}_qu8_rows")
        cdef size_t terms = self.p.over.p.count[0] * self.p.over.p.count[1] * (self.p.over.n if rows else 1)
        if op == "mean" and terms > MOST_TERMS:
            raise ValueError(f"mean of {terms} terms, must be at most {MOST_TERMS}")
        self.p.codes = <nnf_reduce_q8_fn>row.fn
        self.p.over.p.divisor = <int32_t>min(terms, MOST_TERMS)
        self.p.over.p.flip = 128 if is_signed else 0
        if scale is not None:
            self.p.over.p.divisor = 0
            zero_point, self.p.over.p.multiplier, self.p.over.p.exponent, *codes = scale
            self.p.over.p.excess = terms * zero_point
            self.p.over.p.zero_point, self.p.over.p.lo, self.p.over.p.hi = codes
        self.work = work_of(&self.p.over)
        self.tiles = reduce_tiles(&self.p.over)
        self.bind(run_reduction, &self.p, slots, row.name.decode())
