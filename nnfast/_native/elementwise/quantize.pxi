"""Steps between float32 values and 8-bit codes."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_share_runs, nnf_step

import numpy as np

cdef extern from "quantize/quantize.h":
    ctypedef void (*nnf_quantize_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, float scale, int32_t zero,
                                                  int32_t lo, int32_t hi) noexcept nogil
    ctypedef void (*nnf_dequantize_q8_f32_flat_fn)(size_t n, const uint8_t *x, float *y, int32_t zero,
                                                   const float *scale, size_t step) noexcept nogil

    ctypedef struct nnf_row_codes:
        float step
        int32_t zero

    ctypedef void (*nnf_quantize_row_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, bint is_asymmetric,
                                                      nnf_row_codes *row) noexcept nogil
    ctypedef void (*nnf_range_f32_flat_fn)(size_t n, const float *x, float *range_) noexcept nogil
    ctypedef void (*nnf_quantize_range_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, bint is_asymmetric,
                                                        const float *range_, nnf_row_codes *row) noexcept nogil
    ctypedef void (*nnf_scale_f32_rows_fn)(size_t rows, size_t columns, const float *x, float step, const float *scale,
                                           const float *bias, float lo, float hi, float *y) noexcept nogil

cdef enum:
    RANGE_PIECES = 16       # of a row that threads share

ROW_BYTES = sizeof(nnf_row_codes)
"""Of what QuantizeRowsF32 says of a row."""
RANGE_BYTES = 2 * RANGE_PIECES * sizeof(float)
"""Of what RangesF32 says of a row."""

cdef enum:
    QUANTIZE_GRAIN = 16384  # elements below which a second thread costs more than it saves
    RANGE_GRAIN = 4096      # the same of rows whose codes threads read in turn
    SCALED_BLOCK = 4096     # elements that are scaled column after column, and so stay in the level 1 cache


cdef struct quantize:
    nnf_quantize_f32_qu8_flat_fn kernel
    size_t count
    float scale
    int32_t zero
    int32_t lo
    int32_t hi


cdef void run_quantize(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const quantize *p = <const quantize *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, x + first, y + first, p.scale, p.zero, p.lo, p.hi)


cdef class QuantizeF32(Step):
    """Codes of `count` float32 values, within `clamp` (lowest and highest code, of either sign); slots x, y."""

    cdef quantize p

    def __init__(self, slots, size_t count, float scale, int32_t zero, clamp):
        cdef const nnf_kernel *row = pick("quantize_f32_qu8_flat")
        self.p.kernel = <nnf_quantize_f32_qu8_flat_fn>row.fn
        self.p.count = count
        self.p.scale = scale
        self.p.zero = zero
        self.p.lo, self.p.hi = clamp
        self.work = count
        self.tiles = <int>min(1 + count // QUANTIZE_GRAIN, 64)
        self.one_by_one(count, (4, 1))
        self.bind(run_quantize, &self.p, slots, row.name.decode())


cdef struct dequantize:
    nnf_dequantize_q8_f32_flat_fn kernel
    size_t rows, n, step, channels   # row r takes the scale of channel r % channels, or walks all of them
    const float *scales
    int32_t zero


cdef void run_dequantize(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const dequantize *p = <const dequantize *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef size_t row, first, last
    if p.rows == 1:
        nnf_share_runs(p.n, thread, threads, &first, &last)
        p.kernel(last - first, x + first, y + first, p.zero, p.scales + first * p.step, p.step)
        return
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        p.kernel(p.n, x + row * p.n, y + row * p.n, p.zero, p.scales + row % p.channels, p.step)


cdef class DequantizeQ8(Step):
    """float32 values of codes [outer, channels, inner] with a scale for each channel; slots x, y.

    is_signed: codes are int8; scales: as many as there are channels.
    """

    cdef dequantize p

    def __init__(self, slots, bint is_signed, size_t outer, size_t inner, int32_t zero, scales):
        cdef const nnf_kernel *row = pick(f"dequantize_{'qs8' if is_signed else 'qu8'}_f32_flat")
        cdef const float[::1] values = np.ascontiguousarray(scales, np.float32)
        cdef size_t channels = values.shape[0]
        if channels == 0:
            raise ValueError("there must be a scale")
        self.keep = values
        self.p.kernel = <nnf_dequantize_q8_f32_flat_fn>row.fn
        self.p.scales = &values[0]
        self.p.zero = zero
        self.p.step = inner == 1 and channels > 1
        if channels == 1:
            self.p.rows, self.p.n, self.p.channels = 1, outer * inner, 1
        elif inner == 1:
            self.p.rows, self.p.n, self.p.channels = outer, channels, 1
        else:
            self.p.rows, self.p.n, self.p.channels = outer * channels, inner, channels
        self.work = self.p.rows * self.p.n
        self.tiles = <int>min(1 + <size_t>self.work // QUANTIZE_GRAIN, 64)
        if channels == 1:
            self.one_by_one(self.p.n, (1, 4))
        self.bind(run_dequantize, &self.p, slots, row.name.decode())


cdef struct quantize_rows:
    nnf_quantize_row_f32_qu8_flat_fn kernel
    size_t rows, n
    bint is_asymmetric


cdef void run_quantize_rows(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const quantize_rows *p = <const quantize_rows *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef nnf_row_codes *made = <nnf_row_codes *>run.slot[step.slots[2]]
    cdef size_t row, first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        p.kernel(p.n, x + row * p.n, y + row * p.n, p.is_asymmetric, made + row)


cdef class QuantizeRowsF32(Step):
    """Unsigned codes of `rows` rows of n float32 values, each row by its own range; slots x, codes, ROW_BYTES a row."""

    cdef quantize_rows p

    def __init__(self, slots, size_t rows, size_t n, bint is_asymmetric):
        cdef const nnf_kernel *row = pick("quantize_row_f32_qu8_flat")
        if n == 0:
            raise ValueError("a row must have values")
        self.p.kernel = <nnf_quantize_row_f32_qu8_flat_fn>row.fn
        self.p.rows, self.p.n, self.p.is_asymmetric = rows, n, is_asymmetric
        self.work = rows * n
        self.tiles = <int>min(min(1 + rows * n // QUANTIZE_GRAIN, rows), 64)
        self.bind(run_quantize_rows, &self.p, slots, row.name.decode())


cdef int tiles_of_pieces(size_t rows, size_t n):
    return <int>min(min(1 + rows * n // RANGE_GRAIN, rows * RANGE_PIECES), 64)


def are_shared(size_t rows, size_t n, int threads):
    """Whether threads should share each row, by RangesF32 and QuantizeRangesF32: there are fewer rows than threads, and
    these are long."""
    return rows < <size_t>threads and n >= 2 * RANGE_GRAIN


cdef struct ranges:
    nnf_range_f32_flat_fn kernel
    size_t rows, n


cdef void run_ranges(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const ranges *p = <const ranges *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *made = <float *>run.slot[step.slots[1]]
    cdef size_t piece, stop, first, last
    nnf_share(p.rows * RANGE_PIECES, thread, threads, &piece, &stop)
    for piece in range(piece, stop):
        nnf_share_runs(p.n, piece % RANGE_PIECES, RANGE_PIECES, &first, &last)
        p.kernel(last - first, x + piece // RANGE_PIECES * p.n + first, made + 2 * piece)


cdef class RangesF32(Step):
    """The lowest and highest of 0 and the values of each of 16 pieces of `rows` rows of n float32 values, without NaN;
    slots x, RANGE_BYTES a row."""

    cdef ranges p

    def __init__(self, slots, size_t rows, size_t n):
        cdef const nnf_kernel *row = pick("range_f32_flat")
        self.p.kernel = <nnf_range_f32_flat_fn>row.fn
        self.p.rows, self.p.n = rows, n
        self.work = rows * n
        self.tiles = tiles_of_pieces(rows, n)
        self.bind(run_ranges, &self.p, slots, row.name.decode())


cdef struct quantize_ranges:
    nnf_quantize_range_f32_qu8_flat_fn kernel
    size_t rows, n
    bint is_asymmetric


cdef void run_quantize_ranges(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const quantize_ranges *p = <const quantize_ranges *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *found = <const float *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef nnf_row_codes *made = <nnf_row_codes *>run.slot[step.slots[3]]
    cdef const float *pieces
    cdef float whole[2]
    cdef nnf_row_codes row
    cdef size_t piece, stop, first, last, k, start
    nnf_share(p.rows * RANGE_PIECES, thread, threads, &piece, &stop)
    for piece in range(piece, stop):
        pieces = found + piece // RANGE_PIECES * 2 * RANGE_PIECES
        whole[0], whole[1] = pieces[0], pieces[1]
        for k in range(1, RANGE_PIECES):
            whole[0], whole[1] = min(whole[0], pieces[2 * k]), max(whole[1], pieces[2 * k + 1])
        nnf_share_runs(p.n, piece % RANGE_PIECES, RANGE_PIECES, &first, &last)
        start = piece // RANGE_PIECES * p.n + first
        p.kernel(last - first, x + start, y + start, p.is_asymmetric, whole, &row)
        if piece % RANGE_PIECES == 0:
            made[piece // RANGE_PIECES] = row


cdef class QuantizeRangesF32(Step):
    """As QuantizeRowsF32, for rows whose ranges RangesF32 has found; slots x, RANGE_BYTES a row, codes, ROW_BYTES a
    row."""

    cdef quantize_ranges p

    def __init__(self, slots, size_t rows, size_t n, bint is_asymmetric):
        cdef const nnf_kernel *row = pick("quantize_range_f32_qu8_flat")
        self.p.kernel = <nnf_quantize_range_f32_qu8_flat_fn>row.fn
        self.p.rows, self.p.n, self.p.is_asymmetric = rows, n, is_asymmetric
        self.work = rows * n
        self.tiles = tiles_of_pieces(rows, n)
        self.bind(run_quantize_ranges, &self.p, slots, row.name.decode())


cdef struct centre_rows:
    nnf_dequantize_q8_f32_flat_fn kernel
    size_t rows, n
    float unit


cdef void run_centre_rows(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const centre_rows *p = <const centre_rows *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const nnf_row_codes *made = <const nnf_row_codes *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]]
    cdef size_t first, last, stop
    nnf_share(p.rows * p.n, thread, threads, &first, &last)
    while first < last:
        stop = min(last, (first // p.n + 1) * p.n)
        p.kernel(stop - first, x + first, y + first, made[first // p.n].zero, &p.unit, 0)
        first = stop


cdef class CentreRows(Step):
    """Codes of QuantizeRowsF32 less the zero points of their rows, as float32; slots codes, its third one, y."""

    cdef centre_rows p

    def __init__(self, slots, size_t rows, size_t n):
        cdef const nnf_kernel *row = pick("dequantize_qu8_f32_flat")
        if n == 0:
            raise ValueError("a row must have values")
        self.p.kernel = <nnf_dequantize_q8_f32_flat_fn>row.fn
        self.p.rows, self.p.n, self.p.unit = rows, n, 1
        self.work = rows * n
        self.tiles = <int>min(1 + rows * n // QUANTIZE_GRAIN, 64)
        self.bind(run_centre_rows, &self.p, slots, row.name.decode())


cdef struct scale_rows:
    nnf_scale_f32_rows_fn kernel
    size_t rows, pixels, units, block
    const float *scale
    float lo, hi


cdef void run_scale_rows(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const scale_rows *p = <const scale_rows *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const nnf_row_codes *made = <const nnf_row_codes *>run.slot[step.slots[1]]
    cdef const float *bias = <const float *>run.slot[step.slots[2]]
    cdef float *y = <float *>run.slot[step.slots[3]]
    cdef size_t first, last, stop, row
    nnf_share(p.rows * p.pixels, thread, threads, &first, &last)
    while first < last:
        row = first // p.pixels
        stop = min(min(last, first + p.block), (row + 1) * p.pixels)
        p.kernel(stop - first, p.units, x + first * p.units, made[row].step, p.scale, bias, p.lo, p.hi,
                 y + first * p.units)
        first = stop


cdef class ScaleRows(Step):
    """Values of float32 sums [rows, pixels, units] of centred codes; slots sums, third of QuantizeRowsF32, bias, y.

    scales: of the weights, float32 [units]; lo, hi: clamp of the fused activation.
    """

    cdef scale_rows p

    def __init__(self, slots, size_t rows, size_t pixels, const float[::1] scales, float lo, float hi):
        cdef const nnf_kernel *row = pick("scale_f32_rows")
        cdef size_t units = scales.shape[0]
        if units == 0 or pixels == 0:
            raise ValueError("a row must have values")
        self.keep = scales
        self.p.kernel = <nnf_scale_f32_rows_fn>row.fn
        self.p.rows, self.p.pixels, self.p.units = rows, pixels, units
        self.p.block = max(<size_t>1, SCALED_BLOCK // units)
        self.p.scale = &scales[0]
        self.p.lo, self.p.hi = lo, hi
        self.work = <double>rows * pixels * units
        self.tiles = <int>min(1 + <size_t>self.work // QUANTIZE_GRAIN, 64)
        self.bind(run_scale_rows, &self.p, slots, row.name.decode())
