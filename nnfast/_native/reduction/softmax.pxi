"""Steps of softmax over rows."""

from libc.stdint cimport int16_t, int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

cdef extern from "softmax/softmax.h":
    ctypedef void (*nnf_softmax_f32_rows_fn)(size_t n, const float *x, float *y, float beta) noexcept nogil
    enum: NNF_SOFTMAX_NARROW
    ctypedef void (*nnf_softmax_narrow_f32_rows_fn)(size_t rows, size_t n, const float *x, float *y,
                                                    float beta) noexcept nogil
    ctypedef void (*nnf_softmax_q8_rows_fn)(size_t n, const uint8_t *x, uint8_t *y, const int32_t *power) noexcept nogil
    ctypedef void (*nnf_softmax_narrow_q8_rows_fn)(size_t rows, size_t n, const uint8_t *x, uint8_t *y,
                                                   const int32_t *power) noexcept nogil
    ctypedef void (*nnf_softmax_q8_qs16_rows_fn)(size_t n, const uint8_t *x, int16_t *y,
                                                 const int32_t *power) noexcept nogil

    ctypedef struct nnf_softmax_q16:
        int32_t multiplier
        int32_t exponent
        const int16_t *power
        const int16_t *reciprocal

    ctypedef void (*nnf_softmax_qs16_rows_fn)(size_t n, const int16_t *x, int16_t *y,
                                              const nnf_softmax_q16 *p) noexcept nogil

# Elements below which a second thread costs more than it saves.
cdef enum:
    SOFTMAX_GRAIN = 4096
    PAIRS = 511          # differences of two codes
    MANY_PAIRS = 32      # rows from which on the results of all of them are found once


