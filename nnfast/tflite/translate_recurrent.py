"""LSTM and RNN, single step and sequence: TFLite's variable tensors become inputs and outputs of the model."""

from ..model.types import OperationType
from .basic_lstm import basic_lstm
from .rules import FLOATS, counts_of, translates
from .schema import Builtin

ACTIVATIONS = {"nnapi": (0, 1, 3, 4), "litert": (0, 1, 2, 3, 4)}
"""Arithmetic -> activation codes of recurrent operations: none, RELU, RELU1, RELU6, TANH."""
REQUIRED = (0, 2, 3, 4, 6, 7, 8, 13, 14, 15, 18, 19)
"""Inputs of an LSTM that are never omitted."""
BASIC = 1
"""Kernel type of an LSTM with one matrix for all gates."""
RANKS = (2,) * 9 + (1,) * 7 + (2, 1) + (2, 2) + (1,) * 4
"""Rank of each LSTM input but the first."""


@translates(Builtin.LSTM)
def lstm(b, op):
    """LSTM; NNAPI's scratch output goes to an unused tensor."""
    if op.options.kernel_type == BASIC:
        basic_lstm(b, op)
        return
    if op.options.kernel_type:
        b.refuse(op, f"is of kernel type {op.options.kernel_type}, must be 0 (full) or {BASIC} (basic)")
    check_lstm(b, op)
    code = b.check_types(op, FLOATS, *(b.tensors[k] for k in op.inputs if k != -1), b.result(op))
    inputs, norm = _lstm_inputs(b, op, code)
    inputs += norm
    x, cells, units_out = b.dims(op, b.tensor(op, 0)), b.dims(op, b.tensor(op, 4)), b.dims(op, b.tensor(op, 8))
    batch = x[0] if x else 0
    gates = 4 if b.tensor(op, 1) is not None else 3
    scratch = b.temporary(code, (batch, gates * cells[0]))
    states = [b.next_state(op, b.tensor(op, k)) for k in (18, 19)]
    b.emit(OperationType.LSTM, inputs, (scratch, *states, b.output(op, (batch, units_out[1]))))


@translates(Builtin.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(b, op):
    """UNIDIRECTIONAL_SEQUENCE_LSTM in the form of 1.3 that returns the states."""
    if op.options.diagonal_recurrent_tensors:
        b.refuse(op, "has diagonal recurrent weights, NNAPI takes full ones")
    check_lstm(b, op)
    code = b.check_types(op, FLOATS, *(b.tensors[k] for k in op.inputs if k != -1), b.result(op))
    inputs, norm = _lstm_inputs(b, op, code)
    norm = norm or [b.omitted(code, 1) for _ in range(4)]
    inputs += [b.bool(op.options.time_major), *norm]
    x, units_out = b.dims(op, b.tensor(op, 0)), b.dims(op, b.tensor(op, 8))
    states = [b.next_state(op, b.tensor(op, k)) for k in (18, 19)]
    b.emit(OperationType.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs,
           (b.output(op, (*x[:2], units_out[1]) if x else ()), *states))


def check_lstm(b, op, counts=(20, 24)):
    """Counts, ranks and combinations of an LSTM's inputs; counts: numbers of them."""
    if len(op.inputs) not in counts or len(op.outputs) != 1 or -1 in op.outputs:
        rule = " or ".join(map(str, counts))
        b.refuse(op, f"has {counts_of(len(op.inputs), len(op.outputs))}, must have {rule} and 1")
    for place in REQUIRED:
        if op.inputs[place] == -1:
            b.refuse(op, f"omits input {place}, which is required")
    for place, rank in enumerate(RANKS[:len(op.inputs)]):
        if place and op.inputs[place] != -1 and place not in (18, 19):
            b.check_rank(op, b.tensor(op, place), rank, rank)
            if not b.dims(op, b.tensor(op, place)):
                b.refuse(op, f"input {place} has no known rank")
    for group, rule in (((1, 5, 12), "input gate"), ((10, 11), "peephole")):
        present = {op.inputs[k] != -1 for k in group}
        # A layer has either all parts of an input gate or, if coupled to the forget gate, none.
        if len(present) > 1:
            b.refuse(op, f"has only some of the {rule} inputs {', '.join(map(str, group))}")
    if op.inputs[17] != -1 and op.inputs[16] == -1:
        b.refuse(op, "has a projection bias without projection weights")


def _lstm_inputs(b, op, code):
    """(operands 0 to 22 of NNAPI's LSTM, layer normalization operands or [])."""
    inputs = []
    for place in range(20):
        t = b.tensor(op, place)
        if place in (18, 19):
            inputs.append(b.state(op, t, code))
        else:
            inputs.append(b.omitted(code, RANKS[place]) if t is None else b.operand(op, t))
    clips = [b.real(code, value) for value in (op.options.cell_clip, op.options.proj_clip)]
    norm = [b.tensor(op, place) for place in range(20, 24)]
    if any(t is not None for t in norm):
        norm = [b.omitted(code, 1) if t is None else b.operand(op, t) for t in norm]
    else:
        norm = []
    return [*inputs, b.activation(op, ACTIVATIONS[b.arithmetic]), *clips], norm


@translates(Builtin.RNN)
def rnn(b, op):
    """RNN; its first output is the state."""
    inputs, code = _rnn_inputs(b, op)
    x, weights = b.dims(op, b.tensor(op, 0)), b.dims(op, b.tensor(op, 1))
    state = b.next_state(op, b.tensor(op, 4))
    b.emit(OperationType.RNN, inputs, (state, b.output(op, (x[0] if x else 0, weights[0]))))


@translates(Builtin.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(b, op):
    """UNIDIRECTIONAL_SEQUENCE_RNN in the form of 1.3 that returns the state; time_major is an int32 there."""
    inputs, code = _rnn_inputs(b, op)
    x, weights = b.dims(op, b.tensor(op, 0)), b.dims(op, b.tensor(op, 1))
    state = b.next_state(op, b.tensor(op, 4))
    b.emit(OperationType.UNIDIRECTIONAL_SEQUENCE_RNN, (*inputs, b.i32(int(op.options.time_major))),
           (b.output(op, (*x[:2], weights[0]) if x else ()), state))


def _rnn_inputs(b, op):
    """(operands 0 to 5 of NNAPI's RNN, float type)."""
    b.check_counts(op, 5)
    tensors = [b.tensor(op, place) for place in range(5)]
    code = b.check_types(op, FLOATS, *tensors, b.result(op))
    for t in tensors[1:3]:
        b.check_rank(op, t, 2, 2)
        if not b.dims(op, t):
            b.refuse(op, f"weights tensor[{t.index}] has no known rank")
    inputs = [b.operand(op, t) for t in tensors[:4]]
    return [*inputs, b.state(op, tensors[4], code), b.activation(op, ACTIVATIONS[b.arithmetic])], code


