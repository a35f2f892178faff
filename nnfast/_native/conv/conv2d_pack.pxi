"""Packing of the weights of convolution steps: before any run, shared by threads; or as a step of a program, where they
are computed."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_decline, nnf_run, nnf_share, nnf_step


cdef enum:
    PACKED_F32, PACKED_F32_ROWS, PACKED_BF16, PACKED_Q8


cdef struct packing:
    int form
    size_t columns, depth, groups, n, k
    size_t panel                    # bytes of a whole panel
    size_t packed                   # bytes of a group's packed weights
    size_t each                     # from one group to the next
    size_t ld, matrix               # elements from one row of the weights to the next, from one group's to the next's
    const void *weights             # the rest: only where a step does not bring its own
    const void *bias                # of all groups
    unsigned char *to
    nnf_conv2d_q8_scheme scheme     # of 8-bit codes, but for its bias


cdef void pack_share(const packing *p, const char *weights, const char *bias, unsigned char *out, int thread,
                     int threads) noexcept nogil:
    """A thread's share of the panels."""
    cdef size_t panels = (p.columns + p.n - 1) // p.n, item, last, group, first, count, unit, columns, at
    cdef nnf_conv2d_q8_scheme scheme = p.scheme
    cdef unsigned char *to
    nnf_share(p.groups * panels, thread, threads, &item, &last)
    while item < last:
        group, first = item // panels, item % panels
        count = min(panels - first, last - item)
        unit = group * p.columns + first * p.n
        # Whole panels lie one behind the other, so that a run of them is packed as if it were all there is.
        columns, to = min(count * p.n, p.columns - first * p.n), out + group * p.each + first * p.panel
        at = group * p.matrix + first * p.n * (1 if p.form == PACKED_F32_ROWS else p.ld)
        if p.form == PACKED_Q8:
            scheme.bias = <const int32_t *>bias + unit
            scheme.multiplier = p.scheme.multiplier + unit
            scheme.exponent = p.scheme.exponent + unit
            nnf_pack_conv2d_q8(columns, p.depth, p.n, p.k, <const uint8_t *>weights + at, p.ld, &scheme, to)
        elif p.form == PACKED_BF16:
            nnf_pack_conv2d_bf16(columns, p.depth, p.n, p.k, <const float *>weights + at,
                                 <const float *>bias + unit, to)
        elif p.form == PACKED_F32_ROWS:
            nnf_pack_conv2d_f32_rows(columns, p.depth, p.n, <const float *>weights + at, p.ld,
                                     <const float *>bias + unit, <float *>to)
        else:
            nnf_pack_conv2d_f32(columns, p.depth, p.n, <const float *>weights + at, p.ld, <const float *>bias + unit,
                                <float *>to)
        if first + count == panels:
            clear_rest(out + group * p.each, p.packed, p.each)
        item += count


