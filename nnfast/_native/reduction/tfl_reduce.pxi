"""Steps of TFLite's reductions of any numbers, and of its running sums. No kernels: simple loops."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from .engine cimport Step
from .threads cimport nnf_run, nnf_share, nnf_step

cdef enum:
    NUMBERS_GRAIN = 16384  # elements below which a second thread costs more than it saves
    REDUCED_SUM, REDUCED_MEAN, REDUCED_PROD, REDUCED_MAX, REDUCED_MIN
    COLUMNS = 16           # results side by side

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

# `parts` of n rows of `after` numbers; of running sums y has the same shape, else one row a part.
ctypedef void (*rows_fn)(int op, size_t parts, size_t n, size_t after, const void *x, void *y) noexcept nogil


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


# Rows of n numbers are taken four at a time, so that the chains of their results overlap. `row` lies between two rows;
# 0 takes one row four times.
cdef inline void reduce_four(int op, size_t row, size_t n, const counted *x, counted *y) noexcept nogil:
    cdef size_t i, to = 1 if row else 0
    cdef counted a = x[0], b = x[row], c = x[2 * row], d = x[3 * row]
    for i in range(1, n):
        a = joined(op, a, x[i])
        b = joined(op, b, x[row + i])
        c = joined(op, c, x[2 * row + i])
        d = joined(op, d, x[3 * row + i])
    y[0], y[to], y[2 * to], y[3 * to] = a, b, c, d


# Results of n rows that are `after` numbers apart, as many side by side as the compiler makes vectors of.
cdef inline void reduce_columns(int op, size_t n, size_t after, const counted *x, counted *y) noexcept nogil:
    cdef counted best[COLUMNS]
    cdef counted one
    cdef size_t i, k, done = 0
    while done + COLUMNS <= after:
        for k in range(COLUMNS):
            best[k] = x[done + k]
        for i in range(1, n):
            for k in range(COLUMNS):
                best[k] = joined(op, best[k], x[i * after + done + k])
        for k in range(COLUMNS):
            y[done + k] = best[k]
        done += COLUMNS
    for k in range(done, after):
        one = x[k]
        for i in range(1, n):
            one = joined(op, one, x[i * after + k])
        y[k] = one


cdef inline void running_four(int op, size_t row, size_t n, const counted *x, counted *y) noexcept nogil:
    cdef size_t i, at = n - 1 if op & 1 else 0, step = -1 if op & 1 else 1, ahead = 0 if op & 2 else step
    cdef counted a = 0, b = 0, c = 0, d = 0
    if not op & 2:
        a, b, c, d = x[at], x[row + at], x[2 * row + at], x[3 * row + at]
    y[at], y[row + at], y[2 * row + at], y[3 * row + at] = a, b, c, d
    for i in range(1, n):
        a = joined(REDUCED_SUM, a, x[at + ahead])
        b = joined(REDUCED_SUM, b, x[row + at + ahead])
        c = joined(REDUCED_SUM, c, x[2 * row + at + ahead])
        d = joined(REDUCED_SUM, d, x[3 * row + at + ahead])
        at += step
        y[at], y[row + at], y[2 * row + at], y[3 * row + at] = a, b, c, d


# `count` columns, COLUMNS at most, of n rows that are `after` numbers apart.
cdef inline void running_columns(int op, size_t n, size_t after, size_t count, const counted *x,
                                 counted *y) noexcept nogil:
    cdef counted sums[COLUMNS]
    cdef size_t i, k, at = (n - 1) * after if op & 1 else 0
    cdef size_t step = 0 - after if op & 1 else after, ahead = 0 if op & 2 else step
    for k in range(count):
        sums[k] = 0 if op & 2 else x[at + k]
    for k in range(count):
        y[at + k] = sums[k]
    for i in range(1, n):
        for k in range(count):
            sums[k] = joined(REDUCED_SUM, sums[k], x[at + ahead + k])
        at += step
        for k in range(count):
            y[at + k] = sums[k]


cdef void reduce_numbers(int op, size_t parts, size_t n, size_t after, const counted *x, counted *y) noexcept nogil:
    cdef size_t part, row, i, k
    cdef int64_t total
    if op == REDUCED_MEAN:  # of integers, cut towards zero
        for part in range(parts):
            for k in range(after):
                total = 0
                for i in range(n):
                    total += <int64_t>x[(part * n + i) * after + k]
                y[part * after + k] = <counted>(total // <int64_t>n)
        return
    if after == 1:
        part = 0
        while part < parts:
            row = n if parts - part >= 4 else 0
            if op == REDUCED_SUM:
                reduce_four(REDUCED_SUM, row, n, x + part * n, y + part)
            elif op == REDUCED_PROD:
                reduce_four(REDUCED_PROD, row, n, x + part * n, y + part)
            elif op == REDUCED_MAX:
                reduce_four(REDUCED_MAX, row, n, x + part * n, y + part)
            else:
                reduce_four(REDUCED_MIN, row, n, x + part * n, y + part)
            part += 4 if row else 1
        return
    for part in range(parts):
        if op == REDUCED_SUM:
            reduce_columns(REDUCED_SUM, n, after, x, y)
        elif op == REDUCED_PROD:
            reduce_columns(REDUCED_PROD, n, after, x, y)
        elif op == REDUCED_MAX:
            reduce_columns(REDUCED_MAX, n, after, x, y)
        else:
            reduce_columns(REDUCED_MIN, n, after, x, y)
        x += n * after
        y += after


cdef void running_sums(int op, size_t parts, size_t n, size_t after, const counted *x, counted *y) noexcept nogil:
    # op: 1 from the back, 2 without the element itself, 3 both.
    cdef size_t part = 0, row, k
    if after == 1:
        while n and part < parts:
            row = n if parts - part >= 4 else 0
            running_four(op, row, n, x + part * n, y + part * n)
            part += 4 if row else 1
        return
    for part in range(parts if n else 0):
        k = 0
        while k + COLUMNS <= after:
            running_columns(op, n, after, COLUMNS, x + k, y + k)
            k += COLUMNS
        while k < after:
            running_columns(op, n, after, 1, x + k, y + k)
            k += 1
        x += n * after
        y += n * after


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
    cdef size_t first, last
    nnf_share(p.before, thread, threads, &first, &last)
    p.compute(p.op, last - first, p.n, p.after, x + first * p.from_bytes, y + first * p.to_bytes)


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
