"""Measures csrc/kernels/normalization, _native/reduction/normalization.pxi: the norms over channels and over pixels."""

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
