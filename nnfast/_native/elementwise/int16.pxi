"""Steps of int16 tensors, element by element, as LiteRT's reference kernels have them (csrc/kernels/int16/int16.h)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_share_runs, nnf_step

import numpy as np

cdef extern from "int16/int16.h":
    ctypedef struct nnf_scaling:
        int32_t multiplier, left, right

    ctypedef struct nnf_binary_q16:
        nnf_scaling a, b, y
        int32_t is_minus, lo, hi

    ctypedef void (*nnf_binary_qs16_flat_fn)(size_t n, const int16_t *a, size_t step_a, const int16_t *b,
                                             size_t step_b, int16_t *y, const nnf_binary_q16 *p) noexcept nogil

    ctypedef struct nnf_rescale:
        nnf_scaling above, below
        int32_t zero_x, zero_y, lo, hi

    ctypedef void (*nnf_rescale_flat_fn)(size_t n, const void *x, void *y, const nnf_rescale *p) noexcept nogil
    ctypedef void (*nnf_curve_qs16_flat_fn)(size_t n, const int16_t *x, int16_t *y, const int16_t *table) noexcept nogil

    ctypedef struct nnf_sigmoid_q16:
        int32_t multiplier, right, bits, cap, less, sum, shift
        const uint16_t *table

    ctypedef void (*nnf_sigmoid_qs16_flat_fn)(size_t n, const int16_t *x, int16_t *y,
                                              const nnf_sigmoid_q16 *p) noexcept nogil
    ctypedef void (*nnf_quantize_f32_qs16_flat_fn)(size_t n, const float *x, int16_t *y, float scale) noexcept nogil
    ctypedef void (*nnf_dequantize_qs16_f32_flat_fn)(size_t n, const int16_t *x, float *y, float scale) noexcept nogil
    ctypedef void (*nnf_split_qs16_flat_fn)(size_t n, const int16_t *x, uint8_t *high, uint8_t *low) noexcept nogil

    ctypedef struct nnf_word_sums:
        size_t rows, columns, ldx, ldy
        const int32_t *high
        const int32_t *low
        int16_t *y
        int32_t lo, hi
        const int64_t *offset
        const int32_t *multiplier
        const int32_t *shift
        const double *scale

    ctypedef void (*nnf_requantize_qs16_rows_fn)(const nnf_word_sums *p) noexcept nogil

RESCALED = {(np.dtype(source), np.dtype(target)): types for source, target, types in (
    ("i2", "i2", "qs16"), ("i2", "i1", "qs16_qs8"), ("i2", "i4", "qs16_s32"), ("i1", "i2", "qs8_qs16"),
    ("i4", "i2", "s32_qs16"), ("i4", "i1", "s32_qs8"))}
"""Kernel types by the dtypes of input and output."""


cdef int set_scaling(nnf_scaling *to, made) except -1:
    # made: (multiplier, left shift, right shift)
    to.multiplier, to.left, to.right = made
    if not (0 <= to.left <= 31 and 0 <= to.right <= 31):
        raise ValueError(f"shifts are {to.left} and {to.right}, must be in [0, 31]")
    return 0


cdef struct binary_q16:
    nnf_binary_qs16_flat_fn kernel
    walk over
    nnf_binary_q16 constants


cdef void binary_q16_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                         void *y) noexcept nogil:
    cdef const binary_q16 *p = <const binary_q16 *>params
    p.kernel(n, <const int16_t *>a, step_a, <const int16_t *>b, step_b, <int16_t *>y, &p.constants)


cdef void run_binary_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const binary_q16 *p = <const binary_q16 *>step.params
    walk_rows(step, run, thread, threads, &p.over, sizeof(int16_t), sizeof(int16_t), binary_q16_row)


cdef class BinaryQ16(Step):
    """a op b on int16 codes; slots a, b, y of broadcasting shapes.

    op: add, sub, mul; scales: (multiplier, left shift, right shift) of a, b, y for add and sub, of y alone for mul;
    clamp: lowest and highest code of y.
    """

    cdef binary_q16 p

    def __init__(self, slots, str op, shape_a, shape_b, scales, clamp):
        cdef const nnf_kernel *row = pick("mul_qs16_flat" if op == "mul" else "add_qs16_flat")
        cdef nnf_binary_q16 *c = &self.p.constants
        self.p.kernel = <nnf_binary_qs16_flat_fn>row.fn
        plan_walk(&self.p.over, shape_a, shape_b)
        *first, last = scales
        set_scaling(&c.y, last)
        if op != "mul":
            set_scaling(&c.a, first[0])
            set_scaling(&c.b, first[1])
        c.is_minus = op == "sub"
        c.lo, c.hi = clamp
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // BINARY_GRAIN, 64)
        in_one_row(self, &self.p.over, sizeof(int16_t), sizeof(int16_t))
        self.bind(run_binary_q16, &self.p, slots, row.name.decode())


cdef struct rescale_q16:
    nnf_rescale_flat_fn kernel
    nnf_rescale constants
    size_t count, from_bytes, to_bytes


cdef void run_rescale_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const rescale_q16 *p = <const rescale_q16 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first * p.from_bytes, y + first * p.to_bytes, &p.constants)


cdef class RescaleQ16(Step):
    """Codes of `count` elements in another quantization; slots x, y; dtypes: theirs, a pair of RESCALED.

    above, below: (multiplier, left shift, right shift) of values from zero on, and below it; zeros: zero points of x
    and y, that of an int32 y is 0; clamp: lowest and highest code of y.
    """

    cdef rescale_q16 p

    def __init__(self, slots, size_t count, dtypes, above, below, zeros, clamp):
        cdef const nnf_kernel *row = pick(f"rescale_{RESCALED[dtypes]}_flat")
        cdef nnf_rescale *c = &self.p.constants
        self.p.kernel = <nnf_rescale_flat_fn>row.fn
        set_scaling(&c.above, above)
        set_scaling(&c.below, below)
        c.zero_x, c.zero_y = zeros
        c.lo, c.hi = clamp
        if dtypes[1].itemsize == 4 and c.zero_y != 0:
            raise ValueError(f"zero point of int32 is {c.zero_y}, must be 0")
        self.p.count, self.p.from_bytes, self.p.to_bytes = count, dtypes[0].itemsize, dtypes[1].itemsize
        self.work = count
        self.tiles = <int>min(1 + count // BINARY_GRAIN, 64)
        self.one_by_one(count, (self.p.from_bytes, self.p.to_bytes))
        self.bind(run_rescale_q16, &self.p, slots, row.name.decode())


cdef struct curve_q16:
    nnf_curve_qs16_flat_fn kernel
    const int16_t *table
    size_t count


cdef void run_curve_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const curve_q16 *p = <const curve_q16 *>step.params
    cdef const int16_t *x = <const int16_t *>run.slot[step.slots[0]]
    cdef int16_t *y = <int16_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, p.table)


cdef class CurveQ16(Step):
    """Codes of a curve at `count` int16 codes, by the 513 int16 values of a table; slots x, y."""

    cdef curve_q16 p

    def __init__(self, slots, size_t count, const int16_t[::1] table):
        cdef const nnf_kernel *row = pick("curve_qs16_flat")
        if table.shape[0] != 513:
            raise ValueError(f"table has {table.shape[0]} values, must have 513")
        self.keep = table
        self.p.kernel = <nnf_curve_qs16_flat_fn>row.fn
        self.p.table = &table[0]
        self.p.count = count
        self.work = count
        self.tiles = <int>min(1 + count // BINARY_GRAIN, 64)
        self.one_by_one(count, (2, 2))
        self.bind(run_curve_q16, &self.p, slots, row.name.decode())


cdef struct sigmoid_q16:
    nnf_sigmoid_qs16_flat_fn kernel
    nnf_sigmoid_q16 constants
    size_t count


cdef void run_sigmoid_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const sigmoid_q16 *p = <const sigmoid_q16 *>step.params
    cdef const int16_t *x = <const int16_t *>run.slot[step.slots[0]]
    cdef int16_t *y = <int16_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, &p.constants)


cdef class SigmoidQ16(Step):
    """LOGISTIC or TANH of `count` int16 codes; slots x, y.

    scale: (multiplier, right shift); form: bits, cap, less, sum, shift of nnf_sigmoid_q16; table: uint16 [256].
    """

    cdef sigmoid_q16 p

    def __init__(self, slots, size_t count, scale, form, const uint16_t[::1] table):
        cdef const nnf_kernel *row = pick("sigmoid_qs16_flat")
        cdef nnf_sigmoid_q16 *c = &self.p.constants
        if table.shape[0] != 256:
            raise ValueError(f"table has {table.shape[0]} values, must have 256")
        self.keep = table
        self.p.kernel = <nnf_sigmoid_qs16_flat_fn>row.fn
        c.multiplier, c.right = scale
        c.bits, c.cap, c.less, c.sum, c.shift = form
        c.table = &table[0]
        self.p.count = count
        self.work = count
        self.tiles = <int>min(1 + count // BINARY_GRAIN, 64)
        self.one_by_one(count, (2, 2))
        self.bind(run_sigmoid_q16, &self.p, slots, row.name.decode())


cdef struct reals_q16:
    nnf_quantize_f32_qs16_flat_fn quantize      # one of the two
    nnf_dequantize_qs16_f32_flat_fn dequantize
    size_t count
    float scale


cdef void run_reals_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const reals_q16 *p = <const reals_q16 *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef void *y = run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    if p.quantize != NULL:
        p.quantize(last - first, <const float *>x + first, <int16_t *>y + first, p.scale)
    else:
        p.dequantize(last - first, <const int16_t *>x + first, <float *>y + first, p.scale)


cdef class RealsQ16(Step):
    """int16 codes of `count` float32 values, or with `back` the values of codes; slots x, y; scale: greater than 0."""

    cdef reals_q16 p

    def __init__(self, slots, size_t count, float scale, bint back=False):
        cdef const nnf_kernel *row = pick("dequantize_qs16_f32_flat" if back else "quantize_f32_qs16_flat")
        if back:
            self.p.dequantize = <nnf_dequantize_qs16_f32_flat_fn>row.fn
        else:
            self.p.quantize = <nnf_quantize_f32_qs16_flat_fn>row.fn
        self.p.count = count
        self.p.scale = scale
        self.work = count
        self.tiles = <int>min(1 + count // BINARY_GRAIN, 64)
        self.one_by_one(count, (2, 4) if back else (4, 2))
        self.bind(run_reals_q16, &self.p, slots, row.name.decode())


# -- products in 8-bit halves ------------------------------------------------------------------------------------------
cdef struct split_q16:
    nnf_split_qs16_flat_fn kernel
    size_t count


cdef void run_split_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const split_q16 *p = <const split_q16 *>step.params
    cdef const int16_t *x = <const int16_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, y + p.count + first)


cdef class SplitQ16(Step):
    """Upper bytes of `count` int16 codes, plus 128, and behind them all lower bytes; slots x, y."""

    cdef split_q16 p

    def __init__(self, slots, size_t count):
        cdef const nnf_kernel *row = pick("split_qs16_flat")
        self.p.kernel = <nnf_split_qs16_flat_fn>row.fn
        self.p.count = count
        self.work = count
        self.tiles = <int>min(1 + count // BINARY_GRAIN, 64)
        self.bind(run_split_q16, &self.p, slots, row.name.decode())


cdef struct requantize_q16:
    nnf_requantize_qs16_rows_fn kernel
    nnf_word_sums sums
    bint halves


cdef void run_requantize_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const requantize_q16 *p = <const requantize_q16 *>step.params
    cdef const int32_t *x = <const int32_t *>run.slot[step.slots[0]]
    cdef nnf_word_sums sums = p.sums
    cdef size_t first, last
    nnf_share(sums.rows, thread, threads, &first, &last)
    sums.high = x + first * sums.columns if p.halves else NULL
    sums.low = x + (first + (sums.rows if p.halves else 0)) * sums.columns
    sums.offset = <const int64_t *>run.slot[step.slots[1]]
    sums.y = <int16_t *>run.slot[step.slots[2]] + first * sums.columns
    sums.rows = last - first
    p.kernel(&sums)


cdef class RequantizeQ16(Step):
    """int16 codes of sums of products [rows, columns], int32, or with `halves` of those with upper and lower bytes of
    SplitQ16, [2, rows, columns]; slots sums, offset, y.

    offset: int64 [columns] to be added. scale: int32 (multipliers, exponents) of the int32 sums; the same for
    `wide`, of int64 sums, with multipliers of 15 bits and right shifts of 1 to 62; or float64. All [columns]. clamp:
    lowest and highest code.
    """

    cdef requantize_q16 p

    def __init__(self, slots, size_t rows, size_t columns, scale, clamp, bint wide=False, bint halves=True):
        cdef bint is_real = not isinstance(scale, tuple)
        cdef const nnf_kernel *row = pick(f"requantize_{'real' if is_real else 'wide' if wide else 's32'}_qs16_rows")
        cdef nnf_word_sums *c = &self.p.sums
        cdef const int32_t[::1] multipliers, shifts
        cdef const double[::1] reals
        cdef bint fits
        self.keep = scale
        self.p.halves = halves
        c.rows, c.columns, c.ldx, c.ldy = rows, columns, columns, columns
        c.lo, c.hi = clamp
        if is_real:
            reals = scale
            fits = <size_t>reals.shape[0] == columns
            c.scale = &reals[0]
        else:
            multipliers, shifts = scale
            fits = <size_t>multipliers.shape[0] == <size_t>shifts.shape[0] == columns
            c.multiplier, c.shift = &multipliers[0], &shifts[0]
        if not fits:
            raise ValueError(f"there must be scales of {columns} columns")
        self.p.kernel = <nnf_requantize_qs16_rows_fn>row.fn
        self.work = rows * columns
        self.tiles = <int>min(1 + rows * columns // BINARY_GRAIN, rows, 64)
        self.bind(run_requantize_q16, &self.p, slots, row.name.decode())
