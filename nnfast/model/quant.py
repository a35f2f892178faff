"""Fixed-point arithmetic of the standard in numpy (ops_a.md A.4, A.8); csrc/include/nnf/fixedpoint.h is its C side.

Scales are float32. Products of scales are formed in float32 and only then widened to double.
"""

import math

import numpy as np

from .types import QUANT_RANGE, Activation

INT32_MAX = 2147483647


def quantize_multiplier(value):
    """(multiplier, exponent) with value ~ multiplier / 2**31 * 2**exponent (ops_a.md A.4 QuantizeMultiplier)."""
    if value == 0:
        return 0, 0
    fraction, exponent = math.frexp(value)
    multiplier = math.floor(fraction * 2147483648.0 + 0.5)
    if multiplier == 1 << 31:
        multiplier >>= 1
        exponent += 1
    if exponent < -31:
        return 0, 0
    return multiplier, exponent


def conv_multiplier(scale_in, scale_weight, scale_out):
    """Real multiplier of a convolution: float32 product of the input scales over the output scale, as a double."""
    return float(np.float32(scale_in) * np.float32(scale_weight)) / float(np.float32(scale_out))


def srdhm(a, b):
    """Saturating rounding doubling high multiply of int32 values; arrays broadcast (ops_a.md A.4 SRDHM)."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    # trunc((p + nudge) / 2^31) with the asymmetric nudge equals an arithmetic shift of p + 2^30.
    return np.minimum((product + (1 << 30)) >> 31, INT32_MAX)


def rdbpot(x, exponent):
    """Divide by 2**exponent, to nearest, ties away from zero (ops_a.md A.4 RDBPOT)."""
    x = np.asarray(x, np.int64)
    exponent = np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + ((x & mask) > threshold)


def wrap32(x):
    """Two's-complement int32 of an int64 array."""
    return np.asarray(x, np.int64).astype(np.int32).astype(np.int64)


def mbqm(x, multiplier, exponent):
    """Multiply int32 values by a quantized multiplier, with double rounding (ops_a.md A.4 MBQM)."""
    exponent = np.asarray(exponent, np.int64)
    left = np.maximum(exponent, 0)
    return rdbpot(srdhm(wrap32(np.asarray(x, np.int64) << left), multiplier), np.maximum(-exponent, 0))


def round_half_away(x):
    """Round to nearest, ties away from zero, as C's round(); keeps the float type of x."""
    x = np.asarray(x)
    whole = np.trunc(x)
    # x - trunc(x) is exact, where x + 0.5 would round 0.49999997 up.
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), x.dtype.type(0))


def activation_float(code):
    """(low, high) float32 clamp of a fused activation."""
    return {
        Activation.NONE: (-np.inf, np.inf), Activation.RELU: (0.0, np.inf), Activation.RELU1: (-1.0, 1.0),
        Activation.RELU6: (0.0, 6.0),
    }[code]


def activation_range(code, type_, scale, zero_point):
    """(low, high) integer clamp of a fused activation in the output's quantization (ops_a.md A.8)."""
    low, high = QUANT_RANGE[type_]

    def quantized(real):
        return zero_point + int(round_half_away(np.float32(real) / np.float32(scale)))

    if code == Activation.RELU:
        return max(low, quantized(0.0)), high
    if code == Activation.RELU1:
        return max(low, quantized(-1.0)), min(high, quantized(1.0))
    if code == Activation.RELU6:
        return max(low, quantized(0.0)), min(high, quantized(6.0))
    return low, high
