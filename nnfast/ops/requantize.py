"""From int32 accumulators to 8-bit outputs: what CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED share [NN 13.4].

All three have the input as operand 0, the weights as operand 1 and the bias as operand 2.
"""

import numpy as np

from .._native import conv
from ..model import quant
from ..model.types import OperandType
from ..model.withheld import Withheld
from ..record import record
from .base import is_quant8


@record(frozen=True, slots=True, eq=False)
class Requantizer:
    """Prepared step from accumulators to codes; multiplier and exponent are int32 arrays of 1 or `channels` values.

    Exponents lie in -31..31. low and high are the clamp of the fused activation, zero_point is the output's.
    """

    multiplier: np.ndarray
    exponent: np.ndarray
    zero_point: int
    low: int
    high: int
    dtype: np.dtype

    def __call__(self, accumulator):
        """Codes of an int64 array of sums, channels last; mbqm takes their low 32 bits, the int32 accumulators."""
        scaled = quant.mbqm(accumulator, self.multiplier, self.exponent) + self.zero_point
        return np.clip(scaled, self.low, self.high).astype(self.dtype)


@record(frozen=True, slots=True, eq=False)
class RealRequantizer:
    """As Requantizer, with the real multiplier in double, float64 of 1 or `channels` values, and one rounding."""

    multiplier: np.ndarray
    zero_point: int
    low: int
    high: int
    dtype: np.dtype

    def __call__(self, accumulator):
        """As of a Requantizer."""
        scaled = quant.round_half_away(quant.wrap32(accumulator) * self.multiplier) + self.zero_point
        return np.clip(scaled, self.low, self.high).astype(self.dtype)


def multipliers(real):
    """int64 arrays (multiplier, exponent) of finite doubles >= 0, with every exponent in -31..31 [NN 13.4]."""
    multiplier, exponent = quant.quantize_multipliers(real)
    # At 2^32 and above the left shift moves every bit of an int32 out; a zero multiplier avoids the undefined shift.
    return np.where(exponent > 31, 0, multiplier), np.minimum(exponent, 31)


def real_multiplier(node):
    """Product of input and filter scale over the output scale: a double, or an array of one for each channel.

    LiteRT forms it in double, but for convolutions of uint8.
    """
    scales = node.inputs[0].scale, weight_scales(node.inputs[1]), node.outputs[0].scale
    in_double = node.is_litert and (rounds_once(node) or node.inputs[0].dtype == np.int8)

    def multiply():
        if isinstance(scales[1], tuple):
            return conv.real_multipliers(*scales, in_double)
        return quant.conv_multiplier(*scales, np.float64 if in_double else np.float32)

    return node.once(("multiplier", scales[0], scales[2]), multiply)


def rounds_once(node):
    """Whether sums are multiplied in double and rounded once, as in LiteRT's FULLY_CONNECTED."""
    return node.is_litert and node.op.name in ("FULLY_CONNECTED", "TFL_FULLY_CONNECTED")


def requantizer(node):
    """The Requantizer, or RealRequantizer, of an operation with a fused activation, after check_scales [NN 13.8]."""
    if rounds_once(node):
        return RealRequantizer(np.atleast_1d(real_multiplier(node)), *codes(node), node.outputs[0].dtype)
    return Requantizer(*conv.multipliers(np.atleast_1d(real_multiplier(node))), *codes(node), node.outputs[0].dtype)


def codes(node):
    """(zero point, low, high): the range of output codes under the fused activation [NN 13.8]."""
    target = node.outputs[0]
    clamp = quant.activation_range(node.scalar("activation"), target.type, target.scale, target.zero_point)
    return target.zero_point, *clamp


def weight_scales(weights):
    """Scale of per-tensor weights, or the tuple of per-channel scales."""
    return weights.scale if weights.channel_quant is None else weights.channel_quant.scales


def require_scale_version(node):
    """Before 1.2 a uint8 output's scale had to exceed the product of the scales [NN 13.17 no. 10]."""
    source, weights, target = node.inputs[0], node.inputs[1], node.outputs[0]
    if weights.type != OperandType.TENSOR_QUANT8_ASYMM:
        return
    if target.scale <= quant.scale_product(source.scale, weights.scale):
        node.require("1.2")


def check_scales(node):
    """The multiplier must exist, and the bias of per-tensor 8-bit weights must carry the product scale [NN 13.4]."""
    source, weights = node.inputs[0], node.inputs[1]
    if not is_quant8(source) or isinstance(weights.value, Withheld):  # packed weights hold what comes of their scales
        return
    if not np.isfinite(real_multiplier(node)).all():
        node.fail(None, "product of input and filter scale is infinite in float32, must be finite")
    if weights.channel_quant is not None:
        return
    product = quant.scale_product(source.scale, weights.scale)
    scale = float(np.float32(node["bias"].scale))
    if not abs(product - scale) <= 1e-6 * min(product, scale):
        node.fail("bias", f"scale is {scale:.9g}, must be input scale times filter scale = {product:.9g}")


def check_channel_dim(node, name, dim):
    """Per-channel weights must have their scales along dimension `dim`, the output channels."""
    channels = node[name].channel_quant
    if channels is not None and channels.dim != dim:
        node.fail(name, f"channelDim is {channels.dim}, must be {dim}")


def centred(tensor, array):
    """8-bit codes minus their zero point, as float64, in which products and sums are exact (below 2^53)."""
    return array.astype(np.float64) - zero_point(tensor)


def zero_point(tensor):
    """Zero point of 8-bit codes; scales of channels go without one."""
    return tensor.zero_point if tensor.channel_quant is None else 0


def finish_quantized(node, accumulator, bias):
    """Output codes from the exact float64 sums of an operation and its int32 bias, wrapped as int32 [NN 13.14]."""
    return requantizer(node)(accumulator.astype(np.int64) + bias)


def finish_float(node, sums, bias):
    """Output of a float32 or float16 operation from its float64 sums: bias, clamp, one rounding."""
    low, high = quant.activation_float(node.scalar("activation"))
    return np.clip(sums + bias.astype(np.float64), low, high).astype(node.outputs[0].dtype)
