"""The step of TFLite's SVDF of int8 tensors: products, then the filters along time (csrc/kernels/svdf/svdf.h)."""

from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t
from libc.string cimport memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "svdf/svdf.h":
    ctypedef struct nnf_svdf_q8_row:
        const int32_t *feature
        const int32_t *bias
        const void *state_in
        const void *time
        size_t units
        size_t rank
        size_t memory
        void *state_out
        int8_t *y
        int32_t multiplier_state
        int32_t exponent_state
        int32_t zero_state
        int32_t multiplier_y
        int32_t exponent_y
        int32_t zero_y

    ctypedef void (*nnf_svdf_qs8_rows_fn)(const nnf_svdf_q8_row *row) noexcept nogil


cdef struct svdf_q8:
    nnf_gemv_qs16_q8_rows_fn multiply
    nnf_svdf_qs8_rows_fn kernel
    nnf_svdf_q8_row constants
    size_t batch, inputs, units, item, sums   # item: bytes of a code of the memory; sums: where they lie in the scratch
    int32_t zero_x
    bint has_bias


cdef void run_svdf_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const svdf_q8 *p = <const svdf_q8 *>step.params
    cdef const int8_t *x = <const int8_t *>run.slot[step.slots[0]]
    cdef const int8_t *weights = <const int8_t *>run.slot[step.slots[1]]
    cdef const uint8_t *time = <const uint8_t *>run.slot[step.slots[2]]
    cdef const uint8_t *state = <const uint8_t *>run.slot[step.slots[3]]
    cdef uint8_t *state_out = <uint8_t *>run.slot[step.slots[4]]
    cdef int8_t *y = <int8_t *>run.slot[step.slots[5]]
    cdef const int32_t *bias = <const int32_t *>run.slot[step.slots[6]] if p.has_bias else NULL
    cdef uint8_t *scratch = run.scratch + <size_t>thread * run.scratch_stride
    cdef int16_t *words = <int16_t *>scratch
    cdef int32_t *sums = <int32_t *>(scratch + p.sums)
    cdef nnf_svdf_q8_row row = p.constants
    cdef size_t tile, b, begin, end, unit, filter, at, filters = p.units * row.rank
    nnf_share(tiles_of(p.units), thread, threads, &begin, &end)
    if begin == end:
        return
    for b in range(p.batch):
        centre(p.inputs, x + b * p.inputs, True, p.zero_x, words)
        for tile in range(begin, end):
            unit = tile * Q8_TILE
            filter = unit * row.rank
            row.units = min(<size_t>Q8_TILE, p.units - unit)
            memset(sums, 0, row.units * row.rank * sizeof(int32_t))
            p.multiply(row.units * row.rank, p.inputs, words, weights + filter * p.inputs, sums)
            at = (b * filters + filter) * row.memory * p.item
            row.feature = sums
            row.bias = bias + unit if bias != NULL else NULL
            row.time = time + filter * row.memory * p.item
            row.state_in, row.state_out = state + at, state_out + at
            row.y = y + b * p.units + unit
            p.kernel(&row)


cdef class SvdfQ8(Step):
    """One step of TFLite's SVDF of int8 tensors.

    slots: input, feature weights, time weights, state in, state out, y, and the int32 bias where there is one. sizes:
    batch, inputs, units, rank, memory. item: bytes of a code of the memory, 1 or 2. scales: (multiplier, exponent) of
    the feature products and of the sums along time; zeros: zero points of input, memory, y.
    """

    cdef svdf_q8 p

    def __init__(self, slots, sizes, size_t item, scales, zeros):
        cdef const nnf_kernel *multiply = pick("gemv_qs16_qs8_rows")
        cdef const nnf_kernel *kernel = pick("svdf_qs8_qs16_rows" if item == 2 else "svdf_qs8_rows")
        cdef nnf_svdf_q8_row *c = &self.p.constants
        self.p.multiply = <nnf_gemv_qs16_q8_rows_fn>multiply.fn
        self.p.kernel = <nnf_svdf_qs8_rows_fn>kernel.fn
        self.p.batch, self.p.inputs, self.p.units, c.rank, c.memory = sizes
        self.p.item, self.p.has_bias = item, len(slots) == 7
        (c.multiplier_state, c.exponent_state), (c.multiplier_y, c.exponent_y) = scales
        self.p.zero_x, c.zero_state, c.zero_y = zeros
        if max(abs(c.exponent_state), abs(c.exponent_y)) > 31:
            raise ValueError(f"exponents are {c.exponent_state} and {c.exponent_y}, must be in [-31, 31]")
        self.p.sums = (self.p.inputs * sizeof(int16_t) + 63) // 64 * 64
        self.scratch = self.p.sums + Q8_TILE * c.rank * sizeof(int32_t)
        self.work = <double>self.p.batch * self.p.units * c.rank * (self.p.inputs + c.memory)
        self.tiles = threads_for(self.work, tiles_of(self.p.units))
        self.part = PART_PRODUCTS
        self.bind(run_svdf_q8, &self.p, slots, f"{multiply.name.decode()} + {kernel.name.decode()}")
