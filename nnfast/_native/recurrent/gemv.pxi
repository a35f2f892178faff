"""Steps of plain recurrent layers: a matrix times the input and the previous output (csrc/kernels/gemv/gemv.h)."""

from libc.string cimport memcpy

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

from .engine import aligned_bytes

cdef extern from "gemv/gemv.h":
    enum:
        NNF_GEMV_N

    ctypedef struct nnf_gemv_f32_panel:
        const float *packed
        const float *start
        const float *x0
        const float *x1
        size_t k0
        size_t k1
        size_t columns
        float *y
        float lo
        float hi

    ctypedef void (*nnf_gemv_f32_tile_fn)(const nnf_gemv_f32_panel *p) noexcept nogil

    ctypedef struct nnf_gemv_f32_matrix:
        const float *w0
        const float *w1
        const float *start
        const float *x0
        const float *x1
        size_t k0
        size_t k1
        size_t rows
        float *y
        float lo
        float hi

    ctypedef void (*nnf_gemv_f32_rows_fn)(const nnf_gemv_f32_matrix *p) noexcept nogil

cdef extern from "activation/activation.h":
    ctypedef void (*nnf_unary_f32_flat_fn)(size_t n, const float *x, float *y) noexcept nogil


def pack_gemv_f32(weights, bias=None):
    """Weights [outputs, inputs] and bias [outputs] as panels [1 + inputs, 32] one after the other; float32 array."""
    outputs, inputs = weights.shape
    panels = -(-outputs // NNF_GEMV_N)
    packed = aligned_bytes(4 * panels * (1 + inputs) * NNF_GEMV_N).view(np.float32)
    packed = packed.reshape(panels, 1 + inputs, NNF_GEMV_N)
    padded = np.zeros((panels * NNF_GEMV_N, 1 + inputs), np.float32)
    if bias is not None:
        padded[:outputs, 0] = bias
    padded[:outputs, 1:] = weights
    packed[...] = padded.reshape(panels, NNF_GEMV_N, 1 + inputs).transpose(0, 2, 1)
    return packed


def packed_bytes_gemv(outputs, inputs):
    """Size of what pack_gemv_f32 returns."""
    return 4 * -(-outputs // NNF_GEMV_N) * (1 + inputs) * NNF_GEMV_N


cdef struct recurrent_f32:
    nnf_gemv_f32_tile_fn packed
    nnf_gemv_f32_rows_fn rows       # NULL for packed weights
    nnf_unary_f32_flat_fn curve     # NULL for clamps
    nnf_walk walk
    size_t units, inputs, panels, first, last
    bint summed, alone, keeps_state
    float lo, hi


cdef void do_packed(const recurrent_f32 *p, const float *weights, size_t i, const float *x, const float *h,
                    float *y) noexcept nogil:
    cdef nnf_gemv_f32_panel panel
    panel.packed = weights + i * (1 + p.inputs + p.units) * NNF_GEMV_N
    panel.start = x + i * NNF_GEMV_N if p.summed else NULL
    panel.x0, panel.x1, panel.k0, panel.k1 = x, h, p.inputs, p.units
    panel.columns = min(<size_t>NNF_GEMV_N, p.units - i * NNF_GEMV_N)
    panel.y, panel.lo, panel.hi = y, p.lo, p.hi
    p.packed(&panel)


cdef void do_rows(const recurrent_f32 *p, const float *weights, const float *again, const float *bias, size_t i,
                  const float *x, const float *h, float *y) noexcept nogil:
    cdef nnf_gemv_f32_matrix m
    m.w0, m.w1 = weights + i * NNF_GEMV_N * p.inputs, again + i * NNF_GEMV_N * p.units
    m.start = bias + i * NNF_GEMV_N
    m.x0, m.x1, m.k0, m.k1 = x, h, p.inputs, p.units
    m.rows = min(<size_t>NNF_GEMV_N, p.units - i * NNF_GEMV_N)
    m.y, m.lo, m.hi = y, p.lo, p.hi
    p.rows(&m)


cdef void run_recurrent_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const recurrent_f32 *p = <const recurrent_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *state = <const float *>run.slot[step.slots[1]]
    cdef float *out = <float *>run.slot[step.slots[2]]
    cdef const float *weights = <const float *>run.slot[step.slots[3]]
    cdef const float *again = <const float *>run.slot[step.slots[4]] if p.rows != NULL else NULL
    cdef const float *bias = <const float *>run.slot[step.slots[5]] if p.rows != NULL else NULL
    cdef float *kept = <float *>run.slot[step.slots[6 if p.rows != NULL else 4]] if p.keeps_state else NULL
    cdef size_t t, b, i, begin, end, count
    cdef const float *source
    cdef const float *h
    cdef float *y
    if p.alone:
        if thread:
            return
        threads = 1
    nnf_share(p.panels, thread, threads, &begin, &end)
    for t in range(p.first, p.last):
        for i in range(begin, end):
            count = min(<size_t>NNF_GEMV_N, p.units - i * NNF_GEMV_N)
            for b in range(p.walk.batch):
                source = input_at(&p.walk, x, t, b)
                h = <const float *>output_at(&p.walk, out, t - 1, b) if t else state + b * p.units
                y = output_at(&p.walk, out, t, b) + i * NNF_GEMV_N
                if p.rows != NULL:
                    do_rows(p, weights, again, bias, i, source, h, y)
                else:
                    do_packed(p, weights, i, source, h, y)
                if p.curve != NULL:
                    p.curve(count, y, y)
                if kept != NULL and t + 1 == p.walk.times:
                    memcpy(kept + b * p.units + i * NNF_GEMV_N, y, count * sizeof(float))


cdef class RecurrentF32(Step):
    """y[t] = f(W x[t] + R y[t - 1] + bias) for the steps t of a walk in `span`, y[-1] the state in; in float32.

    slots: input, state in, y; `pack_gemv_f32` of W beside R, or of R alone, or where `as_is` says so W, R and bias; and
    state out if it is wanted.
    inputs: size of x[t], or 0 when the input slot holds the sums W x[t] + bias of all times, `units` each.
    curve: logistic, tanh or None; clamp: (lo, hi). alone: one thread does all of the span, which may be long;
    otherwise it is a single time, since its panels need the whole of the previous one.
    """

    cdef recurrent_f32 p

    def __init__(self, slots, Walk walk, size_t units, size_t inputs, span, bint alone, curve, clamp,
                 bint as_is=False):
        cdef const nnf_kernel *row = pick("gemv_f32_rows" if as_is else "gemv_f32_tile")
        if as_is:
            self.p.rows = <nnf_gemv_f32_rows_fn>row.fn
        else:
            self.p.packed = <nnf_gemv_f32_tile_fn>row.fn
        if curve is not None:
            self.p.curve = <nnf_unary_f32_flat_fn>pick(f"{curve}_f32_flat").fn
        self.p.walk = walk.c
        self.p.units = units
        self.p.inputs = inputs
        self.p.panels = (units + NNF_GEMV_N - 1) // NNF_GEMV_N
        self.p.first, self.p.last = span
        if self.p.last > self.p.first + 1 and not alone:
            raise ValueError("several times need the step to be alone")
        self.p.summed = inputs == 0
        self.p.alone = alone
        self.p.keeps_state = len(slots) == (7 if as_is else 5)
        self.p.lo, self.p.hi = clamp
        self.work = (self.p.last - self.p.first) * walk.c.batch * units * (inputs + units)
        self.packed = 0 if as_is else 4 * self.p.panels * (1 + inputs + units) * NNF_GEMV_N
        self.tiles = 1 if alone else <int>self.p.panels
        self.part = PART_PRODUCTS
        self.bind(run_recurrent_f32, &self.p, slots, row.name.decode())
