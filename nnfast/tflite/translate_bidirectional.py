"""SVDF and the bidirectional sequences; their variable tensors become inputs and outputs of the model."""

from ..model.types import OperationType
from .rules import FLOATS, counts_of, translates
from .schema import Builtin
from .translate_recurrent import ACTIVATIONS

LSTM_RANKS = (3, *2 * ((2,) * 8 + (1,) * 7 + (2, 1)), *4 * (2,), 3, *8 * (2,))
"""Rank of each input of BIDIRECTIONAL_SEQUENCE_LSTM: input, both directions, states, auxiliary input and weights."""
LSTM_STATES = (35, 36, 37, 38)
LSTM_REQUIRED = (0, *(k + base for base in (0, 17) for k in (2, 3, 4, 6, 7, 8, 13, 14, 15)))
RNN_RANKS = (3, 2, 2, 1, 2, 2, 2, 1, 2, 3, 2, 2)
RNN_STATES = (4, 8)
RNN_REQUIRED = (0, 1, 2, 3, 5, 6, 7)


@translates(Builtin.SVDF)
def svdf(b, op):
    """SVDF of floats.

    TFLite shifts the memory before a step, NNAPI after it; both start from zeros and the value that NNAPI shifts in is
    overwritten, so the outputs are the same.
    """
    b.check_counts(op, 3, 5)
    tensors = [b.tensor(op, place) for place in range(5)]
    code = b.check_types(op, FLOATS, *(t for t in tensors if t is not None), b.result(op))
    for t in tensors[:3]:
        b.check_rank(op, t, 2, 2)
    rank = op.options.rank
    dims, features = b.dims(op, tensors[0]), b.dims(op, tensors[1])
    if not features or rank < 1 or features[0] % rank:
        b.refuse(op, f"rank is {rank}, must divide the filters of shape {list(features)}")
    inputs = [b.operand(op, t) for t in tensors[:3]]
    inputs.append(b.omitted(code, 1) if tensors[3] is None else b.operand(op, tensors[3]))
    inputs += [b.state(op, tensors[4], code), b.positive(op, "rank"), b.activation(op, (0, 1, 2, 3, 4))]
    state = b.next_state(op, tensors[4])
    b.emit(OperationType.SVDF, inputs, (state, b.output(op, (dims[0] if dims else 0, features[0] // rank))))


def _inputs(b, op, ranks, states, required):
    """(operands, type) of a bidirectional operator."""
    merged = op.options.merge_outputs
    if len(op.inputs) != len(ranks) or len(op.outputs) != 2 - merged or -1 in op.outputs:
        b.refuse(op, f"has {counts_of(len(op.inputs), len(op.outputs))}, must have {len(ranks)} and"
                     f" {2 - merged}")
    for place in required:
        if op.inputs[place] == -1:
            b.refuse(op, f"omits input {place}, which is required")
    code = b.check_types(op, FLOATS, *(b.tensors[k] for k in (*op.inputs, *op.outputs) if k != -1))
    operands = []
    for place, rank in enumerate(ranks):
        t = b.tensor(op, place)
        if place in states:
            operands.append(b.state(op, t, code))
        elif t is None:
            operands.append(b.omitted(code, rank))
        else:
            b.check_rank(op, t, rank, rank)
            if rank == 2 and not b.dims(op, t):
                b.refuse(op, f"input {place} has no known rank")
            operands.append(b.operand(op, t))
    return operands, code


def _emit(b, op, kind, inputs, states, sizes):
    """The operation with its outputs, merged or not, followed by the states."""
    dims = b.dims(op, b.tensor(op, 0))
    widths = [sum(sizes)] if op.options.merge_outputs else sizes
    known = dims[:2] if dims else (0, 0)
    outputs = [b.output(op, (*known, width), place) for place, width in enumerate(widths)]
    b.emit(kind, inputs, (*outputs, *(b.next_state(op, b.tensor(op, place)) for place in states)))


@translates(Builtin.BIDIRECTIONAL_SEQUENCE_LSTM)
def bidirectional_lstm(b, op):
    """BIDIRECTIONAL_SEQUENCE_LSTM in the form of 1.3 that returns the states; TFLite has no layer normalization."""
    inputs, code = _inputs(b, op, LSTM_RANKS, LSTM_STATES, LSTM_REQUIRED)
    options = op.options
    clips = [b.real(code, value) for value in (options.cell_clip, options.proj_clip)]
    inputs += [b.activation(op, ACTIVATIONS[b.arithmetic]), *clips, b.bool(options.merge_outputs),
               b.bool(options.time_major)]
    inputs += [b.omitted(code, 1) for _ in range(8)]
    sizes = [b.dims(op, b.tensor(op, place))[1] for place in (8, 25)]
    _emit(b, op, OperationType.BIDIRECTIONAL_SEQUENCE_LSTM, inputs, LSTM_STATES, sizes)


@translates(Builtin.BIDIRECTIONAL_SEQUENCE_RNN)
def bidirectional_rnn(b, op):
    """BIDIRECTIONAL_SEQUENCE_RNN in the form of 1.3 that gives the states back.

    TFLite steps through the auxiliary input by the size of the input, so both must have one size.
    """
    x, auxiliary = b.tensor(op, 0), b.tensor(op, 9)
    if x is not None and auxiliary is not None:
        sizes = [(b.dims(op, t) or (0,))[-1] for t in (x, auxiliary)]
        if sizes[0] != sizes[1]:
            b.refuse(op, f"auxiliary input has {sizes[1]} values in a step, the input {sizes[0]}; TFLite takes one")
    inputs, _ = _inputs(b, op, RNN_RANKS, RNN_STATES, RNN_REQUIRED)
    inputs += [b.activation(op, ACTIVATIONS[b.arithmetic]), b.bool(op.options.time_major),
               b.bool(op.options.merge_outputs)]
    sizes = [b.dims(op, b.tensor(op, place))[0] for place in (1, 5)]
    _emit(b, op, OperationType.BIDIRECTIONAL_SEQUENCE_RNN, inputs, RNN_STATES, sizes)
