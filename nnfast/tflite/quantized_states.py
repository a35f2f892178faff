"""Quantized forms of recurrent operators: int8 SVDF; SVDF, LSTM and RNN of floats with int8 weights."""

from ..forks import importing
from ..model.types import LifeTime, Operand, OperandType
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


# -- LSTM, RNN of floats with int8 weights ---------------------------------------------------------------------------
_MATRICES = (*range(1, 12), 16)


def _codes(b, op, place, rank):
    """Operand of constant int8 weights, or of an omitted input."""
    t = b.tensor(op, place)
    if t is None:
        return b.add(Operand(T.TENSOR_QUANT8_ASYMM_SIGNED, (0,) * rank, 1.0, lifetime=LifeTime.NO_VALUE))
    if t.type != TensorType.INT8 or t.data is None or t.is_sparse or one_scale(b, op, t)[1]:
        b.refuse(op, f"input {place} must be a dense int8 constant without zero point, as the other weights")
    return operand(b, op, t)


def _number(b, op, place, rank):
    """Operand of a float32 tensor, or of an omitted input."""
    t = b.tensor(op, place)
    if t is None:
        return b.omitted(T.TENSOR_FLOAT32, rank)
    b.check_types(op, (T.TENSOR_FLOAT32,), t)
    return b.operand(op, t)


def _as_sequence(b, op):
    """(operand of the input, whether it is one step of a sequence): [1, batch, size] where it is [batch, size]."""
    x = b.tensor(op, 0)
    dims = b.dims(op, x)
    if op.code in (Builtin.LSTM, Builtin.RNN):
        if len(dims) != 2:
            b.refuse(op, f"input has shape {list(dims)}, must be of rank 2")
        return b.reshape(op, b.operand(op, x), T.TENSOR_FLOAT32, (1, *dims)), True
    return b.operand(op, x), False


def _emit(b, op, name, inputs, states, is_step, units):
    """The operation, with its output as the operator has it."""
    dims = b.dims(op, b.tensor(op, 0))
    after = [b.next_state(op, t) for t in states]
    if not is_step:
        b.emit_own(name, inputs, (b.output(op, (*dims[:2], units) if dims else ()), *after))
        return
    output = b.temporary(T.TENSOR_FLOAT32, (1, dims[0], units))
    b.emit_own(name, inputs, (output, *after))
    b.reshape(op, output, T.TENSOR_FLOAT32, (dims[0], units), target=b.output(op, (dims[0], units)))


@takes(is_hybrid, Builtin.RNN, Builtin.UNIDIRECTIONAL_SEQUENCE_RNN)
def rnn(b, op):
    """RNN and UNIDIRECTIONAL_SEQUENCE_RNN; behind their tensors a direction of two may have an auxiliary input and its
    weights.
    """
    b.check_counts(op, 7 if len(op.inputs) == 7 else 5)
    weights, state = b.tensor(op, 1), b.tensor(op, 4)
    source, is_step = _as_sequence(b, op)
    b.check_rank(op, weights, 2, 2)
    inputs = [source, _codes(b, op, 1, 2), _codes(b, op, 2, 2), _number(b, op, 3, 1),
              b.state(op, state, T.TENSOR_FLOAT32), b.activation(op, (0, 1, 3, 4)),
              b.i32(1 if is_step else int(op.options.time_major)), b.bool(op.options.asymmetric_quantize_inputs)]
    if len(op.inputs) == 7:
        inputs += [_number(b, op, 5, 3), _codes(b, op, 6, 2)]
    _emit(b, op, "TFL_HYBRID_RNN", inputs, (state,), is_step, weights.dims[0])


@takes(is_hybrid, Builtin.LSTM, Builtin.UNIDIRECTIONAL_SEQUENCE_LSTM)
def lstm(b, op):
    """LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM; behind their tensors a direction of two may have an auxiliary input and
    its weights.
    """
    with importing:
        from .translate_recurrent import ACTIVATIONS, RANKS, check_lstm

    check_lstm(b, op, (20, 24, 29))
    options, states = op.options, (b.tensor(op, 18), b.tensor(op, 19))
    is_lstm = op.code == Builtin.LSTM
    if options.kernel_type if is_lstm else options.diagonal_recurrent_tensors:
        b.refuse(op, "is of the basic kernel, or has diagonal recurrent weights; with int8 weights it must be full")
    source, is_step = _as_sequence(b, op)
    parts = [(_codes if k in _MATRICES else _number)(b, op, k, RANKS[k]) for k in range(1, 18)]
    norms = [_number(b, op, k, 1) for k in range(20, 24)]
    inputs = [source, *parts, *(b.state(op, t, T.TENSOR_FLOAT32) for t in states),
              b.activation(op, ACTIVATIONS[b.arithmetic]), b.real(T.TENSOR_FLOAT32, options.cell_clip),
              b.real(T.TENSOR_FLOAT32, options.proj_clip), b.bool(True if is_step else options.time_major), *norms,
              b.bool(options.asymmetric_quantize_inputs)]
    if len(op.inputs) == 29:
        inputs += [_number(b, op, 24, 3), *(_codes(b, op, place, 2) for place in range(25, 29))]
    units = b.dims(op, b.tensor(op, 8))[1]
    _emit(b, op, "TFL_HYBRID_LSTM", inputs, states, is_step, units)
