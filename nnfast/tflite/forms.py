"""Which quantized forms of operators the standard lacks, and what their translations share."""

from importlib import import_module

import numpy as np

from ..forks import importing
from .schema import TensorType

CODES = (TensorType.INT8, TensorType.UINT8)
FORMS = {}
"""Builtin code -> [(applies(first input, second input, output), function(builder, operator))]; the third input stands
in for a second one that is omitted, as an LSTM's may be."""
AREAS = ("quantized", "quantized_binary", "quantized_int16", "quantized_states")
"""The files that fill FORMS."""


def form(b, op):
    """The translation of an operator that comes in a quantized form of our own; None where it does not."""
    if not FORMS:
        with importing:
            for area in AREAS:
                import_module(f".{area}", __package__)
    for applies, function in FORMS.get(op.code, ()):
        first, second, third = (b.tensor(op, place) for place in range(3))
        if first is None or not op.outputs or -1 in op.outputs:
            return None
        if applies(first, third if second is None else second, b.result(op)):
            return function
    return None


def takes(applies, *codes):
    """Register a function as the translation of operators whose tensors are such."""
    def register(function):
        for code in codes:
            FORMS.setdefault(code, []).append((applies, function))
        return function
    return register


def is_int16(x, y, out):
    """Quantized int16 tensors."""
    return x.type == TensorType.INT16 and bool(x.scales) and out.type == TensorType.INT16


def is_hybrid(x, y, out):
    """Floats with constant int8 weights."""
    return x.type == TensorType.FLOAT32 and y is not None and y.type == TensorType.INT8 and bool(y.scales) \
        and y.data is not None and not y.is_sparse


def one_scale(b, op, t):
    """(scale, zero point) of a tensor that must have one."""
    if len(t.scales) != 1 or not 0 < t.scales[0] < float("inf"):
        b.refuse(op, f"tensor[{t.index}] has scales {list(t.scales[:4])}, must have one above 0")
    if not -1 << 31 <= t.zero_points[0] < 1 << 31:
        b.refuse(op, f"tensor[{t.index}] has zero point {t.zero_points[0]}, must fit 32 bits")
    return float(np.float32(t.scales[0])), t.zero_points[0]


def check_ratio(b, op):
    """The scales of input and output must be close enough for a multiplier."""
    (scale, _), (new_scale, _) = (one_scale(b, op, t) for t in (b.tensor(op, 0), b.result(op)))
    if not scale / new_scale < 2.0**31:
        b.refuse(op, f"changes the scale from {scale} to {new_scale}, more than 31 bits")
