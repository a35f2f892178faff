"""Measures csrc/kernels/normalization, _native/reduction/normalization.pxi: the norms over channels and over pixels."""

import numpy as np

from . import common


class L2Norm(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        y = common.target(b, types, 4, 1 / 128)
        b.operation("L2_NORMALIZATION", [common.source(b, types, common.fields(shape))], [y])


class LocalResponse(common.Operation):
    params = ([0.5, 0.75, 0.6], common.shapes("flat"))
    param_names = ("beta", "shape")

    def build(self, b, beta, shape):
        x, y = common.source(b, "f32", common.fields(shape)), common.target(b, "f32", 4)
        scalars = [b.scalar(5), *(b.scalar(v, "FLOAT32") for v in (1.0, 1e-4, beta))]
        b.operation("LOCAL_RESPONSE_NORMALIZATION", [x, *scalars], [y])


class Instance(common.Operation):
    params = ([False, True], common.shapes("flat"))
    param_names = ("nchw", "shape")

    def build(self, b, nchw, shape):
        n, h, w, c = common.fields(shape)
        x = common.source(b, "f32", (n, c, h, w) if nchw else (n, h, w, c))
        scalars = [b.scalar(v, "FLOAT32") for v in (1.0, 0.0, 1e-3)]
        b.operation("INSTANCE_NORMALIZATION", [x, *scalars, b.scalar(nchw)], [common.target(b, "f32", 4)])


class Layer(common.Operation):
    """Layer normalization in seven operations, which are one step with the pass layer_norm_fusion."""

    params = (common.shapes("flat"),)
    param_names = ("shape",)

    def build(self, b, shape):
        shape = common.fields(shape)
        one, rank, none = (*shape[:-1], 1), b.constant(np.int32([len(shape) - 1])), b.scalar(0)
        x, y = common.source(b, "f32", shape), common.target(b, "f32", 4)
        mean, centred, square, variance, moved, root = (
            b.operand("TENSOR_FLOAT32", s) for s in (one, shape, shape, one, one, one))
        b.operation("MEAN", [x, rank, b.scalar(1)], [mean])
        b.operation("SUB", [x, mean, none], [centred])
        b.operation("MUL", [centred, centred, none], [square])
        b.operation("MEAN", [square, rank, b.scalar(1)], [variance])
        b.operation("ADD", [variance, b.constant(np.float32([1e-5])), none], [moved])
        b.operation("RSQRT", [moved], [root])
        b.operation("MUL", [centred, root, none], [y])
