"""Measures csrc/kernels/comparison, nnfast/_native/elementwise.pyx: LESS of equal shapes."""

from . import common


class Less(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        sources = [common.source(b, types, common.fields(shape)) for _ in range(2)]
        b.operation("LESS", sources, [b.output("TENSOR_BOOL8", (0,) * 4)])
