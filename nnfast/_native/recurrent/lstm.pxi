"""Steps of LSTM layers in float32: cells in tiles of 16 units (csrc/kernels/lstm/lstm.h), then the projection."""

from libc.string cimport memcpy, memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

from .engine import aligned_bytes

cdef extern from "lstm/lstm.h":
    enum:
        NNF_LSTM_N

    ctypedef struct nnf_lstm_form:
        int gates
        int peephole
        int activation
        float clip

    ctypedef struct nnf_lstm_tile:
        const float *packed
        const float *start
        const float *x
        const float *h
        const float *c_in
        size_t k_x
        size_t k_h
        size_t units
        float *c_out
        float *y

    ctypedef struct nnf_lstm_row:
        float *sums
        size_t stride
        size_t units
        const float *bias[4]
        const float *peephole[4]
        const float *normal[4]
        const float *c_in
        float *c_out
        float *y

    ctypedef void (*nnf_lstm_f32_tile_fn)(const nnf_lstm_form *form, const nnf_lstm_tile *tile) noexcept nogil
    ctypedef void (*nnf_lstm_f32_rows_fn)(const nnf_lstm_form *form, const nnf_lstm_row *row) noexcept nogil

cdef enum:
    CELLS = 1
    PROJECTION = 2

LSTM_PARTS = {"cells": CELLS, "projection": PROJECTION, "both": CELLS | PROJECTION}


