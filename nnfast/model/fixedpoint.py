"""Fixed-point exp, reciprocal, logistic and tanh of the standard, bit for bit [NN 13.5, 15.4].

A value in format Fk of a W-bit word has k integer bits, W - 1 - k fraction bits and a sign. Raw words travel as int64
arrays, so that nothing overflows on the way; every result fits the word again.
"""

import math

import numpy as np

from .quant import INT32_MAX, quantize_multiplier, rdbpot

_EXP_EIGHTH = 1895147668  # exp(-1/8) in F0
_THIRD = 715827883  # 1/3 in F0
_NEWTON_START = 1515870810, -1010580540  # 48/17 and -32/17 in F2
_EXP_FACTORS = (
    (-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242),
)
"""(j, exp(-2**j) in F0): the factors by which exp_neg handles the bits of its argument above 1/4."""


class FixedPoint:
    """Arithmetic on words of `width` bits (32 or 16). All methods take and return int64 arrays of raw words."""

    def __init__(self, width):
        self.width = width
        self.max = (1 << (width - 1)) - 1
        self.min = -1 - self.max

    def _constant(self, raw32):
        """The word's version of a 32-bit constant."""
        return raw32 if self.width == 32 else int(rdbpot(raw32, 16))

    def mul(self, a, b):
        """Product of Fa and Fb as F(a + b): saturating rounding doubling high multiply."""
        shift = self.width - 1
        product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
        return np.minimum((product + (1 << (shift - 1))) >> shift, self.max)

    def rescale(self, raw, source, target):
        """Change the number of integer bits: rounds when it grows, saturates when it shrinks."""
        raw = np.asarray(raw, np.int64)
        if target >= source:
            return rdbpot(raw, target - source)
        shift = source - target
        limit = (1 << (self.width - 1 - shift)) - 1
        return np.where(raw > limit, self.max, np.where(raw < -limit, self.min, raw << shift))

    def _exp_quarter(self, a):
        """exp(a) as F0 for a: F0 in [-1/4, 0), by the series around -1/8."""
        x = a + (1 << (self.width - 4))
        x2 = self.mul(x, x)
        x3 = self.mul(x2, x)
        x4 = self.mul(x2, x2)
        tail = rdbpot(self.mul(rdbpot(x4, 2) + x3, self._constant(_THIRD)) + x2, 1)
        centre = self._constant(_EXP_EIGHTH)
        return np.minimum(centre + self.mul(centre, x + tail), self.max)

    def exp_neg(self, a, integer_bits):
        """exp(a) as F0 for a <= 0 in F(integer_bits)."""
        a = np.asarray(a, np.int64)
        fraction_bits = self.width - 1 - integer_bits
        quarter = 1 << (fraction_bits - 2)
        low = (a & (quarter - 1)) - quarter
        result = self._exp_quarter(self.rescale(low, integer_bits, 0))
        rest = low - a
        for exponent, factor in _EXP_FACTORS:
            if integer_bits > exponent:
                bit = (rest >> (fraction_bits + exponent)) & 1
                result = np.where(bit == 1, self.mul(result, self._constant(factor)), result)
        if integer_bits > 5:
            result = np.where(a < -(1 << (fraction_bits + 5)), 0, result)
        return np.where(a == 0, self.max, result)

    def _newton(self, a):
        """2 / (1 + a) as F2 for a: F0 in [0, 1]: three Newton-Raphson steps."""
        half = (np.asarray(a, np.int64) + self.max + 1) >> 1
        start, slope = _NEWTON_START
        x = self._constant(start) + self.mul(half, self._constant(slope))
        one = 1 << (self.width - 3)
        for _ in range(3):
            x = x + self.rescale(self.mul(x, one - self.mul(half, x)), 4, 2)
        return x

    def recip1p(self, a):
        """1 / (1 + a) as F0 for a: F0 in [0, 1]."""
        # Half of an F2 value is the same word read as F1.
        return self.rescale(self._newton(a), 1, 0)

    def _ratio1p(self, a):
        """(1 - a) / (1 + a) as F0 for a: F0 in [0, 1]."""
        return self.rescale(self._newton(a) - (1 << (self.width - 3)), 2, 0)

    def logistic(self, a, integer_bits):
        """1 / (1 + exp(-a)) as F0 for a: F(integer_bits)."""
        a = np.asarray(a, np.int64)
        positive = self.recip1p(self.exp_neg(-np.abs(a), integer_bits))
        return np.where(a == 0, 1 << (self.width - 2), np.where(a > 0, positive, self.max - positive))

    def tanh(self, a, integer_bits):
        """tanh(a) as F0 for a: F(integer_bits)."""
        a = np.asarray(a, np.int64)
        # Read with one more integer bit, the same word means 2a; tanh(a) = (1 - exp(-2a)) / (1 + exp(-2a)).
        return np.sign(a) * self._ratio1p(self.exp_neg(-np.abs(a), integer_bits + 1))


WORD32 = FixedPoint(32)
"""32-bit words: LOGISTIC, TANH and SOFTMAX of 8-bit tensors."""

WORD16 = FixedPoint(16)
"""16-bit words: HARD_SWISH and the gates of the 16-bit LSTMs."""


_SQRT_HALF = 1518500250  # sqrt(1/2) in F0


def inv_sqrt(value):
    """int64 arrays (multiplier, exponent <= 0) with 1 / sqrt(value) ~ multiplier / 2**31 * 2**exponent.

    value: integers >= 0; 0 and 1 give the largest multiplier. Five Newton-Raphson steps on 32-bit words [NN 13.5].
    """
    value = np.asarray(value, np.int64)
    words, shift = value, np.full(value.shape, 11)
    while (tall := words >= 1 << 29).any():
        words, shift = np.where(tall, words >> 2, words), shift + tall
    # Even left shift that brings the word into [2**27, 2**29): clz of a 32-bit word is 32 less its bit length.
    pairs = (31 - np.frexp(np.maximum(words, 1).astype(np.float64))[1]) // 2 - 1
    half = rdbpot(words << 2 * pairs >> 1, 1)
    one = 1 << 28
    root = np.full(value.shape, one)
    for _ in range(5):
        cube = WORD32.rescale(WORD32.mul(WORD32.mul(root, root), root), 9, 3)
        root = WORD32.rescale(WORD32.mul(one + (one >> 1), root) - WORD32.mul(half, cube), 6, 3)
    multiplier, shift = WORD32.mul(root, _SQRT_HALF), shift - pairs
    multiplier <<= np.maximum(-shift, 0)
    trivial = value <= 1
    return np.where(trivial, INT32_MAX, multiplier), np.where(trivial, 0, -np.maximum(shift, 0))


def input_radius(integer_bits, left_shift):
    """Largest |code - zero point| that stays within F(integer_bits) after the shift [NN 13.4]."""
    return ((1 << integer_bits) - 1 << (31 - integer_bits)) >> left_shift


def multiplier_below_one(value):
    """(multiplier, right shift) of 0 < value < 1, or None where the standard has none [NN 13.4]."""
    if not 0 < value < 1:
        return None
    multiplier, exponent = quantize_multiplier(value)
    # A value within 2**-32 of one rounds up to it.
    return None if exponent > 0 else (multiplier, -exponent)


def multiplier_above_one(value):
    """(multiplier, left shift) of a finite value > 1, or None where the standard has none [NN 13.4]."""
    if not 1 < value < math.inf:
        return None
    return quantize_multiplier(value)
