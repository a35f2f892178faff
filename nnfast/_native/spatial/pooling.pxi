"""Steps of AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D."""

from libc.stdint cimport int16_t, int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_step
from .window cimport axis_of, nnf_axis, portion, portion_of

import numpy as np

cdef extern from "pooling/pooling.h":
    ctypedef struct nnf_pool:
        nnf_axis y
        nnf_axis x
        size_t channels

    ctypedef void (*nnf_pool_f32_fn)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                     const float *x, float *y, float lo, float hi) noexcept nogil
    ctypedef void (*nnf_pool_q8_fn)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                    const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi) noexcept nogil
    ctypedef void (*nnf_pool_q16_fn)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                     const int16_t *x, int16_t *y, int32_t lo, int32_t hi) noexcept nogil
    enum:
        NNF_POOL_BLOCK
        NNF_POOL_WINDOW_MAX

# Positions of windows, times channels, below which a second thread costs more than it saves.
cdef enum:
    POOL_GRAIN = 100000

# Positions of a window that an average of integers may have.
WINDOW_MAX = NNF_POOL_WINDOW_MAX


cdef struct pool:
    nnf_pool_f32_fn f32
    nnf_pool_q8_fn q8
    nnf_pool_q16_fn q16
    nnf_pool g
    size_t batch, width  # bytes of an element
    float lo
    float hi
    int32_t low
    int32_t high


cdef void run_pool(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const pool *p = <const pool *>step.params
    cdef const nnf_pool *g = &p.g
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t image = p.width * g.y.size * g.x.size * g.channels, line = p.width * g.x.out * g.channels
    cdef size_t rows = g.y.out, blocks = (g.channels + NNF_POOL_BLOCK - 1) // NNF_POOL_BLOCK
    cdef portion s = portion_of(step, &g.y, p.batch, blocks, thread, threads)
    cdef size_t begin = s.begin * NNF_POOL_BLOCK, end = min(s.end * NNF_POOL_BLOCK, g.channels)
    cdef size_t row = s.first, n, first, count
    while row < s.last:
        n = row // rows
        first = row - n * rows
        count = min(rows - first, s.last - row)
        if p.f32 != NULL:
            p.f32(g, first, first + count, begin, end, <const float *>(x + n * image), <float *>(y + row * line), p.lo,
                  p.hi)
        elif p.q16 != NULL:
            p.q16(g, first, first + count, begin, end, <const int16_t *>(x + n * image), <int16_t *>(y + row * line),
                  p.low, p.high)
        else:
            p.q8(g, first, first + count, begin, end, x + n * image, y + row * line, p.low, p.high)
        row += count


cdef void band_pool(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first, size_t last,
                    unsigned char *scratch) noexcept nogil:
    cdef const pool *p = <const pool *>step.params
    p.f32(&p.g, first, last, 0, p.g.channels, <const float *>x, <float *>y + first * p.g.x.out * p.g.channels, p.lo,
          p.hi)


cdef class Pool2D(Step):
    """AVERAGE_POOL_2D, L2_POOL_2D or MAX_POOL_2D of NHWC images of float32, uint8, int8 or int16; slots x, y.

    op: "average", "l2" (float32 only) or "max"; batch: images; win: geometry (ops.window.Window); lo, hi: clamp of the
    fused activation, in stored values. An average of integers takes windows of at most WINDOW_MAX positions.
    """

    cdef pool p

    def __init__(self, slots, op, size_t batch, win, size_t channels, dtype, lo, hi):
        types = {"float32": "f32", "uint8": "qu8", "int8": "qs8", "int16": "qs16"}[np.dtype(dtype).name]
        cdef const nnf_kernel *row = pick(f"{op}_pool2d_{types}_nhwc")
        self.p.g.y = axis_of(win, 0)
        self.p.g.x = axis_of(win, 1)
        self.p.g.channels = channels
        self.p.batch, self.p.width = batch, np.dtype(dtype).itemsize
        if types == "f32":
            self.p.f32 = <nnf_pool_f32_fn>row.fn
            self.p.lo = lo
            self.p.hi = hi
        else:
            if types == "qs16":
                self.p.q16 = <nnf_pool_q16_fn>row.fn
            else:
                self.p.q8 = <nnf_pool_q8_fn>row.fn
            self.p.low = lo
            self.p.high = hi
        cdef size_t rows = batch * self.p.g.y.out, blocks = (channels + NNF_POOL_BLOCK - 1) // NNF_POOL_BLOCK
        cdef size_t work = rows * self.p.g.x.out * channels * self.p.g.y.taps * self.p.g.x.taps
        self.work = work
        self.tiles = min(max(rows, blocks), work // POOL_GRAIN + 1)
        self.even(rows, False)
        self.bind(run_pool, &self.p, slots, row.name.decode())
        if batch == 1 and types == "f32":
            self.bands(band_pool, self.p.g.y, 4 * self.p.g.x.size * channels, 4 * self.p.g.x.out * channels)
