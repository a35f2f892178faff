"""Steps of functions of one operand."""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp, memcpy

from .engine cimport Step
from .kernels cimport NNF_ISA_SCALAR, nnf_kernel, pick, pick_scalar
from .threads cimport nnf_run, nnf_share_runs, nnf_step

import numpy as np

cdef extern from "activation/activation.h":
    ctypedef void (*nnf_unary_f32_flat_fn)(size_t n, const float *x, float *y) noexcept nogil
    ctypedef void (*nnf_clamp_f32_flat_fn)(size_t n, const float *x, float *y, float lo, float hi) noexcept nogil
    ctypedef void (*nnf_elu_f32_flat_fn)(size_t n, const float *x, float *y, float alpha) noexcept nogil
    ctypedef void (*nnf_lookup_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const uint8_t *table) noexcept nogil
    ctypedef void (*nnf_line_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const nnf_line *line) noexcept nogil

# Elements below which a second thread costs more than it saves: a few microseconds of work.
cdef enum:
    CURVE_GRAIN = 4096
    MOVE_GRAIN = 32768


cdef struct unary_f32:
    nnf_unary_f32_flat_fn kernel
    size_t count


cdef void run_unary_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const unary_f32 *p = <const unary_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first)


cdef class UnaryF32(Step):
    """y = f(x) over `count` float32 values; slots x, y.

    f: logistic, tanh, hard_swish, abs, neg, floor, ceil, round, sign, sqrt, rsqrt, exp, log, sin, cos, gelu, gelu_tanh,
    silu.
    """

    cdef unary_f32 p

    def __init__(self, slots, str f, size_t count):
        cdef const nnf_kernel *row = pick(f"{f}_f32_flat")
        self.p.kernel = <nnf_unary_f32_flat_fn>row.fn
        self.p.count = count
        self.work = count
        self.tiles = <int>min(1 + count // CURVE_GRAIN, 64)
        self.one_by_one(count, (4, 4))
        self.bind(run_unary_f32, &self.p, slots, row.name.decode())


cdef struct clamp_f32:
    nnf_clamp_f32_flat_fn kernel
    size_t count
    float lo
    float hi


cdef void run_clamp_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const clamp_f32 *p = <const clamp_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, p.lo, p.hi)


cdef class ClampF32(Step):
    """y = clamp(x, lo, hi) over `count` float32 values; slots x, y."""

    cdef clamp_f32 p

    def __init__(self, slots, size_t count, float lo, float hi):
        cdef const nnf_kernel *row = pick("clamp_f32_flat")
        self.p.kernel = <nnf_clamp_f32_flat_fn>row.fn
        self.p.count = count
        self.p.lo = lo
        self.p.hi = hi
        self.work = count
        self.tiles = <int>min(1 + count // MOVE_GRAIN, 64)
        self.one_by_one(count, (4, 4))
        self.bind(run_clamp_f32, &self.p, slots, row.name.decode())


cdef struct elu_f32:
    nnf_elu_f32_flat_fn kernel
    size_t count
    float alpha


cdef void run_elu_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const elu_f32 *p = <const elu_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, p.alpha)


cdef class EluF32(Step):
    """y = max(0, x) + min(0, alpha (e^x - 1)) over `count` float32 values, 0 <= alpha < inf; slots x, y."""

    cdef elu_f32 p

    def __init__(self, slots, size_t count, float alpha):
        cdef const nnf_kernel *row = pick("elu_f32_flat")
        self.p.kernel = <nnf_elu_f32_flat_fn>row.fn
        self.p.count = count
        self.p.alpha = alpha
        self.work = count
        self.tiles = <int>min(1 + count // CURVE_GRAIN, 64)
        self.one_by_one(count, (4, 4))
        self.bind(run_elu_f32, &self.p, slots, row.name.decode())


cdef struct lookup_q8:
    nnf_lookup_qu8_flat_fn kernel
    nnf_line_qu8_flat_fn along_line
    size_t count
    uint8_t table[256]
    nnf_line line


cdef void run_lookup_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const lookup_q8 *p = <const lookup_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, p.table)


cdef void run_line_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const lookup_q8 *p = <const lookup_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.along_line(last - first, x + first, y + first, &p.line)


# Whether the line gives each byte of the table.
cdef bint is_met(const uint8_t *table, const nnf_line *line) except -1:
    cdef nnf_line_qu8_flat_fn definition = <nnf_line_qu8_flat_fn>pick_scalar("line_qu8_flat").fn
    cdef uint8_t codes[256]
    cdef int i
    for i in range(256):
        codes[i] = <uint8_t>i
    definition(256, codes, codes, line)
    return memcmp(codes, table, 256) == 0


cdef class LookupQ8(Step):
    """y = table[x] over `count` bytes, signed or not; table: uint8[256] by raw byte; slots x, y.

    Where the level has faster ways along lines than into tables, and the table is straight or bent once, by that.
    """

    cdef lookup_q8 p

    def __init__(self, slots, size_t count, table):
        cdef const nnf_kernel *row = pick("lookup_qu8_flat")
        cdef const nnf_kernel *line = pick("line_qu8_flat")
        cdef const uint8_t[::1] codes = np.ascontiguousarray(table, np.uint8)
        if codes.shape[0] != 256:
            raise ValueError(f"table has {codes.shape[0]} entries, must have 256")
        memcpy(self.p.table, &codes[0], 256)
        self.p.kernel = <nnf_lookup_qu8_flat_fn>row.fn
        self.p.along_line = <nnf_line_qu8_flat_fn>line.fn
        self.p.count = count
        self.work = count
        self.packed = 256
        self.tiles = <int>min(1 + count // MOVE_GRAIN, 64)
        self.one_by_one(count, (1, 1))
        if NNF_ISA_SCALAR < line.isa >= row.isa and find_line(self.p.table, &self.p.line) and \
                is_met(self.p.table, &self.p.line):
            self.bind(run_line_q8, &self.p, slots, line.name.decode())
        else:
            self.bind(run_lookup_q8, &self.p, slots, row.name.decode())
