"""Quantized forms of operators that the standard lacks: output in a quantization of its own, int16 tensors, float
tensors with int8 weights. They become operations of nnfast's own.
"""

import numpy as np

from ..forks import importing
from ..model.types import OperandType
from .forms import CODES, check_ratio, is_hybrid, is_int16, one_scale, takes
from .graph import frozen
from .own import resize, translate
from .schema import Builtin, TensorType

_INTEGERS = (*CODES, TensorType.INT16, TensorType.INT32)
NARROW_RANGE = -8, 7
"""The codes of 4 bits."""


def _recoded(x, y, out):
    return x.type in CODES and out.type == x.type and bool(x.scales) and bool(out.scales) and \
        (x.scales, x.zero_points) != (out.scales, out.zero_points)


def _recoded_or_int16(x, y, out):
    return _recoded(x, y, out) or is_int16(x, y, out)


def _codes(x, y, out):
    return x.type in (*CODES, TensorType.INT16) and out.type == x.type and bool(x.scales)


def _codes8(x, y, out):
    return x.type in CODES and out.type == x.type and bool(x.scales)


# -- other output quantizations --------------------------------------------------------------------------------------
def _between_integers(x, y, out):
    types = x.type, out.type
    if not x.scales or not out.scales or any(code not in _INTEGERS for code in types):
        return False
    return types[0] != types[1] or types[0] not in CODES or \
        (x.scales, x.zero_points) != (out.scales, out.zero_points)


@takes(_between_integers, Builtin.QUANTIZE)
def requantize(b, op):
    """QUANTIZE between integers."""
    b.check_counts(op, 1)
    (scale, zero), (new_scale, new_zero) = (one_scale(b, op, t) for t in (b.tensor(op, 0), b.result(op)))
    if not scale / new_scale < 2.0**31:
        b.refuse(op, f"changes the scale from {scale} to {new_scale}, more than 31 bits")
    real = OperandType.TENSOR_FLOAT32
    translate(b, op, "TFL_REQUANTIZE", (b.real(real, scale), b.i32(zero), b.real(real, new_scale), b.i32(new_zero)))


def _to_narrow(x, y, out):
    return x.type == TensorType.FLOAT32 and out.is_narrow


@takes(_to_narrow, Builtin.QUANTIZE, Builtin.CAST)
def narrow(b, op):
    """QUANTIZE and CAST to 4 bits: to 8 bits, cut off at the codes of 4."""
    with importing:
        from .parts import Parts
    p, out = Parts(b, op), b.result(op)
    codes, above = (p.new(out, out.dims, is_narrow=False) for _ in range(2))
    low, high = (p.new(codes, (1,), data=frozen(np.array([code], np.int8).view(np.uint8))) for code in NARROW_RANGE)
    p.same([b.tensor(op, 0)], [codes])
    p.run(Builtin.MAXIMUM, [codes, low], [above])
    p.run(Builtin.MINIMUM, [above, high], [out])


def _means(x, y, out):
    """Forms of MEAN that the standard lacks: another output quantization, more dimensions, computed axes."""
    return y is not None and (_recoded_or_int16(x, y, out) or
                              _codes8(x, y, out) and (len(x.dims or ()) > 4 or y.data is None))


@takes(_means, Builtin.MEAN)
@takes(_codes, Builtin.SUM)
@takes(lambda x, y, out: x.type == out.type != TensorType.UINT8 and _codes(x, y, out), Builtin.REDUCE_PROD)
def reduce(b, op):
    """MEAN, SUM and REDUCE_PROD of codes; SUM of signed codes, which LiteRT's reference kernel reads as bytes without a
    sign, as of uint8.
    """
    b.check_counts(op, 2)
    check_ratio(b, op)
    translate(b, op, f"TFL_REQUANTIZE_{op.name.removeprefix('REDUCE_')}", (b.i32(int(op.options.keep_dims)),))


def _plain_codes(x, y, out):
    return x.type in (*CODES, TensorType.INT16) and out.type == x.type and not x.scales and not out.scales


@takes(lambda *tensors: _recoded_or_int16(*tensors) or _plain_codes(*tensors), Builtin.RESIZE_BILINEAR)
def resize_bilinear(b, op):
    """RESIZE_BILINEAR; the output keeps the input's codes, whatever its own quantization, if any."""
    resize(b, op, "TFL_REQUANTIZE_RESIZE_BILINEAR")


