"""LSTM and RNN of float32 tensors with int8 weights, as LiteRT computes them: inputs and hidden states are quantized at
run time, a row at a time.
"""

import numpy as np

from .._native.recurrent import LstmHybrid
from ..record import record, replace
from . import lstm, recurrent, rnn
from .tfl import own
from .tfl_hybrid import asymmetric, symmetric


@record(frozen=True, slots=True, eq=False)
class Weights:
    """A matrix of codes as float64, and its scale."""

    codes: np.ndarray
    scale: np.float32


def _weights(node, inputs, name):
    if not node.has(name):
        return None
    return Weights(inputs[node.place(name)].astype(np.float64), np.float32(node[name].scale))


def _product_of(node):
    """Products of rows [batch, size] with Weights [units, size], in float32; nothing where all rows are zero. Of a pair
    of Weights each has its own columns, which are quantized apart.
    """
    quantized = asymmetric if node.scalar("is_asymmetric") else symmetric

    def product(rows, weights):
        if isinstance(weights, tuple):
            width = weights[0].codes.shape[1]
            return product(rows[:, :width], weights[0]) + product(rows[:, width:], weights[1])
        codes, steps, zeros = quantized(rows.astype(np.float32))
        sums = ((codes.astype(np.float64) - zeros[:, None]) @ weights.codes.T).astype(np.float32)
        return sums * (steps * weights.scale)[:, None]

    return product


# -- an auxiliary input ----------------------------------------------------------------------------------------------
def _sequence(node, inputs):
    """The input [time, batch, size], the auxiliary one behind it."""
    sequence = recurrent.time_first(node, inputs[0])
    if not node.has("aux_input"):
        return sequence
    return np.concatenate([sequence, recurrent.time_first(node, inputs[node.place("aux_input")])], axis=2)


def _crossed(node, inputs, name):
    """Weights of the input, or a pair of those of the input and the auxiliary one."""
    own_weights = _weights(node, inputs, name)
    return (own_weights, _weights(node, inputs, f"aux_{name}")) if node.has("aux_input") else own_weights


def _check_auxiliary(node, units, names):
    """As long as the input, with as many units."""
    if not node.has("aux_input"):
        return
    time, batch, _ = recurrent.sequence_shape(node)
    node.check_rank("aux_input", 3)
    size = node["aux_input"].shape[2]
    recurrent.check_shape(node, "aux_input", recurrent.sequence_output(node, time, batch, size))
    for name in names:
        recurrent.must(node, f"aux_{name}", True, "where there is an auxiliary input")
        recurrent.check_shape(node, f"aux_{name}", (units, size))


# -- LSTM ------------------------------------------------------------------------------------------------------------
def infer_lstm(node):
    """Shapes of the output sequence and of both states."""
    shapes = lstm.infer_sequence(node)
    _check_auxiliary(node, shapes[2][1], [f"input_to_{gate}_weights" for gate in lstm.active_gates(node)])
    return shapes


def compute_lstm(node, inputs):
    """All steps; what is not a matrix product is as of floats."""
    plain, gates = lstm.cell(node, inputs), lstm.active_gates(node)
    peephole = {gate: values * float(np.float32(node[f"cell_to_{gate}_weights"].scale))
                for gate, values in plain.peephole.items()}
    cell = replace(plain, from_input={gate: _crossed(node, inputs, f"input_to_{gate}_weights") for gate in gates},
                   from_output={gate: _weights(node, inputs, f"recurrent_to_{gate}_weights") for gate in gates},
                   peephole=peephole, project=_weights(node, inputs, "projection_weights"), product=_product_of(node))
    outputs, output, state = cell.run(_sequence(node, inputs), *lstm.states(node, inputs))
    results = np.ascontiguousarray(recurrent.time_first(node, outputs)), output, state
    return [array.astype(np.float32) for array in results]


def lower_lstm(node, b):
    """One step; weights are read as they lie, those of peepholes as floats."""
    gates, path = lstm.active_gates(node), recurrent.sequence_path(node)
    units, size = node["input_to_output_weights"].shape
    outputs = node["recurrent_to_output_weights"].shape[1]
    if 0 in (path.rows, units, size, outputs):
        return "an operand is empty"
    if node.has("aux_input"):
        return "no native kernel for an auxiliary input"

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
_LSTM_INPUTS = (f"input:T {_LSTM_WEIGHTS} output_state_in:T cell_state_in:T activation:i32 cell_clip:f32 proj_clip:f32"
                f" time_major:bool {lstm.LAYER_NORM} is_asymmetric:bool")
_LSTM_AUXILIARY = "aux_input:T " + " ".join(f"aux_input_to_{gate}_weights{'?' * (gate == 'input')}:W"
                                            for gate in lstm.GATES)
TFL_HYBRID_LSTM = own(
    "TFL_HYBRID_LSTM",
    {f"{_LSTM_INPUTS}{more} -> output:T output_state_out:T cell_state_out:T": _TYPES
     for more in ("", f" {_LSTM_AUXILIARY}")}, compute_lstm, infer_lstm, lower=lower_lstm, multiply_adds=True,
)


# -- RNN -------------------------------------------------------------------------------------------------------------
def infer_rnn(node):
    """Shapes of the output sequence and of the state."""
    shapes = rnn.infer_sequence(node)
    _check_auxiliary(node, shapes[1][1], ["weights"])
    return shapes


def compute_rnn(node, inputs):
    """All steps."""
    sequence, bias, state = _sequence(node, inputs), inputs[3], inputs[4]
    weights, again = _crossed(node, inputs, "weights"), _weights(node, inputs, "recurrent_weights")
    product, activation = _product_of(node), recurrent.ACTIVATIONS[node.scalar("activation")]
    states = np.empty((len(sequence), *state.shape), np.float32)
    for step, rows in enumerate(sequence):
        node.go_on()
        states[step] = state = activation(bias + product(rows, weights) + product(state, again)).astype(np.float32)
    return [np.ascontiguousarray(recurrent.time_first(node, states)), states[-1]]


TFL_HYBRID_RNN = own(
    "TFL_HYBRID_RNN",
    {"input:T weights:W recurrent_weights:W bias:T hidden_state_in:T activation:i32 time_major:i32 is_asymmetric:bool"
     f"{more} -> output:T hidden_state_out:T": _TYPES for more in ("", " aux_input:T aux_weights:W")},
    compute_rnn, infer_rnn,
)
