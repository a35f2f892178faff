"""The step of LSTM layers of float32 tensors with int8 weights: rows are quantized, products are those of integers."""

from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t
from libc.string cimport memcpy, memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_step

cdef extern from "quantize/quantize.h":
    ctypedef struct nnf_row_codes:
        float step
        int32_t zero

    ctypedef void (*nnf_quantize_row_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, bint is_asymmetric,
                                                      nnf_row_codes *row) noexcept nogil

cdef enum:
    HYBRID_ALIGN = 64


# A row of floats as codes less their zero point.
ctypedef struct hybrid_row:
    int16_t *words
    float step
    size_t n


ctypedef struct hybrid_gate:
    int from_input, from_output, bias, peephole, norm   # places among the slots, or -1
    float input_scale, output_scale


cdef struct lstm_hybrid:
    nnf_quantize_row_f32_qu8_flat_fn quantize
    nnf_gemv_qs16_q8_rows_fn multiply
    nnf_lstm_f32_rows_fn cell
    nnf_lstm_form form
    nnf_walk walk
    hybrid_gate gate[4]
    size_t units, inputs, outputs
    bint is_asymmetric, projects
    int project, project_bias
    float project_scale, lo, hi
    size_t words, hidden_words, codes, products, sums, hidden     # where they lie in the scratch


cdef void quantize_row(const lstm_hybrid *p, const float *x, size_t n, uint8_t *codes, hybrid_row *row) noexcept nogil:
    cdef nnf_row_codes made
    cdef size_t i
    p.quantize(n, x, codes, p.is_asymmetric, &made)
    for i in range(n):
        row.words[i] = <int16_t>(<int32_t>codes[i] - made.zero)
    row.step, row.n = made.step, n


# y[j] = (or with `more` +=) the row times row j of a matrix of codes.
cdef void multiply_row(const lstm_hybrid *p, const hybrid_row *row, const int8_t *weights, float scale, size_t units,
                       int32_t *products, float *y, bint more) noexcept nogil:
    cdef float both = row.step * scale
    cdef size_t j
    memset(products, 0, units * sizeof(int32_t))
    p.multiply(units, row.n, row.words, weights, products)
    for j in range(units):
        y[j] = <float>products[j] * both + (y[j] if more else 0)


