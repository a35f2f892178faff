"""Steps of TOPK_V2."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "topk/topk.h":
    ctypedef void (*nnf_topk_f32_rows_fn)(size_t n, size_t k, const float *x, float *values, int32_t *indices,
                                          uint64_t *heap) noexcept nogil
    ctypedef void (*nnf_topk_s32_rows_fn)(size_t n, size_t k, const int32_t *x, int32_t *values, int32_t *indices,
                                          uint64_t *heap) noexcept nogil
    ctypedef void (*nnf_topk_qu8_rows_fn)(size_t n, size_t k, const uint8_t *x, uint8_t *values, int32_t *indices,
                                          uint64_t *heap, uint8_t flip) noexcept nogil

cdef enum:
    TOPK_GRAIN = 8192  # elements below which a second thread costs more than it saves


cdef struct topk:
    nnf_topk_f32_rows_fn float_kernel   # one of the three
    nnf_topk_s32_rows_fn word_kernel
    nnf_topk_qu8_rows_fn code_kernel
    size_t rows, n, k
    uint8_t flip


cdef void run_topk(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const topk *p = <const topk *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef void *values = run.slot[step.slots[1]]
    cdef int32_t *indices = <int32_t *>run.slot[step.slots[2]]
    cdef uint64_t *heap = <uint64_t *>(run.scratch + thread * run.scratch_stride)
    cdef size_t row, first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        if p.float_kernel != NULL:
            p.float_kernel(p.n, p.k, <const float *>x + row * p.n, <float *>values + row * p.k, indices + row * p.k,
                           heap)
        elif p.word_kernel != NULL:
            p.word_kernel(p.n, p.k, <const int32_t *>x + row * p.n, <int32_t *>values + row * p.k, indices + row * p.k,
                          heap)
        else:
            p.code_kernel(p.n, p.k, <const uint8_t *>x + row * p.n, <uint8_t *>values + row * p.k, indices + row * p.k,
                          heap, p.flip)


cdef class TopK(Step):
    """The k largest of each of `rows` rows of n values, and their int32 indices; slots x, values, indices.

    types: f32, s32, qu8 or qs8; 1 <= k <= n.
    """

    cdef topk p

    def __init__(self, slots, str types, size_t rows, size_t n, size_t k):
        if not 1 <= k <= n:
            raise ValueError(f"k is {k}, must be in [1, {n}]")
        cdef const nnf_kernel *row = pick(f"topk_{'qu8' if types == 'qs8' else types}_rows")
        if types == "f32":
            self.p.float_kernel = <nnf_topk_f32_rows_fn>row.fn
        elif types == "s32":
            self.p.word_kernel = <nnf_topk_s32_rows_fn>row.fn
        else:
            self.p.code_kernel = <nnf_topk_qu8_rows_fn>row.fn
        self.p.flip = 128 if types == "qs8" else 0
        self.p.rows, self.p.n, self.p.k = rows, n, k
        self.scratch = 8 * k
        self.work = rows * n
        self.tiles = <int>max(1, min(1 + <size_t>self.work // TOPK_GRAIN, rows, 64))
        self.bind(run_topk, &self.p, slots, row.name.decode())
