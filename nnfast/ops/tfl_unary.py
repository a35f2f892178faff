"""Elementwise operations of TFLite on one input that NNAPI lacks: COS, ROUND, SIGN, GELU."""

import numpy as np

from .tfl import FLOATS, INTEGERS, own, same_dtype, same_shape


# -- arithmetic ----------------------------------------------------------------------------------------------------
def compute_cos(node, inputs):
    """In float64, rounded once."""
    return [np.cos(np.asarray(inputs[0], np.float64)).astype(inputs[0].dtype)]


def compute_round(node, inputs):
    """To the nearest, halves to even."""
    return [np.rint(inputs[0])]


def compute_sign(node, inputs):
    """-1, 0 or 1; NaN stays."""
    return [np.sign(inputs[0])]


def compute_gelu(node, inputs):
    """x times the normal distribution function, or its approximation by tanh."""
    x = np.asarray(inputs[0], np.float64)
    if node.scalar("approximate"):
        y = 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    else:
        y = 0.5 * x * (1 + erf(x * 0.7071067811865476))
    return [y.astype(inputs[0].dtype)]


def erf(x):
    """The error function of float64 arrays, to about 1e-15: series near 0, continued fraction beyond."""
    size = np.minimum(np.abs(x), 6.0)
    square = size * size
    near = np.ones_like(size)
    for k in range(60, 0, -1):
        near = 1 + near * square * 2 / (2 * k + 1)
    far = np.zeros_like(size)
    wide = np.maximum(size, 2.0)
    for k in range(60, 0, -1):
        far = k / 2 / (wide + far)
    root = 1.7724538509055159
    series = 2 / root * size * np.exp(-square) * near
    return np.sign(x) * np.where(size < 2, series, 1 - np.exp(-square) / (wide + far) / root)


# -- definitions ---------------------------------------------------------------------------------------------------
def _unary(name, types, compute, more=""):
    return own(name, {f"input:T{more} -> output:U": {"T": types, "U": types}}, compute, same_shape,
               same_dtype("input"))


TFL_COS = _unary("TFL_COS", FLOATS, compute_cos)
TFL_ROUND = _unary("TFL_ROUND", FLOATS, compute_round)
TFL_SIGN = _unary("TFL_SIGN", FLOATS + INTEGERS, compute_sign)
TFL_GELU = _unary("TFL_GELU", FLOATS, compute_gelu, " approximate:bool")
