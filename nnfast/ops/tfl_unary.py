"""TFLite's elementwise operations on one input, for the types and functions that NNAPI lacks."""

from math import inf, prod

import numpy as np

from .._native.elementwise import (
    CAST_SOURCES,
    CAST_TARGETS,
    INTEGER_TYPES,
    BinaryF32,
    Cast,
    ClampF32,
    EluF32,
    LookupQ8,
    TflBinary,
    UnaryF32,
)
from .._native.movement import StridedCopy
from ..model.quant import round_half_away
from .cast import lower_same, within
from .reshape import lower as lower_same_bytes
from .tfl import ANY, BOOLS, FLOATS, INTEGERS, is_boolean, own, same_dtype, same_shape


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


# -- native --------------------------------------------------------------------------------------------------------
_CLAMPS = {"RELU": (0, inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}


def lower(node, b):
    """One step for float32 and booleans, one or two for signed integers and uint8."""
    source, name = node["input"], node.op.name.removeprefix("TFL_")
    slots, count = (b.slot(source), b.slot(node.outputs[0])), prod(source.shape)
    if source.dtype == np.float32:
        _lower_floats(node, b, name, slots, count)
    elif is_boolean(source.type):
        b.emit(LookupQ8(slots, count, np.uint8([1] + [0] * 255)))
    elif source.dtype.name in INTEGER_TYPES and name not in _CURVES:
        _lower_integers(b, name, source.dtype, slots, count)
    else:
        return f"no native kernel for {source.dtype}"
    return None


def _lower_floats(node, b, name, slots, count):
    if name in _CLAMPS:
        b.emit(ClampF32(slots, count, *_CLAMPS[name]))
    elif name == "SQUARE":
        b.emit(BinaryF32((slots[0], *slots), "mul", (count,), (count,)))
    elif name == "ELU":
        b.emit(EluF32(slots, count, 1.0))
    elif name == "GELU":
        b.emit(UnaryF32(slots, "gelu_tanh" if node.scalar("approximate") else "gelu", count))
    else:
        b.emit(UnaryF32(slots, name.lower(), count))


def _lower_integers(b, name, dtype, slots, count):
    """By arithmetic on two operands, which wraps as the formulas do; one of them a constant, or both the input."""
    def emit(op, first, second, target):
        shapes = [(count,) if slot in slots or slot == middle else (1,) for slot in (first, second)]
        b.emit(TflBinary((first, second, target), op, dtype.name, *shapes))

    def constant(value):
        return b.const(np.full(1, value, dtype))

    (source, target), middle = slots, None
    if name == "SQUARE":
        emit("mul", source, source, target)
    elif name == "NEG":
        emit("sub", constant(0), source, target)
    elif name == "ABS" and dtype.kind == "i":
        middle = b.temp(dtype.itemsize * count)
        emit("sub", constant(0), source, middle)
        emit("max", source, middle, target)
    else:
        low, high = {"SIGN": (-1, 1), "ABS": (0, inf)}.get(name) or _CLAMPS[name]
        limits = np.iinfo(dtype)
        middle = b.temp(dtype.itemsize * count) if high < limits.max else target
        emit("max", source, constant(max(low, limits.min)), middle)
        if middle != target:
            emit("min", middle, constant(high), target)


# -- references ---------------------------------------------------------------------------------------------------
def _unary(name, types, compute, more="", lower=lower):
    return own(name, {f"input:T{more} -> output:U": {"T": types, "U": types}}, compute, same_shape,
               same_dtype("input"), lower=lower)


TFL_COS = _unary("TFL_COS", FLOATS, compute_cos)
TFL_ROUND = _unary("TFL_ROUND", FLOATS, compute_round)
TFL_SIGN = _unary("TFL_SIGN", FLOATS + INTEGERS, compute_sign)
TFL_GELU = _unary("TFL_GELU", FLOATS, compute_gelu, " approximate:bool")


# -- the rest of TFLite's, on types that NNAPI does not take ---------------------------------------------------------
_EXACT = {"ABS": np.abs, "NEG": np.negative, "SQUARE": np.square, "CEIL": np.ceil, "FLOOR": np.floor,
          "RELU": lambda x: np.maximum(x, 0), "RELU6": lambda x: np.clip(x, 0, 6),
          "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1), "RELU_0_TO_1": lambda x: np.clip(x, 0, 1),
          "LOGICAL_NOT": lambda x: x == 0}
_CURVES = {"EXP": np.exp, "LOG": np.log, "SQRT": np.sqrt, "RSQRT": lambda x: 1 / np.sqrt(x), "SIN": np.sin,
           "TANH": np.tanh, "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
           "ELU": lambda x: np.where(x < 0, np.expm1(x), x), "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6}


def compute_named(node, inputs):
    """By the operation's formula: exact ones in the type itself, curves in float64, rounded once."""
    name, x = node.op.name.removeprefix("TFL_"), inputs[0]
    result = _EXACT[name](x) if name in _EXACT else _CURVES[name](x.astype(np.float64))
    return [np.asarray(result).astype(node.outputs[0].dtype)]


def check_fake_quant(node):
    """A range around 0 and 2 to 16 bits."""
    if not node.scalar("low") <= 0 <= node.scalar("high") or node.scalar("low") == node.scalar("high"):
        node.fail("low", f"is {node.scalar('low'):g} with high {node.scalar('high'):g}, must be a range around 0")
    node.check_in("bits", tuple(range(2, 17)))


def compute_fake_quant(node, inputs):
    """Numbers of a quantized range, moved so that 0 is one of them."""
    low, high = np.float32(node.scalar("low")), np.float32(node.scalar("high"))
    first, last = np.float32(node.scalar("narrow")), np.float32((1 << node.scalar("bits")) - 1)
    scale = (high - low) / (last - first)
    point = np.clip(round_half_away(first - low / scale), first, last).astype(np.float32)
    low, high = (first - point) * scale, (last - point) * scale
    x = np.clip(inputs[0], low, high)
    return [(round_half_away((x - low) * (np.float32(1) / scale)) * scale + low).astype(np.float32)]


def compute_leaky(node, inputs):
    """x, or where it is negative alpha times x."""
    x = inputs[0]
    return [np.where(x > 0, x, x * x.dtype.type(node.scalar("alpha")))]


def lower_leaky(node, b):
    """One step for float32: PRELU with one slope."""
    source, alpha = node["input"], node.scalar("alpha")
    if source.dtype != np.float32 or not np.isfinite(alpha):
        return f"no native kernel for {source.dtype} with a slope of {alpha:g}"
    b.emit(BinaryF32((b.slot(source), b.const(np.float32([alpha])), b.slot(node.outputs[0])), "prelu",
                     (prod(source.shape),), (1,)))
    return None


def compute_cast(node, inputs):
    """Numbers of another type: towards zero from floats to integers; to bool what is not zero."""
    x, output = inputs[0], node.outputs[0]
    if is_boolean(output.type):
        return [(x != 0).astype(output.dtype)]
    if x.dtype.kind == "c" and output.dtype.kind != "c":
        x = x.real
    if x.dtype.kind == "f" and output.dtype.kind in "iu":
        return [within(x, output.dtype)]
    return [x.astype(output.dtype)]


def lower_cast(node, b):
    """One step; none where all bytes stay and the output can be the input's memory."""
    source, output = node["input"], node.outputs[0]
    if _keeps_bytes(source.dtype, output.dtype) and not is_boolean(output.type):
        return lower_same(node, b)
    target = "bool" if is_boolean(output.type) else output.dtype.name
    if source.dtype.name not in CAST_SOURCES or target not in CAST_TARGETS:
        return f"no native kernel from {source.dtype} to {output.dtype}"
    b.emit(Cast((b.slot(source), b.slot(output)), prod(source.shape), source.dtype.name, target))
    return None


def _keeps_bytes(source, target):
    """Whether numbers of one dtype are cast to the other by taking their bytes: integers of a size wrap."""
    return source == target or source.kind in "iu" and target.kind in "iu" and source.itemsize == target.itemsize


def infer_bitcast(node):
    """Shape of the input, with another last dimension where the sizes of elements differ."""
    shape, ratio = node["input"].shape, node["input"].dtype.itemsize / node.outputs[0].dtype.itemsize
    if ratio == 1:
        return [shape]
    if ratio < 1:
        if not shape or shape[-1] * ratio != 1:
            node.fail("input", f"shape is {list(shape)}, its last dimension must be {round(1 / ratio)}")
        return [shape[:-1]]
    return [(*shape, round(ratio))]


def compute_bitcast(node, inputs):
    """The same bytes."""
    return [inputs[0].reshape(-1).view(node.outputs[0].dtype).reshape(infer_bitcast(node)[0]).copy()]


def compute_real(node, inputs):
    """One part of complex numbers."""
    return [(inputs[0].imag if node.op.name == "TFL_IMAG" else inputs[0].real).copy()]


def lower_real(node, b):
    """A copy of every other number."""
    source, output = node["input"], node.outputs[0]
    item = output.dtype.itemsize
    b.emit(StridedCopy((b.slot(source), b.slot(output)), (prod(source.shape),), (2 * item,), (item,), item, 0,
                       item * (node.op.name == "TFL_IMAG")))
    return None


def compute_complex_abs(node, inputs):
    """The length of complex numbers."""
    return [np.abs(inputs[0])]


TFL_NEG = _unary("TFL_NEG", FLOATS + INTEGERS + ("Q8S", "Q16S"), compute_named)
TFL_ABS, TFL_SQUARE, TFL_RELU, TFL_RELU6, TFL_RELU_N1_TO_1, TFL_RELU_0_TO_1 = (
    _unary(f"TFL_{name}", FLOATS + INTEGERS, compute_named)
    for name in ("ABS", "SQUARE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"))
TFL_CEIL, TFL_FLOOR, TFL_EXP, TFL_LOG, TFL_SQRT, TFL_RSQRT, TFL_SIN, TFL_TANH, TFL_LOGISTIC, TFL_ELU, TFL_HARD_SWISH = (
    _unary(f"TFL_{name}", FLOATS, compute_named)
    for name in ("CEIL", "FLOOR", "EXP", "LOG", "SQRT", "RSQRT", "SIN", "TANH", "LOGISTIC", "ELU", "HARD_SWISH"))
TFL_FAKE_QUANT = own("TFL_FAKE_QUANT", {"input:F32 low:f32 high:f32 bits:i32 narrow:bool -> output:F32": {}},
                     compute_fake_quant, same_shape, check_fake_quant)
TFL_LOGICAL_NOT = _unary("TFL_LOGICAL_NOT", BOOLS, compute_named)
TFL_LEAKY_RELU = _unary("TFL_LEAKY_RELU", FLOATS, compute_leaky, " alpha:f32", lower_leaky)
TFL_CAST = own("TFL_CAST", {"input:T -> output:U": {"T": ANY, "U": ANY}}, compute_cast, same_shape,
               lower=lower_cast, moves=True)
TFL_BITCAST = own("TFL_BITCAST", {"input:T -> output:U": {"T": ANY, "U": ANY}}, compute_bitcast, infer_bitcast,
                  lower=lower_same_bytes)
_OF_COMPLEX = {"input:T -> output:U": {"T": ("C64", "c64"), "U": ("F32", "f32")},
               "input:V -> output:W": {"V": ("C128", "c128"), "W": ("F64", "f64")}}
TFL_REAL, TFL_IMAG = (own(name, _OF_COMPLEX, compute_real, same_shape, lower=lower_real)
                      for name in ("TFL_REAL", "TFL_IMAG"))
TFL_COMPLEX_ABS = own("TFL_COMPLEX_ABS", _OF_COMPLEX, compute_complex_abs, same_shape)
