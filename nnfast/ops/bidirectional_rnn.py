"""BIDIRECTIONAL_SEQUENCE_RNN [NN 15.43]: the step of rnn.py in both directions."""

import numpy as np

from ..model.types import OperationType
from . import bidirectional, recurrent, rnn
from .base import OpDef

_DIRECTION = "weights:T recurrent_weights:T bias:T hidden_state_in:T"
_PARAMETERS = _DIRECTION.replace(":T", "").split()
_INPUTS = " ".join((
    "input:T", *(bidirectional.prefixed(_DIRECTION, prefix) for prefix in bidirectional.PREFIXES),
    "aux_input?:T fw_aux_weights?:T bw_aux_weights?:T activation:i32 time_major:bool merge_outputs:bool",
))
_SIGNATURES = bidirectional.signatures(_INPUTS, "hidden_state_out:T")


def _is_crossed(node):
    """True when the directions are cross-linked."""
    return node.has("fw_aux_weights")


def _infer(node):
    time, batch, size = recurrent.sequence_shape(node)
    bidirectional.check_linking(node, "fw_aux_weights", ("bw_aux_weights",))
    auxiliary = bidirectional.auxiliary_size(node, time, batch)
    parallel = auxiliary is not None and not _is_crossed(node)
    units = []
    for way, width in zip(bidirectional.directions(node), (size, auxiliary if parallel else size), strict=True):
        units.append(rnn.check_weights(way, batch, width))
        if _is_crossed(node):
            recurrent.check_shape(way, "aux_weights", (units[-1], auxiliary))
    recurrent.check_activation(node)
    return bidirectional.output_shapes(node, time, batch, units, [(batch, size) for size in units])


@np.errstate(over="ignore", invalid="ignore")
def _compute(node, inputs):
    crossed = _is_crossed(node)
    results = []
    for way, sequence in zip(bidirectional.directions(node), bidirectional.sequences(node, inputs, crossed),
                             strict=True):
        parameters = [inputs[way.place(name)] for name in _PARAMETERS]
        if crossed:
            parameters[0] = np.concatenate([parameters[0], inputs[way.place("aux_weights")]], axis=1)
        results.append(rnn.run(way, sequence, parameters))
    return bidirectional.outputs(node, *results, [states[-1] for states in results])


def _lower(node, b):
    units = [way["weights"].shape[0] for way in bidirectional.directions(node)]
    return bidirectional.lower(node, b, units, [("weights", "aux_weights")], rnn.steps, 1)


BIDIRECTIONAL_SEQUENCE_RNN = OpDef(
    OperationType.BIDIRECTIONAL_SEQUENCE_RNN, _SIGNATURES, infer=_infer, compute=_compute, lower=_lower,
    multiply_adds=True,
)
