"""Operators of one tensor: ABS to SQUARE, LEAKY_RELU, ELU, LOG_SOFTMAX, normalizations, CAST."""

from math import inf

import numpy as np

from ..model.types import OperandType, OperationType
from .graph import frozen
from .rules import FLOATS, FLOATS_QUANT8, QUANT8, translates
from .schema import Builtin
from .values import constant_like, fill_like

T = OperandType
_NUMBERS = FLOATS + (T.TENSOR_INT32,)
_TYPES = {
    Builtin.ABS: _NUMBERS, Builtin.EXP: FLOATS, Builtin.FLOOR: FLOATS, Builtin.LOG: FLOATS, Builtin.NEG: _NUMBERS,
    Builtin.RSQRT: FLOATS, Builtin.SIN: FLOATS, Builtin.SQRT: FLOATS, Builtin.LOGICAL_NOT: (T.TENSOR_BOOL8,),
}


def _source(b, op, types):
    """(tensor, operand type) of the only input, whose type is the output's."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    return x, b.check_types(op, types, x, b.result(op))


@translates(Builtin.ABS, Builtin.EXP, Builtin.FLOOR, Builtin.LOG, Builtin.LOGICAL_NOT, Builtin.NEG, Builtin.RSQRT,
            Builtin.SIN, Builtin.SQRT)
def unary(b, op):
    """Operators that NNAPI has under the same name."""
    x, _ = _source(b, op, _TYPES[op.code])
    if op.code == Builtin.FLOOR:
        b.check_rank(op, x, 1)
    b.emit(OperationType[op.name], (b.operand(op, x),), (b.output(op, b.dims(op, x)),))


@translates(Builtin.CEIL)
def ceil(b, op):
    """CEIL(x) = NEG(FLOOR(NEG(x))), exact for all floats."""
    x, code = _source(b, op, FLOATS)
    b.check_rank(op, x, 1)
    dims = b.dims(op, x)
    turned, floor = (b.temporary(code, dims, name=f"{x.name}_{part}") for part in ("neg", "floor"))
    b.emit(OperationType.NEG, (b.operand(op, x),), (turned,))
    b.emit(OperationType.FLOOR, (turned,), (floor,))
    b.emit(OperationType.NEG, (floor,), (b.output(op, dims),))


@translates(Builtin.SQUARE)
def square(b, op):
    """SQUARE(x) = MUL(x, x)."""
    x, _ = _source(b, op, FLOATS)
    b.check_rank(op, x, 1)
    source = b.operand(op, x)
    b.emit(OperationType.MUL, (source, source, b.i32(0)), (b.output(op, b.dims(op, x)),))


@translates(Builtin.L2_POOL_2D)
def l2_pool(b, op):
    """L2_POOL_2D of floats with an implicit padding scheme."""
    x, _ = _source(b, op, FLOATS)
    b.check_rank(op, x, 4)
    parameters = [b.positive(op, field) for field in ("stride_w", "stride_h", "filter_w", "filter_h")]
    b.emit(OperationType.L2_POOL_2D, (b.operand(op, x), b.padding(op), *parameters, b.activation(op)), (b.output(op),))


@translates(Builtin.ELU)
def elu(b, op):
    """ELU; TFLite's alpha is 1."""
    x, code = _source(b, op, FLOATS)
    b.emit(OperationType.ELU, (b.operand(op, x), b.real(code, 1.0)), (b.output(op, b.dims(op, x)),))


@translates(Builtin.LOG_SOFTMAX)
def log_softmax(b, op):
    """LOG_SOFTMAX over the last axis."""
    x, code = _source(b, op, FLOATS)
    b.emit(OperationType.LOG_SOFTMAX, (b.operand(op, x), b.real(code, 1.0), b.i32(-1)), (b.output(op, b.dims(op, x)),))


@translates(Builtin.L2_NORMALIZATION)
def l2_normalization(b, op):
    """L2_NORMALIZATION over the last axis, with the fixed output quantization."""
    x, code = _source(b, op, FLOATS_QUANT8)
    b.check_rank(op, x, 1)
    if op.options.activation:
        b.refuse(op, f"fused activation is {op.options.activation}, NNAPI takes none here")
    if code in QUANT8:
        wanted, found = ((1 / 128, 128), (1 / 128, 0))[QUANT8.index(code)], b.quant(op, b.result(op))
        if found != wanted:
            b.refuse(op, f"output has (scale, zero point) {found}, NNAPI fixes it to {wanted}")
    b.emit(OperationType.L2_NORMALIZATION, (b.operand(op, x), b.i32(-1)), (b.output(op, b.dims(op, x)),))


@translates(Builtin.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(b, op):
    """LOCAL_RESPONSE_NORMALIZATION along the channels."""
    x, code = _source(b, op, FLOATS)
    b.check_rank(op, x, 4)
    options = op.options
    if options.radius < 0:
        b.refuse(op, f"radius is {options.radius}, must be at least 0")
    reals = [b.real(code, value) for value in (options.bias, options.alpha, options.beta)]
    b.emit(OperationType.LOCAL_RESPONSE_NORMALIZATION, (b.operand(op, x), b.i32(options.radius), *reals),
           (b.output(op, b.dims(op, x)),))


@translates(Builtin.LEAKY_RELU)
def leaky_relu(b, op):
    """LEAKY_RELU is PRELU with one constant slope."""
    x, code = _source(b, op, FLOATS)
    alpha = op.options.alpha
    if not -inf < alpha < inf:
        b.refuse(op, f"alpha is {alpha}, must be finite")
    slope = b.constant(frozen(np.array([alpha], np.float32 if code == T.TENSOR_FLOAT32 else np.float16)), code)
    b.emit(OperationType.PRELU, (b.operand(op, x), slope), (b.output(op, b.dims(op, x)),))


@translates(Builtin.CAST)
def cast(b, op):
    """CAST among floats, int32 and uint8; to and from bool by NOT_EQUAL and SELECT."""
    b.check_counts(op, 1)
    x, out = b.tensor(op, 0), b.result(op)
    source, target = b.supported_type(op, x), b.supported_type(op, out)
    numbers = (*_NUMBERS, T.TENSOR_QUANT8_ASYMM)
    dims = b.dims(op, x)
    if source == target or source in numbers and target in numbers:
        b.emit(OperationType.CAST, (b.operand(op, x),), (b.output(op, dims),))
    elif target == T.TENSOR_BOOL8 and source in _NUMBERS:
        zero = constant_like(b, source, 0)
        b.emit(OperationType.NOT_EQUAL, (b.operand(op, x), zero), (b.output(op, dims),))
    elif source == T.TENSOR_BOOL8 and target in _NUMBERS:
        one, zero = (fill_like(b, op, target, dims, value) for value in (1, 0))
        b.emit(OperationType.SELECT, (b.operand(op, x), one, zero), (b.output(op, dims),))
    else:
        b.refuse(op, f"casts {source.name} to {target.name}, NNAPI casts floats, int32 and uint8")
