"""BIDIRECTIONAL_SEQUENCE_LSTM [NN 15.5, 15.42]: the cell of lstm.py in both directions.

Both directions must be of one kind (CIFG, peephole, projection, layer norm), as in the reference.
"""

import numpy as np

from ..model.types import OperationType
from ..record import replace
from . import bidirectional, lstm, lstm_steps, recurrent
from .base import OpDef

_STATES_IN = "output_state_in:T cell_state_in:T"
_AUX_WEIGHTS = " ".join(f"aux_input_to_{gate}_weights?:T" for gate in lstm.GATES)


def _both(slots):
    return " ".join(bidirectional.prefixed(slots, prefix) for prefix in bidirectional.PREFIXES)


_INPUTS = (
    f"input:T {_both(lstm.WEIGHTS)} {_both(_STATES_IN)} aux_input?:T {_both(_AUX_WEIGHTS)} activation:i32 cell_clip:fT "
    f"proj_clip:fT merge_outputs:bool time_major:bool {_both(lstm.LAYER_NORM)}"
)
_SIGNATURES = bidirectional.signatures(_INPUTS, "output_state_out:T cell_state_out:T")

_KIND = ("input_to_input_weights", "cell_to_output_weights", "projection_weights", "output_layer_norm_weights")
_KEY = "fw_aux_input_to_output_weights"


def _is_crossed(node):
    """True when the directions are cross-linked."""
    return node.has(_KEY)


def _check_kind(node):
    """Presence of the optional inputs within each direction and between the two."""
    for way in bidirectional.directions(node):
        lstm.check_presence(way)
        lstm.check_projection(way)
    for name in _KIND:
        present = node.has(f"fw_{name}")
        recurrent.must(node, f"bw_{name}", present, f"where fw_{name} is {'present' if present else 'omitted'}")
    cifg = not node.has("fw_input_to_input_weights")
    gates = lstm.GATES[1:] if cifg else lstm.GATES
    names = [f"{prefix}aux_input_to_{gate}_weights" for prefix in bidirectional.PREFIXES for gate in gates]
    bidirectional.check_linking(node, _KEY, names)
    if cifg:
        for prefix in bidirectional.PREFIXES:
            name = f"{prefix}aux_input_to_input_weights"
            recurrent.must(node, name, False, f"where {prefix}input_to_input_weights is omitted")


def _infer(node):
    time, batch, size = recurrent.sequence_shape(node)
    _check_kind(node)
    auxiliary = bidirectional.auxiliary_size(node, time, batch)
    parallel = auxiliary is not None and not _is_crossed(node)
    outputs, states = [], []
    for way, width in zip(bidirectional.directions(node), (size, auxiliary if parallel else size), strict=True):
        units, out = lstm.check_shapes(way, batch, width)
        if _is_crossed(node):
            for gate in lstm.active_gates(way):
                recurrent.check_shape(way, f"aux_input_to_{gate}_weights", (units, auxiliary))
        outputs.append(out)
        states += [(batch, out), (batch, units)]
    recurrent.check_activation(node)
    lstm.check_clips(node)
    return bidirectional.output_shapes(node, time, batch, outputs, states)


def _cell(way, inputs, crossed):
    """The Cell of a direction; with cross-linking its input weights are [units, size + aux]."""
    cell = lstm.cell(way, inputs)
    if not crossed:
        return cell
    weights = {
        gate: np.concatenate([matrix, inputs[way.place(f"aux_input_to_{gate}_weights")]], axis=1)
        for gate, matrix in cell.from_input.items()
    }
    return replace(cell, from_input=weights)


@np.errstate(over="ignore", invalid="ignore")
def _compute(node, inputs):
    crossed = _is_crossed(node)
    results, states = [], []
    for way, sequence in zip(bidirectional.directions(node), bidirectional.sequences(node, inputs, crossed),
                             strict=True):
        result, *last = _cell(way, inputs, crossed).run(sequence, *lstm.states(way, inputs))
        results.append(result)
        states += last
    return bidirectional.outputs(node, *results, states)


def _lower(node, b):
    ways = bidirectional.directions(node)
    outputs = [way["recurrent_to_output_weights"].shape[1] for way in ways]
    pairs = [(f"input_to_{gate}_weights", f"aux_input_to_{gate}_weights") for gate in lstm.active_gates(ways[0])]
    return bidirectional.lower(node, b, outputs, pairs, lstm_steps.steps, 2)


BIDIRECTIONAL_SEQUENCE_LSTM = OpDef(
    OperationType.BIDIRECTIONAL_SEQUENCE_LSTM, _SIGNATURES, infer=_infer, compute=_compute, lower=_lower,
    multiply_adds=True,
)
