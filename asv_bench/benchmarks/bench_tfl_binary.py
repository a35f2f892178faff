"""Measures csrc/kernels/tfl_binary, nnfast/_native/elementwise/tfl_binary.pxi: TFLite's operations on two tensors."""

from nnfast.ops.own import BY_NAME

from . import common


class Formula(common.Operation):
    params = (["ATAN2", "FLOOR_DIV", "SQUARED_DIFFERENCE"], common.shapes("flat"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        x, y = (b.input("TENSOR_FLOAT32", common.fields(shape)) for _ in range(2))
        b.operation(BY_NAME[f"TFL_{operation}"], [x, y], [b.output("TENSOR_FLOAT32", (0,) * 4)])


class Comparison(common.Operation):
    params = (["LESS", "EQUAL"], common.shapes("flat"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        x, y = (b.input("TENSOR_FLOAT32", common.fields(shape)) for _ in range(2))
        b.operation(BY_NAME[f"TFL_{operation}"], [x, y], [b.output("TENSOR_BOOL8", (0,) * 4)])
