"""Steps that convert between types of numbers: float16 and float32 (csrc/kernels/convert/convert.h), and others."""

from libc.stdint cimport INT32_MAX, INT64_MAX, UINT8_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share_runs, nnf_step

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


ctypedef fused number_from:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float

ctypedef fused number_to:
    uint8_t
    int32_t
    int64_t
    float

ctypedef void (*cast_fn)(size_t n, const void *x, void *y, double lo, double hi) noexcept nogil


cdef void cast_plain(size_t n, const number_from *x, number_to *y, double lo, double hi) noexcept nogil:
    cdef size_t i
    for i in range(n):
        y[i] = <number_to>x[i]


cdef void cast_within(size_t n, const number_from *x, number_to *y, double lo, double hi) noexcept nogil:
    cdef size_t i
    cdef double value
    for i in range(n):
        value = <double>x[i]
        y[i] = <number_to>(0.0 if value != value else lo if value < lo else hi if value > hi else value)


cdef void cast_saturated(size_t n, const float *x, number_to *y, double lo, double hi) noexcept nogil:
    # Towards zero, from lo to below hi; below that the least, and from hi on and for NaN the largest number.
    cdef number_to largest
    cdef size_t i
    if number_to is int64_t:
        largest = INT64_MAX
    elif number_to is int32_t:
        largest = INT32_MAX
    else:
        largest = <number_to>UINT8_MAX
    for i in range(n):
        y[i] = largest if not x[i] < hi else <number_to>(lo if x[i] < lo else x[i])


cdef void cast_truth(size_t n, const number_from *x, uint8_t *y, double lo, double hi) noexcept nogil:
    cdef size_t i
    for i in range(n):
        y[i] = x[i] != 0


cdef cast_fn cast_from(number_from *kind, str target, str how) except? NULL:
    # The function from the type that `kind` points to.
    if how == "truth":
        return <cast_fn>cast_truth[number_from]
    if how == "within":
        if target == "int32":
            return <cast_fn>cast_within[number_from, int32_t]
        return <cast_fn>cast_within[number_from, uint8_t]
    if how == "saturated":
        if target == "int32":
            return <cast_fn>cast_saturated[int32_t]
        if target == "int64":
            return <cast_fn>cast_saturated[int64_t]
        return <cast_fn>cast_saturated[uint8_t]
    if target == "float32":
        return <cast_fn>cast_plain[number_from, float]
    if target == "int32":
        return <cast_fn>cast_plain[number_from, int32_t]
    if target == "int64":
        return <cast_fn>cast_plain[number_from, int64_t]
    return <cast_fn>cast_plain[number_from, uint8_t]


CAST_SOURCES = {"uint8": 1, "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4}
CAST_TARGETS = {"uint8": 1, "bool": 1, "int32": 4, "int64": 8, "float32": 4}
"""Types that Cast takes and gives: bytes of a number."""
SATURATED = {"uint8": (0.0, 2.0**8), "int32": (-2.0**31, 2.0**31), "int64": (-2.0**63, 2.0**63)}
"""Least number of an integer type, and the first one beyond its largest."""


cdef struct cast:
    cast_fn convert
    size_t count, item_x, item_y
    double lo, hi


cdef void run_cast(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const cast *p = <const cast *>step.params
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.convert(last - first, <const uint8_t *>run.slot[step.slots[0]] + first * p.item_x,
              <uint8_t *>run.slot[step.slots[1]] + first * p.item_y, p.lo, p.hi)


cdef class Cast(Step):
    """`count` numbers of slot x in another type in slot y. source, target: names of CAST_SOURCES, CAST_TARGETS.

    bounds: None, or the least and the largest result for int32 and uint8: numbers are cut towards zero within them, NaN
    becomes 0. Without bounds floats are cut within the integers of the target, NaN becomes the largest; integers wrap;
    to bool what is not zero.
    """

    cdef cast p

    def __init__(self, slots, size_t count, str source, str target, bounds=None):
        cdef str how = "truth" if target == "bool" else "plain" if bounds is None else "within"
        if how == "within" and target not in ("int32", "uint8"):
            raise ValueError(f"no bounds for {target}")
        self.p.item_x, self.p.item_y = CAST_SOURCES[source], CAST_TARGETS[target]
        self.p.count = count
        if bounds is not None:
            self.p.lo, self.p.hi = bounds
        elif how == "plain" and source == "float32" and target != "float32":
            how = "saturated"
            self.p.lo, self.p.hi = SATURATED[target]
        if source == "float32":
            self.p.convert = cast_from[float](NULL, target, how)
        elif source == "int64":
            self.p.convert = cast_from[int64_t](NULL, target, how)
        elif source == "int32":
            self.p.convert = cast_from[int32_t](NULL, target, how)
        elif source == "int16":
            self.p.convert = cast_from[int16_t](NULL, target, how)
        elif source == "int8":
            self.p.convert = cast_from[int8_t](NULL, target, how)
        else:
            self.p.convert = cast_from[uint8_t](NULL, target, how)
        self.work = count
        self.tiles = <int>min(1 + count // CONVERT_GRAIN, 64)
        self.one_by_one(count, (self.p.item_x, self.p.item_y))
        self.bind(run_cast, &self.p, slots, f"cast {source} {target}")
