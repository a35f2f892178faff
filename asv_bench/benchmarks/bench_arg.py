"""Measures csrc/kernels/arg, nnfast/_native/reduction/arg.pxi: ARGMAX over the channels, in NHWC and in NCHW."""

from . import common


class Arg(common.Operation):
    params = (["f32", "qu8", "qs8"], ["last", "first"], common.shapes("segments"))
    param_names = ("types", "channels", "shape")

    def build(self, b, types, channels, shape):
        n, h, w, c = common.fields(shape)
        x = common.source(b, types, (n, h, w, c) if channels == "last" else (n, c, h, w))
        b.operation("ARGMAX", [x, b.scalar(3 if channels == "last" else 1)], [b.output("TENSOR_INT32", (0, 0, 0))])
