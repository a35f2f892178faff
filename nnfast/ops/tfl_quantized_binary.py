"""Quantized DIV, SQUARED_DIFFERENCE and comparisons, as LiteRT's reference kernels compute them."""

import numpy as np

from ..model import quant
from ..model.fixedpoint import WORD32
from .base import broadcast_shape, check_activation
from .tfl import BOOLS, QUANTIZED, own, ratio_multiplier
from .tfl_requantize import RANGES, lower_by_pairs


def infer(node):
    """The shape of the broadcast."""
    return [broadcast_shape(node, "input0", "input1")]


def infer_div(node):
    """The shape of the broadcast."""
    check_activation(node)
    _quotient_multiplier(node)
    return infer(node)


def _centred(node, inputs):
    return (array.astype(np.int64) - node.inputs[place].zero_point for place, array in enumerate(inputs[:2]))


def _scales(node):
    return [np.float32(t.scale) for t in (*node.inputs[:2], *node.outputs)]


# -- DIV -------------------------------------------------------------------------------------------------------------
def _bits(x):
    """Bits of int64 values >= 0."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)


def _quotient_multiplier(node):
    """The multiplier is formed in float32."""
    first, second, target = _scales(node)
    with np.errstate(over="ignore", divide="ignore"):
        return ratio_multiplier(node, float(first / (second * target)))


def _fixed_point(node, x, y):
    """x / y by the reciprocal of y in 31 bits, before the clamp."""
    factor, exponent = _quotient_multiplier(node)
    x, y = np.where(y < 0, -x, x), np.abs(y)
    leading = 32 - _bits(y)
    inverse = WORD32.recip1p((y << leading) - (1 << 31))
    # Zeros in front of the value, or ones of a negative one, but the sign.
    headroom = 31 - _bits(np.where(x < 0, -x - 1, x))
    quotient = quant.srdhm(x << headroom, inverse)
    shift, value = (31 - leading) + headroom - exponent, quant.srdhm(quotient, factor)
    # From 32 bits on the machine shifts by what is above 32, and the mask of the rest is -1.
    return np.where(shift < 32, quant.rdbpot(value, np.clip(shift, 0, 31)), (value >> (shift & 31)) + (value >= 0))


def _real(node, x, y):
    """x / y in float32, before the clamp; 0 where both leave its range."""
    first, second, target = _scales(node)
    with np.errstate(all="ignore"):
        steps = x.astype(np.float32) * first / (y.astype(np.float32) * second) / target
    return np.nan_to_num(quant.round_half_away(steps).astype(np.float64))


def compute_div(node, inputs):
    """By zero there is no quotient; int16 tensors of one shape are divided in float32."""
    target = node.outputs[0]
    x, y = _centred(node, inputs)
    if not y.all():
        node.fail("input1", "holds zeros, must have none")
    divide = _real if target.dtype == np.int16 and x.shape == y.shape else _fixed_point
    clamp = quant.activation_range(node.scalar("activation"), target.type, target.scale, target.zero_point)
    return [np.clip(divide(node, x, y) + target.zero_point, *clamp).astype(target.dtype)]


TFL_QUANTIZED_DIV = own("TFL_QUANTIZED_DIV", {"input0:T input1:T activation:i32 -> output:T": {"T": QUANTIZED}},
                        compute_div, infer_div,
                        lower=lower_by_pairs(compute_div, lambda node: node["input1"].zero_point))


# -- SQUARED_DIFFERENCE ----------------------------------------------------------------------------------------------
_SHIFT = 7


def _difference_multipliers(node):
    """Of both inputs to steps of twice the larger scale, and of the square to codes."""
    first, second, last = (float(scale) for scale in _scales(node))
    twice, product = 2 * max(first, second), float(np.float32(1 << 2 * _SHIFT) * np.float32(last))
    return [ratio_multiplier(node, real) for real in (first / twice, second / twice, twice * twice / product)]


def infer_difference(node):
    """The shape of the broadcast."""
    _difference_multipliers(node)
    return infer(node)


def compute_squared_difference(node, inputs):
    """In steps of twice the larger scale, raised by 7 bits."""
    first, second, last = _difference_multipliers(node)
    target = node.outputs[0]
    x, y = _centred(node, inputs)
    difference = quant.mbqm(x << _SHIFT, *first) - quant.mbqm(y << _SHIFT, *second)
    codes = quant.mbqm(difference * difference, *last) + target.zero_point
    return [np.clip(codes, *RANGES[target.dtype]).astype(target.dtype)]


TFL_QUANTIZED_SQUARED_DIFFERENCE = own("TFL_QUANTIZED_SQUARED_DIFFERENCE",
                                       {"input0:T input1:T -> output:T": {"T": ("Q8S",)}}, compute_squared_difference,
                                       infer_difference, lower=lower_by_pairs(compute_squared_difference))


# -- comparisons -----------------------------------------------------------------------------------------------------
_COMPARED = {"EQUAL": np.equal, "NOT_EQUAL": np.not_equal, "LESS": np.less, "LESS_EQUAL": np.less_equal,
             "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal}


def compute_comparison(node, inputs):
    """Real values in steps of 2^-8, by the scales as multipliers."""
    x, y = (quant.mbqm(codes << 8, *quant.quantize_multiplier(float(np.float32(t.scale))))
            for t, codes in zip(node.inputs, _centred(node, inputs)))
    return [_COMPARED[node.op.name.removeprefix("TFL_QUANTIZED_")](x, y).astype(node.outputs[0].dtype)]


def infer_comparison(node):
    """The shape of the broadcast."""
    for name in ("input0", "input1"):
        if not float(np.float32(node[name].scale)) < 1:
            node.fail(name, f"has scale {node[name].scale:.9g}, must be below 1")
    return [broadcast_shape(node, "input0", "input1")]


def _comparison(name):
    return own(f"TFL_QUANTIZED_{name}", {"input0:T input1:T -> output:U": {"T": QUANTIZED, "U": BOOLS}},
               compute_comparison, infer_comparison, lower=lower_by_pairs(compute_comparison))


TFL_QUANTIZED_EQUAL, TFL_QUANTIZED_NOT_EQUAL, TFL_QUANTIZED_LESS = map(_comparison, ("EQUAL", "NOT_EQUAL", "LESS"))
TFL_QUANTIZED_LESS_EQUAL, TFL_QUANTIZED_GREATER, TFL_QUANTIZED_GREATER_EQUAL = map(
    _comparison, ("LESS_EQUAL", "GREATER", "GREATER_EQUAL"))
