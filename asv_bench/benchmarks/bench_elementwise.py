"""Measures csrc/kernels/elementwise, _native/elementwise/elementwise.pxi: operands of equal shapes, SELECT, PRELU."""

import numpy as np

from . import common


class Arithmetic(common.Operation):
    params = (["ADD", "MUL"], ["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("operation", "types", "shape")

    def build(self, b, operation, types, shape):
        x, y = (common.source(b, types, common.fields(shape)) for _ in range(2))
        b.operation(operation, [x, y, b.scalar(common.FUSED["relu"])], [common.target(b, types, 4)])


class WithRow(common.Operation):
    """A number for each channel, as a bias or a gate has them."""
    params = (["ADD", "MUL"], ["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("operation", "types", "shape")

    def build(self, b, operation, types, shape):
        shape = common.fields(shape)
        x, y = common.source(b, types, shape), common.source(b, types, (1, 1, 1, shape[3]))
        b.operation(operation, [x, y, b.scalar(common.FUSED["none"])], [common.target(b, types, 4)])


class Subtract(Arithmetic):
    params = (["SUB"], ["f32"], common.shapes("flat"))


class Integers(common.Operation):
    params = (["ADD", "DIV"], common.shapes("flat"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        x, y = (b.input("TENSOR_INT32", common.fields(shape)) for _ in range(2))
        b.operation(operation, [x, y, b.scalar(common.FUSED["none"])], [b.output("TENSOR_INT32", (0,) * 4)])


class Prelu(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        shape = common.fields(shape)
        alpha = self.weights(b, types, (1, 1, shape[3]))
        b.operation("PRELU", [common.source(b, types, shape), alpha], [common.target(b, types, 4)])


class Extreme(common.Operation):
    params = (["MAXIMUM"], ["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("operation", "types", "shape")

    def build(self, b, operation, types, shape):
        sources = [common.source(b, types, common.fields(shape)) for _ in range(2)]
        b.operation(operation, sources, [common.target(b, types, 4)])


class Power(Extreme):
    params = (["POW"], ["f32"], common.shapes("flat"))


class Truth(common.Operation):
    params = (["EQUAL", "LOGICAL_AND"], common.shapes("flat"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        sources = [b.input("TENSOR_BOOL8", common.fields(shape)) for _ in range(2)]
        b.operation(operation, sources, [b.output("TENSOR_BOOL8", (0,) * 4)])


class Select(common.Operation):
    params = (["f32", "qu8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        shape = common.fields(shape)
        sides = [common.source(b, types, shape) for _ in range(2)]
        b.operation("SELECT", [b.input("TENSOR_BOOL8", shape), *sides], [common.target(b, types, 4)])


class Less(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        sources = [common.source(b, types, common.fields(shape)) for _ in range(2)]
        b.operation("LESS", sources, [b.output("TENSOR_BOOL8", (0,) * 4)])


class Chain(common.Operation):
    """GELU by TANH in eight operations, which run block by block (_native/engine/blocks.pxi)."""

    params = ([1, 2], common.shapes("flat"))
    param_names = ("threads", "shape")

    def setup(self, threads, shape):
        self.threads = threads
        super().setup(threads, shape)

    def build(self, b, threads, shape):
        shape, none = common.fields(shape), b.scalar(common.FUSED["none"])
        x = b.input("TENSOR_FLOAT32", shape)

        def made(operation, *operands, make=b.operand):
            y = make("TENSOR_FLOAT32", shape)
            b.operation(operation, [*operands, *([] if operation == "TANH" else [none])], [y])
            return y

        def number(value):
            return b.constant(np.float32([value]))

        cube = made("MUL", made("MUL", x, x), x)
        curve = made("TANH", made("MUL", made("ADD", x, made("MUL", cube, number(0.044715))), number(0.7978846)))
        made("MUL", made("MUL", x, number(0.5)), made("ADD", curve, number(1)), make=b.output)
