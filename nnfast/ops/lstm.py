"""LSTM [NN 14.16] and UNIDIRECTIONAL_SEQUENCE_LSTM [NN 15.5, 15.92]: one cell step for both.

Which kind of cell it is follows from the optional inputs that are present, so it can differ from one execution to
the next: coupled input and forget gates (CIFG, no input_to_input_weights), peephole, projection, layer norm.
"""

import numpy as np

from ..model.types import OperationType
from ..record import record
from . import lstm_steps, recurrent
from .base import OpDef, Signature, forms

GATES = ("input", "forget", "cell", "output")
BIASES = {"input": "input_gate_bias", "forget": "forget_gate_bias", "cell": "cell_gate_bias",
          "output": "output_gate_bias"}

_GATE_WEIGHTS = " ".join(
    f"{source}_to_{gate}_weights{'?' if gate == 'input' else ''}:T"
    for source in ("input", "recurrent") for gate in GATES
)
_PEEPHOLE = "cell_to_input_weights?:T cell_to_forget_weights?:T cell_to_output_weights?:T"
_BIASES = "input_gate_bias?:T forget_gate_bias:T cell_gate_bias:T output_gate_bias:T"
WEIGHTS = f"{_GATE_WEIGHTS} {_PEEPHOLE} {_BIASES} projection_weights?:T projection_bias?:T"
LAYER_NORM = " ".join(f"{gate}_layer_norm_weights?:T" for gate in GATES)
_COMMON = f"input:T {WEIGHTS} output_state_in:T cell_state_in:T activation:i32 cell_clip:fT proj_clip:fT"
_STATES_OUT = "output_state_out:T cell_state_out:T"

_LSTM_SETS = ("1.0: F32", "1.2: F16")
_LSTM = (
    Signature(f"{_COMMON} -> scratch_buffer:T {_STATES_OUT} output:T", _LSTM_SETS),
    Signature(f"{_COMMON} {LAYER_NORM} -> scratch_buffer:T {_STATES_OUT} output:T", _LSTM_SETS, "1.2"),
)
_SEQUENCE = forms(
    (f"{_COMMON} time_major:bool {LAYER_NORM} -> output:T", "1.2"),
    (f"{_COMMON} time_major:bool {LAYER_NORM} -> output:T {_STATES_OUT}", "1.3"),
    sets=("1.2: F32", "1.2: F16"),
)

LAYER_NORM_EPSILON = 1e-8


# -- rules -------------------------------------------------------------------------------------------------------------
def is_cifg(node):
    """True when the input gate is 1 - forget gate."""
    return not node.has("input_to_input_weights")


def has_layer_norm(node):
    """True if the gates have layer norm: the output gate's weights are present."""
    return node.has("output_layer_norm_weights")


def active_gates(node):
    """Gates that are computed, in the standard's order."""
    return GATES[1:] if is_cifg(node) else GATES


def check_presence(node):
    """The present optional inputs must form a valid kind of cell."""
    cifg = is_cifg(node)
    why = f"where input_to_input_weights is {'omitted' if cifg else 'present'}"
    for name in ("recurrent_to_input_weights", "input_gate_bias"):
        recurrent.must(node, name, not cifg, why)
    peephole = node.has("cell_to_output_weights")
    why = f"where cell_to_output_weights is {'present' if peephole else 'omitted'}"
    recurrent.must(node, "cell_to_forget_weights", peephole, why)
    if not (peephole and cifg):
        recurrent.must(node, "cell_to_input_weights", peephole, why)
    normal = has_layer_norm(node)
    why = f"where output_layer_norm_weights is {'present' if normal else 'omitted'}"
    for gate in ("forget", "cell"):
        recurrent.must(node, f"{gate}_layer_norm_weights", normal, why)
    recurrent.must(node, "input_layer_norm_weights", normal and not cifg, f"{why}{' and the gates are coupled' * cifg}")


def check_projection(node):
    """A projection bias needs projection weights (UNIDIRECTIONAL_SEQUENCE_LSTM ignores one without [NN 15.5])."""
    if node.has("projection_bias"):
        recurrent.must(node, "projection_weights", True, "where projection_bias is present")


