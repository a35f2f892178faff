"""Measures csrc/kernels/lstm, csrc/kernels/gemv, csrc/kernels/lstm_q8, csrc/kernels/svdf: recurrent cells, batch 1."""

import numpy as np

from . import common

FLOAT = "TENSOR_FLOAT32"
TANH = 4
GATES = 4


def matrices(bench, b, sizes, width):
    """A weight matrix of each gate; omitted where a size is None."""
    return [bench.weights(b, "f32", (size, width)) if size else b.omitted(FLOAT) for size in sizes]


def biases(bench, b, sizes):
    return [bench.bias(b, "f32", size) if size else b.omitted(FLOAT) for size in sizes]


class Lstm(common.Operation):
    """Projection, no peephole; plain, with coupled input and forget gates, or with layer norm."""

    params = (["plain", "coupled", "normal"], common.shapes("recurrent"))
    param_names = ("form", "shape")

    def build(self, b, form, shape):
        batch, depth, cells, units = common.fields(shape)
        gates = [None if form == "coupled" else cells, cells, cells, cells]
        operands = [b.input(FLOAT, (batch, depth)), *matrices(self, b, gates, depth), *matrices(self, b, gates, units)]
        operands += [b.omitted(FLOAT) for _ in range(3)]
        operands += biases(self, b, gates)
        operands += [self.weights(b, "f32", (units, cells)), b.omitted(FLOAT)]
        operands += [b.input(FLOAT, (batch, units)), b.input(FLOAT, (batch, cells))]
        operands += [b.scalar(TANH), b.scalar(0.0), b.scalar(0.0)]
        if form == "normal":
            operands += biases(self, b, gates)
        scratch = (batch, cells * (3 if form == "coupled" else 4))
        outputs = [b.output(FLOAT, dims) for dims in (scratch, (batch, units), (batch, cells), (batch, units))]
        b.operation("LSTM", operands, outputs)


class BidirectionalLstm(common.Operation):
    """A sequence of 16 steps, merged; on one and on two threads."""

    params = ([1, 2], common.shapes("recurrent"))
    param_names = ("threads", "shape")

    def build(self, b, threads, shape):
        self.threads = threads
        _, depth, _, units = common.fields(shape)
        sizes, time = [units] * GATES, 16
        operands = [b.input(FLOAT, (time, 1, depth))]
        for _ in range(2):
            operands += matrices(self, b, sizes, depth) + matrices(self, b, sizes, units)
            operands += [b.omitted(FLOAT) for _ in range(3)] + biases(self, b, sizes)
            operands += [b.omitted(FLOAT) for _ in range(2)]
        operands += [b.input(FLOAT, (1, units)) for _ in range(4)]
        operands += [b.omitted(FLOAT) for _ in range(9)]
        operands += [b.scalar(TANH), b.scalar(0.0), b.scalar(0.0), b.scalar(True), b.scalar(True)]
        operands += [b.omitted(FLOAT) for _ in range(8)]
        b.operation("BIDIRECTIONAL_SEQUENCE_LSTM", operands, [b.output(FLOAT, (time, 1, 2 * units))])


class Rnn(common.Operation):
    """Constant weights, or weights that are model inputs."""

    params = (["constant", "input"], common.shapes("recurrent"))
    param_names = ("weights_from", "shape")

    def build(self, b, weights_from, shape):
        batch, depth, _, units = common.fields(shape)

        def matrix(dims):
            return b.input(FLOAT, dims) if weights_from == "input" else self.weights(b, "f32", dims)

        operands = [b.input(FLOAT, (batch, depth)), matrix((units, depth)), matrix((units, units)),
                    self.bias(b, "f32", units), b.input(FLOAT, (batch, units)), b.scalar(TANH)]
        b.operation("RNN", operands, [b.output(FLOAT, (batch, units)), b.output(FLOAT, (batch, units))])


