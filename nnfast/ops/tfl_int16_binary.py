"""ADD, SUB and MUL of int16 tensors, as LiteRT's reference kernels compute them."""

from math import frexp

import numpy as np

from .._native.elementwise import BinaryQ16, obstacle
from ..model import quant
from .base import broadcast_shape, check_activation
from .tfl import own, ratio_multiplier
from .tfl_int16 import clamp_of, clamped, scale_of

_SHIFT = 15
_KEEP = 1 << 30, 1, 0


def fixed(multiplier, exponent):
    """(multiplier, left shift, right shift) of a quantized multiplier."""
    return multiplier, max(exponent, 0), max(-exponent, 0)


def shifts_too_far(scales):
    """Why no native step takes (multiplier, left shift, right shift) of these, or None."""
    far = max(left for _, left, _ in scales)
    return f"left shift of {far} bits, native up to 31" if far > 31 else None


def _power_of_two(scale):
    fraction, exponent = frexp(scale)
    return exponent if fraction == 0.5 else None


def _scaled(x, scale):
    multiplier, left, right = scale
    return quant.rdbpot(quant.srdhm(quant.wrap32(x << left), multiplier), right)


def _sum_scales(node):
    """As `fixed`, of both inputs and of their sum."""
    scales = [scale_of(t) for t in (node["input0"], node["input1"], node.outputs[0])]
    powers = [_power_of_two(scale) for scale in scales]
    if node.scalar("shifts") and None not in powers:
        shifts = [power - powers[2] for power in powers[:2]]
        if max(shifts) > 0 or 0 not in shifts:
            node.fail(0, f"scale is {scales[2]:.9g}, must be the larger one of the inputs' where all are powers of two")
        return [(*_KEEP[:2], min(-shift, 31)) for shift in shifts] + [_KEEP]
    twice = 2 * max(scales[:2])
    inputs = [fixed(*ratio_multiplier(node, scale / twice)) for scale in scales[:2]]
    last = ratio_multiplier(node, twice / float(np.float32(1 << _SHIFT) * np.float32(scales[2])))
    return [(multiplier, left + _SHIFT, right) for multiplier, left, right in inputs] + [fixed(*last)]


def _mul_scales(node):
    """As `fixed`, of the product, in a list."""
    scales = [np.float32(t.scale) for t in (node["input0"], node["input1"], node.outputs[0])]
    with np.errstate(over="ignore"):
        return [fixed(*ratio_multiplier(node, float(scales[0] * scales[1] / scales[2])))]


def _sum(node, inputs, sign):
    first, second, last = _sum_scales(node)
    x, y = (array.astype(np.int64) for array in inputs[:2])
    return clamped(node, _scaled(_scaled(x, first) + sign * _scaled(y, second), last))


def compute_add(node, inputs):
    """Sum of both, raised by 15 bits, in steps of twice the larger scale; by shifts of powers of two if asked to."""
    return [_sum(node, inputs, 1)]


def compute_sub(node, inputs):
    """As ADD, with the second negative."""
    return [_sum(node, inputs, -1)]


def compute_mul(node, inputs):
    """The int32 product, by the multiplier that float32 gives."""
    x, y = (array.astype(np.int64) for array in inputs[:2])
    return [clamped(node, _scaled(x * y, _mul_scales(node)[0]))]


def _lower_binary(op):
    def lower(node, b):
        x, y, target = node["input0"], node["input1"], node.outputs[0]
        scales = _mul_scales(node) if op == "mul" else _sum_scales(node)
        reason = shifts_too_far(scales) or obstacle(x.shape, y.shape)
        if reason is None:
            b.emit(BinaryQ16((b.slot(x), b.slot(y), b.slot(target)), op, x.shape, y.shape, scales, clamp_of(node)))
        return reason

    return lower


def infer_binary(node):
    """The shape of the broadcast."""
    check_activation(node)
    return [broadcast_shape(node, "input0", "input1")]


_PAIR = "input0:T input1:T activation:i32 shifts:bool -> output:T"
TFL_INT16_ADD = own("TFL_INT16_ADD", {_PAIR: {"T": ("Q16S",)}}, compute_add, infer_binary, lower=_lower_binary("add"))
TFL_INT16_SUB = own("TFL_INT16_SUB", {_PAIR: {"T": ("Q16S",)}}, compute_sub, infer_binary, lower=_lower_binary("sub"))
TFL_INT16_MUL = own("TFL_INT16_MUL", {_PAIR.replace(" shifts:bool", ""): {"T": ("Q16S",)}}, compute_mul, infer_binary,
                    lower=_lower_binary("mul"))
