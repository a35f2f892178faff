"""Measures csrc/kernels/topk, nnfast/_native/reduction/topk.pxi: TOPK_V2 of rows."""

from . import common


class TopK(common.Operation):
    params = (["f32", "qu8", "qs8"], [1, 5, 100], common.shapes("topk"))
    param_names = ("types", "k", "shape")

    def build(self, b, types, k, shape):
        x = common.source(b, types, common.fields(shape))
        values = common.target(b, types, 2, common.ACTIVATIONS[types][1])
        b.operation("TOPK_V2", [x, b.scalar(k)], [values, b.output("TENSOR_INT32", (0, 0))])
