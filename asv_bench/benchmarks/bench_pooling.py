"""Measures csrc/kernels/pooling, nnfast/_native/spatial/pooling.pxi: AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D."""

from nnfast.ops.own import BY_NAME

from . import common


class Pooling(common.Operation):
    params = (["AVERAGE_POOL_2D", "MAX_POOL_2D"], ["f32", "qu8", "qs8"], common.shapes("pooling"))
    param_names = ("operation", "types", "shape")

    def build(self, b, operation, types, shape):
        n, h, w, c, kh, kw, stride, pad = common.fields(shape)
        x = common.source(b, types, (n, h, w, c))
        numbers = [b.scalar(v) for v in (common.PADDING[pad], stride, stride, kw, kh, common.FUSED["none"])]
        b.operation(operation, [x, *numbers], [common.target(b, types, 4, common.ACTIVATIONS[types][1])])


class RootMeanSquare(Pooling):
    params = (["L2_POOL_2D"], ["f32"], common.shapes("pooling"))


class Int16(common.Operation):
    params = (["TFL_INT16_AVERAGE_POOL_2D", "TFL_INT16_MAX_POOL_2D"], common.shapes("pooling"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        n, h, w, c, kh, kw, stride, pad = common.fields(shape)
        x = b.input("TENSOR_QUANT16_SYMM", (n, h, w, c), 3e-4)
        numbers = [b.scalar(v) for v in (common.PADDING[pad], stride, stride, kw, kh, common.FUSED["none"])]
        y = b.output("TENSOR_QUANT16_SYMM", (0,) * 4, 3e-4)
        b.operation(BY_NAME[operation], [x, *numbers, b.scalar(False)], [y])
