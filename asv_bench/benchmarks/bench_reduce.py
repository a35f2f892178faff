"""Measures csrc/kernels/reduce, _native/reduction/reduce.pxi: MEAN, REDUCE_MAX and _ANY over pixels, over channels."""

import numpy as np

from . import common


class Reduce(common.Operation):
    params = (["MEAN", "REDUCE_MAX"], ["f32", "qu8", "qs8"], ["pixels", "channels"], common.shapes("flat"))
    param_names = ("operation", "types", "over", "shape")

    def build(self, b, operation, types, over, shape):
        axes = [1, 2] if over == "pixels" else [3]
        x = common.source(b, types, common.fields(shape))
        y = common.target(b, types, 4 - len(axes), 1 / 64)
        keep = b.scalar(0) if operation == "MEAN" else b.scalar(False)
        b.operation(operation, [x, b.constant(np.int32(axes)), keep], [y])


class Truth(common.Operation):
    params = (["pixels", "channels"], common.shapes("flat"))
    param_names = ("over", "shape")

    def build(self, b, over, shape):
        axes = [1, 2] if over == "pixels" else [3]
        x, y = b.input("TENSOR_BOOL8", common.fields(shape)), b.output("TENSOR_BOOL8", (0,) * (4 - len(axes)))
        b.operation("REDUCE_ANY", [x, b.constant(np.int32(axes)), b.scalar(False)], [y])
