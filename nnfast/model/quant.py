"""Fixed-point arithmetic of the standard in numpy [NN 13.4, 13.8]: twin of csrc/include/nnf/fixedpoint.h.

Scales are float32. Products of scales are formed in float32 and only then widened to double.
"""

from math import ceil, floor, frexp

import numpy as np

from .types import QUANT_RANGE, Activation

INT32_MAX = 2147483647


def quantize_multipliers(values):
    """int64 arrays (multiplier, exponent) of non-negative finite doubles: QuantizeMultiplier of [NN 13.4]."""
    fraction, exponent = np.frexp(np.asarray(values, np.float64))
    multiplier = np.floor(fraction * 2147483648.0 + 0.5).astype(np.int64)
    exponent = exponent.astype(np.int64)
    carry = multiplier == 1 << 31
    multiplier, exponent = np.where(carry, multiplier >> 1, multiplier), exponent + carry
    vanishes = exponent < -31
    return np.where(vanishes, 0, multiplier), np.where(vanishes, 0, exponent)


def quantize_multiplier(value):
    """(multiplier, exponent) with value ~ multiplier / 2**31 * 2**exponent, as Python ints; value: finite, >= 0."""
    fraction, exponent = frexp(value)
    multiplier = floor(fraction * 2147483648.0 + 0.5)
    if multiplier == 1 << 31:
        multiplier, exponent = multiplier >> 1, exponent + 1
    return (0, 0) if exponent < -31 else (multiplier, exponent)


def scale_product(scale_in, scale_weight):
    """float32 product of two scales, as a double (infinite where it overflows)."""
    with np.errstate(over="ignore"):
        return float(np.float32(scale_in) * np.float32(scale_weight))


def conv_multiplier(scale_in, scale_weight, scale_out, product_type=np.float32):
    """Real multiplier of a convolution as a double (array): product of input and filter scale over the output scale.

    scale_weight: one scale, or a sequence of per-channel scales; infinite where the product overflows [NN 13.4].
    product_type: in which the scales are multiplied; the standard's is float32, LiteRT's often float64, which moves
    about one value of a million by one step.
    """
    weights = np.asarray(scale_weight, np.float32).astype(product_type)
    with np.errstate(over="ignore"):
        product = (product_type(np.float32(scale_in)) * weights).astype(np.float64)
    multiplier = product / float(np.float32(scale_out))
    return multiplier if weights.ndim else float(multiplier)


def srdhm(a, b):
    """Saturating rounding doubling high multiply of int32 values; arrays broadcast [NN 13.4 SRDHM]."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    # trunc((p + nudge) / 2^31) with the asymmetric nudge equals an arithmetic shift of p + 2^30.
    return np.minimum((product + (1 << 30)) >> 31, INT32_MAX)


def rdbpot(x, exponent):
    """Divide by 2**exponent, to nearest, ties away from zero [NN 13.4 RDBPOT]."""
    x = np.asarray(x, np.int64)
    exponent = np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + ((x & mask) > threshold)


def wrap32(x):
    """Two's-complement int32 of an int64 array."""
    return np.asarray(x, np.int64).astype(np.int32).astype(np.int64)


def mbqm(x, multiplier, exponent):
    """Multiply int32 values by a quantized multiplier, with double rounding [NN 13.4 MBQM]."""
    exponent = np.asarray(exponent, np.int64)
    left = np.maximum(exponent, 0)
    return rdbpot(srdhm(wrap32(np.asarray(x, np.int64) << left), multiplier), np.maximum(-exponent, 0))


def mbqm_wide(x, multiplier, exponent):
    """As mbqm, for int64 values: by the upper 16 bits of the multiplier, rounded once, as LiteRT has it."""
    shift = 15 - np.asarray(exponent, np.int64)
    return wrap32((np.asarray(x, np.int64) * upper_half(multiplier) + (np.int64(1) << (shift - 1))) >> shift)


def upper_half(multiplier):
    """15 bits of a multiplier, rounded."""
    multiplier = np.asarray(multiplier, np.int64)
    return np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)


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
    """(low, high) integer clamp of a fused activation in the output's quantization [NN 13.8]."""
    low, high = QUANT_RANGE[type_]

    def quantized(real):
        # The quotient of two float32 values, rounded from double to float32, is that of a float32 division. A tiny
        # scale makes it huge; the clamp to the type's range is the same for any huge value.
        steps = float(np.float32(min(max(real / float(np.float32(scale)), -2.0**31), 2.0**31)))
        return zero_point + int(floor(steps + 0.5) if steps >= 0 else ceil(steps - 0.5))

    if code == Activation.RELU:
        return max(low, quantized(0.0)), high
    if code == Activation.RELU1:
        return max(low, quantized(-1.0)), min(high, quantized(1.0))
    if code == Activation.RELU6:
        return max(low, quantized(0.0)), min(high, quantized(6.0))
    return low, high
