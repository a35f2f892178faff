"""Steps of operations on two operands that TFLite has and NNAPI lacks (csrc/kernels/tfl_binary/tfl_binary.h)."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memchr

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_decline, nnf_run, nnf_step

cdef extern from "tfl_binary/tfl_binary.h":
    cdef enum:
        NNF_ADD, NNF_SUB, NNF_MUL, NNF_MAX, NNF_MIN, NNF_XOR, NNF_SHIFT
        NNF_QUOTIENT, NNF_FLOOR_DIV, NNF_FLOOR_MOD, NNF_POW
        NNF_EQUAL, NNF_NOT_EQUAL, NNF_LESS, NNF_LESS_EQUAL
        NNF_F32_ATAN2, NNF_F32_FLOOR_DIV, NNF_F32_FLOOR_MOD

    ctypedef void (*nnf_tfl_binary_flat_fn)(size_t n, int op, const void *a, size_t step_a, const void *b,
                                            size_t step_b, void *y) noexcept nogil

cdef enum:
    DIVISION_GRAIN = 4096  # elements below which a second thread costs more than it saves, of slow operations

ARITHMETIC = {"add": NNF_ADD, "sub": NNF_SUB, "mul": NNF_MUL, "max": NNF_MAX, "min": NNF_MIN, "xor": NNF_XOR,
              "shift": NNF_SHIFT, "quotient": NNF_QUOTIENT, "floor_div": NNF_FLOOR_DIV, "floor_mod": NNF_FLOOR_MOD,
              "pow": NNF_POW}
RELATIONS = {"equal": NNF_EQUAL, "not_equal": NNF_NOT_EQUAL, "less": NNF_LESS, "less_equal": NNF_LESS_EQUAL}
CURVES = {"atan2": NNF_F32_ATAN2, "floor_div": NNF_F32_FLOOR_DIV, "floor_mod": NNF_F32_FLOOR_MOD}
INTEGER_TYPES = {"int8": ("s8", 1), "uint8": ("qu8", 1), "int16": ("s16", 2), "int32": ("s32", 4),
                 "int64": ("s64", 8)}
"""dtype -> type in names of kernels, bytes of an element."""

ctypedef fused integer:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef bint (*among_fn)(const void *x, size_t count) noexcept nogil


cdef enum:
    BLOCK = 64  # elements between two looks at what was found: a loop of so many goes in vectors


cdef inline bint is_refused(bint negative, integer x) noexcept nogil:
    return <int64_t>x < 0 if negative else x == 0


cdef inline bint any_refused(bint negative, const integer *x, size_t count) noexcept nogil:
    cdef size_t i, done = 0
    cdef int found = 0
    while done + BLOCK <= count:
        for i in range(BLOCK):
            found |= is_refused(negative, x[done + i])
        if found:
            return True
        done += BLOCK
    for i in range(done, count):
        found |= is_refused(negative, x[i])
    return found != 0


cdef bint has_zero(const integer *x, size_t count) noexcept nogil:
    return any_refused(False, x, count)


cdef bint has_negative(const integer *x, size_t count) noexcept nogil:
    return any_refused(True, x, count)


cdef among_fn among(integer *kind, str op) except? NULL:
    # What the second operand may not hold, of the type that `kind` points to.
    return <among_fn>has_negative[integer] if op == "pow" else <among_fn>has_zero[integer]


cdef among_fn refused(str dtype, str op) except? NULL:
    if dtype == "int64":
        return among[int64_t](NULL, op)
    if dtype == "int32":
        return among[int32_t](NULL, op)
    if dtype == "int16":
        return among[int16_t](NULL, op)
    if dtype == "int8":
        return among[int8_t](NULL, op)
    return among[uint8_t](NULL, op)


cdef struct tfl_binary:
    nnf_tfl_binary_flat_fn kernel
    among_fn refused           # NULL: takes all values
    int op
    size_t item, item_y, count_b
    walk over


cdef void tfl_binary_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                         void *y) noexcept nogil:
    cdef const tfl_binary *p = <const tfl_binary *>params
    p.kernel(n, p.op, a, step_a, b, step_b, y)


cdef void run_tfl_binary(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const tfl_binary *p = <const tfl_binary *>step.params
    if p.refused != NULL and p.refused(run.slot[step.slots[1]], p.count_b):
        nnf_decline(run)
        return
    walk_rows(step, run, thread, threads, &p.over, p.item, p.item_y, tfl_binary_row)


cdef class TflBinary(Step):
    """y = a op b; slots a, b, y of broadcasting shapes, of one dtype, y of bytes for relations.

    op: of integers one of ARITHMETIC or RELATIONS, of float32 one of CURVES. quotient, floor_div and floor_mod of
    integers decline a b that has zeros, pow one that has negative numbers.
    """

    cdef tfl_binary p

    def __init__(self, slots, str op, str dtype, shape_a, shape_b):
        cdef const nnf_kernel *row
        cdef bint is_slow = False
        if dtype == "float32":
            row, self.p.op, self.p.item, is_slow = pick("curve_f32_flat"), CURVES[op], 4, op == "atan2"
            self.p.item_y = 4
        elif op in RELATIONS:
            types, self.p.item = INTEGER_TYPES[dtype]
            row, self.p.op, self.p.item_y = pick(f"relation_{types}_flat"), RELATIONS[op], 1
        else:
            types, self.p.item = INTEGER_TYPES[dtype]
            row, self.p.op, self.p.item_y = pick(f"arithmetic_{types}_flat"), ARITHMETIC[op], self.p.item
            is_slow = self.p.op >= NNF_QUOTIENT
            if is_slow:
                self.p.refused = refused(dtype, op)
        self.p.kernel = <nnf_tfl_binary_flat_fn>row.fn
        self.p.count_b = 1
        for size in shape_b:
            self.p.count_b *= <size_t>size
        plan_walk(&self.p.over, shape_a, shape_b)
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // (DIVISION_GRAIN if is_slow else BINARY_GRAIN), 64)
        self.bind(run_tfl_binary, &self.p, slots, row.name.decode())


cdef struct pairs_q8:
    const uint8_t *table
    int refused                # raw byte that b may not hold, -1: none
    size_t count_b
    walk over


cdef void pairs_q8_row(const void *params, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                       void *y) noexcept nogil:
    cdef const uint8_t *table = (<const pairs_q8 *>params).table
    cdef const uint8_t *first = <const uint8_t *>a
    cdef const uint8_t *second = <const uint8_t *>b
    cdef size_t i
    for i in range(n):
        (<uint8_t *>y)[i] = table[<size_t>first[i * step_a] << 8 | second[i * step_b]]


cdef void run_pairs_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const pairs_q8 *p = <const pairs_q8 *>step.params
    if p.refused >= 0 and p.count_b and memchr(run.slot[step.slots[1]], p.refused, p.count_b) != NULL:
        nnf_decline(run)
        return
    walk_rows(step, run, thread, threads, &p.over, 1, 1, pairs_q8_row)


cdef class PairsQ8(Step):
    """y = table[a, b] on bytes, signed or not; slots a, b, y of broadcasting shapes.

    table: uint8 [65536], by 256 times the raw byte of a plus that of b. Declines a b with the raw byte `refused`.
    """

    cdef pairs_q8 p

    def __init__(self, slots, shape_a, shape_b, const uint8_t[::1] table, int refused=-1):
        if table.shape[0] != 1 << 16:
            raise ValueError(f"table has {table.shape[0]} entries, must have 65536")
        self.keep = table
        self.p.table = &table[0]
        self.p.refused = refused
        self.p.count_b = 1
        for size in shape_b:
            self.p.count_b *= <size_t>size
        plan_walk(&self.p.over, shape_a, shape_b)
        self.packed = 1 << 16
        self.work = self.p.over.rows * self.p.over.n
        self.tiles = <int>min(1 + <size_t>self.work // BINARY_GRAIN, 64)
        self.bind(run_pairs_q8, &self.p, slots, "table of pairs")
