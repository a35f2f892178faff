"""Table of the quantized operator forms that the standard lacks, and helpers of their translations."""

from importlib import import_module

import numpy as np

from ..forks import importing
from ..record import replace
from .schema import Builtin, TensorType

CODES = (TensorType.INT8, TensorType.UINT8)
FORMS = {}
"""Builtin code -> [(applies(first input, second input, output), function(builder, operator))]; if the second input is
omitted, as an LSTM's may be, the third one is passed instead."""
HYBRIDS = {
    Builtin.CONV_2D, Builtin.FULLY_CONNECTED, Builtin.SVDF, Builtin.RNN, Builtin.LSTM,
    Builtin.UNIDIRECTIONAL_SEQUENCE_RNN, Builtin.UNIDIRECTIONAL_SEQUENCE_LSTM, Builtin.BIDIRECTIONAL_SEQUENCE_RNN,
    Builtin.BIDIRECTIONAL_SEQUENCE_LSTM,
}
"""Operators on float tensors for which LiteRT accepts 8-bit weights."""
AREAS = ("quantized", "quantized_binary", "quantized_int16", "quantized_states")
"""The modules that register FORMS."""


def form(b, op):
    """The translation of an operator in a quantized form of our own; None if it is in none."""
    if not FORMS:
        with importing:
            for area in AREAS:
                import_module(f".{area}", __package__)
    if op.code in HYBRIDS:
        _sign(b, op)
    for applies, function in FORMS.get(op.code, ()):
        first, second, third = (b.tensor(op, place) for place in range(3))
        if first is None or not op.outputs or -1 in op.outputs:
            return None
        if applies(first, third if second is None else second, b.result(op)):
            return function
    return None


def _sign(b, op):
    """Read uint8 weights of a float operator as int8, as LiteRT does: files of 2018 and 2019 have these."""
    x = b.tensor(op, 0)
    if x is None or x.type != TensorType.FLOAT32:
        return
    for index in op.inputs[1:]:
        t = b.tensors[index]
        if index != -1 and t.type == TensorType.UINT8 and t.data is not None and len(t.scales) == 1:
            b.tensors[index] = replace(t, type=TensorType.INT8, zero_points=(0,))


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
    """Floats with int8 weights."""
    return x.type == TensorType.FLOAT32 and y is not None and y.type == TensorType.INT8 and bool(y.scales) \
        and not y.is_sparse


def one_scale(b, op, t):
    """(scale, zero point) of a tensor that must have one."""
    if len(t.scales) != 1 or not 0 < t.scales[0] < float("inf"):
        b.refuse(op, f"tensor[{t.index}] has scales {list(t.scales[:4])}, must have one above 0")
    if not -1 << 31 <= t.zero_points[0] < 1 << 31:
        b.refuse(op, f"tensor[{t.index}] has zero point {t.zero_points[0]}, must fit 32 bits")
    return float(np.float32(t.scales[0])), t.zero_points[0]


def check_ratio(b, op):
    """The ratio of input and output scale must be representable as a multiplier."""
    (scale, _), (new_scale, _) = (one_scale(b, op, t) for t in (b.tensor(op, 0), b.result(op)))
    if not scale / new_scale < 2.0**31:
        b.refuse(op, f"changes the scale from {scale} to {new_scale}, more than 31 bits")