def check_clips(node):
    """Both clips must be >= 0 (UNIDIRECTIONAL_SEQUENCE_LSTM takes a negative one as off [NN 15.5])."""
    for name in ("cell_clip", "proj_clip"):
        if node.has(name) and not node.scalar(name) >= 0:
            node.fail(name, f"is {node.scalar(name)}, must be >= 0")


def check_shapes(node, batch, size):
    """Check the shape of every present tensor against (units, outputs), which are returned. Includes states, which the
    reference implementation does not check."""
    node.check_rank("input_to_output_weights", 2)
    node.check_rank("recurrent_to_output_weights", 2)
    units, outputs = node["input_to_output_weights"].shape[0], node["recurrent_to_output_weights"].shape[1]
    shapes = {"output_state_in": (batch, outputs), "cell_state_in": (batch, units)}
    if node.has("projection_weights"):
        shapes["projection_weights"], shapes["projection_bias"] = (outputs, units), (outputs,)
    for gate in GATES:
        shapes[f"input_to_{gate}_weights"] = (units, size)
        shapes[f"recurrent_to_{gate}_weights"] = (units, outputs)
        shapes[f"cell_to_{gate}_weights"] = shapes[f"{gate}_layer_norm_weights"] = shapes[BIASES[gate]] = (units,)
    for name, shape in shapes.items():
        if node.has(name):
            recurrent.check_shape(node, name, shape)
    if not node.has("projection_weights") and outputs != units:
        node.fail("recurrent_to_output_weights", f"dimension 1 is {outputs}, must be {units} where nothing projects")
    return units, outputs


def _infer_lstm(node):
    node.check_rank("input", 2)
    batch, size = node["input"].shape
    check_presence(node)
    check_projection(node)
    units, outputs = check_shapes(node, batch, size)
    recurrent.check_activation(node)
    check_clips(node)
    return [(batch, len(active_gates(node)) * units), (batch, outputs), (batch, units), (batch, outputs)]


def infer_sequence(node):
    """Shapes of the output sequence and of both states."""
    time, batch, size = recurrent.sequence_shape(node)
    check_presence(node)
    units, outputs = check_shapes(node, batch, size)
    recurrent.check_activation(node)
    shapes = [recurrent.sequence_output(node, time, batch, outputs), (batch, outputs), (batch, units)]
    return shapes[:len(node.outputs)]


# -- reference ---------------------------------------------------------------------------------------------------------
def _product(rows, weights):
    return rows @ weights.T


@record(frozen=True, slots=True, eq=False)
class Cell:
    """The float64 parameters of an LSTM cell; None for absent ones. Dicts are by gate name.

    A clip of 0 or less is off. project_bias counts only beside project. product(rows, weights): of rows [b, size] with
    from_input, from_output or project, [.., size].
    """

    from_input: dict
    from_output: dict
    peephole: dict
    bias: dict
    normal: dict
    project: np.ndarray | None
    project_bias: np.ndarray | None
    activation: object
    cell_clip: float
    proj_clip: float
    product: object = _product

    def step(self, data, output, state):
        """(output, state) after one step from data [b, size], output [b, outputs] and state [b, units]."""
        pre = {gate: self.product(data, weights) + self.product(output, self.from_output[gate])
               for gate, weights in self.from_input.items()}
        forget = recurrent.sigmoid(self._gate("forget", pre, state))
        enter = recurrent.sigmoid(self._gate("input", pre, state)) if "input" in pre else 1.0 - forget
        state = forget * state + enter * self.activation(self._gate("cell", pre, state))
        if self.cell_clip > 0:
            state = np.clip(state, -self.cell_clip, self.cell_clip)
        output = recurrent.sigmoid(self._gate("output", pre, state)) * self.activation(state)
        if self.project is not None:
            output = self.product(output, self.project)
            if self.project_bias is not None:
                output = output + self.project_bias
            if self.proj_clip > 0:
                output = np.clip(output, -self.proj_clip, self.proj_clip)
        return output, state

    def run(self, sequence, output, state):
        """(outputs [time, b, outputs], output, state) after all steps of a sequence [time, b, size]."""
        outputs = np.empty((sequence.shape[0], *output.shape))
        for place, data in enumerate(sequence):
            output, state = self.step(data, output, state)
            outputs[place] = output
        return outputs, output, state

    def _gate(self, gate, pre, state):
        """A gate before its activation: add the peephole term, then layer norm, then bias."""
        value = pre[gate]
        if gate in self.peephole:
            value = value + self.peephole[gate] * state
        if gate in self.normal:
            value = value - value.mean(axis=1, keepdims=True)
            deviation = np.sqrt(np.mean(value * value, axis=1, keepdims=True) + LAYER_NORM_EPSILON)
            value = value / deviation * self.normal[gate]
        return value + self.bias[gate]


