"""Measures csrc/kernels/depthwise_conv2d, nnfast/_native/conv/depthwise_conv2d.pxi: DEPTHWISE_CONV_2D, multiplier 1."""

import numpy as np

from nnfast.ops.own import BY_NAME

from . import common


class DepthwiseConv2d(common.Operation):
    params = (["f32", "qu8", "qs8_qs8c"], common.shapes("depthwise_conv2d"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        n, h, w, c, kh, kw, stride, pad = common.fields(shape)
        x = common.source(b, types, (n, h, w, c))
        filter_, bias = self.weights(b, types, (1, kh, kw, c), 3), self.bias(b, types, c)
        numbers = [b.scalar(v) for v in (common.PADDING[pad], stride, stride, 1, common.FUSED["relu6"])]
        b.operation("DEPTHWISE_CONV_2D", [x, filter_, bias, *numbers], [common.target(b, types, 4)])


class Int16(common.Operation):
    params = (common.shapes("depthwise_conv2d"),)
    param_names = ("shape",)

    def build(self, b, shape):
        n, h, w, c, kh, kw, stride, pad = common.fields(shape)
        x, filter_ = b.input("TENSOR_QUANT16_SYMM", (n, h, w, c), 1e-4), self.weights(b, "qs8", (1, kh, kw, c))
        bias = b.constant(self.rng.integers(-1000, 1000, c, np.int32))
        numbers = [common.PADDING[pad], stride, stride, common.FUSED["relu6"], False, 1, 1]
        b.operation(BY_NAME["TFL_INT16_DEPTHWISE_CONV_2D"], [x, filter_, bias, *(b.scalar(v) for v in numbers)],
                    [b.output("TENSOR_QUANT16_SYMM", (0,) * 4, 1e-3)])
