"""Measures csrc/kernels/blockwise, nnfast/_native/conv/blockwise.pxi: weights of 4 bits with a scale for each block."""

import numpy as np

from nnfast.model.own import TENSOR_OF
from nnfast.ops.own import BY_NAME

from . import common


class Blockwise(common.Operation):
    params = (common.shapes("blockwise"),)
    param_names = ("shape",)

    def build(self, b, shape):
        rows, depth, units, block = common.fields(shape)
        x = b.input("TENSOR_FLOAT32", (rows, depth))
        weights = b.constant(self.rng.integers(-8, 8, (units, depth), np.int8), TENSOR_OF[np.dtype("int8")])
        scales = b.constant(self.rng.uniform(0.01, 0.02, (units, depth // block)).astype(np.float32))
        options = [b.scalar(value) for value in (common.FUSED["none"], False, True)]
        operands = [x, weights, scales, self.bias(b, "f32", units), *options]
        b.operation(BY_NAME["TFL_BLOCKWISE_FULLY_CONNECTED"], operands, [b.output("TENSOR_FLOAT32", (0, 0))])
