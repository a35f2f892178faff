"""Quantized forms of operators on int16 tensors, and curves of quantized tensors by tables."""

from ..model.types import OperandType, OperationType
from . import own
from .forms import CODES, check_ratio, is_int16, one_scale, takes
from .own import translate
from .schema import Builtin, TensorType
from .translate_elementwise import FIXED_QUANT


def _int8_or_int16(x, y, out):
    return x.type in (TensorType.INT8, TensorType.INT16) and out.type == x.type and bool(x.scales)


def _codes8(x, y, out):
    return x.type in CODES and out.type == x.type and bool(x.scales)


def _one_input(b, op):
    b.check_counts(op, 1)
    for t in (b.tensor(op, 0), b.result(op)):
        one_scale(b, op, t)


@takes(is_int16, Builtin.RSQRT)
@takes(_int8_or_int16, Builtin.EXP, Builtin.LOG, Builtin.SQRT)
def curve(b, op):
    """EXP, LOG, SQRT and int16 RSQRT."""
    _one_input(b, op)
    translate(b, op, f"TFL_QUANTIZED_{op.name}")


def _beyond(kind):
    """Codes with an output that NNAPI's operation does not have."""
    def applies(x, y, out):
        unsigned, signed = FIXED_QUANT[kind]
        scale, point = signed if out.type == TensorType.INT8 else unsigned
        return _codes8(x, y, out) and (out.scales, out.zero_points) != ((scale,), (point,))
    return applies


@takes(_beyond(OperationType.LOGISTIC), Builtin.LOGISTIC)
@takes(_beyond(OperationType.TANH), Builtin.TANH)
def sigmoid(b, op):
    """LOGISTIC and TANH of codes into any quantization."""
    _one_input(b, op)
    translate(b, op, f"TFL_QUANTIZED_{op.name}")


@takes(lambda x, y, out: x.type == TensorType.INT8 and _codes8(x, y, out), Builtin.ELU)
def elu(b, op):
    """ELU of codes."""
    _one_input(b, op)
    translate(b, op, "TFL_QUANTIZED_ELU")


@takes(_codes8, Builtin.LOG_SOFTMAX)
def log_softmax(b, op):
    """LOG_SOFTMAX of codes."""
    _one_input(b, op)
    translate(b, op, "TFL_QUANTIZED_LOG_SOFTMAX")


@takes(lambda *tensors: _codes8(*tensors) or is_int16(*tensors), Builtin.GELU)
def gelu(b, op):
    """GELU of codes."""
    _one_input(b, op)
    translate(b, op, "TFL_QUANTIZED_GELU", (b.bool(op.options.approximate),))


@takes(_int8_or_int16, Builtin.ABS)
def absolute(b, op):
    """ABS of codes."""
    b.check_counts(op, 1)
    check_ratio(b, op)
    translate(b, op, "TFL_REQUANTIZE_ABS")


@takes(lambda x, y, out: is_int16(x, y, out) and y is not None and y.type == TensorType.INT8, Builtin.PRELU)
def prelu(b, op):
    """PRELU of int16 tensors with int8 slopes; LiteRT reads int16 slopes as bytes."""
    b.check_counts(op, 2)
    for t in (b.tensor(op, 0), b.tensor(op, 1), b.result(op)):
        one_scale(b, op, t)
    translate(b, op, "TFL_INT16_PRELU")


@takes(is_int16, Builtin.LOGISTIC, Builtin.TANH)
def squash(b, op):
    """LOGISTIC and TANH with output scale 2^-15."""
    _one_input(b, op)
    if b.result(op).scales[0] != 2.0**-15:
        b.refuse(op, f"output has scale {b.result(op).scales[0]}, must be 1 / 32768")
    translate(b, op, f"TFL_INT16_{op.name}")


def _softmax_to_int16(x, y, out):
    return x.type in (*CODES, TensorType.INT16) and bool(x.scales) and out.type == TensorType.INT16


@takes(_softmax_to_int16, Builtin.SOFTMAX)
def softmax(b, op):
    """SOFTMAX into int16 codes; from 8-bit inputs they start at -32768, whatever zero point the file declares."""
    b.check_counts(op, 1)
    x, out = b.tensor(op, 0), b.result(op)
    one_scale(b, op, x)
    beta = b.real(OperandType.TENSOR_FLOAT32, op.options.beta)
    if not any(out.zero_points):
        translate(b, op, "TFL_INT16_SOFTMAX", (beta,))
        return
    if x.type == TensorType.INT16:
        b.refuse(op, f"output has zero point {out.zero_points[0]}, must be 0")
    source = own.operand(b, op, x)
    target = b.current[out.index] = own.raw_result(b, op, 0)
    b.emit_own("TFL_INT16_SOFTMAX", (source, beta), (target,))


@takes(is_int16, Builtin.AVERAGE_POOL_2D, Builtin.MAX_POOL_2D)
def pool(b, op):
    """Pools; LiteRT does not rescale the codes, whatever the output's quantization."""
    b.check_counts(op, 1)
    scalars = [b.padding(op), *(b.positive(op, name) for name in ("stride_w", "stride_h", "filter_w", "filter_h")),
               b.activation(op), b.bool(False)]
    translate(b, op, f"TFL_INT16_{op.name}", scalars)
