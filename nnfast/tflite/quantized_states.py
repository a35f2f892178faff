"""Quantized forms of recurrent operators: SVDF of int8 tensors, and of floats with int8 weights."""

from ..model.types import OperandType
from .forms import is_hybrid, one_scale, takes
from .own import operand
from .schema import Builtin, TensorType

T = OperandType
_RELU, _ACTIVATIONS = 1, (0, 1, 2, 3, 4)


def _is_int8(x, y, out):
    return x.type == out.type == TensorType.INT8 and bool(x.scales)


@takes(lambda *tensors: _is_int8(*tensors) or is_hybrid(*tensors), Builtin.SVDF)
def svdf(b, op):
    """SVDF; its memory is of int16, or of int8 in files for microcontrollers."""
    b.check_counts(op, 3, 5)
    x, feature, time, bias, memory = tensors = [b.tensor(op, place) for place in range(5)]
    dims, features = b.dims(op, x), b.dims(op, feature)
    for t in tensors[:3]:
        b.check_rank(op, t, 2, 2)
    rank = op.options.rank
    if not features or rank < 1 or features[0] % rank:
        b.refuse(op, f"rank is {rank}, must divide the filters of shape {list(features)}")
    inputs = [operand(b, op, t) for t in (x, feature, time, bias)]
    if x.type == TensorType.INT8:
        name, more = "TFL_INT8_SVDF", ()
        if op.options.activation != _RELU or memory is None:
            b.refuse(op, f"has the activation {op.options.activation}, must have {_RELU} (RELU) where tensors are int8,"
                         " and a memory")
        for t in (x, feature, time, memory, b.result(op)):
            one_scale(b, op, t)
        inputs.append(b.state(op, memory, b.any_type(op, memory)[0]))
    else:
        name, more = "TFL_HYBRID_SVDF", (b.activation(op, _ACTIVATIONS), b.bool(op.options.asymmetric_quantize_inputs))
        inputs.append(b.state(op, memory, T.TENSOR_FLOAT32))
    state = b.next_state(op, memory)
    output = b.output(op, (dims[0] if dims else 0, features[0] // rank))
    b.emit_own(name, (*inputs, b.i32(rank), *more), (state, output))