def cell(node, inputs):
    """The Cell of an LSTM operation from the arrays of its inputs."""

    def get(name):
        return inputs[node.place(name)].astype(np.float64) if node.has(name) else None

    gates = active_gates(node)
    peephole = {gate: get(f"cell_to_{gate}_weights") for gate in gates if gate != "cell"}
    normal = {gate: get(f"{gate}_layer_norm_weights") for gate in gates} if has_layer_norm(node) else {}
    return Cell(
        from_input={gate: get(f"input_to_{gate}_weights") for gate in gates},
        from_output={gate: get(f"recurrent_to_{gate}_weights") for gate in gates},
        peephole=peephole if node.has("cell_to_output_weights") else {},
        bias={gate: get(BIASES[gate]) for gate in gates},
        normal=normal,
        project=get("projection_weights"),
        project_bias=get("projection_bias"),
        activation=recurrent.ACTIVATIONS[node.scalar("activation")],
        cell_clip=node.scalar("cell_clip"),
        proj_clip=node.scalar("proj_clip"),
    )


def states(node, inputs):
    """(output, state) before the first step, as float64."""
    return (inputs[node.place(name)].astype(np.float64) for name in ("output_state_in", "cell_state_in"))


@np.errstate(over="ignore", invalid="ignore")
def _compute_lstm(node, inputs):
    data, dtype = inputs[0].astype(np.float64), node.outputs[0].dtype
    output, state = cell(node, inputs).step(data, *states(node, inputs))
    scratch = np.zeros((state.shape[0], len(active_gates(node)) * state.shape[1]), dtype)
    output = output.astype(dtype)
    return [scratch, output, state.astype(dtype), output.copy()]


@np.errstate(over="ignore", invalid="ignore")
def _compute_sequence(node, inputs):
    sequence, dtype = recurrent.time_first(node, inputs[0]).astype(np.float64), node.outputs[0].dtype
    outputs, output, state = cell(node, inputs).run(sequence, *states(node, inputs))
    results = [np.ascontiguousarray(recurrent.time_first(node, outputs)), output, state]
    return [array.astype(dtype) for array in results[:len(node.outputs)]]


# -- native --------------------------------------------------------------------------------------------------------
def _lower_lstm(node, b):
    scratch, state_out, cell_out, output = node.outputs
    path = recurrent.Path(1, node["input"].shape[0])
    return recurrent.emit(b, lstm_steps.steps(node, b, path, node["input"], output, state_out, cell_out, scratch))


def _lower_sequence(node, b):
    path = recurrent.sequence_path(node)
    return recurrent.emit(b, lstm_steps.steps(node, b, path, node["input"], *node.outputs))


LSTM = OpDef(OperationType.LSTM, _LSTM, infer=_infer_lstm, compute=_compute_lstm, lower=_lower_lstm, multiply_adds=True)

UNIDIRECTIONAL_SEQUENCE_LSTM = OpDef(
    OperationType.UNIDIRECTIONAL_SEQUENCE_LSTM, _SEQUENCE, infer=infer_sequence, compute=_compute_sequence,
    lower=_lower_sequence, multiply_adds=True,
)
