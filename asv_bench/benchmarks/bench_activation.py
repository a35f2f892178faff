"""Measures csrc/kernels/activation, nnfast/_native/elementwise/activation.pxi: functions of one operand."""

from . import common


class Activation(common.Operation):
    params = (["RELU6", "LOGISTIC", "TANH", "HARD_SWISH"], ["f32", "qu8"], common.shapes("flat"))
    param_names = ("operation", "types", "shape")

    # The standard fixes the output quantization of LOGISTIC and TANH; RELU6 keeps that of its input.
    FIXED = {"LOGISTIC": (1 / 256, 0), "TANH": (1 / 128, 128), "RELU6": common.ACTIVATIONS["qu8"][1:]}

    def build(self, b, operation, types, shape):
        scale, zero_point = self.FIXED.get(operation, (1 / 32, 16)) if types != "f32" else (0.0, 0)
        y = common.target(b, types, 4, scale, zero_point)
        b.operation(operation, [common.source(b, types, common.fields(shape))], [y])


class Curve(common.Operation):
    params = (["EXP", "LOG", "SIN"], common.shapes("flat"))
    param_names = ("operation", "shape")

    def build(self, b, operation, shape):
        b.operation(operation, [common.source(b, "f32", common.fields(shape))], [common.target(b, "f32", 4)])


class Elu(common.Operation):
    params = (common.shapes("flat"),)
    param_names = ("shape",)

    def build(self, b, shape):
        x = common.source(b, "f32", common.fields(shape))
        b.operation("ELU", [x, b.scalar(1.0)], [common.target(b, "f32", 4)])
