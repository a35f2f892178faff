"""QUANTIZED_16BIT_LSTM [NN 15.4, 15.73]: an LSTM step on 8-bit data with a 16-bit cell state.

The combined matrix of a gate has the recurrent weights first, the combined data the input first: the input meets the
first columns of [recurrent | input] weights. That is what the reference and the models converted for it do.
"""

import numpy as np

from .._native.recurrent import Cells16, GatesQ8
from ..model import quant
from ..model.fixedpoint import WORD16
from ..model.types import OperandType, OperationType
from . import recurrent, requantize
from .base import OpDef, Signature
from .lstm import BIASES, GATES

_WEIGHTS = [f"{source}_to_{gate}_weights" for source in ("input", "recurrent") for gate in GATES]
_SIGNATURES = (
    Signature(
        f"input:Q8 {' '.join(f'{name}:Q8' for name in _WEIGHTS)} {' '.join(f'{BIASES[gate]}:I32' for gate in GATES)} "
        "cell_state_in:Q16S output_in:Q8 -> cell_state_out:Q16S output:Q8", ("1.2:",),
    ),
)

_DATA_QUANT = (2.0**-7, 128)  # of the input and the output: values -1..127/128
_STATE_QUANT = (2.0**-11, 0)  # of the cell state: F4
_GATE_SCALE = 2.0**-12  # of a gate before its activation: F3


def _check_quant(node, name, wanted):
    tensor = node[name]
    if (tensor.scale, tensor.zero_point) != wanted:
        node.fail(name, f"scale {tensor.scale:.9g} and zero point {tensor.zero_point}, "
                        f"must be {wanted[0]:.9g} and {wanted[1]}")


def _infer(node):
    node.check_rank("input", 2)
    node.check_rank("input_to_output_weights", 2)
    batch, size = node["input"].shape
    units = node["input_to_output_weights"].shape[0]
    for gate in GATES:
        recurrent.check_shape(node, f"input_to_{gate}_weights", (units, size))
        recurrent.check_shape(node, f"recurrent_to_{gate}_weights", (units, units))
        recurrent.check_shape(node, BIASES[gate], (units,))
    for name in ("cell_state_in", "output_in"):
        recurrent.check_shape(node, name, (batch, units))
    first = node[_WEIGHTS[0]]
    for name in _WEIGHTS[1:]:
        _check_quant(node, name, (first.scale, first.zero_point))
    for gate in GATES:
        _check_quant(node, BIASES[gate], (float(np.float32(first.scale) / np.float32(128)), 0))
    for name, wanted in (("input", _DATA_QUANT), ("cell_state_in", _STATE_QUANT), ("output_in", _DATA_QUANT)):
        _check_quant(node, name, wanted)
    return [(batch, units), (batch, units)]


def _gates(node, inputs):
    """Gate name -> F3 words [b, units] before the activation."""
    of = dict(zip((slot.name for slot in node.signature.inputs), inputs, strict=True))
    data = np.concatenate([of["input"], of["output_in"]], axis=1).astype(np.float64) - 128
    zero_point = node[_WEIGHTS[0]].zero_point
    multiplier = requantize.multipliers(node["output_gate_bias"].scale / _GATE_SCALE)
    gates = {}
    for gate in GATES:
        rows = np.concatenate([of[f"recurrent_to_{gate}_weights"], of[f"input_to_{gate}_weights"]], axis=1)
        # float64 holds the sums of products of codes exactly.
        total = (data @ (rows.astype(np.float64) - zero_point).T).astype(np.int64) + of[BIASES[gate]]
        gates[gate] = np.clip(quant.mbqm(total, *multiplier), WORD16.min, WORD16.max)
    return gates


def _compute(node, inputs):
    gates = _gates(node, inputs)
    enter, forget, leave = (WORD16.logistic(gates[gate], 3) for gate in ("input", "forget", "output"))
    candidate = WORD16.tanh(gates["cell"], 3)
    kept = WORD16.mul(forget, inputs[node.place("cell_state_in")])
    state = np.clip(WORD16.rescale(WORD16.mul(enter, candidate), 0, 4) + kept, WORD16.min, WORD16.max)
    output = WORD16.mul(leave, WORD16.tanh(WORD16.rescale(state, 4, 3), 3))
    codes = 128 + np.clip(quant.rdbpot(output, 8), -128, 127)
    return [state.astype(np.int16), codes.astype(np.uint8)]


def _lower(node, b):
    (batch, size), units = node["input"].shape, node["input_to_output_weights"].shape[0]
    multiplier = requantize.multipliers(node["output_gate_bias"].scale / _GATE_SCALE)
    words = b.temp(2 * batch * len(GATES) * units)
    slots = [b.slot(node["input"]), b.slot(node["output_in"]), words]
    for gate in GATES:
        names = (f"input_to_{gate}_weights", f"recurrent_to_{gate}_weights", BIASES[gate])
        slots += [b.slot(node[name]) for name in names]
    zero_points = (_DATA_QUANT[1], _DATA_QUANT[1], node[_WEIGHTS[0]].zero_point)
    b.emit(GatesQ8(slots, (batch, size, units, units), zero_points, False, True, [multiplier] * len(GATES), None))
    b.emit(Cells16([words, b.slot(node["cell_state_in"]), *(b.slot(output) for output in node.outputs)], batch, units))
    return None


QUANTIZED_16BIT_LSTM = OpDef(
    OperationType.QUANTIZED_16BIT_LSTM, _SIGNATURES, infer=_infer, compute=_compute, lower=_lower,
    quant=({OperandType.TENSOR_QUANT16_SYMM: _STATE_QUANT}, {OperandType.TENSOR_QUANT8_ASYMM: _DATA_QUANT}),
    multiply_adds=True, coupled=False,
)
