"""Measures csrc/kernels/tfl_pool, nnfast/_native/spatial/tfl_pool.pxi: largest values with their places."""

from nnfast.ops.own import BY_NAME

from . import common


class LargestWithPlaces(common.Operation):
    params = (common.shapes("pooling"),)
    param_names = ("shape",)

    def build(self, b, shape):
        n, h, w, c, kh, kw, stride, pad = common.fields(shape)
        x = b.input("TENSOR_FLOAT32", (n, h, w, c))
        numbers = [b.scalar(value) for value in (common.PADDING[pad], stride, stride, kw, kh)]
        outputs = [b.output("TENSOR_FLOAT32", (0,) * 4) for _ in range(2)]
        b.operation(BY_NAME["TFL_MAX_POOL_ARGMAX"], [x, *numbers], outputs)
