"""Curves of quantized tensors, as LiteRT's reference kernels compute them: tables of 256 codes, or of 513 that int16
codes are interpolated between; int16 LOGISTIC and TANH by one table of the logistic function; int16 SOFTMAX.
"""

from functools import cache
from math import erfc, prod

import numpy as np

from .._native.elementwise import CurveQ16, SigmoidQ16
from .._native.reduction import SoftmaxQ16
from ..model import quant
from . import softmax
from .codes import curved, logistic32
from .tfl import own, ratio_multiplier, same_shape
from .tfl_requantize import RANGES, lower_by_table

_LOW, _HIGH = -(1 << 15), (1 << 15) - 1


# -- tables ----------------------------------------------------------------------------------------------------------
def table16(source, target, curve, real):
    """int64 codes at the ends of 512 equal parts of the input's range, moved by half the error between them.

    source, target: (scale, zero point); curve: of float64 arrays; real: the type that LiteRT reckons in.
    """
    scales = real(source[0]), real(target[0])
    first, last = (scales[0] * real(code - source[1]) for code in (_LOW, _HIGH))
    lowest, highest = (scales[1] * real(code - target[1]) for code in (_LOW, _HIGH))
    step = (last - first) / real(512)
    inverse = real(1 << 16) / (highest - lowest)
    places = np.arange(513).astype(real)

    def at(x):
        return curve(x.astype(np.float64)).astype(real)

    ends = at(first + places * step)
    codes = quant.round_half_away(ends * inverse)
    middle = quant.round_half_away((ends[1:] * inverse + codes[:-1]) / real(2))
    error = middle - quant.round_half_away(at(first + places[:-1] * step + step / real(2)) * inverse)
    final = quant.round_half_away(at(np.array([last])) * inverse)
    table = np.concatenate([codes[:-1] - quant.round_half_away(error / real(2)), final])
    return np.clip(table, _LOW, _HIGH).astype(np.int64)


def looked_up(table, codes):
    """Values of a table16 at int64 codes."""
    place = 256 + (codes >> 7)
    slope = (table[place + 1] - table[place]).astype(np.int16).astype(np.int64)
    return (table[place] + (slope * (codes & 127) + 64 >> 7)).astype(np.int16)


def _tanh32(x):
    """Of float32 numbers as C libraries compute it, by exp(2 x) - 1; a correctly rounded one gives other tables."""
    size, one, two = np.abs(x), np.float32(1), np.float32(2)
    power = np.expm1(np.where(size < one, -two * size, two * size).astype(np.float64)).astype(np.float32)
    result = np.where(size < one, -power / (power + two), one - two / (power + two))
    return np.copysign(np.where(size < np.float32(22), result, one), x)


def _gelu(node, x):
    """Each step rounded to float32, in LiteRT's order."""
    x, half = x.astype(np.float32), np.float32(0.5)
    if node.scalar("approximate"):
        slope = np.float32(0.7978845608028654) * (x + np.float32(0.044715) * x * x * x)
        return half * x * (np.float32(1) + _tanh32(slope))
    above = [erfc(value) for value in (x * np.float32(-0.7071067811865476)).reshape(-1).tolist()]
    return half * x * np.array(above, np.float32).reshape(x.shape)


def _log(node, x):
    target = node.outputs[0]
    lowest = (RANGES[target.dtype][0] - target.zero_point) * float(np.float32(target.scale))
    return np.where(x > 0, np.log(np.where(x > 0, x, 1)), lowest)


def _rsqrt(node, x):
    return np.where(x > 0, 1 / np.sqrt(np.where(x > 0, x, 1)), _HIGH * float(np.float32(node.outputs[0].scale)))


def _elu(node, x):
    with np.errstate(over="ignore"):
        return np.where(x < 0, np.exp(x).astype(np.float32) - np.float32(1), x)


_CURVES = {"EXP": lambda node, x: np.exp(x), "LOG": _log, "GELU": _gelu, "RSQRT": _rsqrt,
           "LOGISTIC": lambda node, x: logistic32(x), "TANH": lambda node, x: np.tanh(x), "ELU": _elu}


def _table_of(name, node):
    """table16 of a curve of int16 codes."""
    source, target = node["input"], node.outputs[0]
    pair = (source.scale, source.zero_point), (target.scale, target.zero_point)
    with np.errstate(all="ignore"):
        return table16(*pair, lambda x: _CURVES[name](node, x), np.float32)


