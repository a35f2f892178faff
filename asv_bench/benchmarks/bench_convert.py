"""Measures csrc/kernels/convert, nnfast/_native/elementwise/convert.pxi: CAST between types of numbers."""

from . import common

TYPES = {"f16": "TENSOR_FLOAT16", "f32": "TENSOR_FLOAT32", "s32": "TENSOR_INT32", "qu8": "TENSOR_QUANT8_ASYMM"}
SCALES = {"qu8": 1.0}


class Convert(common.Operation):
    params = (["f16_f32", "f32_f16", "f32_s32", "s32_f32", "f32_qu8", "qu8_f32"], common.shapes("convert"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        count = common.fields(shape)
        source, target = ((TYPES[token], count, SCALES.get(token, 0.0)) for token in types.split("_"))
        b.operation("CAST", [b.input(*source)], [b.output(*target)])
