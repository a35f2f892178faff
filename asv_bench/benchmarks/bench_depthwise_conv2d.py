"""Measures csrc/kernels/depthwise_conv2d, nnfast/_native/conv/depthwise_conv2d.pxi: DEPTHWISE_CONV_2D, multiplier 1."""

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
