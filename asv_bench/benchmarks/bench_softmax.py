"""Measures csrc/kernels/softmax, nnfast/_native/reduction/softmax.pxi: SOFTMAX and LOG_SOFTMAX over the last axis."""

from nnfast.ops.own import BY_NAME

from . import common


class Softmax(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("softmax"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        x = common.source(b, types, common.fields(shape))
        y = common.target(b, types, 2, 1 / 256, -128 if types == "qs8" else 0)
        b.operation("SOFTMAX", [x, b.scalar(1.0)], [y])


class LogSoftmax(common.Operation):
    params = (common.shapes("softmax"),)
    param_names = ("shape",)

    def build(self, b, shape):
        x = common.source(b, "f32", common.fields(shape))
        b.operation("LOG_SOFTMAX", [x, b.scalar(1.0), b.scalar(-1)], [common.target(b, "f32", 2)])


class LogSoftmaxQ8(common.Operation):
    params = (["qu8", "qs8"], common.shapes("softmax"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        x = common.source(b, types, common.fields(shape))
        y = common.target(b, types, 2, 1 / 16, 127 if types == "qs8" else 255)
        b.operation(BY_NAME["TFL_QUANTIZED_LOG_SOFTMAX"], [x], [y])
