"""Measures csrc/kernels/resize, nnfast/_native/spatial/resize.pxi: RESIZE_BILINEAR to twice the size."""

from . import common


class ResizeBilinear(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("flat"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        shape = common.fields(shape)
        size = [b.scalar(2 * shape[axis]) for axis in (2, 1)]
        b.operation("RESIZE_BILINEAR", [common.source(b, types, shape), *size], [common.target(b, types, 4, 1 / 64)])
