"""Steps of TFLite's reductions of any numbers, and of its running sums. No kernels: simple loops."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from .engine cimport Step
from .threads cimport nnf_run, nnf_share, nnf_step

cdef enum:
    NUMBERS_GRAIN = 16384  # elements below which a second thread costs more than it saves
    REDUCED_SUM, REDUCED_MEAN, REDUCED_PROD, REDUCED_MAX, REDUCED_MIN

ctypedef fused counted:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float

REDUCED = {"sum": REDUCED_SUM, "mean": REDUCED_MEAN, "prod": REDUCED_PROD, "max": REDUCED_MAX, "min": REDUCED_MIN}
COUNTED = {"uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4}
"""Types of these steps: bytes of a number."""

# n rows of `after` numbers; of running sums y has the same shape, else one row.
ctypedef void (*rows_fn)(int op, size_t n, size_t after, const void *x, void *y) noexcept nogil


cdef inline counted joined(int op, counted a, counted b) noexcept nogil:
    # Integers wrap; a NaN stays.
    if op == REDUCED_MAX:
        return b if b > a or b != b else a
    if op == REDUCED_MIN:
        return b if b < a or b != b else a
    if counted is float:
        return a * b if op == REDUCED_PROD else a + b
    else:
        return <counted>(<uint64_t>a * <uint64_t>b if op == REDUCED_PROD else <uint64_t>a + <uint64_t>b)


cdef void reduce_numbers(int op, size_t n, size_t after, const counted *x, counted *y) noexcept nogil:
    cdef size_t i, k
    cdef int64_t total
    if op == REDUCED_MEAN:  # of integers, cut towards zero
        for k in range(after):
            total = 0
            for i in range(n):
                total += <int64_t>x[i * after + k]
            y[k] = <counted>(total // <int64_t>n)
        return
    for k in range(after):
        y[k] = x[k]
    for i in range(1, n):
        for k in range(after):
            y[k] = joined(op, y[k], x[i * after + k])


cdef void running_sums(int op, size_t n, size_t after, const counted *x, counted *y) noexcept nogil:
    # op: 1 from the back, 2 without the element itself, 3 both.
    cdef size_t i, k
    cdef size_t at, before
    for i in range(n):
        at = (n - 1 - i if op & 1 else i) * after
        before = at + after if op & 1 else at - after
        for k in range(after):
            if op & 2:
                y[at + k] = joined(REDUCED_SUM, y[before + k], x[before + k]) if i else 0
            else:
                y[at + k] = joined(REDUCED_SUM, y[before + k], x[at + k]) if i else x[at + k]


cdef rows_fn rows_of(counted *kind, bint is_running) except? NULL:
    # The function for the type that `kind` points to.
    return <rows_fn>running_sums[counted] if is_running else <rows_fn>reduce_numbers[counted]


cdef rows_fn rows_of_type(str dtype, bint is_running) except? NULL:
    if dtype == "float32":
        return rows_of[float](NULL, is_running)
    if dtype == "int64":
        return rows_of[int64_t](NULL, is_running)
    if dtype == "int32":
        return rows_of[int32_t](NULL, is_running)
    if dtype == "int16":
        return rows_of[int16_t](NULL, is_running)
    if dtype == "int8":
        return rows_of[int8_t](NULL, is_running)
    return rows_of[uint8_t](NULL, is_running)


cdef struct rows_of_numbers:
    rows_fn compute
    int op
    size_t before, n, after, from_bytes, to_bytes


cdef void run_rows(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const rows_of_numbers *p = <const rows_of_numbers *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t part, first, last
    nnf_share(p.before, thread, threads, &first, &last)
    for part in range(first, last):
        p.compute(p.op, p.n, p.after, x + part * p.from_bytes, y + part * p.to_bytes)


cdef class ReduceNumbers(Step):
    """y[before, after] = op over the middle of x[before, n, after]; op: of REDUCED, dtype: of COUNTED; slots x, y.

    n >= 1. Integers wrap, but those of a mean; floats are added and multiplied one by one, a NaN is the result.
    """

    cdef rows_of_numbers p

    def __init__(self, slots, str op, str dtype, size_t before, size_t n, size_t after):
        cdef size_t item = COUNTED[dtype]
        if n < 1 or (op == "mean" and dtype == "float32"):
            raise ValueError(f"{op} of {n} numbers of {dtype}, must be of at least 1, and a mean of integers")
        self.p.compute, self.p.op = rows_of_type(dtype, False), REDUCED[op]
        self.p.before, self.p.n, self.p.after = before, n, after
        self.p.from_bytes, self.p.to_bytes = n * after * item, after * item
        self.work = before * n * after
        self.tiles = <int>max(1, min(1 + <size_t>self.work // NUMBERS_GRAIN, before, 64))
        self.bind(run_rows, &self.p, slots, f"reduce {op} {dtype}")


cdef class RunningSums(Step):
    """Sums of x[before, 0..i, after] in y[before, i, after], or with `exclusive` without i, with `reverse`
    from the back.

    dtype: of COUNTED; slots x, and y, which is not x.
    """

    cdef rows_of_numbers p

    def __init__(self, slots, str dtype, size_t before, size_t n, size_t after, bint exclusive, bint reverse):
        cdef size_t item = COUNTED[dtype]
        self.p.compute, self.p.op = rows_of_type(dtype, True), exclusive * 2 + reverse
        self.p.before, self.p.n, self.p.after = before, n, after
        self.p.from_bytes = self.p.to_bytes = n * after * item
        self.work = before * n * after
        self.tiles = <int>max(1, min(1 + <size_t>self.work // NUMBERS_GRAIN, before, 64))
        self.bind(run_rows, &self.p, slots, f"running sums {dtype}")
