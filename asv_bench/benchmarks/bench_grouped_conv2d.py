"""Measures csrc/kernels/conv2d_grouped, nnfast/_native/conv/conv2d.pxi: GROUPED_CONV_2D, TRANSPOSE_CONV_2D."""

import numpy as np

from . import common

TYPES = ["f32", "qu8", "qs8", "qs8_qs8c"]


class GroupedConv2D(common.Operation):
    params = (TYPES, common.shapes("grouped_conv2d"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        n, h, w, ci, co, kernel, groups = common.fields(shape)
        inputs = [common.source(b, types, (n, h, w, ci)), self.weights(b, types, (co, kernel, kernel, ci // groups)),
                  self.bias(b, types, co)]
        numbers = [b.scalar(v) for v in (common.PADDING["same"], 1, 1, groups, common.FUSED["none"], False)]
        b.operation("GROUPED_CONV_2D", inputs + numbers, [common.target(b, types, 4)])


class TransposeConv2D(common.Operation):
    params = (TYPES, common.shapes("transpose_conv2d"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        n, h, w, ci, co, kernel, stride = common.fields(shape)
        size = b.constant(np.int32([n, h * stride, w * stride, co]))
        inputs = [common.source(b, types, (n, h, w, ci)), self.weights(b, types, (co, kernel, kernel, ci)),
                  self.bias(b, types, co), size]
        numbers = [b.scalar(v) for v in (common.PADDING["same"], stride, stride, common.FUSED["none"], False)]
        b.operation("TRANSPOSE_CONV_2D", inputs + numbers, [common.target(b, types, 4)])
