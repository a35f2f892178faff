"""QUANTIZE and DEQUANTIZE, and widening of float16 weights."""

from ..model.types import OperandType, OperationType
from ..record import replace
from .rules import FLOATS, QUANT8, translates
from .schema import Builtin, TensorType


@translates(Builtin.DEQUANTIZE)
def dequantize(b, op):
    """DEQUANTIZE of 8-bit tensors; of float16 a CAST, or nothing for constants.

    float16 weights are widened here, once per buffer of the file, as NNAPI's float32 operations need float32 weights.
    They are the only constants that are copied.
    """
    b.check_counts(op, 1)
    x, out = b.tensor(op, 0), b.result(op)
    code = b.supported_type(op, x)
    if b.supported_type(op, out) != OperandType.TENSOR_FLOAT32 or code not in (OperandType.TENSOR_FLOAT16, *QUANT8):
        b.refuse(op, "NNAPI takes 8-bit or float16 input and float32 output")
    if code == OperandType.TENSOR_FLOAT16 and b.is_constant(x):
        b.tensors[out.index] = replace(out, data=b.widen(op, x), dims=x.dims, type=int(TensorType.FLOAT32))
        return
    b.check_rank(op, x, 1)
    kind = OperationType.CAST if code == OperandType.TENSOR_FLOAT16 else OperationType.DEQUANTIZE
    if len(x.scales) > 1 and b.is_constant(x):
        source = b.channel_constant(op, x, x.channel_dim)
    else:
        source = b.operand(op, x)
    b.emit(kind, (source,), (b.output(op, b.dims(op, x)),))


@translates(Builtin.QUANTIZE)
def quantize(b, op):
    """QUANTIZE of floats; a no-op between 8-bit tensors of the same quantization."""
    b.check_counts(op, 1)
    x, out = b.tensor(op, 0), b.result(op)
    code, target = b.supported_type(op, x), b.supported_type(op, out)
    if target not in QUANT8 or code not in FLOATS + QUANT8:
        b.refuse(op, f"turns {code.name} into {target.name}; NNAPI takes floats or 8-bit tensors, and gives 8-bit ones")
    source = b.operand(op, x)
    if code in FLOATS:
        b.emit(OperationType.QUANTIZE, (source,), (b.output(op, b.dims(op, x)),))
        return
    before, after = b.quant(op, x), b.quant(op, out)
    if code == target and before == after:
        b.current[out.index] = source
        return
    b.refuse(op, f"changes (scale, zero point) from {before} to {after}; NNAPI has no operation for that")
