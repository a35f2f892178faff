"""Measures csrc/kernels/lstm, csrc/kernels/gemv, nnfast/_native/lstm.pyx: LSTM and RNN cells, batch 1."""

from . import common

FLOAT = "TENSOR_FLOAT32"
TANH = 4


class Lstm(common.Operation):
    """Projection, no peephole, no layer norm, with and without coupled input and forget gates."""

    params = ([False, True], common.shapes("recurrent"))
    param_names = ("coupled", "shape")

    def build(self, b, coupled, shape):
        batch, depth, cells, units = common.fields(shape)
        gates = [None if coupled else cells, cells, cells, cells]

        def matrices(width):
            return [self.weights(b, "f32", (size, width)) if size else b.omitted(FLOAT) for size in gates]

        operands = [b.input(FLOAT, (batch, depth)), *matrices(depth), *matrices(units)]
        operands += [b.omitted(FLOAT) for _ in range(3)]
        operands += [self.bias(b, "f32", size) if size else b.omitted(FLOAT) for size in gates]
        operands += [self.weights(b, "f32", (units, cells)), b.omitted(FLOAT)]
        operands += [b.input(FLOAT, (batch, units)), b.input(FLOAT, (batch, cells))]
        operands += [b.scalar(TANH), b.scalar(0.0), b.scalar(0.0)]
        scratch = (batch, cells * (3 if coupled else 4))
        outputs = [b.output(FLOAT, dims) for dims in (scratch, (batch, units), (batch, cells), (batch, units))]
        b.operation("LSTM", operands, outputs)


class Rnn(common.Operation):
    params = (common.shapes("recurrent"),)
    param_names = ("shape",)

    def build(self, b, shape):
        batch, depth, _, units = common.fields(shape)
        operands = [b.input(FLOAT, (batch, depth)), self.weights(b, "f32", (units, depth)),
                    self.weights(b, "f32", (units, units)), self.bias(b, "f32", units),
                    b.input(FLOAT, (batch, units)), b.scalar(TANH)]
        b.operation("RNN", operands, [b.output(FLOAT, (batch, units)), b.output(FLOAT, (batch, units))])
