"""Steps of SVDF in float32: the feature product, then the filters along time (csrc/kernels/svdf/svdf.h)."""

from libc.math cimport INFINITY

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "svdf/svdf.h":
    ctypedef struct nnf_svdf_row:
        const float *feature
        const float *state_in
        const float *time
        const float *bias
        size_t units
        size_t rank
        size_t memory
        float *state_out
        float *y
        float lo
        float hi

    ctypedef void (*nnf_svdf_f32_rows_fn)(const nnf_svdf_row *row) noexcept nogil

cdef enum:
    SVDF_TILE = 16       # units that one thread takes at a time
    SVDF_GRAIN = 16384   # multiply-adds below which a second thread costs more than it saves


cdef struct svdf_f32:
    nnf_gemv_f32_rows_fn multiply
    nnf_svdf_f32_rows_fn kernel
    nnf_unary_f32_flat_fn curve     # NULL for clamps
    size_t batch, inputs, units, rank, memory, tiles
    bint has_bias
    float lo, hi


cdef void run_svdf_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const svdf_f32 *p = <const svdf_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *weights = <const float *>run.slot[step.slots[1]]
    cdef const float *time = <const float *>run.slot[step.slots[2]]
    cdef const float *state = <const float *>run.slot[step.slots[3]]
    cdef float *state_out = <float *>run.slot[step.slots[4]]
    cdef float *y = <float *>run.slot[step.slots[5]]
    cdef float *feature = <float *>run.slot[step.slots[6]]
    cdef const float *bias = <const float *>run.slot[step.slots[7]] if p.has_bias else NULL
    cdef size_t i, b, unit, filter, at, begin, end, filters = p.units * p.rank
    cdef nnf_gemv_f32_matrix m
    cdef nnf_svdf_row row
    m.w1 = m.x1 = m.start = NULL
    m.k0, m.k1, m.lo, m.hi = p.inputs, 0, -INFINITY, INFINITY
    row.rank, row.memory, row.lo, row.hi = p.rank, p.memory, p.lo, p.hi
    nnf_share(p.tiles, thread, threads, &begin, &end)
    for i in range(begin, end):
        unit = i * SVDF_TILE
        filter = unit * p.rank
        row.units = min(<size_t>SVDF_TILE, p.units - unit)
        m.rows = row.units * p.rank
        m.w0 = weights + filter * p.inputs
        row.time = time + filter * p.memory
        row.bias = bias + unit if bias != NULL else NULL
        for b in range(p.batch):
            at = b * filters + filter
            m.x0 = x + b * p.inputs
            m.y = feature + at
            p.multiply(&m)
            row.feature = feature + at
            row.state_in, row.state_out = state + at * p.memory, state_out + at * p.memory
            row.y = y + b * p.units + unit
            p.kernel(&row)
            if p.curve != NULL:
                p.curve(row.units, row.y, row.y)


cdef class SvdfF32(Step):
    """One step of an SVDF layer in float32.

    slots: input, feature weights, time weights, state in, state out, y, features [batch, units * rank] (a temporary),
    and the bias where there is one. sizes: batch, inputs, units, rank, memory.
    curve: logistic, tanh or None; clamp: (lo, hi).
    """

    cdef svdf_f32 p

    def __init__(self, slots, sizes, curve, clamp):
        cdef const nnf_kernel *multiply = pick("gemv_f32_rows")
        cdef const nnf_kernel *kernel = pick("svdf_f32_rows")
        self.p.multiply = <nnf_gemv_f32_rows_fn>multiply.fn
        self.p.kernel = <nnf_svdf_f32_rows_fn>kernel.fn
        if curve is not None:
            self.p.curve = <nnf_unary_f32_flat_fn>pick(f"{curve}_f32_flat").fn
        self.p.batch, self.p.inputs, self.p.units, self.p.rank, self.p.memory = sizes
        self.p.has_bias = len(slots) == 8
        self.p.lo, self.p.hi = clamp
        self.p.tiles = (self.p.units + SVDF_TILE - 1) // SVDF_TILE
        self.work = self.p.batch * self.p.units * self.p.rank * (self.p.inputs + self.p.memory)
        self.tiles = <int>min(self.p.tiles, 1 + self.work // SVDF_GRAIN)
        self.part = PART_PRODUCTS
        self.bind(run_svdf_f32, &self.p, slots, f"{multiply.name.decode()} + {kernel.name.decode()}")
