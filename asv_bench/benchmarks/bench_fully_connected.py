"""Measures csrc/kernels/conv2d, csrc/kernels/gemv, nnfast/ops/fully_connected.py: FULLY_CONNECTED."""

from . import common


class FullyConnected(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("fully_connected"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        rows, depth, units = common.fields(shape)
        x = common.source(b, types, (rows, depth))
        operands = [x, self.weights(b, types, (units, depth)), self.bias(b, types, units)]
        b.operation("FULLY_CONNECTED", [*operands, b.scalar(common.FUSED["none"])], [common.target(b, types, 2)])