cdef void run_lstm_hybrid(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const lstm_hybrid *p = <const lstm_hybrid *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *state = <const float *>run.slot[step.slots[1]]
    cdef const float *c_in = <const float *>run.slot[step.slots[2]]
    cdef float *y = <float *>run.slot[step.slots[3]]
    cdef float *state_out = <float *>run.slot[step.slots[4]]
    cdef float *c_out = <float *>run.slot[step.slots[5]]
    cdef uint8_t *scratch = run.scratch + <size_t>thread * run.scratch_stride
    cdef float *sums = <float *>(scratch + p.sums)
    cdef float *hidden = <float *>(scratch + p.hidden)
    cdef int32_t *products = <int32_t *>(scratch + p.products)
    cdef uint8_t *codes = scratch + p.codes
    cdef const hybrid_gate *gate
    cdef const float *bias
    cdef const float *before
    cdef float *output
    cdef hybrid_row data, again
    cdef nnf_lstm_row row
    cdef size_t t, b, j
    cdef int g
    if thread:
        return
    data.words = <int16_t *>(scratch + p.words)
    again.words = <int16_t *>(scratch + p.hidden_words)
    row.sums, row.stride, row.units = sums, p.units, p.units
    for g in range(p.form.gates):
        gate = &p.gate[g]
        row.bias[g] = floats_at(step, run, gate.bias)
        row.peephole[g] = floats_at(step, run, gate.peephole)
        row.normal[g] = floats_at(step, run, gate.norm)
    for t in range(p.walk.times):
        for b in range(p.walk.batch):
            before = <const float *>output_at(&p.walk, y, t - 1, b) if t else state + b * p.outputs
            output = output_at(&p.walk, y, t, b)
            quantize_row(p, input_at(&p.walk, x, t, b), p.inputs, codes, &data)
            quantize_row(p, before, p.outputs, codes, &again)
            for g in range(p.form.gates):
                gate = &p.gate[g]
                multiply_row(p, &data, <const int8_t *>run.slot[step.slots[gate.from_input]], gate.input_scale, p.units,
                             products, sums + g * p.units, False)
                multiply_row(p, &again, <const int8_t *>run.slot[step.slots[gate.from_output]], gate.output_scale,
                             p.units, products, sums + g * p.units, True)
            row.c_in = (<const float *>c_out if t else c_in) + b * p.units
            row.c_out = c_out + b * p.units
            row.y = hidden if p.projects else output
            p.cell(&p.form, &row)
            if p.projects:
                quantize_row(p, hidden, p.units, codes, &again)
                multiply_row(p, &again, <const int8_t *>run.slot[step.slots[p.project]], p.project_scale, p.outputs,
                             products, output, False)
                bias = floats_at(step, run, p.project_bias)
                for j in range(p.outputs):
                    output[j] = min(max(output[j] + (bias[j] if bias != NULL else 0), p.lo), p.hi)
            if t + 1 == p.walk.times:
                memcpy(state_out + b * p.outputs, output, p.outputs * sizeof(float))


cdef class LstmHybrid(Step):
    """An LSTM layer of float32 tensors with int8 weights, as LiteRT computes it; one thread takes all of it.

    slots: input, state in, cell state in, y, state out, cell state out. gates: of each, in the order of nnf_lstm_form,
    (weights of the input, their scale, weights of the output, their scale, bias, peephole weights, layer norm), int8
    [units, inputs] and [units, outputs], float32 [units]; projection: None, or (weights, scale, bias), int8 [outputs,
    units], float32 [outputs]. All are slots, None where there is none. sizes: units, inputs, outputs; activation,
    cell_clip, clamp: as LstmF32.
    """

    cdef lstm_hybrid p

    def __init__(self, slots, gates, projection, Walk walk, sizes, bint is_asymmetric, int activation, float cell_clip,
                 clamp):
        cdef const nnf_kernel *multiply = pick("gemv_qs16_qs8_rows")
        cdef const nnf_kernel *cell = pick("lstm_f32_rows")
        cdef size_t longest, at = 0
        cdef hybrid_gate *gate
        cdef int g
        self.p.quantize = <nnf_quantize_row_f32_qu8_flat_fn>pick("quantize_row_f32_qu8_flat").fn
        self.p.multiply = <nnf_gemv_qs16_q8_rows_fn>multiply.fn
        self.p.cell = <nnf_lstm_f32_rows_fn>cell.fn
        self.p.walk = walk.c
        self.p.units, self.p.inputs, self.p.outputs = sizes
        self.p.is_asymmetric = is_asymmetric
        self.p.form.gates, self.p.form.activation, self.p.form.clip = len(gates), activation, cell_clip
        if min(sizes) < 1 or not 3 <= len(gates) <= 4:
            raise ValueError("there must be units, inputs, outputs, and three gates or four")
        places = list(slots)

        def place(slot):
            if slot is None:
                return -1
            places.append(slot)
            return len(places) - 1

        for g in range(len(gates)):
            gate = &self.p.gate[g]
            from_input, gate.input_scale, from_output, gate.output_scale, bias, peephole, norm = gates[g]
            gate.from_input, gate.from_output, gate.bias = place(from_input), place(from_output), place(bias)
            gate.peephole, gate.norm = place(peephole), place(norm)
            self.p.form.peephole = self.p.form.peephole or peephole is not None
        self.p.projects = projection is not None
        if self.p.projects:
            weights, self.p.project_scale, bias = projection
            self.p.project, self.p.project_bias = place(weights), place(bias)
        elif self.p.units != self.p.outputs:
            raise ValueError("outputs must be the units without a projection")
        self.p.lo, self.p.hi = clamp
        longest = max(self.p.units, self.p.inputs, self.p.outputs)
        offsets = []
        for size in (2 * self.p.inputs, 2 * longest, longest, 4 * longest, 4 * self.p.form.gates * self.p.units,
                     4 * self.p.units):
            offsets.append(at)
            at += (size + HYBRID_ALIGN - 1) // HYBRID_ALIGN * HYBRID_ALIGN
        self.p.words, self.p.hidden_words, self.p.codes, self.p.products, self.p.sums, self.p.hidden = offsets
        self.scratch = at
        self.work = <double>walk.c.times * walk.c.batch * self.p.units * (
            self.p.form.gates * (self.p.inputs + self.p.outputs) + (self.p.outputs if self.p.projects else 0))
        self.tiles = 1
        self.part = PART_PRODUCTS
        self.bind(run_lstm_hybrid, &self.p, places, f"{multiply.name.decode()} + {cell.name.decode()}")