def _compute_curve(name):
    def compute(node, inputs):
        """The curve, in float32, by a table of codes."""
        source, target = node["input"], node.outputs[0]
        if source.dtype == np.int16:
            return [looked_up(_table_of(name, node), inputs[0].astype(np.int64))]
        with np.errstate(all="ignore"):
            return [curved(source, target, inputs[0], lambda x: _CURVES[name](node, x))]

    return compute


def _curve(name, types, more=""):
    compute = _compute_curve(name)
    by_codes = lower_by_table(compute)

    def lower(node, b):
        if node["input"].dtype != np.int16:
            return by_codes(node, b)
        slots = b.slot(node["input"]), b.slot(node.outputs[0])
        b.emit(CurveQ16(slots, prod(node["input"].shape), _table_of(name, node).astype(np.int16)))
        return None

    return own(f"TFL_QUANTIZED_{name}", {f"input:T{more} -> output:T": {"T": types}}, compute, same_shape, lower=lower)


TFL_QUANTIZED_EXP, TFL_QUANTIZED_LOG = (_curve(name, ("Q8S", "Q16S")) for name in ("EXP", "LOG"))
TFL_QUANTIZED_GELU = _curve("GELU", ("Q8", "Q8S", "Q16S"), " approximate:bool")
TFL_QUANTIZED_RSQRT = _curve("RSQRT", ("Q16S",))
TFL_QUANTIZED_LOGISTIC, TFL_QUANTIZED_TANH = (_curve(name, ("Q8", "Q8S")) for name in ("LOGISTIC", "TANH"))
TFL_QUANTIZED_ELU = _curve("ELU", ("Q8S",))


def compute_sqrt(node, inputs):
    """Roots in float32, in steps of the output cut towards zero; 0 of what is below zero, which LiteRT refuses."""
    source, target = node["input"], node.outputs[0]
    steps = np.maximum(inputs[0].astype(np.int64) - source.zero_point, 0).astype(np.float32)
    roots = np.sqrt(np.float32(source.scale) * steps) / np.float32(target.scale)
    codes = np.trunc(roots.astype(np.float64)) + target.zero_point
    return [np.clip(codes, *RANGES[target.dtype]).astype(target.dtype)]


TFL_QUANTIZED_SQRT = own("TFL_QUANTIZED_SQRT", {"input:T -> output:T": {"T": ("Q8S", "Q16S")}}, compute_sqrt,
                         same_shape, lower=lower_by_table(compute_sqrt))


# -- LOGISTIC, TANH --------------------------------------------------------------------------------------------------
def _logistic_table():
    """Of x = i / 24 in steps of 2^-16, moved so that lines between the values are as far above as below the curve."""
    def at(x):
        return 65536 / (1 + np.exp(-x / 24))

    x = np.arange(256.0)
    bend = (at(x + 1) + at(x)) / 2 - at(x + 0.5)
    table = np.floor(at(x) - bend / 2 + 0.5).astype(np.int64)
    table[-1] = (1 << 16) - 1
    return table


_LOGISTIC = _logistic_table()
_BITS = 12
"""Bits behind the point of a code whose scale is a power of two that needs no multiplier."""


_FORMS = {"LOGISTIC": (9, 0x7FFF << 10, 0, 1 << 25, 10), "TANH": (8, 0xFFFF << 8, 1 << 23, 1 << 23, 8)}
"""Bits between values of the table, the value beyond it, what is taken off it, what values at x and -x make together,
and bits behind the point of the result."""


def _to_table(name, node):
    """(multiplier, right shift) of codes to steps of 1 / (3 * 2^12), for TANH half of them.

    A scale that is a power of two takes shifts alone where LiteRT leaves them to it.
    """
    scale = float(np.float32(node["input"].scale))
    fraction, exponent = np.frexp(scale)
    shift = _BITS + int(exponent) - 1
    if fraction == 0.5 and shift in ((0,) if name == "LOGISTIC" else (0, 1)):
        return 3 << shift, 0
    multiplier, right = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767 / 2 and right <= 30:
        multiplier, right = multiplier * 2, right + 1
    if multiplier >= 1 << 31:
        node.fail("input", f"has scale {scale:.9g}, must be below 2^31 / (3 * 2^12) = {2.0**31 / 12288:.9g}")
    return int(multiplier), right


