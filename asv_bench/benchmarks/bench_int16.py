"""Measures csrc/kernels/int16, nnfast/_native/elementwise/int16.pxi: sums and products of int16 codes."""

from nnfast.ops.own import BY_NAME

from . import common


class Int16(common.Operation):
    params = (["TFL_INT16_ADD", "TFL_INT16_MUL"], common.shapes("flat"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        count = common.fields(shape)
        x, y = (b.input("TENSOR_QUANT16_SYMM", count, scale) for scale in (3e-4, 1.7e-4))
        flags = [b.scalar(False)] if operation == "TFL_INT16_ADD" else []
        b.operation(BY_NAME[operation], [x, y, b.scalar(common.FUSED["none"]), *flags],
                    [b.output("TENSOR_QUANT16_SYMM", count, 4e-4)])
