"""RNN [NN 14.24] and UNIDIRECTIONAL_SEQUENCE_RNN [NN 15.6, 15.93]."""

import numpy as np

from .._native import recurrent as native
from ..model.types import OperandType, OperationType, type_name
from . import recurrent
from .base import OpDef, Signature, forms

_TENSORS = "input:T weights:T recurrent_weights:T bias:T hidden_state_in:T activation:i32"
_RNN = (Signature(f"{_TENSORS} -> hidden_state_out:T output:T", ("1.0: F32", "1.2: F16")),)
_SEQUENCE = forms(
    (f"{_TENSORS} time_major:i32 -> output:T", "1.2"),
    (f"{_TENSORS} time_major:i32 -> output:T hidden_state_out:T", "1.3"),
    sets=("1.2: F32", "1.2: F16"),
)


def check_weights(node, batch, size):
    """Check shapes of weights, bias and state against each other; returns the number of units."""
    node.check_rank("weights", 2)
    units = node["weights"].shape[0]
    recurrent.check_shape(node, "weights", (units, size))
    recurrent.check_shape(node, "recurrent_weights", (units, units))
    recurrent.check_shape(node, "bias", (units,))
    recurrent.check_shape(node, "hidden_state_in", (batch, units))
    return units


def _infer_rnn(node):
    node.check_rank("input", 2)
    batch, size = node["input"].shape
    units = check_weights(node, batch, size)
    node.check_in("activation", (0, 1, 2, 3, 4, 6))
    return [(batch, units), (batch, units)]


def infer_sequence(node):
    """Shapes of the output sequence and of the state."""
    node.check_in("time_major", (0, 1))
    time, batch, size = recurrent.sequence_shape(node)
    units = check_weights(node, batch, size)
    recurrent.check_activation(node)
    shapes = [recurrent.sequence_output(node, time, batch, units), (batch, units)]
    return shapes[:len(node.outputs)]


def run(node, sequence, parameters):
    """Hidden states [time, batch, units] of an input sequence [time, batch, size], as float64.

    parameters: weights, recurrent weights, bias and state before the first step.
    """
    weights, recurrent_weights, bias, state = (array.astype(np.float64) for array in parameters)
    activation = recurrent.ACTIVATIONS[node.scalar("activation")]
    states = np.empty((sequence.shape[0], *state.shape))
    for step, projected in enumerate(sequence.astype(np.float64) @ weights.T + bias):
        node.go_on()
        state = activation(projected + state @ recurrent_weights.T)
        states[step] = state
    return states


@np.errstate(over="ignore", invalid="ignore")
def _compute_rnn(node, inputs):
    state = run(node, inputs[0][None], inputs[1:5])[0].astype(node.outputs[0].dtype)
    return [state, state.copy()]


@np.errstate(over="ignore", invalid="ignore")
def _compute_sequence(node, inputs):
    states = run(node, recurrent.time_first(node, inputs[0]), inputs[1:5])
    dtype = node.outputs[0].dtype
    results = [np.ascontiguousarray(recurrent.time_first(node, states)).astype(dtype), states[-1].astype(dtype)]
    return results[:len(node.outputs)]


# -- native --------------------------------------------------------------------------------------------------------
def steps(node, b, path, source, output, state_out):
    """Native steps of a layer (a node or a direction of one) on a path, or why there are none.

    source, output: tensors of the sequences; state_out: tensor, or None where the form has none.
    """
    if source.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(source.type)}"
    tensors = [node[name] for name in ("weights", "recurrent_weights", "bias")]
    units, size = tensors[0].shape
    as_is = any(tensor.value is None for tensor in tensors)
    data, width, parameters = b.slot(source), size, [b.slot(tensor) for tensor in tensors] if as_is else None
    near = 4 * units * (size + units)
    if not as_is:
        weights, again, bias = tensors

        def pack_all():
            return native.pack_gemv_f32(np.concatenate([weights.value, again.value], 1), bias.value).reshape(-1)

        pack = pack_all
        if path.rows >= recurrent.SUMS_FROM:
            data = recurrent.input_sums(b, source, [weights], units, size, lambda: (weights.value, bias.value))
            pack, width, size = lambda: native.pack_gemv_f32(again.value).reshape(-1), units, 0
        near = native.packed_bytes_gemv(units, size + units)
        parameters = [b.const(b.packed(tensors[:2], np.float32, pack, lambda found: found.nbytes == near))]
    slots = [data, b.slot(node["hidden_state_in"]), b.slot(output), *parameters]
    if state_out is not None:
        slots.append(b.slot(state_out))
    walk, curve = path.walk(width, units), recurrent.curve_and_clamp(node)
    return [native.RecurrentF32(slots, walk, units, size, (first, last), alone, *curve, as_is)
            for first, last, alone in path.spans(near)]


def _lower_rnn(node, b):
    path = recurrent.Path(1, node["input"].shape[0])
    return recurrent.emit(b, steps(node, b, path, node["input"], node.outputs[1], node.outputs[0]))


def _lower_sequence(node, b):
    state_out = node.outputs[1] if len(node.outputs) > 1 else None
    path = recurrent.sequence_path(node)
    return recurrent.emit(b, steps(node, b, path, node["input"], node.outputs[0], state_out))


RNN = OpDef(OperationType.RNN, _RNN, infer=_infer_rnn, compute=_compute_rnn, lower=_lower_rnn, multiply_adds=True)

UNIDIRECTIONAL_SEQUENCE_RNN = OpDef(
    OperationType.UNIDIRECTIONAL_SEQUENCE_RNN, _SEQUENCE, infer=infer_sequence, compute=_compute_sequence,
    lower=_lower_sequence, multiply_adds=True,
)