def interleave(gates):
    """Rows [gate][units, ...] of all gates in the order of the tiles, [tiles, gates, 16, ...]; zeros fill the last."""
    units, rest = gates[0].shape[0], gates[0].shape[1:]
    tiles = -(-units // NNF_LSTM_N)
    result = np.zeros((tiles * NNF_LSTM_N, len(gates), *rest), np.float32)
    for place, gate in enumerate(gates):
        result[:units, place] = gate
    return result.reshape(tiles, NNF_LSTM_N, len(gates), *rest).swapaxes(1, 2)


def interleaved_rows(units, gates):
    """Rows of what interleave returns, as one matrix."""
    return -(-units // NNF_LSTM_N) * NNF_LSTM_N * gates


def pack_lstm_f32(weights, bias, peephole=(), half=False):
    """Tiles of a layer, each its bias, peephole weights and weights [inputs, gates, 16]; float32 array.

    weights: matrices [units, inputs] that lie side by side, of each gate; bias: [units] of each gate; peephole: [units]
    of the gates but the cell's. half: the weights are stored as halves, two to a float.
    """
    head = [interleave(bias)]
    if peephole:
        head.append(interleave(peephole))
    tiles = head[0].shape[0]
    at = 0
    for part in head:
        at += part.shape[1] * NNF_LSTM_N
    units, inputs = len(bias[0]), 0
    shapes = tuple(map(np.shape, weights[0]))
    for shape in shapes:
        if len(shape) != 2 or shape[0] != units:
            raise ValueError(f"pack_lstm_f32: each gate must have matrices [{units}, inputs], has one {shape}")
        inputs += shape[1]
    for sides in weights:
        if tuple(map(np.shape, sides)) != shapes:
            raise ValueError(f"pack_lstm_f32: each gate must have matrices [{units}, inputs] of the same shapes")
    count = len(weights) * NNF_LSTM_N * inputs
    size = tile_floats(at + (count // 2 if half else count))
    packed = aligned_bytes(4 * tiles * size).view(np.float32).reshape(tiles, size)
    place = 0
    for part in head:
        packed[:, place:place + part.shape[1] * NNF_LSTM_N] = part.reshape(tiles, -1)
        place += part.shape[1] * NNF_LSTM_N
    if half:
        matrix = np.empty((tiles, count), np.float32)
        fill_tiles(matrix, 0, weights)
        packed[:, at:at + count // 2] = matrix.astype(np.float16).view(np.float32)
        packed[:, at + count // 2:] = 0
    else:
        fill_tiles(packed, at, weights)
        packed[:, at + count:] = 0
    return packed


cdef int fill_tiles(float[:, ::1] packed, size_t at, weights) except -1:
    """Write weights [inputs, gates, 16] into each tile, from `at` floats on; zeros fill the last."""
    cdef const float[:, ::1] matrix
    cdef size_t gates = len(weights), gate, done, inputs
    for gate in range(gates):
        done = 0
        for found in weights[gate]:
            matrix = np.ascontiguousarray(found, np.float32)
            inputs = matrix.shape[1]
            if inputs and matrix.shape[0]:
                with nogil:
                    fill_gate(&packed[0, at + (done * gates + gate) * NNF_LSTM_N], packed.shape[1],
                              gates * NNF_LSTM_N, &matrix[0, 0], matrix.shape[0], inputs)
            done += inputs
    return 0


cdef void fill_gate(float *to, size_t tile_size, size_t line, const float *rows, size_t units,
                    size_t inputs) noexcept nogil:
    """A gate of all tiles, in blocks of 16 inputs, whose lines stay near."""
    cdef size_t number, first, unit, count, start, end, k
    cdef float *tile
    cdef const float *row
    for number in range((units + NNF_LSTM_N - 1) // NNF_LSTM_N):
        first = number * NNF_LSTM_N
        count = min(<size_t>NNF_LSTM_N, units - first)
        tile = to + number * tile_size
        for start in range(0, inputs, 16):
            end = min(start + 16, inputs)
            for unit in range(count):
                row = rows + (first + unit) * inputs
                for k in range(start, end):
                    tile[k * line + unit] = row[k]
            for unit in range(count, NNF_LSTM_N):
                for k in range(start, end):
                    tile[k * line + unit] = 0


def packed_bytes_lstm(units, gates, peepholes, inputs, half=False):
    """Size of what pack_lstm_f32 returns, for so many gates and of them so many with peephole weights."""
    floats = NNF_LSTM_N * (gates + peepholes) + NNF_LSTM_N * gates * inputs // (2 if half else 1)
    return 4 * -(-units // NNF_LSTM_N) * tile_floats(floats)


def tile_floats(count):
    """Floats from one tile of `count` floats to the next, which is aligned as the first."""
    return -(-count // NNF_LSTM_N) * NNF_LSTM_N


cdef struct lstm_f32:
    nnf_lstm_f32_tile_fn cell
    nnf_gemv_f32_tile_fn project
    nnf_lstm_form form
    nnf_walk walk
    size_t units, inputs, outputs, tiles, panels, tile_size, first, last
    int parts
    bint summed, alone, projects
    int state_out, cleared      # places among the slots, or -1
    size_t clear_count
    float lo, hi


cdef void do_cells(const lstm_f32 *p, const nnf_step *step, const nnf_run *run, size_t t, size_t begin,
                   size_t end) noexcept nogil:
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *state = <const float *>run.slot[step.slots[1]]
    cdef const float *c_in = <const float *>run.slot[step.slots[2]]
    cdef float *c_out = <float *>run.slot[step.slots[3]]
    cdef float *y = <float *>run.slot[step.slots[4]]
    cdef const float *packed = <const float *>run.slot[step.slots[5]]
    cdef float *hidden = <float *>run.slot[step.slots[6]] if p.projects else NULL
    cdef float *kept = <float *>run.slot[step.slots[p.state_out]] if p.state_out >= 0 and not p.projects else NULL
    cdef nnf_lstm_tile tile
    cdef const float *source
    cdef size_t i, b, at
    tile.k_x, tile.k_h = p.inputs, p.outputs
    for i in range(begin, end):
        tile.packed = packed + i * p.tile_size
        tile.units = min(NNF_LSTM_N, p.units - i * NNF_LSTM_N)
        for b in range(p.walk.batch):
            at = b * p.units + i * NNF_LSTM_N
            source = input_at(&p.walk, x, t, b)
            tile.start = source + i * <size_t>p.form.gates * NNF_LSTM_N if p.summed else NULL
            tile.x = source
            tile.h = <const float *>output_at(&p.walk, y, t - 1, b) if t else state + b * p.outputs
            tile.c_in = (<const float *>c_out if t else c_in) + at
            tile.c_out = c_out + at
            tile.y = hidden + at if p.projects else output_at(&p.walk, y, t, b) + i * NNF_LSTM_N
            p.cell(&p.form, &tile)
            if kept != NULL and t + 1 == p.walk.times:
                memcpy(kept + at, tile.y, tile.units * sizeof(float))


cdef void do_projection(const lstm_f32 *p, const nnf_step *step, const nnf_run *run, size_t t, size_t begin,
                        size_t end) noexcept nogil:
    cdef float *y = <float *>run.slot[step.slots[4]]
    cdef const float *hidden = <const float *>run.slot[step.slots[6]]
    cdef const float *packed = <const float *>run.slot[step.slots[7]]
    cdef float *kept = <float *>run.slot[step.slots[p.state_out]] if p.state_out >= 0 else NULL
    cdef nnf_gemv_f32_panel panel
    cdef size_t i, b
    panel.start = panel.x1 = NULL
    panel.k0, panel.k1, panel.lo, panel.hi = p.units, 0, p.lo, p.hi
    for i in range(begin, end):
        panel.packed = packed + i * (1 + p.units) * NNF_GEMV_N
        panel.columns = min(NNF_GEMV_N, p.outputs - i * NNF_GEMV_N)
        for b in range(p.walk.batch):
            panel.x0 = hidden + b * p.units
            panel.y = output_at(&p.walk, y, t, b) + i * NNF_GEMV_N
            p.project(&panel)
            if kept != NULL and t + 1 == p.walk.times:
                memcpy(kept + b * p.outputs + i * NNF_GEMV_N, panel.y, panel.columns * sizeof(float))


cdef void run_lstm_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const lstm_f32 *p = <const lstm_f32 *>step.params
    cdef size_t t, begin, end
    if p.alone:
        if thread:
            return
        threads = 1
    if p.cleared >= 0 and thread == 0:
        memset(run.slot[step.slots[p.cleared]], 0, p.clear_count * sizeof(float))
    for t in range(p.first, p.last):
        if p.parts & CELLS:
            nnf_share(p.tiles, thread, threads, &begin, &end)
            do_cells(p, step, run, t, begin, end)
        if p.parts & PROJECTION:
            nnf_share(p.panels, thread, threads, &begin, &end)
            do_projection(p, step, run, t, begin, end)


cdef class LstmF32(Step):
    """The steps `span` of an LSTM layer in float32 that goes a walk, or one part of them.

    slots: input, state in, cell state in, cell state out, y, packed; with a projection also its input [batch, units]
    (a temporary) and its `gemv.pack_f32`. state_out, cleared: further slots, or None: for the last y, and a buffer of
    `clear_count` floats to fill with zeros.
    part: "cells", "projection" or "both"; sizes: units, inputs, outputs; inputs is 0 when the input slot holds the
    input's share of the gate sums, bias included, in the order of `interleave`.
    cifg, peephole, activation (0, 1, 2, 3, 4, 6), cell_clip, clamp of the projection: as in the standard.
    alone: one thread does all of the span; otherwise the span is one time and the step one part.
    half: the packed weights of the cells are halves.
    """

    cdef lstm_f32 p

    def __init__(self, slots, str part, Walk walk, sizes, span, bint alone, *, bint cifg, bint peephole, int activation,
                 float cell_clip=float("inf"), clamp=(float("-inf"), float("inf")), bint projects=False,
                 state_out=None, cleared=None, size_t clear_count=0, bint half=False):
        cdef const nnf_kernel *cell = pick("lstm_f16_tile" if half else "lstm_f32_tile")
        cdef const nnf_kernel *project = pick("gemv_f32_tile")
        self.p.cell = <nnf_lstm_f32_tile_fn>cell.fn
        self.p.project = <nnf_gemv_f32_tile_fn>project.fn
        self.p.form.gates = 3 if cifg else 4
        self.p.form.peephole = peephole
        self.p.form.activation = activation
        self.p.form.clip = cell_clip
        self.p.walk = walk.c
        self.p.units, self.p.inputs, self.p.outputs = sizes
        self.p.first, self.p.last = span
        self.p.parts = LSTM_PARTS[part]
        if (self.p.last > self.p.first + 1 or part == "both") and not alone:
            raise ValueError("several times or parts need the step to be alone")
        self.p.summed = self.p.inputs == 0
        self.p.alone = alone
        self.p.projects = projects
        self.p.tiles = (self.p.units + NNF_LSTM_N - 1) // NNF_LSTM_N
        self.p.panels = (self.p.outputs + NNF_GEMV_N - 1) // NNF_GEMV_N
        cdef size_t row = <size_t>self.p.form.gates * NNF_LSTM_N, depth = self.p.inputs + self.p.outputs
        self.p.tile_size = tile_floats(row + row * depth // (2 if half else 1) + (row - NNF_LSTM_N if peephole else 0))
        self.p.lo, self.p.hi = clamp
        slots = list(slots)
        self.p.state_out = self.p.cleared = -1
        if state_out is not None:
            self.p.state_out = len(slots)
            slots.append(state_out)
        if cleared is not None:
            self.p.cleared = len(slots)
            slots.append(cleared)
            self.p.clear_count = clear_count
        names, rounds = [], (self.p.last - self.p.first) * walk.c.batch
        if self.p.parts & CELLS:
            names.append(cell.name.decode())
            self.work += rounds * self.p.units * self.p.form.gates * depth
            self.packed += 4 * self.p.tiles * self.p.tile_size
            self.tiles = <int>self.p.tiles
        if self.p.parts & PROJECTION:
            names.append(project.name.decode())
            self.work += rounds * self.p.units * self.p.outputs
            self.packed += 4 * self.p.panels * (1 + self.p.units) * NNF_GEMV_N
            self.tiles = <int>self.p.panels
        if alone:
            self.tiles = 1
        self.part = PART_PRODUCTS
        self.bind(run_lstm_f32, &self.p, slots, " + ".join(names))
