"""Steps of the quantized LSTMs: gate words from 8-bit data and weights, cells, projection.

Weights stay as they lie, so that constants and model inputs take the same way. All of it is bit for bit.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t
from libc.string cimport memcpy

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "nnf/fixedpoint.h":
    int32_t nnf_mbqm(int32_t x, int32_t multiplier, int exponent) noexcept nogil
    int32_t nnf_clamp_s32(int32_t x, int32_t lo, int32_t hi) noexcept nogil

cdef extern from "gemv/gemv.h":
    ctypedef void (*nnf_gemv_qs16_q8_rows_fn)(size_t rows, size_t k, const int16_t *x, const void *w,
                                              int32_t *y) noexcept nogil

cdef extern from "lstm_q8/lstm_q8.h":
    ctypedef struct nnf_fixed:
        int32_t multiplier
        int32_t exponent

    ctypedef struct nnf_lstm_update:
        const int16_t *enter
        const int16_t *forget
        const int16_t *candidate
        const int16_t *c_in
        int16_t *c_out
        int k
        int lo
        int hi

    ctypedef struct nnf_lstm_cell16:
        const int16_t *enter
        const int16_t *forget
        const int16_t *candidate
        const int16_t *leave
        const int16_t *c_in
        int16_t *c_out
        uint8_t *y

    ctypedef void (*nnf_lstm_gate_qs16_flat_fn)(size_t n, const int32_t *x, nnf_fixed a, const int32_t *h, nnf_fixed b,
                                                int16_t *y) noexcept nogil
    ctypedef void (*nnf_lstm_peephole_qs16_flat_fn)(size_t n, const int16_t *w, const int16_t *cell, nnf_fixed a,
                                                    int16_t *y) noexcept nogil
    ctypedef void (*nnf_lstm_norm_qs16_rows_fn)(size_t n, const int16_t *w, const int32_t *bias, nnf_fixed a,
                                                int16_t *y) noexcept nogil
    ctypedef void (*nnf_lstm_update_qs16_flat_fn)(size_t n, const nnf_lstm_update *u) noexcept nogil
    ctypedef void (*nnf_lstm_hidden_qs16_flat_fn)(size_t n, const int16_t *leave, const int16_t *c, int k, nnf_fixed a,
                                                  int zero_point, int8_t *y) noexcept nogil
    ctypedef void (*nnf_lstm_cell_qs16_flat_fn)(size_t n, const nnf_lstm_cell16 *c) noexcept nogil

cdef enum:
    Q8_TILE = 32       # rows of a matrix, or units, that one thread takes at a time
    Q8_GRAIN = 131072  # multiply-adds below which a second thread costs more than it saves


cdef inline void *slot_at(const nnf_step *step, const nnf_run *run, int place) noexcept nogil:
    return run.slot[step.slots[place]] if place >= 0 else NULL


cdef inline const int16_t *words_at(const nnf_step *step, const nnf_run *run, int place, size_t start) noexcept nogil:
    return <const int16_t *>slot_at(step, run, place) + start if place >= 0 else NULL


cdef inline size_t tiles_of(size_t count) noexcept nogil:
    return (count + Q8_TILE - 1) // Q8_TILE


cdef inline int threads_for(double work, size_t tiles):
    return <int>min(<double>tiles, 1 + work // Q8_GRAIN)


# Codes less their zero point, as words.
cdef inline void centre(size_t n, const void *codes, bint is_signed, int zero_point, int16_t *y) noexcept nogil:
    cdef size_t i
    if is_signed:
        for i in range(n):
            y[i] = <int16_t>((<const int8_t *>codes)[i] - zero_point)
    else:
        for i in range(n):
            y[i] = <int16_t>((<const uint8_t *>codes)[i] - zero_point)


cdef void set_fixed(nnf_fixed *a, pair) except *:
    a.multiplier, a.exponent = pair


# -- gates -------------------------------------------------------------------------------------------------------------
cdef struct gates_q8:
    nnf_gemv_qs16_q8_rows_fn multiply
    nnf_lstm_gate_qs16_flat_fn gate
    size_t batch, inputs, outputs, units, tiles
    int gates, in_zero, out_zero, weight_zero
    bint combined, is_signed, has_bias
    nnf_fixed in_scale[4]
    nnf_fixed out_scale[4]


cdef void run_gates_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const gates_q8 *p = <const gates_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>slot_at(step, run, 0)
    cdef const uint8_t *h = <const uint8_t *>slot_at(step, run, 1)
    cdef int16_t *words = <int16_t *>slot_at(step, run, 2)
    cdef int16_t *data = <int16_t *>(run.scratch + <size_t>thread * run.scratch_stride)
    cdef size_t depth = p.inputs + p.outputs, each = tiles_of(p.units), i, b, j, k, gate, row, count, begin, end
    cdef const uint8_t *from_input
    cdef const uint8_t *from_output
    cdef const int32_t *bias
    cdef const int16_t *source
    cdef int32_t sums[Q8_TILE]
    cdef int32_t back[Q8_TILE]
    cdef unsigned int shift
    nnf_share(p.tiles, thread, threads, &begin, &end)
    if begin == end:
        return
    for b in range(p.batch):
        centre(p.inputs, x + b * p.inputs, p.is_signed, p.in_zero, data + b * depth)
        centre(p.outputs, h + b * p.outputs, p.is_signed, p.out_zero, data + b * depth + p.inputs)
    for i in range(begin, end):
        gate, row = i // each, i % each * Q8_TILE
        count = min(<size_t>Q8_TILE, p.units - row)
        from_input = <const uint8_t *>slot_at(step, run, 3 + 3 * <int>gate) + row * p.inputs
        from_output = <const uint8_t *>slot_at(step, run, 4 + 3 * <int>gate) + row * p.outputs
        bias = <const int32_t *>slot_at(step, run, 5 + 3 * <int>gate) + row if p.has_bias else NULL
        for b in range(p.batch):
            source = data + b * depth
            shift = 0
            if p.weight_zero:
                for k in range(depth):
                    shift += <unsigned int>source[k]
                shift *= <unsigned int>p.weight_zero
            for j in range(count):
                sums[j] = <int32_t>((<unsigned int>bias[j] if bias != NULL else 0) - shift)
                back[j] = 0
            if p.combined:
                # The data is [input | output], but a row of weights [recurrent | input].
                p.multiply(count, p.outputs, source, from_output, sums)
                p.multiply(count, p.inputs, source + p.outputs, from_input, sums)
            else:
                p.multiply(count, p.inputs, source, from_input, sums)
                p.multiply(count, p.outputs, source + p.inputs, from_output, back)
            p.gate(count, sums, p.in_scale[gate], NULL if p.combined else back, p.out_scale[gate],
                   words + (b * <size_t>p.gates + gate) * p.units + row)


cdef class GatesQ8(Step):
    """16-bit words of all gates, [batch, gates, units], before peephole, layer norm and activation.

    slots: input, previous output, words; then of each gate weights of the input [units, inputs], of the output
    [units, outputs], and the int32 bias (where has_bias is False, any slot). sizes: batch, inputs, outputs, units.
    zero_points: of input, previous output and weights; is_signed: int8, else uint8, of data and weights.
    in_scales, out_scales: (multiplier, exponent) of each gate; out_scales of None: one matrix [output | input] meets
    the data [input | output], as QUANTIZED_16BIT_LSTM has it.
    """

    cdef gates_q8 p

    def __init__(self, slots, sizes, zero_points, bint is_signed, bint has_bias, in_scales, out_scales):
        cdef const nnf_kernel *multiply = pick("gemv_qs16_qs8_rows" if is_signed else "gemv_qs16_qu8_rows")
        cdef const nnf_kernel *gate = pick("lstm_gate_qs16_flat")
        cdef int g
        self.p.multiply = <nnf_gemv_qs16_q8_rows_fn>multiply.fn
        self.p.gate = <nnf_lstm_gate_qs16_flat_fn>gate.fn
        self.p.batch, self.p.inputs, self.p.outputs, self.p.units = sizes
        self.p.in_zero, self.p.out_zero, self.p.weight_zero = zero_points
        self.p.is_signed, self.p.has_bias, self.p.combined = is_signed, has_bias, out_scales is None
        self.p.gates = len(in_scales)
        for g in range(self.p.gates):
            set_fixed(&self.p.in_scale[g], in_scales[g])
            if out_scales is not None:
                set_fixed(&self.p.out_scale[g], out_scales[g])
        self.p.tiles = <size_t>self.p.gates * tiles_of(self.p.units)
        self.work = self.p.batch * self.p.gates * self.p.units * (self.p.inputs + self.p.outputs)
        self.scratch = 2 * self.p.batch * (self.p.inputs + self.p.outputs)
        self.tiles = threads_for(self.work, self.p.tiles)
        self.part = PART_PRODUCTS
        self.bind(run_gates_q8, &self.p, slots, f"{multiply.name.decode()} + {gate.name.decode()}")


# -- cells -------------------------------------------------------------------------------------------------------------
cdef struct cells_q8:
    nnf_lstm_peephole_qs16_flat_fn see
    nnf_lstm_norm_qs16_rows_fn normalise
    nnf_lstm_update_qs16_flat_fn update
    nnf_lstm_hidden_qs16_flat_fn finish
    size_t batch, units
    int gates, k, lo, hi, zero_point
    # Places among the slots, or -1.
    int peephole[4]
    int norm[4]
    int bias[4]
    int copy
    nnf_fixed seen[4]
    nnf_fixed normal[4]
    nnf_fixed hidden


cdef void prepare_gate(const cells_q8 *p, const nnf_step *step, const nnf_run *run, int g, const int16_t *cell,
                       int16_t *words, size_t begin, size_t count) noexcept nogil:
    if p.peephole[g] >= 0:
        p.see(count, words_at(step, run, p.peephole[g], begin), cell, p.seen[g], words)
    if p.norm[g] >= 0:
        p.normalise(count, words_at(step, run, p.norm[g], 0), <const int32_t *>slot_at(step, run, p.bias[g]),
                    p.normal[g],
                    words)


cdef void run_cells_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const cells_q8 *p = <const cells_q8 *>step.params
    cdef size_t first = 0, last = p.batch, begin = 0, end = p.units, b, start, count
    cdef int16_t *words
    cdef const int16_t *c_in
    cdef int16_t *c_out
    cdef int8_t *y
    cdef int g, forget = p.gates - 3
    cdef nnf_lstm_update u
    if p.norm[0] >= 0:
        nnf_share(p.batch, thread, threads, &first, &last)
    else:
        nnf_share(p.units, thread, threads, &begin, &end)
    count = end - begin
    if count == 0:
        return
    u.k, u.lo, u.hi = p.k, p.lo, p.hi
    for b in range(first, last):
        start = b * p.units + begin
        words = <int16_t *>slot_at(step, run, 0) + b * <size_t>p.gates * p.units + begin
        c_in = <const int16_t *>slot_at(step, run, 1) + start
        c_out = <int16_t *>slot_at(step, run, 2) + start
        y = <int8_t *>slot_at(step, run, 3) + start
        for g in range(forget + 2):
            prepare_gate(p, step, run, g, c_in, words + <size_t>g * p.units, begin, count)
        u.enter = words if forget else NULL
        u.forget = words + <size_t>forget * p.units
        u.candidate = words + <size_t>(forget + 1) * p.units
        u.c_in, u.c_out = c_in, c_out
        p.update(count, &u)
        words += <size_t>(forget + 2) * p.units
        prepare_gate(p, step, run, forget + 2, c_out, words, begin, count)
        p.finish(count, words, c_out, p.k, p.hidden, p.zero_point, y)
        if p.copy >= 0:
            memcpy(<int8_t *>slot_at(step, run, p.copy) + start, y, count)


cdef class CellsQ8(Step):
    """The cells of QUANTIZED_LSTM behind their gate words: state and hidden codes.

    slots: by name: words, cell_in, cell_out, hidden; perhaps copy, for the hidden codes once more; of each gate of
    `gates` perhaps g_peephole, and both g_norm and g_bias or neither. sizes: batch, units.
    k: exponent of the state's scale; clip: (low, high) of the state; zero_point: of the hidden codes.
    scales: {("peephole" or "normal", gate) or "hidden": (multiplier, exponent)}.
    """

    cdef cells_q8 p

    def __init__(self, dict slots, gates, sizes, int k, clip, int zero_point, scales):
        cdef const nnf_kernel *update = pick("lstm_update_qs16_flat")
        cdef const nnf_kernel *finish = pick("lstm_hidden_qs16_flat")
        cdef const nnf_kernel *normalise = pick("lstm_norm_qs16_rows")
        cdef int g
        places = {name: place for place, name in enumerate(slots)}
        if list(slots)[:4] != ["words", "cell_in", "cell_out", "hidden"]:
            raise ValueError("slots must begin with words, cell_in, cell_out, hidden")
        self.p.see = <nnf_lstm_peephole_qs16_flat_fn>pick("lstm_peephole_qs16_flat").fn
        self.p.normalise = <nnf_lstm_norm_qs16_rows_fn>normalise.fn
        self.p.update = <nnf_lstm_update_qs16_flat_fn>update.fn
        self.p.finish = <nnf_lstm_hidden_qs16_flat_fn>finish.fn
        self.p.gates, self.p.k, self.p.zero_point = len(gates), k, zero_point
        self.p.batch, self.p.units = sizes
        self.p.lo, self.p.hi = clip
        self.p.copy = places.get("copy", -1)
        for g in range(self.p.gates):
            self.p.peephole[g], self.p.norm[g], self.p.bias[g] = (
                places.get(f"{gates[g]}_{what}", -1) for what in ("peephole", "norm", "bias"))
            set_fixed(&self.p.seen[g], scales.get(("peephole", gates[g]), (0, 0)))
            set_fixed(&self.p.normal[g], scales.get(("normal", gates[g]), (0, 0)))
        set_fixed(&self.p.hidden, scales["hidden"])
        names = [normalise.name.decode(), update.name.decode(), finish.name.decode()]
        self.work = self.p.batch * self.p.units * self.p.gates
        self.tiles = threads_for(64 * self.work, self.p.batch if self.p.norm[0] >= 0 else tiles_of(self.p.units))
        self.part = PART_PRODUCTS
        self.bind(run_cells_q8, &self.p, slots.values(), " + ".join(names[self.p.norm[0] < 0:]))


cdef struct cells_16:
    nnf_lstm_cell_qs16_flat_fn kernel
    size_t batch, units


cdef void run_cells_16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const cells_16 *p = <const cells_16 *>step.params
    cdef size_t begin, end, b, start
    cdef const int16_t *words
    cdef nnf_lstm_cell16 c
    nnf_share(p.units, thread, threads, &begin, &end)
    for b in range(p.batch):
        start = b * p.units + begin
        words = <const int16_t *>slot_at(step, run, 0) + 4 * b * p.units + begin
        c.enter, c.forget = words, words + p.units
        c.candidate, c.leave = words + 2 * p.units, words + 3 * p.units
        c.c_in = <const int16_t *>slot_at(step, run, 1) + start
        c.c_out = <int16_t *>slot_at(step, run, 2) + start
        c.y = <uint8_t *>slot_at(step, run, 3) + start
        p.kernel(end - begin, &c)


cdef class Cells16(Step):
    """The cells of QUANTIZED_16BIT_LSTM behind their gate words; slots: words, state in, state out, output."""

    cdef cells_16 p

    def __init__(self, slots, size_t batch, size_t units):
        cdef const nnf_kernel *row = pick("lstm_cell_qs16_flat")
        self.p.kernel = <nnf_lstm_cell_qs16_flat_fn>row.fn
        self.p.batch, self.p.units = batch, units
        self.work = 4 * batch * units
        self.tiles = threads_for(64 * self.work, tiles_of(units))
        self.part = PART_PRODUCTS
        self.bind(run_cells_16, &self.p, slots, row.name.decode())


# -- projection --------------------------------------------------------------------------------------------------------
cdef struct projection_q8:
    nnf_gemv_qs16_q8_rows_fn multiply
    size_t batch, units, outputs, tiles
    int hidden_zero, zero_point, lo, hi
    bint has_bias
    nnf_fixed scale


cdef void run_projection_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const projection_q8 *p = <const projection_q8 *>step.params
    cdef const int8_t *hidden = <const int8_t *>slot_at(step, run, 0)
    cdef const int8_t *weights = <const int8_t *>slot_at(step, run, 1)
    cdef int8_t *y = <int8_t *>slot_at(step, run, 2)
    cdef int8_t *copy = <int8_t *>slot_at(step, run, 3)
    cdef const int32_t *bias = <const int32_t *>slot_at(step, run, 4) if p.has_bias else NULL
    cdef int16_t *data = <int16_t *>(run.scratch + <size_t>thread * run.scratch_stride)
    cdef int32_t sums[Q8_TILE]
    cdef size_t i, b, j, row, count, begin, end
    nnf_share(p.tiles, thread, threads, &begin, &end)
    for b in range(p.batch):
        if begin < end:
            centre(p.units, hidden + b * p.units, True, -p.hidden_zero, data)
        for i in range(begin, end):
            row = i * Q8_TILE
            count = min(<size_t>Q8_TILE, p.outputs - row)
            for j in range(count):
                sums[j] = bias[row + j] if bias != NULL else 0
            p.multiply(count, p.units, data, weights + row * p.units, sums)
            for j in range(count):
                # Words saturate far outside of the codes.
                sums[j] = nnf_clamp_s32(nnf_mbqm(sums[j], p.scale.multiplier, p.scale.exponent), -32768, 32767)
                y[b * p.outputs + row + j] = <int8_t>nnf_clamp_s32(sums[j] + p.zero_point, p.lo, p.hi)
            memcpy(copy + b * p.outputs + row, y + b * p.outputs + row, count)


cdef class ProjectionQ8(Step):
    """Output codes of QUANTIZED_LSTM from the hidden ones.

    slots: hidden [batch, units], weights [outputs, units], output and the same once more; int32 bias if there is one.
    sizes: batch, units, outputs; zero_points: of hidden codes and output; scale: (multiplier, exponent); clip: (low,
    high) of the output.
    """

    cdef projection_q8 p

    def __init__(self, slots, sizes, zero_points, scale, clip):
        cdef const nnf_kernel *row = pick("gemv_qs16_qs8_rows")
        self.p.multiply = <nnf_gemv_qs16_q8_rows_fn>row.fn
        self.p.batch, self.p.units, self.p.outputs = sizes
        self.p.hidden_zero, self.p.zero_point = zero_points
        self.p.lo, self.p.hi = clip
        self.p.has_bias = len(slots) == 5
        set_fixed(&self.p.scale, scale)
        self.p.tiles = tiles_of(self.p.outputs)
        self.work = self.p.batch * self.p.units * self.p.outputs
        self.scratch = 2 * self.p.units
        self.tiles = threads_for(self.work, self.p.tiles)
        self.part = PART_PRODUCTS
        self.bind(run_projection_q8, &self.p, slots, row.name.decode())