def _sigmoid(name):
    bits, cap, less, total, shift = _FORMS[name]

    def compute(node, inputs):
        """Between two entries of the table by a line, in steps of 2^-15; tanh(x) is 2 logistic(2 x) - 1."""
        multiplier, right = _to_table(name, node)
        x = quant.wrap32(inputs[0].astype(np.int64) * multiplier + (1 << right >> 1)) >> right
        size = np.abs(x)
        place, part = np.minimum(size >> bits, 254), size & (1 << bits) - 1
        value = (_LOGISTIC[place] << bits) + part * (_LOGISTIC[place + 1] - _LOGISTIC[place])
        value = np.where(size >> bits >= 255, cap, value)
        return [(np.where(x >= 0, value - less, total - value - 1) + (1 << shift >> 1) >> shift).astype(np.int16)]

    def lower(node, b):
        b.emit(SigmoidQ16((b.slot(node["input"]), b.slot(node.outputs[0])), prod(node["input"].shape),
                          _to_table(name, node), _FORMS[name], _LOGISTIC.astype(np.uint16)))
        return None

    return own(f"TFL_INT16_{name}", {"input:T -> output:T": {"T": ("Q16S",)}}, compute, same_shape, lower=lower)


TFL_INT16_LOGISTIC, TFL_INT16_TANH = (_sigmoid(name) for name in _FORMS)


# -- SOFTMAX ---------------------------------------------------------------------------------------------------------
_WIDTH = 65535


@cache
def _softmax_tables():
    """(exp over [-10, 0], 1 / (1 + x) over [0, 1]) in steps of 2^-15."""
    codes = 2.0 / _WIDTH, 0
    return (table16((10.0 / _WIDTH, _HIGH), codes, np.exp, np.float64),
            table16((1.0 / _WIDTH, _LOW), codes, lambda x: 1 / (1 + x), np.float64))


def _to_powers(node):
    """(multiplier, exponent) of differences of int16 codes to codes of the table of powers."""
    with np.errstate(over="ignore"):
        real = float(np.float32(node["input"].scale) * np.float32(node.scalar("beta"))) / (10.0 / _WIDTH)
    return ratio_multiplier(node, real)


def compute_softmax(node, inputs):
    """Over the last axis; of int16 codes by tables, of 8-bit codes into int16 ones from -32768 on in fixed point."""
    x = inputs[0].astype(np.int64)
    if x.size == 0:
        return [np.zeros(x.shape, np.int16)]
    if node["input"].dtype != np.int16:
        return [(softmax.fractions(node, x, 16) + _LOW).clip(_LOW, _HIGH).astype(np.int16)]
    powers, reciprocals = _softmax_tables()
    steps = quant.mbqm(x - x.max(axis=-1, keepdims=True), *_to_powers(node)) + _HIGH
    terms = looked_up(powers, np.clip(steps, _LOW, _HIGH)).astype(np.int64)
    total = terms.sum(axis=-1, keepdims=True)
    length = np.frexp(np.maximum(total, 1).astype(np.float64))[1].astype(np.int64)
    fraction = ((total << 31 - length) + (1 << 13) >> 14) - (1 << 15) - (1 << 16)
    scale = looked_up(reciprocals, np.clip(fraction, _LOW, _HIGH)).astype(np.int64)
    shift = length - 1
    return [np.clip(terms * scale + (1 << shift >> 1) >> shift, 0, _HIGH).astype(np.int16)]


_MOST_TERMS = 65536
"""Terms whose sum stays within 31 bits."""


def lower_softmax(node, b):
    """One step."""
    source = node["input"]
    slots, n = (b.slot(source), b.slot(node.outputs[0])), source.shape[-1]
    rows = prod(source.shape[:-1]) if n else 0
    if source.dtype != np.int16:
        types = "qs8" if source.dtype == np.int8 else "qu8"
        b.emit(SoftmaxQ16(slots, rows, n, types=types, power=softmax.code_powers(node)))
        return None
    scale = _to_powers(node)
    if n > _MOST_TERMS or scale[1] > 31:
        return f"rows of {n} codes, input scale {source.scale:.9g}: no native kernel"
    b.emit(SoftmaxQ16(slots, rows, n, scale, np.stack(_softmax_tables()).astype(np.int16)))
    return None


def infer_softmax(node):
    """The input's shape, which has a last axis."""
    node.check_rank("input", 1, 8)
    if not node.scalar("beta") > 0:
        node.fail("beta", f"is {node.scalar('beta'):g}, must be greater than 0")
    if node["input"].dtype != np.int16:
        softmax.multiplier(node)
    return same_shape(node)


TFL_INT16_SOFTMAX = own("TFL_INT16_SOFTMAX", {"input:T beta:f32 -> output:U":
                                              {"T": ("Q16S", "Q8", "Q8S"), "U": ("Q16S", "I16")}},
                        compute_softmax, infer_softmax, lower=lower_softmax)
