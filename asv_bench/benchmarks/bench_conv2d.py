"""Measures csrc/kernels/conv2d, csrc/kernels/conv2d_narrow, csrc/kernels/conv2d_winograd: CONV_2D."""

from . import common


class Conv2d(common.Operation):
    params = (["f32", "qu8", "qs8_qs8c"], common.shapes("conv2d"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        n, h, w, c_in, kh, kw, c_out, stride, pad = common.fields(shape)
        x = common.source(b, types, (n, h, w, c_in))
        filter_, bias = self.weights(b, types, (c_out, kh, kw, c_in)), self.bias(b, types, c_out)
        numbers = [b.scalar(v) for v in (common.PADDING[pad], stride, stride, common.FUSED["relu6"])]
        b.operation("CONV_2D", [x, filter_, bias, *numbers], [common.target(b, types, 4)])
