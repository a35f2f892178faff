"""Fused TANH and SIGN_BIT, which LiteRT's kernels leave out where an activation means bounds of the results."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.running import Const, One

RANDOM = np.random.default_rng(17)
STEPS = {"Padding": 0, "StrideW": 1, "StrideH": 1}
TANH, SIGN_BIT = 4, 5


def reals(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def codes(*shape):
    return RANDOM.integers(-128, 128, shape).astype(np.int8)


def plain(kind, inputs, shape, options, fields=None, quants=None):
    """kind, dtype -> a function of the activation that makes the operator."""
    dtype = next(x for x in inputs if isinstance(x, np.ndarray)).dtype
    return lambda activation: One(kind, inputs, [(shape, dtype)], options,
                                  (fields or {}) | {"FusedActivationFunction": activation}, quants)


IMAGE, Q = reals(1, 3, 3, 2), {"*": (0.1, 0)}
POOL = STEPS | {"FilterWidth": 2, "FilterHeight": 2}
OPERATORS = {
    "add": plain("ADD", [reals(2, 3), reals(2, 3)], (2, 3), "AddOptions"),
    "add_int8": plain("ADD", [codes(2, 3), codes(2, 3)], (2, 3), "AddOptions", quants=Q),
    "sub_int32": plain("SUB", [np.int32([5, -7]), np.int32([2, 3])], (2,), "SubOptions"),
    "mul": plain("MUL", [reals(2, 3), reals(2, 3)], (2, 3), "MulOptions"),
    "div": plain("DIV", [reals(2, 3), reals(2, 3)], (2, 3), "DivOptions"),
    "conv": plain("CONV_2D", [IMAGE, Const(reals(3, 2, 2, 2)), Const(reals(3))], (1, 3, 3, 3), "Conv2DOptions", STEPS),
    "conv_int8": plain("CONV_2D", [codes(1, 3, 3, 2), Const(codes(3, 2, 2, 2)), Const(np.int32([9, -90, 0]))],
                       (1, 3, 3, 3), "Conv2DOptions", STEPS, Q),
    "conv_hybrid": plain("CONV_2D", [IMAGE, Const(codes(3, 2, 2, 2)), Const(reals(3))], (1, 3, 3, 3), "Conv2DOptions",
                         STEPS, {"i1": (0.1, 0)}),
    "depthwise": plain("DEPTHWISE_CONV_2D", [IMAGE, Const(reals(1, 2, 2, 2)), Const(reals(2))], (1, 3, 3, 2),
                       "DepthwiseConv2DOptions", STEPS | {"DepthMultiplier": 1}),
    "average": plain("AVERAGE_POOL_2D", [IMAGE], (1, 3, 3, 2), "Pool2DOptions", POOL),
    "max_int8": plain("MAX_POOL_2D", [codes(1, 3, 3, 2)], (1, 3, 3, 2), "Pool2DOptions", POOL, Q),
    "l2": plain("L2_POOL_2D", [IMAGE], (1, 3, 3, 2), "Pool2DOptions", POOL),
}


def compare(found, theirs):
    """Equal integers, and floats to a unit or two in the last place."""
    if theirs is not None:
        np.testing.assert_allclose(found, theirs[0][0], rtol=1e-5 if found.dtype == np.float32 else 0, atol=1e-6)


@pytest.mark.parametrize("activation", [TANH, SIGN_BIT])
@pytest.mark.parametrize("name", OPERATORS)
def test_curves_are_left_out(name, activation, tmp_path):
    one = OPERATORS[name](activation)
    (found,), (wanted,) = one.run(), OPERATORS[name](0).run()
    np.testing.assert_array_equal(found, wanted)
    given = [x for x in one.inputs if isinstance(x, np.ndarray)]
    compare(found, litert_outputs(tmp_path, one.file(), [given]))


def test_a_phone_has_no_such_activations():
    with pytest.raises(nnfast.UnsupportedOperator, match="fused activation is 4"):
        nnfast.load(OPERATORS["add"](TANH).file(), arithmetic="nnapi")
