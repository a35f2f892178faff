"""Steps of softmax over rows."""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

cdef extern from "softmax/softmax.h":
    ctypedef void (*nnf_softmax_f32_rows_fn)(size_t n, const float *x, float *y, float beta) noexcept nogil
    ctypedef void (*nnf_softmax_q8_rows_fn)(size_t n, const uint8_t *x, uint8_t *y, const int32_t *power) noexcept nogil

# Elements below which a second thread costs more than it saves.
cdef enum:
    SOFTMAX_GRAIN = 4096


cdef int softmax_tiles(size_t rows, size_t n):
    return <int>min(1 + rows * n // SOFTMAX_GRAIN, rows, 64)


cdef struct softmax_f32:
    nnf_softmax_f32_rows_fn kernel
    size_t rows
    size_t n
    float beta


cdef void run_softmax_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const softmax_f32 *p = <const softmax_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef size_t row, first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        p.kernel(p.n, x + row * p.n, y + row * p.n, p.beta)


cdef class SoftmaxF32(Step):
    """Softmax of `rows` rows of n >= 1 float32 values, or with `logarithm` that of it; slots x, y.

    beta: greater than 0, with `logarithm` any number.
    """

    cdef softmax_f32 p

    def __init__(self, slots, size_t rows, size_t n, float beta, bint logarithm=False):
        cdef const nnf_kernel *row = pick("log_softmax_f32_rows" if logarithm else "softmax_f32_rows")
        self.p.kernel = <nnf_softmax_f32_rows_fn>row.fn
        self.p.rows = rows
        self.p.n = n
        self.p.beta = beta
        self.work = rows * n
        self.tiles = softmax_tiles(rows, n)
        self.bind(run_softmax_f32, &self.p, slots, row.name.decode())


cdef struct softmax_q8:
    nnf_softmax_q8_rows_fn kernel
    size_t rows
    size_t n
    int32_t power[256]


cdef void run_softmax_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const softmax_q8 *p = <const softmax_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t row, first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        p.kernel(p.n, x + row * p.n, y + row * p.n, p.power)


cdef class SoftmaxQ8(Step):
    """Softmax of `rows` rows of n >= 1 codes, int8 if is_signed, else uint8; slots x, y.

    power: int32[256], e^-d in F0 for each difference d from the highest code, 0 where it is dropped [NN 14.25].
    """

    cdef softmax_q8 p

    def __init__(self, slots, bint is_signed, size_t rows, size_t n, power):
        cdef const nnf_kernel *row = pick(f"softmax_{'qs8' if is_signed else 'qu8'}_rows")
        cdef const int32_t[::1] words = np.ascontiguousarray(power, np.int32)
        if words.shape[0] != 256:
            raise ValueError(f"power has {words.shape[0]} entries, must have 256")
        memcpy(self.p.power, &words[0], 4 * 256)
        self.p.kernel = <nnf_softmax_q8_rows_fn>row.fn
        self.p.rows = rows
        self.p.n = n
        self.work = rows * n
        self.packed = 4 * 256
        self.tiles = softmax_tiles(rows, n)
        self.bind(run_softmax_q8, &self.p, slots, row.name.decode())