cdef bint is_narrow(size_t rows, size_t n, size_t lanes):
    # Whether rows are faster in vectors across `lanes` of them than one by one: lanes without a row cost as much.
    cdef size_t used = 5 if n <= 8 else 7
    return lanes and 0 < n <= NNF_SOFTMAX_NARROW and 8 * rows >= used * ((rows + lanes - 1) // lanes * lanes)


cdef bint are_narrow_codes(size_t rows, size_t n, size_t lanes):
    # The same of rows of codes: at most 3 rows one by one, 6 of many codes, cost less than all lanes.
    return lanes and 3 <= n <= NNF_SOFTMAX_NARROW and rows >= (4 if n <= 8 else 7)


cdef int softmax_tiles(size_t rows, size_t n):
    return <int>min(1 + rows * n // SOFTMAX_GRAIN, rows, 64)


cdef struct softmax:
    nnf_softmax_f32_rows_fn floats              # one of the six
    nnf_softmax_narrow_f32_rows_fn narrow
    nnf_softmax_narrow_q8_rows_fn narrow_codes
    nnf_softmax_q8_rows_fn codes                # of the softmax or its logarithm
    nnf_softmax_q8_qs16_rows_fn codes_to_words
    nnf_softmax_qs16_rows_fn words
    size_t rows, n
    float beta                      # of floats
    const int32_t *table            # of 8-bit codes: [512], power or distance
    nnf_softmax_q16 constants       # of words


cdef void run_softmax(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const softmax *p = <const softmax *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef void *y = run.slot[step.slots[1]]
    cdef size_t row, last, n = p.n
    nnf_share(p.rows, thread, threads, &row, &last)
    if p.narrow != NULL:
        p.narrow(last - row, n, <const float *>x + row * n, <float *>y + row * n, p.beta)
        return
    if p.narrow_codes != NULL:
        p.narrow_codes(last - row, n, <const uint8_t *>x + row * n, <uint8_t *>y + row * n, p.table)
        return
    for row in range(row, last):
        if p.floats != NULL:
            p.floats(n, <const float *>x + row * n, <float *>y + row * n, p.beta)
        elif p.codes != NULL:
            p.codes(n, <const uint8_t *>x + row * n, <uint8_t *>y + row * n, p.table)
        elif p.codes_to_words != NULL:
            p.codes_to_words(n, <const uint8_t *>x + row * n, <int16_t *>y + row * n, p.table)
        else:
            p.words(n, <const int16_t *>x + row * n, <int16_t *>y + row * n, &p.constants)


# What two codes become, by the first less the second from -255 on: [511][2].
cdef struct pair_softmax:
    const uint8_t *results
    size_t rows
    uint8_t flip     # makes codes unsigned


cdef void run_softmax_of_pairs(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const pair_softmax *p = <const pair_softmax *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef const uint8_t *result
    cdef size_t row, last
    nnf_share(p.rows, thread, threads, &row, &last)
    for row in range(row, last):
        result = p.results + 2 * (255 + (x[2 * row] ^ p.flip) - (x[2 * row + 1] ^ p.flip))
        y[2 * row], y[2 * row + 1] = result[0], result[1]


cdef const int32_t[::1] of_differences(table, powers):
    # A table of 256 differences and behind it powers of them, given in F0, in F12.
    rounded = np.array(powers, np.int64) + (1 << 11) >> 12
    cdef const int32_t[::1] words = np.concatenate([table, rounded]).astype(np.int32)
    if len(table) != 256 or words.shape[0] != 512:
        raise ValueError(f"tables of differences have {len(table)} and {len(powers)} entries, must have 256")
    return words


cdef class SoftmaxF32(Step):
    """Softmax of `rows` rows of n >= 1 float32 values, or with `logarithm` that of it; slots x, y.

    beta: greater than 0, with `logarithm` any number.
    """

    cdef softmax p

    def __init__(self, slots, size_t rows, size_t n, float beta, bint logarithm=False):
        log = "log_" if logarithm else ""
        cdef const nnf_kernel *row = pick(f"{log}softmax_f32_rows")
        cdef const nnf_kernel *narrow = pick(f"{log}softmax_narrow_f32_rows")
        if is_narrow(rows, n, narrow.m):
            row = narrow
            self.p.narrow = <nnf_softmax_narrow_f32_rows_fn>row.fn
        else:
            self.p.floats = <nnf_softmax_f32_rows_fn>row.fn
        self.p.rows = rows
        self.p.n = n
        self.p.beta = beta
        self.work = rows * n
        self.tiles = softmax_tiles(rows, n)
        self.bind(run_softmax, &self.p, slots, row.name.decode())


cdef class SoftmaxQ8(Step):
    """Softmax of `rows` rows of n >= 1 codes, int8 if is_signed, else uint8; slots x, y.

    power: int32[256], e^-d in F0 for each difference d from the highest code, 0 where it is dropped [NN 14.25].
    """

    cdef softmax p
    cdef pair_softmax pairs

    def __init__(self, slots, bint is_signed, size_t rows, size_t n, power):
        types = "qs8" if is_signed else "qu8"
        cdef const nnf_kernel *row = pick(f"softmax_{types}_rows")
        cdef const nnf_kernel *narrow = pick(f"softmax_narrow_{types}_rows")
        cdef const int32_t[::1] table = of_differences(power, power)
        self.keep = table
        self.p.table = &table[0]
        if are_narrow_codes(rows, n, narrow.m):
            row = narrow
            self.p.narrow_codes = <nnf_softmax_narrow_q8_rows_fn>row.fn
        else:
            self.p.codes = <nnf_softmax_q8_rows_fn>row.fn
        self.p.rows = rows
        self.p.n = n
        self.work = rows * n
        self.packed = 4 * 512
        self.tiles = softmax_tiles(rows, n)
        if n == 2 and rows >= MANY_PAIRS:
            self.look_up(is_signed)
            self.bind(run_softmax_of_pairs, &self.pairs, slots, row.name.decode())
        else:
            self.bind(run_softmax, &self.p, slots, row.name.decode())

    cdef void look_up(self, bint is_signed):
        # Many rows of two codes: the results of all differences are found once.
        cdef uint8_t flip = 128 if is_signed else 0
        cdef uint8_t[::1] codes = np.empty(2 * PAIRS, np.uint8)
        cdef int d
        for d in range(PAIRS):
            codes[2 * d], codes[2 * d + 1] = max(0, d - 255) ^ flip, max(0, 255 - d) ^ flip
            self.p.codes(2, &codes[2 * d], &codes[2 * d], self.p.table)
        self.keep = codes
        self.pairs.results, self.pairs.rows, self.pairs.flip = &codes[0], self.p.rows, flip


cdef class LogSoftmaxQ8(Step):
    """Logarithm of a softmax of `rows` rows of n codes, 1 to 4095, int8 if is_signed, else uint8; slots x, y.

    power, distance: int32[256], of each difference d from the highest code: e^-d in F0, 0 where it is dropped, and d in
    F5, from 0 to 2**30, which gives the lowest code.
    """

    cdef softmax p

    def __init__(self, slots, bint is_signed, size_t rows, size_t n, power, distance):
        cdef const nnf_kernel *row = pick(f"log_softmax_{'qs8' if is_signed else 'qu8'}_rows")
        cdef const int32_t[::1] table = of_differences(distance, power)
        if n > 4095:
            raise ValueError(f"rows have {n} codes, must have at most 4095")
        self.keep = table
        self.p.table = &table[0]
        self.p.codes = <nnf_softmax_q8_rows_fn>row.fn
        self.p.rows = rows
        self.p.n = n
        self.work = rows * n
        self.packed = 4 * 512
        self.tiles = softmax_tiles(rows, n)
        self.bind(run_softmax, &self.p, slots, row.name.decode())


cdef class SoftmaxQ16(Step):
    """Softmax of `rows` rows of n >= 1 codes into int16 codes; slots x, y.

    scale, tables: of int16 codes, (multiplier, exponent) and int16 [2, 513], powers and reciprocals of nnf_softmax_q16,
    n <= 65536. types, power: of 8-bit codes, "qs8" or "qu8", and as those of SoftmaxQ8.
    """

    cdef softmax p

    def __init__(self, slots, size_t rows, size_t n, scale=None, const int16_t[:, ::1] tables=None, types=None,
                 power=None):
        cdef const nnf_kernel *row = pick(f"softmax_{types + '_' if types else ''}qs16_rows")
        cdef const int32_t[::1] table
        self.p.rows, self.p.n = rows, n
        if types is None:
            if tables.shape[0] != 2 or tables.shape[1] != 513 or n > 65536:
                raise ValueError("there must be two tables of 513 values, and rows of at most 65536")
            self.keep = tables
            self.p.words = <nnf_softmax_qs16_rows_fn>row.fn
            self.p.constants.multiplier, self.p.constants.exponent = scale
            self.p.constants.power, self.p.constants.reciprocal = &tables[0, 0], &tables[1, 0]
        else:
            table = of_differences(power, power)
            self.keep = table
            self.p.table = &table[0]
            self.p.codes_to_words = <nnf_softmax_q8_qs16_rows_fn>row.fn
        self.work = rows * n
        self.tiles = softmax_tiles(rows, n)
        self.bind(run_softmax, &self.p, slots, row.name.decode())
