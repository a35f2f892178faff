"""Measures csrc/kernels/reverse, nnfast/_native/movement/copy.pxi and reverse.pxi: images, sequences."""

import numpy as np

from nnfast.ops.own import BY_NAME

from . import common


class Reverse(common.Operation):
    params = (["f32", "qu8", "qs8"], ["width", "channels"], common.shapes("segments"))
    param_names = ("types", "axis", "shape")

    def build(self, b, types, axis, shape):
        x = common.source(b, types, common.fields(shape))
        y = common.target(b, types, 4, common.ACTIVATIONS[types][1])
        axes = b.constant(np.int32([2 if axis == "width" else 3]))
        b.operation(BY_NAME["TFL_REVERSE_V2"], [x, axes], [y])


class ReverseSequence(common.Operation):
    params = (["f32", "qu8", "qs8"], common.shapes("segments"))
    param_names = ("types", "shape")

    def build(self, b, types, shape):
        n, h, w, c = common.fields(shape)
        x = common.source(b, types, (n * h, w, c))
        y = common.target(b, types, 3, common.ACTIVATIONS[types][1])
        lengths = b.constant(np.arange(n * h, dtype=np.int32) % (w + 1))
        b.operation(BY_NAME["TFL_REVERSE_SEQUENCE"], [x, lengths, b.scalar(1), b.scalar(0)], [y])
