"""Quantized forms of operators on two tensors."""

from .forms import CODES, is_hybrid, is_int16, one_scale, takes
from .own import translate
from .schema import Builtin, TensorType


def _all_quantized(x, y, out):
    return y is not None and x.type in (*CODES, TensorType.INT16) and x.type == y.type == out.type and \
        all(t.scales for t in (x, y, out))


def _three_scales(b, op):
    b.check_counts(op, 2)
    return [one_scale(b, op, t)[0] for t in (b.tensor(op, 0), b.tensor(op, 1), b.result(op))]


@takes(_all_quantized, Builtin.DIV)
def div(b, op):
    """DIV of codes."""
    first, second, target = _three_scales(b, op)
    if not first / (second * target) < 2.0**31:
        b.refuse(op, f"changes the scale from {first / second} to {target}, more than 31 bits")
    translate(b, op, "TFL_QUANTIZED_DIV", (b.activation(op),))


@takes(lambda x, y, out: _all_quantized(x, y, out) and x.type == TensorType.INT8, Builtin.SQUARED_DIFFERENCE)
def squared_difference(b, op):
    """SQUARED_DIFFERENCE of int8."""
    first, second, target = _three_scales(b, op)
    if not 4 * max(first, second)**2 / target < 2.0**14:
        b.refuse(op, f"changes the scale from {max(first, second)**2} to {target}, more than the kernel has bits for")
    translate(b, op, "TFL_QUANTIZED_SQUARED_DIFFERENCE")


def _needs_scales(x, y, _):
    return y is not None and x.type in CODES and x.type == y.type and bool(x.scales) and bool(y.scales) and \
        (x.scales, x.zero_points) != (y.scales, y.zero_points)


def _is_int16_pair(x, y, _):
    return y is not None and is_int16(x, None, y)


@takes(lambda *tensors: _needs_scales(*tensors) or _is_int16_pair(*tensors), Builtin.EQUAL, Builtin.NOT_EQUAL)
@takes(_needs_scales, Builtin.LESS, Builtin.LESS_EQUAL, Builtin.GREATER, Builtin.GREATER_EQUAL)
def comparison(b, op):
    """Comparisons of two quantizations, and of int16 values for equality."""
    b.check_counts(op, 2)
    for place in (0, 1):
        one_scale(b, op, b.tensor(op, place))
    translate(b, op, f"TFL_QUANTIZED_{op.name}")


# -- floats and int8 constants ---------------------------------------------------------------------------------------
@takes(is_hybrid, Builtin.BATCH_MATMUL)
def batch_matmul(b, op):
    """BATCH_MATMUL of floats with int8 constants."""
    b.check_counts(op, 2)
    options = op.options
    flags = options.adj_x, options.adj_y, options.asymmetric_quantize_inputs
    translate(b, op, "TFL_HYBRID_BATCH_MATMUL", [b.bool(flag) for flag in flags])


@takes(lambda x, y, out: x.type == TensorType.INT32 and y is not None and y.type in CODES and bool(y.scales)
       and out.type == TensorType.FLOAT32, Builtin.EMBEDDING_LOOKUP)
def embedding_lookup(b, op):
    """EMBEDDING_LOOKUP of rows of codes, as floats."""
    b.check_counts(op, 2)
    values = b.tensor(op, 1)
    if any(values.zero_points):
        b.refuse(op, f"tensor[{values.index}] has zero point {values.zero_points[0]}, must be 0")
    translate(b, op, "TFL_HYBRID_EMBEDDING_LOOKUP")
