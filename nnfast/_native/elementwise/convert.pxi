"""Steps that convert between float16 and float32 (csrc/kernels/convert/convert.h)."""

from libc.stdint cimport uint16_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "convert/convert.h":
    ctypedef void (*nnf_convert_f16_f32_flat_fn)(size_t n, const uint16_t *x, float *y) noexcept nogil
    ctypedef void (*nnf_convert_f32_f16_flat_fn)(size_t n, const float *x, uint16_t *y) noexcept nogil

cdef enum:
    CONVERT_GRAIN = 32768  # elements below which a second thread costs more than it saves


cdef struct conversion:
    size_t count
    nnf_convert_f16_f32_flat_fn widen       # one of the two
    nnf_convert_f32_f16_flat_fn narrow


cdef void run_convert(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conversion *p = <const conversion *>step.params
    cdef void *x = run.slot[step.slots[0]]
    cdef void *y = run.slot[step.slots[1]]
    cdef size_t first, last
    nnf_share(p.count, thread, threads, &first, &last)
    if p.widen != NULL:
        p.widen(last - first, <const uint16_t *>x + first, <float *>y + first)
    else:
        p.narrow(last - first, <const float *>x + first, <uint16_t *>y + first)


cdef class Convert(Step):
    """`count` float16 values of slot x become float32 in slot y, or with `narrow` the other way, to nearest even."""

    cdef conversion p

    def __init__(self, slots, size_t count, bint narrow):
        cdef const nnf_kernel *row = pick("convert_f32_f16_flat" if narrow else "convert_f16_f32_flat")
        self.p.count = count
        if narrow:
            self.p.narrow = <nnf_convert_f32_f16_flat_fn>row.fn
        else:
            self.p.widen = <nnf_convert_f16_f32_flat_fn>row.fn
        self.work = count
        self.tiles = <int>min(1 + count // CONVERT_GRAIN, 64)
        self.bind(run_convert, &self.p, slots, row.name.decode())