@takes(_codes, Builtin.LEAKY_RELU)
def leaky_relu(b, op):
    """LEAKY_RELU of codes."""
    b.check_counts(op, 1)
    check_ratio(b, op)
    alpha = op.options.alpha
    if not -(2.0**15) < alpha < 2.0**15:
        b.refuse(op, f"alpha is {alpha}, must lie between -32768 and 32768")
    translate(b, op, "TFL_REQUANTIZE_LEAKY_RELU", (b.real(OperandType.TENSOR_FLOAT32, alpha),))


_RELUS = {"RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "RELU_0_TO_1": int(Builtin.RELU_0_TO_1)}


@takes(is_int16, Builtin.RELU, Builtin.RELU6)
@takes(_recoded, Builtin.RELU, Builtin.RELU_N1_TO_1, Builtin.RELU6)
@takes(_codes8, Builtin.RELU_0_TO_1)
def relu(b, op):
    """RELU, RELU_N1_TO_1 and RELU6 into another quantization; RELU_0_TO_1 into any."""
    b.check_counts(op, 1)
    check_ratio(b, op)
    translate(b, op, "TFL_REQUANTIZE_RELU", (b.i32(_RELUS[op.name]),))


def _grows(x, y, out):
    types = {t.type for t in (x, y, out) if t is not None}
    return y is not None and len(types) == 1 and x.type in CODES and all(len(t.scales) == 1 for t in (x, y, out)) and \
        not np.float32(out.scales[0]) > np.float32(x.scales[0]) * np.float32(y.scales[0])


@takes(_grows, Builtin.MUL)
def mul(b, op):
    """MUL whose output scale is not above the product of the input scales."""
    b.check_counts(op, 2)
    first, second, target = (one_scale(b, op, t)[0] for t in (b.tensor(op, 0), b.tensor(op, 1), b.result(op)))
    if not first * second / target < 2.0**15:
        b.refuse(op, f"changes the scale from {first * second} to {target}, more than 15 bits")
    translate(b, op, "TFL_REQUANTIZE_MUL", (b.activation(op),))


@takes(lambda x, y, out: x.type == TensorType.FLOAT32 and out.type == TensorType.INT16 and bool(out.scales),
        Builtin.QUANTIZE)
@takes(lambda x, y, out: x.type == TensorType.INT16 and bool(x.scales) and out.type == TensorType.FLOAT32,
        Builtin.DEQUANTIZE)
def int16_numbers(b, op):
    """QUANTIZE from floats to int16, and back."""
    b.check_counts(op, 1)
    translate(b, op, f"TFL_{op.name}_INT16")


@takes(_codes8, Builtin.RSQRT)
def rsqrt(b, op):
    """RSQRT of codes."""
    b.check_counts(op, 1)
    for t in (b.tensor(op, 0), b.result(op)):
        one_scale(b, op, t)
    translate(b, op, "TFL_REQUANTIZE_RSQRT")


# -- recurrent -------------------------------------------------------------------------------------------------------
@takes(_codes, Builtin.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(b, op):
    """UNIDIRECTIONAL_SEQUENCE_LSTM of int8 tensors."""
    with importing:
        from .integer_lstm import sequence_lstm as unrolled

    unrolled(b, op)


# -- int16 tensors, int8 weights -------------------------------------------------------------------------------------
@takes(is_int16, Builtin.ADD, Builtin.SUB, Builtin.MUL)
def arithmetic(b, op):
    """ADD, SUB, MUL of int16 tensors."""
    b.check_counts(op, 2)
    shifts = () if op.name == "MUL" else (b.bool(op.options.pot_scale_int16),)
    translate(b, op, f"TFL_INT16_{op.name}", (b.activation(op), *shifts))


@takes(is_int16, Builtin.BATCH_MATMUL)
def batch_matmul(b, op):
    """BATCH_MATMUL of int16 tensors with int16 or int8 ones."""
    b.check_counts(op, 2)
    translate(b, op, "TFL_INT16_BATCH_MATMUL", (b.bool(op.options.adj_x), b.bool(op.options.adj_y)))


def _with_bias(b, op):
    """The first two tensors and the bias or None."""
    b.check_counts(op, 2, 3)
    return [b.tensor(op, place) for place in range(3)]


def _name(b, op):
    return f"TFL_{'HYBRID' if b.tensor(op, 0).type == TensorType.FLOAT32 else 'INT16'}_{op.name}"


@takes(lambda *tensors: is_int16(*tensors) or is_hybrid(*tensors), Builtin.CONV_2D, Builtin.DEPTHWISE_CONV_2D)
def convolution(b, op):
    """CONV_2D and DEPTHWISE_CONV_2D."""
    tensors, options = _with_bias(b, op), op.options
    scalars = [b.padding(op), b.positive(op, "stride_w"), b.positive(op, "stride_h"), b.activation(op), b.bool(False),
               b.positive(op, "dilation_w"), b.positive(op, "dilation_h")]
    filter_ = tensors[1]
    if options.padding in (0, 1) and len(filter_.scales) > 1 and \
            filter_.channel_dim != (0 if op.name == "CONV_2D" else 3):
        b.refuse(op, f"tensor[{filter_.index}] has its scales along dimension {filter_.channel_dim}")
    translate(b, op, _name(b, op), scalars, tensors)


def _into_int16(x, y, out):
    """8-bit tensors of one scale, and an int16 result."""
    return x.type in CODES and y is not None and y.type == x.type and len(y.scales) == 1 and \
        out.type == TensorType.INT16 and bool(out.scales)


@takes(lambda *tensors: is_int16(*tensors) or is_hybrid(*tensors) or _into_int16(*tensors), Builtin.FULLY_CONNECTED)
def fully_connected(b, op):
    """FULLY_CONNECTED."""
    tensors, options = _with_bias(b, op), op.options
    if options.weights_format:
        b.refuse(op, "has shuffled weights, nnfast takes row-major ones")
    b.check_rank(op, tensors[1], 2, 2)
    if len(tensors[1].scales) > 1 and tensors[1].channel_dim != 0:
        b.refuse(op, f"tensor[{tensors[1].index}] has its scales along dimension {tensors[1].channel_dim}, must be 0")
    if _into_int16(*tensors[:2], b.result(op)) and tensors[2] is None:
        b.refuse(op, "gives int16 of 8-bit tensors without a bias, must have one")
    scalars = [b.activation(op), b.bool(options.keep_num_dims)]
    if is_hybrid(*tensors[:2], None):
        scalars.append(b.bool(options.asymmetric_quantize_inputs))
    translate(b, op, _name(b, op), scalars, tensors)


def _is_blockwise(x, y, out):
    """Floats with weights in blocks, as narrow.products leaves them."""
    return x.type == out.type == TensorType.FLOAT32 and y is not None and y.blocks is not None


@takes(_is_blockwise, Builtin.FULLY_CONNECTED)
def blockwise(b, op):
    """FULLY_CONNECTED with a scale for each block of weights."""
    (x, weights, bias), options = _with_bias(b, op), op.options
    scalars = [b.activation(op), b.bool(options.keep_num_dims), b.bool(options.asymmetric_quantize_inputs)]
    translate(b, op, "TFL_BLOCKWISE_FULLY_CONNECTED", scalars, [x, weights, b.tensors[weights.blocks.scales], bias])


def _behind_shape(shape, weights, out):
    """Int16 tensors, or floats with int8 weights, behind the shape that comes first."""
    return is_int16(out, None, out) or is_hybrid(out, weights, out)


@takes(_behind_shape, Builtin.TRANSPOSE_CONV)
def transpose_conv(b, op):
    """TRANSPOSE_CONV."""
    b.check_counts(op, 3, 4)
    shape, weights, x, bias = (b.tensor(op, place) for place in range(4))
    if x.type != b.result(op).type:
        b.refuse(op, "must have input and output of one type")
    if len(weights.scales) > 1 and weights.channel_dim != 0:
        b.refuse(op, f"tensor[{weights.index}] has its scales along dimension {weights.channel_dim}, must be 0")
    scalars = [b.padding(op), b.positive(op, "stride_w"), b.positive(op, "stride_h"), b.activation(op), b.bool(False)]
    name = "TFL_HYBRID_TRANSPOSE_CONV" if x.type == TensorType.FLOAT32 else "TFL_INT16_TRANSPOSE_CONV"
    translate(b, op, name, scalars, [x, weights, bias, shape])
