"""Steps of LSTM layers in float32 whose weights stay as they lie: gate sums, cells of whole rows, projection.

For layer norm, which needs all units of a batch row, and for weights that only execution knows.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef enum:
    ROWS_TILE = 32       # rows of a matrix, or units, that one thread takes at a time
    SUMS = 1
    ROWS_CELLS = 2
    ROWS_PROJECTION = 4

ROWS_PARTS = {"sums": SUMS, "cells": ROWS_CELLS, "projection": ROWS_PROJECTION}

# Slots of every layer; those of its parameters follow.
FIXED = ("input", "state_in", "cell_in", "cell_out", "output", "sums")


cdef struct lstm_rows:
    nnf_gemv_f32_rows_fn multiply
    nnf_lstm_f32_rows_fn cell
    nnf_lstm_form form
    nnf_walk walk
    size_t units, inputs, outputs, tiles, panels, first, last
    int parts
    bint summed, alone, normal
    # Places among the slots, or -1.
    int from_input[4]
    int from_output[4]
    int bias[4]
    int peephole[4]
    int norm[4]
    int hidden, project, project_bias, state_out, cleared
    size_t clear_count
    float lo, hi


cdef inline float *floats_at(const nnf_step *step, const nnf_run *run, int place) noexcept nogil:
    return <float *>run.slot[step.slots[place]] if place >= 0 else NULL


cdef inline const float *part(const nnf_step *step, const nnf_run *run, int place, size_t start) noexcept nogil:
    return floats_at(step, run, place) + start if place >= 0 else NULL


cdef void do_sums(const lstm_rows *p, const nnf_step *step, const nnf_run *run, size_t t, size_t begin,
                  size_t end) noexcept nogil:
    cdef const float *x = floats_at(step, run, 0)
    cdef const float *state = floats_at(step, run, 1)
    cdef float *y = floats_at(step, run, 4)
    cdef float *sums = floats_at(step, run, 5)
    cdef nnf_gemv_f32_matrix m
    cdef size_t i, b, row, gate, gates = <size_t>p.form.gates, each = (p.units + ROWS_TILE - 1) // ROWS_TILE
    m.k0, m.k1 = 0 if p.summed else p.inputs, p.outputs
    m.w0 = m.start = NULL
    m.lo, m.hi = -INFINITY, INFINITY
    for i in range(begin, end):
        gate, row = i // each, i % each * ROWS_TILE
        m.rows = min(<size_t>ROWS_TILE, p.units - row)
        m.w1 = floats_at(step, run, p.from_output[gate]) + row * p.outputs
        if not p.summed:
            m.w0 = floats_at(step, run, p.from_input[gate]) + row * p.inputs
        for b in range(p.walk.batch):
            m.x0 = input_at(&p.walk, x, t, b)
            if p.summed:
                m.start = m.x0 + gate * p.units + row
            m.x1 = <const float *>output_at(&p.walk, y, t - 1, b) if t else state + b * p.outputs
            m.y = sums + (b * gates + gate) * p.units + row
            p.multiply(&m)


cdef void do_rows_cells(const lstm_rows *p, const nnf_step *step, const nnf_run *run, size_t t, size_t first_row,
                        size_t last_row, size_t begin, size_t end) noexcept nogil:
    cdef const float *c_in = floats_at(step, run, 3 if t else 2)
    cdef float *c_out = floats_at(step, run, 3)
    cdef float *kept = floats_at(step, run, p.state_out) if p.hidden < 0 and t + 1 == p.walk.times else NULL
    cdef size_t b, gates = <size_t>p.form.gates
    cdef nnf_lstm_row row
    cdef int g
    row.stride, row.units = p.units, end - begin
    if row.units == 0:
        return
    for g in range(p.form.gates):
        row.bias[g] = part(step, run, p.bias[g], begin)
        row.peephole[g] = part(step, run, p.peephole[g], begin)
        row.normal[g] = part(step, run, p.norm[g], begin)
    for b in range(first_row, last_row):
        row.sums = floats_at(step, run, 5) + b * gates * p.units + begin
        row.c_in = c_in + b * p.units + begin
        row.c_out = c_out + b * p.units + begin
        row.y = floats_at(step, run, p.hidden) + b * p.units if p.hidden >= 0 else \
            output_at(&p.walk, floats_at(step, run, 4), t, b)
        row.y += begin
        p.cell(&p.form, &row)
        if kept != NULL:
            memcpy(kept + b * p.units + begin, row.y, row.units * sizeof(float))


cdef void do_rows_projection(const lstm_rows *p, const nnf_step *step, const nnf_run *run, size_t t, size_t begin,
                             size_t end) noexcept nogil:
    cdef float *kept = floats_at(step, run, p.state_out) if t + 1 == p.walk.times else NULL
    cdef nnf_gemv_f32_matrix m
    cdef size_t i, b
    m.k0, m.k1, m.lo, m.hi = p.units, 0, p.lo, p.hi
    m.w1 = m.x1 = NULL
    for i in range(begin, end):
        m.w0 = part(step, run, p.project, i * ROWS_TILE * p.units)
        m.start = part(step, run, p.project_bias, i * ROWS_TILE)
        m.rows = min(<size_t>ROWS_TILE, p.outputs - i * ROWS_TILE)
        for b in range(p.walk.batch):
            m.x0 = floats_at(step, run, p.hidden) + b * p.units
            m.y = output_at(&p.walk, floats_at(step, run, 4), t, b) + i * ROWS_TILE
            p.multiply(&m)
            if kept != NULL:
                memcpy(kept + b * p.outputs + i * ROWS_TILE, m.y, m.rows * sizeof(float))


cdef void run_lstm_rows(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const lstm_rows *p = <const lstm_rows *>step.params
    cdef size_t t, begin, end
    if p.alone:
        if thread:
            return
        threads = 1
    if p.cleared >= 0 and thread == 0:
        memset(floats_at(step, run, p.cleared), 0, p.clear_count * sizeof(float))
    for t in range(p.first, p.last):
        if p.parts & SUMS:
            nnf_share(p.tiles, thread, threads, &begin, &end)
            do_sums(p, step, run, t, begin, end)
        if p.parts & ROWS_CELLS:
            if p.normal:
                nnf_share(p.walk.batch, thread, threads, &begin, &end)
                do_rows_cells(p, step, run, t, begin, end, 0, p.units)
            else:
                nnf_share(p.units, thread, threads, &begin, &end)
                do_rows_cells(p, step, run, t, 0, p.walk.batch, begin, end)
        if p.parts & ROWS_PROJECTION:
            nnf_share(p.panels, thread, threads, &begin, &end)
            do_rows_projection(p, step, run, t, begin, end)


cdef class LstmRowsF32(Step):
    """The steps `span` of an LSTM layer in float32 that goes a walk, or one part of them.

    slots: by name: input, state_in, cell_in, cell_out, output, sums [batch, gates, units] (a temporary); of each gate
    of `gates` g_bias and, where there are any, g_input, g_output (weights of the input and the previous output),
    g_peephole, g_norm; with a projection hidden [batch, units] (a temporary), project, perhaps project_bias; perhaps
    state_out, for the last output, and cleared, a buffer of `clear_count` floats to fill with zeros.
    parts: of "sums", "cells", "projection"; sizes: units, inputs, outputs; inputs is 0 when the input slot holds the
    input's share of the gate sums, [gates, units].
    activation (0, 1, 2, 3, 4, 6), cell_clip, clamp of the projection: as in the standard.
    alone: one thread does all of the span; otherwise the span is one time and the step one part.
    """

    cdef lstm_rows p

    def __init__(self, dict slots, gates, parts, Walk walk, sizes, span, bint alone, int activation, float cell_clip,
                 clamp, size_t clear_count=0):
        cdef const nnf_kernel *multiply = pick("gemv_f32_rows")
        cdef const nnf_kernel *cell = pick("lstm_f32_rows")
        cdef size_t rounds
        cdef int g
        places = {name: place for place, name in enumerate(slots)}
        if tuple(slots)[:len(FIXED)] != FIXED:
            raise ValueError(f"slots must begin with {', '.join(FIXED)}")
        self.p.multiply = <nnf_gemv_f32_rows_fn>multiply.fn
        self.p.cell = <nnf_lstm_f32_rows_fn>cell.fn
        self.p.form.gates = len(gates)
        self.p.form.activation = activation
        self.p.form.clip = cell_clip
        self.p.walk = walk.c
        self.p.units, self.p.inputs, self.p.outputs = sizes
        self.p.first, self.p.last = span
        for g in range(len(gates)):
            gate = gates[g]
            self.p.from_input[g], self.p.from_output[g], self.p.bias[g], self.p.peephole[g], self.p.norm[g] = (
                places.get(f"{gate}_{what}", -1) for what in ("input", "output", "bias", "peephole", "norm"))
        self.p.hidden, self.p.project, self.p.project_bias, self.p.state_out, self.p.cleared = (
            places.get(name, -1) for name in ("hidden", "project", "project_bias", "state_out", "cleared"))
        self.p.clear_count = clear_count
        self.p.summed = self.p.inputs == 0
        self.p.normal = self.p.norm[0] >= 0
        self.p.alone = alone
        self.p.lo, self.p.hi = clamp
        self.p.tiles = len(gates) * ((self.p.units + ROWS_TILE - 1) // ROWS_TILE)
        self.p.panels = (self.p.outputs + ROWS_TILE - 1) // ROWS_TILE
        for name in parts:
            self.p.parts |= ROWS_PARTS[name]
        if (self.p.last > self.p.first + 1 or len(parts) > 1) and not alone:
            raise ValueError("several times or parts need the step to be alone")
        names, rounds = [], (self.p.last - self.p.first) * walk.c.batch
        if self.p.parts & SUMS:
            names.append(multiply.name.decode())
            self.work += rounds * self.p.units * len(gates) * (self.p.inputs + self.p.outputs)
            self.tiles = <int>self.p.tiles
        if self.p.parts & ROWS_CELLS:
            names.append(cell.name.decode())
            self.tiles = max(self.tiles, <int>(walk.c.batch if self.p.normal else
                                               (self.p.units + ROWS_TILE - 1) // ROWS_TILE))
        if self.p.parts & ROWS_PROJECTION:
            names.append(multiply.name.decode())
            self.work += rounds * self.p.units * self.p.outputs
            self.tiles = max(self.tiles, <int>self.p.panels)
        if alone:
            self.tiles = 1
        self.part = PART_PRODUCTS
        self.bind(run_lstm_rows, &self.p, slots.values(), " + ".join(dict.fromkeys(names)))
