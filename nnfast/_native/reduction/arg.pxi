"""Steps of ARGMAX and ARGMIN."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from .engine cimport Step
from .kernels cimport nnf_fn, nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "arg/arg.h":
    ctypedef void (*nnf_arg_f32_rows_fn)(size_t count, size_t n, const float *x, int32_t *y,
                                         uint32_t flip) noexcept nogil
    ctypedef void (*nnf_arg_s32_rows_fn)(size_t count, size_t n, const int32_t *x, int32_t *y,
                                         uint32_t flip) noexcept nogil
    ctypedef void (*nnf_arg_qu8_rows_fn)(size_t count, size_t n, const uint8_t *x, int32_t *y,
                                         uint32_t flip) noexcept nogil
    ctypedef void (*nnf_arg_across_f32_rows_fn)(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                                uint32_t flip) noexcept nogil
    ctypedef void (*nnf_arg_across_s32_rows_fn)(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y,
                                                uint32_t flip) noexcept nogil
    ctypedef void (*nnf_arg_across_qu8_rows_fn)(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                                uint32_t flip) noexcept nogil

cdef enum:
    ARG_GRAIN = 16384  # elements below which a second thread costs more than it saves
    FLOATS = 0
    WORDS = 1
    CODES = 2

_TYPES = {"f32": FLOATS, "s32": WORDS, "qu8": CODES, "qs8": CODES}
_FLIPS = {("f32", False): 0, ("f32", True): 1 << 31, ("s32", False): 0, ("s32", True): (1 << 32) - 1,
          ("qu8", False): 0, ("qu8", True): 255, ("qs8", False): 128, ("qs8", True): 127}


cdef struct arg:
    nnf_fn kernel      # of this type and form
    int type           # FLOATS, WORDS or CODES
    size_t before, size, after, item
    uint32_t flip


cdef inline void arg_rows(const arg *p, size_t n, const uint8_t *x, int32_t *y) noexcept nogil:
    if p.type == FLOATS:
        (<nnf_arg_f32_rows_fn>p.kernel)(p.size, n, <const float *>x, y, p.flip)
    elif p.type == WORDS:
        (<nnf_arg_s32_rows_fn>p.kernel)(p.size, n, <const int32_t *>x, y, p.flip)
    else:
        (<nnf_arg_qu8_rows_fn>p.kernel)(p.size, n, x, y, p.flip)


cdef inline void arg_across(const arg *p, size_t n, const uint8_t *x, int32_t *y) noexcept nogil:
    if p.type == FLOATS:
        (<nnf_arg_across_f32_rows_fn>p.kernel)(p.size, p.after, n, <const float *>x, y, p.flip)
    elif p.type == WORDS:
        (<nnf_arg_across_s32_rows_fn>p.kernel)(p.size, p.after, n, <const int32_t *>x, y, p.flip)
    else:
        (<nnf_arg_across_qu8_rows_fn>p.kernel)(p.size, p.after, n, x, y, p.flip)


cdef void run_arg(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const arg *p = <const arg *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef int32_t *y = <int32_t *>run.slot[step.slots[1]]
    cdef size_t row, first, last, begin, end
    if p.after == 1:
        nnf_share(p.before, thread, threads, &first, &last)
        arg_rows(p, last - first, x + first * p.size * p.item, y + first)
        return
    # A thread's columns, or its part of those of one slice after the other.
    nnf_share(p.before * p.after, thread, threads, &first, &last)
    while first < last:
        row = first // p.after
        begin = first - row * p.after
        end = min(begin + last - first, p.after)
        arg_across(p, end - begin, x + (row * p.size * p.after + begin) * p.item, y + first)
        first += end - begin


cdef class Arg(Step):
    """Index of the largest or smallest value along the middle of [before, size, after], int32; slots x, y.

    types: f32, s32, qu8 or qs8; size is at least 1.
    """

    cdef arg p

    def __init__(self, slots, str types, bint smallest, size_t before, size_t size, size_t after):
        width = "qu8" if types == "qs8" else types
        cdef const nnf_kernel *row = pick(f"arg_{width}_rows" if after == 1 else f"arg_across_{width}_rows")
        self.p.kernel = row.fn
        self.p.type = _TYPES[types]
        self.p.before, self.p.size, self.p.after = before, size, after
        self.p.item = 1 if self.p.type == CODES else 4
        self.p.flip = _FLIPS[types, smallest]
        self.work = before * size * after
        self.tiles = <int>max(1, min(1 + <size_t>self.work // ARG_GRAIN, before * after, 64))
        self.bind(run_arg, &self.p, slots, row.name.decode())
