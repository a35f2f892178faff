"""Measures csrc/kernels/elementwise, nnfast/_native/elementwise.pyx: ADD, SUB, MUL, LESS of equal shapes, PRELU."""

from . import common


class Arithmetic(common.Operation):
    params = (["ADD", "MUL"], ["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("operation", "types", "shape")

    def build(self, b, operation, types, shape):
        x, y = (common.source(b, types, common.fields(shape)) for _ in range(2))
        b.operation(operation, [x, y, b.scalar(common.FUSED["relu"])], [common.target(b, types, 4)])


class Subtract(Arithmetic):
    params = (["SUB"], ["f32"], common.shapes("flat"))


class Prelu(common.Operation):
    params = (common.shapes("flat"),)
    param_names = ("shape",)

    def build(self, b, shape):
        shape = common.fields(shape)
        alpha = self.weights(b, "f32", (1, 1, shape[3]))
        b.operation("PRELU", [common.source(b, "f32", shape), alpha], [common.target(b, "f32", 4)])


class Less(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        sources = [common.source(b, types, common.fields(shape)) for _ in range(2)]
        b.operation("LESS", sources, [b.output("TENSOR_BOOL8", (0,) * 4)])
