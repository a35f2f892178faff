"""Models of layer normalization in its operations."""

import numpy as np

import nnfast

FLOAT = "TENSOR_FLOAT32"


class Builder:
    """A model of operations on float32 tensors, of whose results those seen and the last are outputs."""

    def __init__(self, seen=(), read=()):
        self.b, self.seen, self.read, self.shapes = nnfast.ModelBuilder("normal"), seen, read, {}
        self.labelled = {}

    def input(self, shape):
        x = self.b.input(FLOAT, shape)
        self.shapes[x] = shape
        return x

    def constant(self, array):
        array = np.asarray(array, np.float32)
        c = self.b.constant(array)
        self.shapes[c] = array.shape
        return c

    def op(self, name, *inputs, more=(), label="", is_last=False, shape=None):
        shape = np.broadcast_shapes(*(self.shapes[x] for x in inputs)) if shape is None else shape
        y = (self.b.output if is_last or label in self.seen else self.b.operand)(FLOAT, shape)
        self.b.operation(name, [*inputs, *more], [y])
        self.shapes[y] = shape
        self.labelled[label] = y
        return y

    def build(self):
        """The model, with a TANH behind all for each result that is to be read once more."""
        for label in self.read:
            y = self.labelled[label]
            self.b.operation("TANH", [y], [self.b.output(FLOAT, self.shapes[y])])
        return self.b.build()

    def two(self, name, x, y, activation=0, **more):
        return self.op(name, x, y, more=[self.b.scalar(activation)], **more)

    def mean(self, x, label, axis, keeps):
        shape = list(self.shapes[x])
        shape[axis:axis + 1 or None] = [1] * keeps
        return self.op("MEAN", x, more=[self.b.constant(np.int32([axis])), self.b.scalar(int(keeps))], label=label,
                       shape=tuple(shape))


GAMMA, BETA = np.linspace(0.5, 1.5, 40), np.linspace(-1, 1, 40)


def normalized(form, shape=(2, 7, 40), parts="gamma beta", swapped=False, seen=(), axis=-1, activation=0, between=0,
               is_computed=False, keeps=True, read=(), gamma=None, epsilon=(1e-3,)):
    """Normalization of the last dimension as files have it. form: folded, times or divided; parts: factors that it has;
    swapped: the operands of sums and products; seen, read: names of results that are outputs, that an operation behind
    reads; activation, between: of the last operation, of the difference from the mean; is_computed: epsilon is an
    input; keeps: means have the reduced dimension."""
    m = Builder(seen, read)
    n = shape[-1]
    x = m.input(shape)

    def pair(name, a, b, **more):
        return m.two(name, *((b, a) if swapped and name in ("ADD", "MUL") else (a, b)), **more)

    mean = m.mean(x, "mean", axis, keeps)
    centred = m.two("SUB", x, mean, between, label="centred")
    variance = m.mean(pair("MUL", centred, centred, label="square"), "variance", axis, keeps)
    moved = pair("ADD", variance, m.input((1,)) if is_computed else m.constant(epsilon), label="moved")
    gamma, beta = m.constant(GAMMA[:n] if gamma is None else gamma), m.constant(BETA[:n])
    root = m.op("SQRT" if form == "divided" else "RSQRT", moved, label="root")
    if form == "folded":
        factor = pair("MUL", root, gamma, label="factor")
        scaled = pair("MUL", x, factor, label="scaled")
        offset = m.two("SUB", beta, pair("MUL", mean, factor, label="shift"), label="offset")
        pair("ADD", scaled, offset, is_last=True, activation=activation)
        return m.build()
    last = [part for part in ("root", "gamma", "beta") if part in f"root {parts}"][-1]
    if form == "divided":
        y = m.two("DIV", centred, root, is_last=last == "root", activation=activation * (last == "root"))
    else:
        y = pair("MUL", centred, root, is_last=last == "root", activation=activation * (last == "root"))
    if "gamma" in parts:
        y = pair("MUL", y, gamma, is_last=last == "gamma", activation=activation * (last == "gamma"))
    if "beta" in parts:
        pair("ADD", y, beta, is_last=True, activation=activation)
    return m.build()
