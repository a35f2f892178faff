"""Steps of the element-wise family."""

from .kernels cimport nnf_kernel, pick
from .plan cimport Step
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "elementwise/elementwise.h":
    ctypedef void (*nnf_add_f32_flat_fn)(size_t n, const float *a, const float *b, float *y, float lo,
                                         float hi) noexcept nogil

# Elements below which a second thread costs more than it saves.
cdef enum:
    GRAIN = 16384


cdef struct add_f32:
    nnf_add_f32_flat_fn kernel
    size_t count
    float lo
    float hi


cdef void run_add_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const add_f32 *p = <const add_f32 *>step.params
    cdef const float *a = <const float *>run.slot[step.slots[0]]
    cdef const float *b = <const float *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]]
    cdef size_t first, last
    nnf_share(p.count, thread, threads, &first, &last)
    p.kernel(last - first, a + first, b + first, y + first, p.lo, p.hi)


cdef class AddF32(Step):
    """y = clamp(a + b, lo, hi) over `count` float32 values; slots a, b, y."""

    cdef add_f32 p

    def __init__(self, slots, size_t count, float lo, float hi):
        cdef const nnf_kernel *row = pick("add_f32_flat")
        self.p.kernel = <nnf_add_f32_flat_fn>row.fn
        self.p.count = count
        self.p.lo = lo
        self.p.hi = hi
        self.work = count
        self.tiles = count // GRAIN + 1
        self.bind(run_add_f32, &self.p, slots, row.name.decode())
