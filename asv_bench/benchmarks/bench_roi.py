"""Measures csrc/kernels/roi, nnfast/_native/spatial/roi.pxi: ROI_ALIGN and ROI_POOLING of many regions to 7 x 7."""

import numpy as np

from . import common

STRIDE = 16.0


class Roi(common.Operation):
    params = (["ROI_ALIGN", "ROI_POOLING"], ["f32", "qu8"], common.shapes("roi"))
    param_names = ("operation", "types", "shape")

    def build(self, b, operation, types, shape):
        n, h, w, c, count, size = common.fields(shape)
        x = common.source(b, types, (n, h, w, c))
        first = self.rng.uniform(0, 1, (count, 2)) * (w - size, h - size)
        corners = np.concatenate([first, first + size], axis=1) * STRIDE
        roi = b.constant(np.float32(corners)) if types == "f32" else \
            b.constant(np.uint16(corners * 8), "TENSOR_QUANT16_ASYMM", 0.125)
        ratios = [b.scalar(2), b.scalar(2)] if operation == "ROI_ALIGN" else []
        y = common.target(b, types, 4, common.ACTIVATIONS[types][1])
        strides = [b.scalar(np.float32(STRIDE)), b.scalar(np.float32(STRIDE))]
        b.operation(operation, [x, roi, b.constant(np.zeros(count, np.int32)), b.scalar(7), b.scalar(7), *strides,
                                *ratios, b.scalar(False)], [y])
