"""Measures csrc/kernels/convert, nnfast/_native/elementwise/convert.pxi: CAST between float16 and float32."""

from . import common

TYPES = {"f16": "TENSOR_FLOAT16", "f32": "TENSOR_FLOAT32"}


class Convert(common.Operation):
    params = (["f16_f32", "f32_f16"], common.shapes("convert"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        source, target = (TYPES[token] for token in types.split("_"))
        count = common.fields(shape)
        b.operation("CAST", [b.input(source, count)], [b.output(target, count)])
