"""Measures csrc/kernels/transpose, nnfast/_native/movement/transpose.pxi: TRANSPOSE between NHWC and NCHW."""

import numpy as np

from . import common


class Transpose(common.Operation):
    params = (["f32", "qu8", "qs8"], ["to NCHW", "to NHWC"], common.shapes("segments"))
    param_names = ("types", "order", "shape")

    def build(self, b, types, order, shape):
        n, h, w, c = common.fields(shape)
        x = common.source(b, types, (n, h, w, c) if order == "to NCHW" else (n, c, h, w))
        order = (0, 3, 1, 2) if order == "to NCHW" else (0, 2, 3, 1)
        y = common.target(b, types, 4, common.ACTIVATIONS[types][1])
        b.operation("TRANSPOSE", [x, b.constant(np.int32(order))], [y])
