"""Measures csrc/kernels/quantize, nnfast/_native/elementwise/quantize.pxi: QUANTIZE, DEQUANTIZE."""

from . import common


class Quantize(common.Operation):
    params = (["qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        b.operation("QUANTIZE", [common.source(b, "f32", common.fields(shape))], [common.target(b, types, 4)])


class Dequantize(Quantize):
    def build(self, b, types, shape):
        b.operation("DEQUANTIZE", [common.source(b, types, common.fields(shape))], [common.target(b, "f32", 4)])