cdef void run_packing(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const packing *p = <const packing *>step.params
    pack_share(p, <const char *>p.weights, <const char *>p.bias, p.to, thread, threads)


cdef void run_packing_step(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const packing *p = <const packing *>step.params
    pack_share(p, <const char *>run.slot[step.slots[0]], <const char *>run.slot[step.slots[1]],
               <unsigned char *>run.slot[step.slots[2]], thread, threads)


def packed_bytes_conv2d(size_t columns, size_t depth, size_t groups, bint quantized, bint raw=False):
    """Size of what PackF32 or PackQ8 writes; raw: as of pack_conv2d_q8."""
    return groups * lines(bytes_of(columns, depth, quantized, raw))


cdef size_t bytes_of(size_t columns, size_t depth, bint quantized, bint raw) except 0:
    cdef const nnf_kernel *row
    if quantized:
        row = tiles_of(raw, columns)
        return nnf_pack_conv2d_q8_size(columns, depth, row.n, row.k)
    return sizeof(float) * nnf_pack_conv2d_f32_size(columns, depth, pick("conv2d_f32_nhwc").n)


cdef class Packing(Step):
    """Matrices [groups, columns, depth] of slot x and the bias [groups, columns] of slot b, packed in slot y.

    place: None for dense matrices, or (elements from one row to the next, from one matrix to the next).
    """

    cdef packing p

    def __init__(self, slots, size_t columns, size_t depth, size_t groups, bint quantized, bint raw, place):
        cdef const nnf_kernel *row = tiles_of(raw, columns) if quantized else pick("conv2d_f32_nhwc")
        self.p.form = PACKED_Q8 if quantized else PACKED_F32
        self.p.columns, self.p.depth, self.p.groups, self.p.n, self.p.k = columns, depth, groups, row.n, row.k
        self.p.ld, self.p.matrix = (depth, columns * depth) if place is None else place
        self.p.panel = nnf_conv2d_q8_panel(row.n, nnf_conv2d_q8_groups(depth, row.k)) if quantized \
            else sizeof(float) * row.n * (depth + 1)
        self.p.packed = bytes_of(columns, depth, quantized, raw)
        self.p.each = lines(self.p.packed)
        self.work = <double>groups * columns * depth
        cdef size_t panels = (columns + row.n - 1) // row.n
        self.tiles = <int>min(groups * panels, groups * self.p.each // PACKING_GRAIN + 1)
        self.bind(run_packing_step, &self.p, slots, "pack")


cdef class PackF32(Packing):
    """float32 matrices and bias as pack_conv2d_f32 packs them; slots x, b, y.

    by_rows: the matrices are [groups, depth, columns]. place: as of a Packing.
    """

    def __init__(self, slots, size_t columns, size_t depth, size_t groups, bint by_rows=False, place=None):
        super().__init__(slots, columns, depth, groups, False, False, place)
        if by_rows:
            self.p.form = PACKED_F32_ROWS
            if place is None:
                self.p.ld = columns


cdef class PackQ8(Packing):
    """8-bit matrices and an int32 bias as pack_conv2d_q8 packs them; slots x, b, y.

    weights: (int8 or uint8, zero point); input_zero_point, signed_input, raw: as there; multiplier, exponent: int32
    [groups * columns], from sums to output codes; place: as of a Packing.
    """

    def __init__(self, slots, size_t columns, size_t depth, size_t groups, weights, int input_zero_point,
                 bint signed_input, const int32_t[::1] multiplier, const int32_t[::1] exponent, bint raw=False,
                 place=None):
        super().__init__(slots, columns, depth, groups, True, raw, place)
        if not multiplier.shape[0] == exponent.shape[0] == <Py_ssize_t>(groups * columns):
            raise ValueError("there must be a multiplier and an exponent for each column")
        dtype, zero_point = weights
        self.p.scheme = scheme_of(dtype, zero_point, input_zero_point, signed_input)
        self.p.scheme.multiplier, self.p.scheme.exponent = &multiplier[0], &exponent[0]
        self.keep = multiplier, exponent


cdef struct finite:
    size_t count


cdef void run_finite(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef size_t first, last, i
    cdef const uint32_t *x = <const uint32_t *>run.slot[step.slots[0]]
    cdef uint32_t largest = 0
    nnf_share((<const finite *>step.params).count, thread, threads, &first, &last)
    for i in range(first, last):
        largest = max(largest, x[i] & <uint32_t>0x7FFFFFFF)
    if largest >= <uint32_t>0x7F800000:
        nnf_decline(run)


cdef class Finite(Step):
    """Declines where one of `count` float32 values of the first slot is infinite or NaN; the other slots are what its
    reference reads and writes."""

    cdef finite p

    def __init__(self, slots, size_t count):
        self.p.count = count
        self.work = count
        self.tiles = <int>(count * sizeof(float) // PACKING_GRAIN + 1)
        self.bind(run_finite, &self.p, slots, "finite")


cdef struct unit_sums:
    size_t units, depth


cdef void run_unit_sums(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const unit_sums *p = <const unit_sums *>step.params
    cdef const int8_t *x
    cdef int32_t *y = <int32_t *>run.slot[step.slots[1]]
    cdef size_t first, last, unit, k
    cdef uint32_t total
    nnf_share(p.units, thread, threads, &first, &last)
    for unit in range(first, last):
        x, total = <const int8_t *>run.slot[step.slots[0]] + unit * p.depth, 0
        for k in range(p.depth):
            total += <uint32_t>x[k]
        y[unit] = <int32_t>total


cdef class UnitSums(Step):
    """int32 sums of the rows of int8 weights [units, depth]; slots weights, y."""

    cdef unit_sums p

    def __init__(self, slots, size_t units, size_t depth):
        self.p.units, self.p.depth = units, depth
        self.work = <double>units * depth
        self.tiles = <int>min(units, units * depth // PACKING_GRAIN + 1)
        self.bind(run_unit_sums, &self.p, slots, "unit sums")


cdef struct unit_offsets:
    size_t units
    int64_t factor
    size_t bias                     # bytes of a value: 4, 8, or 0 for none


cdef void run_unit_offsets(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const unit_offsets *p = <const unit_offsets *>step.params
    cdef const int32_t *sums = <const int32_t *>run.slot[step.slots[0]]
    cdef const void *bias = run.slot[step.slots[1]]
    cdef int64_t *y = <int64_t *>run.slot[step.slots[2]]
    cdef size_t first, last, unit
    cdef uint64_t value
    nnf_share(p.units, thread, threads, &first, &last)
    for unit in range(first, last):
        value = <uint64_t>(p.factor * sums[unit])
        if p.bias == 4:
            value += <uint64_t><int64_t>(<const int32_t *>bias)[unit]
        elif p.bias == 8:
            value += (<const uint64_t *>bias)[unit]
        y[unit] = <int64_t>value


cdef class UnitOffsets(Step):
    """int64 `factor` times int32 sums, plus a bias, of each unit; slots sums, bias, y.

    bias: bytes of one of its values, 4 or 8; 0: there is none, and its slot is not read.
    """

    cdef unit_offsets p

    def __init__(self, slots, size_t units, int64_t factor, size_t bias):
        if bias not in (0, 4, 8):
            raise ValueError(f"bias has values of {bias} bytes, must be 0, 4 or 8")
        self.p.units, self.p.factor, self.p.bias = units, factor, bias
        self.work = units
        self.bind(run_unit_offsets, &self.p, slots, "unit offsets")