class Svdf(common.Operation):
    """Rank 2, memory 8; a unit for each output of the shape."""

    params = (common.shapes("recurrent"),)
    param_names = ("shape",)

    def build(self, b, shape):
        batch, depth, _, units = common.fields(shape)
        filters, memory = 2 * units, 8
        operands = [b.input(FLOAT, (batch, depth)), self.weights(b, "f32", (filters, depth)),
                    self.weights(b, "f32", (filters, memory)), self.bias(b, "f32", units),
                    b.input(FLOAT, (batch, memory * filters)), b.scalar(2), b.scalar(0)]
        b.operation("SVDF", operands, [b.output(FLOAT, (batch, memory * filters)), b.output(FLOAT, (batch, units))])


class QuantizedLstm(common.Operation):
    """8-bit data and weights, 16-bit state: QUANTIZED_LSTM with projection, plain or with layer norm."""

    params = (["plain", "normal"], common.shapes("recurrent"))
    param_names = ("form", "shape")

    def build(self, b, form, shape):
        batch, depth, cells, units = common.fields(shape)
        codes, state = ("TENSOR_QUANT8_ASYMM_SIGNED", 1 / 128, 0), ("TENSOR_QUANT16_SYMM", 2.0**-11, 0)

        def constant(dtype, dims, type_, scale):
            return b.constant(self.values(dtype, dims), type_, scale, 0)

        def gates(dims):
            return [constant(np.int8, dims, "TENSOR_QUANT8_SYMM", 1 / 256) for _ in range(GATES)]

        def omitted(type_, count, scale=1.0):
            return [b.omitted(type_, scale, 0) for _ in range(count)]

        operands = [b.input(codes[0], (batch, depth), *codes[1:]), *gates((cells, depth)), *gates((cells, units))]
        operands += omitted("TENSOR_QUANT16_SYMM", 3)
        operands += [b.constant(self.rng.integers(-999, 999, cells, np.int32), "TENSOR_INT32", 2.0**-15)
                     for _ in range(GATES)]
        operands += [constant(np.int8, (units, cells), "TENSOR_QUANT8_SYMM", 1 / 256),
                     *omitted("TENSOR_INT32", 1, 2.0**-15)]
        operands += [b.input(codes[0], (batch, units), *codes[1:]), b.input(state[0], (batch, cells), *state[1:])]
        if form == "normal":
            operands += [constant(np.int16, (cells,), "TENSOR_QUANT16_SYMM", 2.0**-15) for _ in range(GATES)]
        else:
            operands += omitted("TENSOR_QUANT16_SYMM", GATES)
        operands += [b.scalar(0.0), b.scalar(0.0), *(b.scalar(2.0**-9) for _ in range(GATES))]
        operands += [b.scalar(0), b.scalar(1 / 128)]
        dims = ((batch, units), codes), ((batch, cells), state), ((batch, units), codes)
        b.operation("QUANTIZED_LSTM", operands, [b.output(kind[0], size, *kind[1:]) for size, kind in dims])


class Quantized16BitLstm(common.Operation):
    """QUANTIZED_16BIT_LSTM; as many cells as the shape has outputs."""

    params = (common.shapes("recurrent"),)
    param_names = ("shape",)

    def build(self, b, shape):
        batch, depth, _, units = common.fields(shape)
        codes, state = ("TENSOR_QUANT8_ASYMM", 1 / 128, 128), ("TENSOR_QUANT16_SYMM", 1 / 2048, 0)

        def gates(dims):
            return [b.constant(self.values(np.uint8, dims), codes[0], 1 / 256, 120) for _ in range(GATES)]

        operands = [b.input(codes[0], (batch, depth), *codes[1:]), *gates((units, depth)), *gates((units, units))]
        operands += [b.constant(self.rng.integers(-999, 999, units, np.int32), "TENSOR_INT32", 2.0**-15)
                     for _ in range(GATES)]
        operands += [b.input(state[0], (batch, units), *state[1:]), b.input(codes[0], (batch, units), *codes[1:])]
        outputs = [b.output(kind[0], (batch, units), *kind[1:]) for kind in (state, codes)]
        b.operation("QUANTIZED_16BIT_LSTM", operands, outputs)
