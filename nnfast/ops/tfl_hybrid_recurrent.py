"""LSTM and RNN of float32 tensors with int8 weights, as LiteRT computes them: inputs and hidden states are quantized at
run time, a row at a time.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._native.recurrent import LstmHybrid
from . import lstm, recurrent, rnn
from .tfl import own
from .tfl_hybrid import asymmetric, symmetric


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A matrix of codes as float64, and its scale."""

    codes: np.ndarray
    scale: np.float32


def _weights(node, inputs, name):
    if not node.has(name):
        return None
    return Weights(inputs[node.place(name)].astype(np.float64), np.float32(node[name].scale))


def _product_of(node):
    """Products of rows [batch, size] with Weights [units, size], in float32; nothing where all rows are zero."""
    quantized = asymmetric if node.scalar("is_asymmetric") else symmetric

    def product(rows, weights):
        codes, steps, zeros = quantized(rows.astype(np.float32))
        sums = ((codes.astype(np.float64) - zeros[:, None]) @ weights.codes.T).astype(np.float32)
        return sums * (steps * weights.scale)[:, None]

    return product


# -- LSTM ------------------------------------------------------------------------------------------------------------
def compute_lstm(node, inputs):
    """All steps; what is not a matrix product is as of floats."""
    plain, gates = lstm.cell(node, inputs), lstm.active_gates(node)
    peephole = {gate: values * float(np.float32(node[f"cell_to_{gate}_weights"].scale))
                for gate, values in plain.peephole.items()}
    cell = replace(plain, from_input={gate: _weights(node, inputs, f"input_to_{gate}_weights") for gate in gates},
                   from_output={gate: _weights(node, inputs, f"recurrent_to_{gate}_weights") for gate in gates},
                   peephole=peephole, project=_weights(node, inputs, "projection_weights"), product=_product_of(node))
    outputs, output, state = cell.run(recurrent.time_first(node, inputs[0]), *lstm.states(node, inputs))
    results = np.ascontiguousarray(recurrent.time_first(node, outputs)), output, state
    return [array.astype(np.float32) for array in results]


def lower_lstm(node, b):
    """One step; weights are read as they lie, those of peepholes as floats."""
    gates, path = lstm.active_gates(node), recurrent.sequence_path(node)
    units, size = node["input_to_output_weights"].shape
    outputs = node["recurrent_to_output_weights"].shape[1]
    if 0 in (path.rows, units, size, outputs):
        return "an operand is empty"

    def slot(name):
        return b.slot(node[name]) if node.has(name) else None

    def product(name):
        return slot(name), float(np.float32(node[name].scale))

    def peephole(gate):
        name = f"cell_to_{gate}_weights"
        if not node.has(name):
            return None
        return b.const(b.value(node[name]).astype(np.float32) * np.float32(node[name].scale))

    if any(node.has(name) and node[name].value is None for name in map("cell_to_{}_weights".format, gates)):
        return "weights of peepholes are not constant"
    made = [(*product(f"input_to_{gate}_weights"), *product(f"recurrent_to_{gate}_weights"), slot(f"{gate}_gate_bias"),
             peephole(gate), slot(f"{gate}_layer_norm_weights")) for gate in gates]
    projection = None
    if node.has("projection_weights"):
        projection = *product("projection_weights"), slot("projection_bias")
    clip, most = (value if value > 0 else np.inf for value in map(node.scalar, ("cell_clip", "proj_clip")))
    tensors = node["input"], node["output_state_in"], node["cell_state_in"], *node.outputs
    b.emit(LstmHybrid([b.slot(t) for t in tensors], made, projection, path.walk(size, outputs), (units, size, outputs),
                      node.scalar("is_asymmetric"), node.scalar("activation"), clip, (-most, most)))
    return None


_TYPES = {"T": ("F32",), "W": ("Q8S",)}
_LSTM_WEIGHTS = lstm.WEIGHTS.replace("weights:T", "weights:W").replace("weights?:T", "weights?:W")
TFL_HYBRID_LSTM = own(
    "TFL_HYBRID_LSTM",
    {f"input:T {_LSTM_WEIGHTS} output_state_in:T cell_state_in:T activation:i32 cell_clip:f32 proj_clip:f32"
     f" time_major:bool {lstm.LAYER_NORM} is_asymmetric:bool -> output:T output_state_out:T cell_state_out:T": _TYPES},
    compute_lstm, lstm.infer_sequence, lower=lower_lstm, multiply_adds=True,
)


# -- RNN -------------------------------------------------------------------------------------------------------------
def compute_rnn(node, inputs):
    """All steps."""
    sequence, bias, state = recurrent.time_first(node, inputs[0]), inputs[3], inputs[4]
    weights, again = (_weights(node, inputs, name) for name in ("weights", "recurrent_weights"))
    product, activation = _product_of(node), recurrent.ACTIVATIONS[node.scalar("activation")]
    states = np.empty((len(sequence), *state.shape), np.float32)
    for step, rows in enumerate(sequence):
        node.go_on()
        states[step] = state = activation(bias + product(rows, weights) + product(state, again)).astype(np.float32)
    return [np.ascontiguousarray(recurrent.time_first(node, states)), states[-1]]


TFL_HYBRID_RNN = own(
    "TFL_HYBRID_RNN",
    {"input:T weights:W recurrent_weights:W bias:T hidden_state_in:T activation:i32 time_major:i32 is_asymmetric:bool"
     " -> output:T hidden_state_out:T": _TYPES}, compute_rnn, rnn.infer_sequence,
)
