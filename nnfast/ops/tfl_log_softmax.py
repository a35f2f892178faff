"""LOG_SOFTMAX of 8-bit tensors in fixed point, as LiteRT's reference kernels compute it."""

from math import frexp, prod

import numpy as np

from .._native.reduction import LogSoftmaxQ8
from ..model.fixedpoint import WORD32, input_radius
from ..model.quant import INT32_MAX, mbqm, quantize_multiplier, rdbpot
from .tfl import own
from .tfl_requantize import RANGES

_DIFFERENCE_BITS, _SUM_BITS, _LOG_BITS, _OUTPUT_BITS = 5, 12, 6, 4
"""Integer bits of differences of codes, of sums of their powers, of the logarithm on the way, of the result."""
_SCALE = 1 / 16
_MOST_COLUMNS = (1 << _SUM_BITS) - 1
"""Powers of up to 1 whose sum a word of 12 integer bits has."""

# In F0: ln 2, the roots of 1/2 of order 4 and 2, 1/4, and factors of a quotient that is near the logarithm.
_LN_2, _FOURTH_ROOT, _SQUARE_ROOT, _QUARTER = 1488522236, 1805811301, 1518500250, 536870912
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = 117049297, 127690142, 1057819769, 638450708


def _leading_zeros(words):
    """Of positive 32-bit words."""
    return 32 - np.frexp(words.astype(np.float64))[1].astype(np.int64)


def _raised(words, bits):
    """Words times 2**bits, within 32 bits."""
    return np.clip(words << bits, -INT32_MAX - 1, INT32_MAX)


def logarithm(words):
    """Natural logarithm, in F5, of int64 words >= 1 in F12."""
    mul, one = WORD32.mul, 1 << 31 - _LOG_BITS
    quarter = rdbpot(_QUARTER, _LOG_BITS)
    # The power of two is taken off the word, or off the word times the root of 1/2: what leaves less is used.
    room = _leading_zeros(words) - 1
    rest = _raised(mul(_raised(words, room), _SQUARE_ROOT), 1)
    power = (_SUM_BITS - 1 - room) * one + quarter
    other_room = _leading_zeros(mul(words, _SQUARE_ROOT)) - 1
    rest = np.minimum(rest, _raised(words, other_room))
    power = np.maximum(power, (_SUM_BITS - other_room) * one - quarter)
    middle = (rest + _FOURTH_ROOT + 1) >> 1
    away = 2 * (rest - _FOURTH_ROOT)
    square = mul(away, away)
    above = mul(away, rest) + mul(mul(away, square), _ALPHA_N)
    below = mul(middle, _ALPHA_I + away + mul(_ALPHA_D, square)) + mul(_ALPHA_F, away)
    found = mul(power, _LN_2) + mul(rdbpot(above, _LOG_BITS), WORD32.recip1p(below))
    return WORD32.rescale(found, _LOG_BITS, _DIFFERENCE_BITS)


def _multipliers(node):
    """((multiplier, left shift) of differences of codes to F5, the same back)."""
    real = min(float(np.float32(node["input"].scale)) * (1 << 31 - _DIFFERENCE_BITS), float(INT32_MAX))
    multiplier, left = quantize_multiplier(real)
    return (multiplier, left), quantize_multiplier((1 << 31 - left) / multiplier)


def infer(node):
    """The input's shape; its scale is above 2**-26, the output's steps are 1 / 16 below the highest code."""
    source, target = node["input"], node.outputs[0]
    high = RANGES[target.dtype][1]
    if target.scale != _SCALE or target.zero_point != high:
        node.fail(0, f"has scale {target.scale:.9g} and zero point {target.zero_point}, must be 1 / 16 and {high}")
    if frexp(source.scale)[1] <= _DIFFERENCE_BITS - 31:
        node.fail("input", f"has scale {source.scale:.9g}, must be above 2**-26")
    if not source.shape or source.shape[-1] > _MOST_COLUMNS:
        node.fail("input", f"has shape {list(source.shape)}, must have rows of at most {_MOST_COLUMNS}")
    return [source.shape]


def _of_differences(node):
    """(differences of any two codes, by their amount; their F5 words; their powers in F0; the lowest that counts)."""
    scale, _ = _multipliers(node)
    lowest = -input_radius(_DIFFERENCE_BITS, scale[1])
    differences = -np.arange(256)
    words = mbqm(np.maximum(differences, lowest), *scale)
    return differences, words, np.where(differences < lowest, 0, WORD32.exp_neg(words, _DIFFERENCE_BITS)), lowest


def compute(node, inputs):
    """x - max - ln(sum of e^(x - max)) of rows, in steps of 1 / 16."""
    x, target = inputs[0], node.outputs[0]
    low, high = RANGES[target.dtype]
    if not prod(x.shape):
        return [np.empty(x.shape, target.dtype)]
    differences, words, powers, lowest = _of_differences(node)
    below = x.max(axis=-1, keepdims=True).astype(np.int16) - x
    logs = logarithm(WORD32.rescale(powers, 0, _SUM_BITS)[below].sum(axis=-1, keepdims=True))
    lowest = np.maximum(lowest - 1, mbqm(logs - (1 << 31), *_multipliers(node)[1]))
    by_table = x.shape[-1] > differences.size
    if not by_table:
        words, differences = words[below], -below
    codes = rdbpot(words - logs, 31 - _DIFFERENCE_BITS - _OUTPUT_BITS) + high
    codes = np.where(differences > lowest, np.clip(codes, low, high), low).astype(target.dtype)
    return [np.take_along_axis(codes, below, axis=-1) if by_table else codes]


def lower(node, b):
    """One step. What is 16 or more below the highest code is the lowest, whatever the logarithm: so is every difference
    that falls to the bound by the logarithm in `compute`, which is at least that far below.
    """
    source = node["input"]
    n = source.shape[-1]
    differences, words, powers, lowest = _of_differences(node)
    far = 1 << 31 - _DIFFERENCE_BITS + _OUTPUT_BITS
    distances = np.where(differences < lowest, far, np.minimum(-words, far))
    b.emit(LogSoftmaxQ8((b.slot(source), b.slot(node.outputs[0])), source.dtype == np.int8,
                        prod(source.shape[:-1]) if n else 0, n, powers, distances))


TFL_QUANTIZED_LOG_SOFTMAX = own("TFL_QUANTIZED_LOG_SOFTMAX", {"input:T -> output:T": {"T": ("Q8", "Q8S")}}, compute,
                                infer, lower=lower)
