"""Steps that convert between types of numbers (csrc/kernels/convert/convert.h)."""

from libc.stdint cimport uint8_t, uint16_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share_runs, nnf_step

cdef extern from "convert/convert.h":
    ctypedef void (*nnf_convert_f16_f32_flat_fn)(size_t n, const uint16_t *x, float *y) noexcept nogil
    ctypedef void (*nnf_convert_f32_f16_flat_fn)(size_t n, const float *x, uint16_t *y) noexcept nogil

    cdef enum:
        NNF_TO_QU8, NNF_TO_S8, NNF_TO_S16, NNF_TO_S32, NNF_TO_S64, NNF_TO_F32, NNF_TO_B8, NNF_CLAMP_QU8, NNF_CLAMP_S32

    ctypedef void (*nnf_cast_flat_fn)(size_t n, int to, const void *x, void *y) noexcept nogil

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
    nnf_share_runs(p.count, thread, threads, &first, &last)
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
        self.one_by_one(count, (4, 2) if narrow else (2, 4))
        self.bind(run_convert, &self.p, slots, row.name.decode())


CAST_SOURCES = {"uint8": ("qu8", 1), "bool": ("qu8", 1), "int8": ("s8", 1), "int16": ("s16", 2), "int32": ("s32", 4),
                "int64": ("s64", 8), "float32": ("f32", 4)}
"""dtype -> type in names of kernels, bytes of a number."""
CAST_TARGETS = {"uint8": (NNF_TO_QU8, 1), "bool": (NNF_TO_B8, 1), "int8": (NNF_TO_S8, 1), "int16": (NNF_TO_S16, 2),
                "int32": (NNF_TO_S32, 4), "int64": (NNF_TO_S64, 8), "float32": (NNF_TO_F32, 4)}
CLAMP_TARGETS = {"uint8": (NNF_CLAMP_QU8, 1), "int32": (NNF_CLAMP_S32, 4)}
"""dtype -> target of kernels, bytes of a number."""


cdef struct cast:
    nnf_cast_flat_fn kernel
    int to
    size_t count, item_x, item_y


cdef void run_cast(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const cast *p = <const cast *>step.params
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, p.to, <const uint8_t *>run.slot[step.slots[0]] + first * p.item_x,
             <uint8_t *>run.slot[step.slots[1]] + first * p.item_y)


cdef class Cast(Step):
    """`count` numbers of slot x in another type in slot y. source, target: names of CAST_SOURCES, CAST_TARGETS.

    Floats are cut towards zero within the integers of the target, NaN becomes the largest; integers wrap; to bool what
    is not zero. With `clamp`, to CLAMP_TARGETS, integers stay within those of the target, too, and NaN becomes 0.
    """

    cdef cast p

    def __init__(self, slots, size_t count, str source, str target, bint clamp=False):
        cdef const nnf_kernel *row
        targets = CLAMP_TARGETS if clamp else CAST_TARGETS
        if target not in targets:
            raise ValueError(f"no {'clamp' if clamp else 'cast'} to {target}")
        types, self.p.item_x = CAST_SOURCES[source]
        self.p.to, self.p.item_y = targets[target]
        row = pick(f"cast_{types}_flat")
        self.p.kernel = <nnf_cast_flat_fn>row.fn
        self.p.count = count
        self.work = count
        self.tiles = <int>min(1 + count // CONVERT_GRAIN, 64)
        self.one_by_one(count, (self.p.item_x, self.p.item_y))
        self.bind(run_cast, &self.p, slots, row.name.decode())
