"""BIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_RNN against two one-way sequences each."""

import numpy as np
import pytest

from helpers.nodes import T, execute, flag, floats, ints, node, omitted, operand, out, run
from helpers.vectors import check_signatures, check_vectors
from nnfast.errors import InvalidArgument

BATCH, TIME, SIZE, AUX = 2, 4, 3, 2
UNITS = {"fw": 3, "bw": 2}
OUTPUTS = {"fw": 2, "bw": 4}  # of the LSTM where it projects
GATES = ("input", "forget", "cell", "output")
LINKS = ("none", "cross", "parallel")


def turned(array):
    """A [batch, time, ...] sequence the other way round."""
    return array[:, ::-1]


def one_way_data(link, side, data, aux):
    """What the one-way twin of a direction reads: it walks forward, and cross-linked values stand side by side."""
    data = {"none": data, "cross": np.concatenate([data, aux], axis=2), "parallel": data if side == "fw" else aux}[link]
    return data if side == "fw" else turned(data)


def width(link, side):
    """Size of the inputs that the input weights of a direction meet."""
    return AUX if link == "parallel" and side == "bw" else SIZE


def sequences(seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((BATCH, TIME, n)).astype(np.float32) for n in (SIZE, AUX))


def check_results(results, twins, merged, time_major, states):
    """results of the operation against (sequence, states ...) of its one-way twins."""
    wanted = [twins["fw"][0], turned(twins["bw"][0])]
    if merged:
        wanted = [np.concatenate(wanted, axis=2)]
    if states:
        wanted += [*twins["fw"][1:], *twins["bw"][1:]]
    assert len(results) == len(wanted)
    for place, (result, expected) in enumerate(zip(results, wanted, strict=True)):
        if place < (1 if merged else 2) and time_major:
            result = result.swapaxes(0, 1)
        # float64 steps on both sides; only the order of the sums may differ.
        np.testing.assert_allclose(result, expected, rtol=2e-7, atol=1e-9)


# -- RNN ---------------------------------------------------------------------------------------------------------------
def rnn_parameters(side, link, seed=3):
    """weights, recurrent weights, bias, state, auxiliary weights."""
    units, rng = UNITS[side], np.random.default_rng([seed, side == "bw"])
    shapes = ((units, width(link, side)), (units, units), (units,), (BATCH, units), (units, AUX))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def rnn(link="none", merged=False, time_major=False, states=False, activation=4, change=None, outputs=None):
    """The operation. change: {input index: replacement tensor}."""
    data, aux = sequences(2)
    if time_major:
        data, aux = data.swapaxes(0, 1), aux.swapaxes(0, 1)
    parameters = {side: [floats(array) for array in rnn_parameters(side, link)] for side in UNITS}
    inputs = [
        floats(data), *parameters["fw"][:4], *parameters["bw"][:4], omitted() if link == "none" else floats(aux),
        *(parameters[side][4] if link == "cross" else omitted() for side in UNITS),
        *ints(activation), flag(time_major), flag(merged),
    ]
    for place, replacement in (change or {}).items():
        inputs[place] = replacement
    count = (1 if merged else 2) + 2 * states if outputs is None else outputs
    return node("BIDIRECTIONAL_SEQUENCE_RNN", inputs, [out() for _ in range(count)])


@pytest.mark.parametrize("states", (False, True))
@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("merged", (False, True))
@pytest.mark.parametrize("link", LINKS)
def test_rnn(link, merged, time_major, states):
    made = rnn(link, merged, time_major, states)
    assert made.version == ("1.3" if states else "1.2")
    data, aux = sequences(2)
    twins = {}
    for side in UNITS:
        weights, *rest, aux_weights = rnn_parameters(side, link)
        if link == "cross":
            weights = np.concatenate([weights, aux_weights], axis=1)
        inputs = [one_way_data(link, side, data, aux), weights, *rest]
        twins[side] = run("UNIDIRECTIONAL_SEQUENCE_RNN", [*map(floats, inputs), *ints(4, 0)], [out(), out()])
    check_results(execute(made), twins, merged, time_major, states)


def zeros(*shape):
    return floats(np.zeros(shape))


@pytest.mark.parametrize(("options", "message"), [
    ({"change": {0: zeros(2, 3)}}, r"main.operation\[3\] BIDIRECTIONAL_SEQUENCE_RNN input 0 \(input\): rank is 2"),
    ({"change": {1: zeros(3, 4)}}, r"input 1 \(fw_weights\): dimension 1 is 4, must be 3"),
    ({"change": {6: zeros(2, 3)}}, r"input 6 \(bw_recurrent_weights\): dimension 1 is 3, must be 2"),
    ({"change": {8: zeros(1, 2)}}, r"input 8 \(bw_hidden_state_in\): dimension 0 is 1, must be 2"),
    ({"link": "cross", "change": {9: zeros(2, 3, 2)}}, r"input 9 \(aux_input\): dimension 1 is 3, must be 4"),
    ({"link": "cross", "change": {9: zeros(2, 2)}}, r"input 9 \(aux_input\): rank is 2, must be 3"),
    ({"link": "cross", "change": {11: zeros(2, 3)}}, r"input 11 \(bw_aux_weights\): dimension 1 is 3, must be 2"),
    ({"link": "cross", "change": {9: omitted()}}, r"input 9 \(aux_input\): is omitted, must be present where fw_aux"),
    ({"link": "cross", "change": {11: omitted()}}, r"input 11 \(bw_aux_weights\): is omitted, must be present where"),
    ({"link": "cross", "change": {10: omitted()}}, r"input 11 \(bw_aux_weights\): is present, must be omitted where"),
    ({"link": "parallel", "change": {5: zeros(2, 3)}}, r"input 5 \(bw_weights\): dimension 1 is 3, must be 2"),
    ({"activation": 2}, r"input 12 \(activation\): is 2, must be 0, 1, 3, 4 or 6"),
    ({"merged": True, "outputs": 2}, r"input 14 \(merge_outputs\): is True, must be False with 2 outputs"),
    ({"merged": True, "outputs": 4}, r"input 14 \(merge_outputs\): is True, must be False with 4 outputs"),
    ({"outputs": 1}, r"input 14 \(merge_outputs\): is False, must be True with 1 output$"),
    ({"outputs": 3}, r"input 14 \(merge_outputs\): is False, must be True with 3 outputs"),
])
def test_bad_rnn(options, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(rnn(**options))


# -- LSTM --------------------------------------------------------------------------------------------------------------
WEIGHTS = [
    *(f"input_to_{g}_weights" for g in GATES), *(f"recurrent_to_{g}_weights" for g in GATES),
    *(f"cell_to_{g}_weights" for g in GATES if g != "cell"), *(f"{g}_gate_bias" for g in GATES),
    "projection_weights", "projection_bias",
]
STATES = ["output_state_in", "cell_state_in"]
AUX_WEIGHTS = [f"aux_input_to_{g}_weights" for g in GATES]
NORMS = [f"{g}_layer_norm_weights" for g in GATES]
ORDER = [
    "input", *(f"{side}_{name}" for side in UNITS for name in WEIGHTS),
    *(f"{side}_{name}" for side in UNITS for name in STATES), "aux_input",
    *(f"{side}_{name}" for side in UNITS for name in AUX_WEIGHTS), "activation", "cell_clip", "proj_clip",
    "merge_outputs", "time_major", *(f"{side}_{name}" for side in UNITS for name in NORMS),
]
KINDS = ({}, {"cifg": True}, {"peephole": True, "project": True, "normal": True},
         {"cifg": True, "peephole": True, "project": True, "normal": True})


def is_left_out(name, cifg=False, peephole=False, project=False, normal=False):
    """True for an input of a one-way cell that this kind does not have."""
    for_input_gate = ("input_to_input", "recurrent_to_input", "cell_to_input", "input_gate_bias", "input_layer_norm",
                      "aux_input_to_input")
    return (cifg and name.startswith(for_input_gate)) or (not peephole and name.startswith("cell_to_")) or \
        (not project and name.startswith("projection")) or (not normal and "layer_norm" in name)


def lstm_parameters(side, link, project=False):
    """All tensors of one direction by name."""
    units, rng = UNITS[side], np.random.default_rng([7, side == "bw"])
    size = OUTPUTS[side] if project else units
    shapes = {"projection_weights": (size, units), "projection_bias": (size,), "output_state_in": (BATCH, size),
              "cell_state_in": (BATCH, units)}
    for gate in GATES:
        shapes |= {
            f"input_to_{gate}_weights": (units, width(link, side)), f"recurrent_to_{gate}_weights": (units, size),
            f"aux_input_to_{gate}_weights": (units, AUX), f"cell_to_{gate}_weights": (units,),
            f"{gate}_gate_bias": (units,), f"{gate}_layer_norm_weights": (units,),
        }
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in sorted(shapes.items())}


def lstm(link="none", kind=None, merged=False, time_major=False, states=False, change=None, outputs=None, half=False):
    """The operation. change: {input name: replacement tensor, or None for omitted}."""
    kind = kind or {}
    type_, scalar = (T.TENSOR_FLOAT16, T.FLOAT16) if half else (T.TENSOR_FLOAT32, T.FLOAT32)
    data, aux = (a.swapaxes(0, 1) if time_major else a for a in sequences(5))
    tensors = {
        "input": floats(data, half), "aux_input": omitted(type_) if link == "none" else floats(aux, half),
        "activation": ints(4)[0], "cell_clip": operand(scalar, 1.5), "proj_clip": operand(scalar, 0.8),
        "merge_outputs": flag(merged), "time_major": flag(time_major),
    }
    for side in UNITS:
        for name, array in lstm_parameters(side, link, kind.get("project", False)).items():
            gone = is_left_out(name, **kind) or (name in AUX_WEIGHTS and link != "cross")
            tensors[f"{side}_{name}"] = omitted(type_) if gone else floats(array, half)
    for name, replacement in (change or {}).items():
        tensors[name] = omitted(type_) if replacement is None else replacement
    count = (1 if merged else 2) + 4 * states if outputs is None else outputs
    inputs = [tensors[name] for name in ORDER]
    return node("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, [out(type_) for _ in range(count)])


def one_way_lstm(link, side, kind):
    """[sequence, output state, cell state] of UNIDIRECTIONAL_SEQUENCE_LSTM."""
    values = lstm_parameters(side, link, kind.get("project", False))
    if link == "cross":
        for gate in GATES:
            both = values[f"input_to_{gate}_weights"], values[f"aux_input_to_{gate}_weights"]
            values[f"input_to_{gate}_weights"] = np.concatenate(both, axis=1)

    def take(name):
        return omitted() if is_left_out(name, **kind) else floats(values[name])

    inputs = [
        floats(one_way_data(link, side, *sequences(5))), *map(take, WEIGHTS), *map(take, STATES), *ints(4),
        *(operand(T.FLOAT32, clip) for clip in (1.5, 0.8)), flag(False), *map(take, NORMS),
    ]
    return run("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [out(), out(), out()])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "+".join(kind) or "plain")
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("merged", "time_major", "states"), [
    (False, False, False), (False, True, True), (True, False, True), (True, True, False),
])
def test_lstm(link, kind, merged, time_major, states):
    made = lstm(link, kind, merged, time_major, states)
    assert made.version == ("1.3" if states else "1.2")
    twins = {side: one_way_lstm(link, side, kind) for side in UNITS}
    check_results(execute(made), twins, merged, time_major, states)


def test_lstm_in_half_precision():
    exact = execute(lstm("cross", states=True))
    for result, wanted in zip(execute(lstm("cross", states=True, half=True)), exact, strict=True):
        assert result.dtype == np.float16
        np.testing.assert_allclose(result, wanted, atol=5e-3)


@pytest.mark.parametrize(("options", "message"), [
    ({"change": {"input": zeros(2, 3)}},
     r"main.operation\[3\] BIDIRECTIONAL_SEQUENCE_LSTM input 0 \(input\): rank is 2, must be 3"),
    ({"change": {"bw_input_to_input_weights": None}}, r"input 22 \(bw_recurrent_to_input_weights\): is present, must"),
    ({"change": {"bw_input_to_input_weights": None, "bw_recurrent_to_input_weights": None, "bw_input_gate_bias": None}},
     r"input 18 \(bw_input_to_input_weights\): is omitted, must be present where fw_input_to_input_weights is present"),
    ({"change": {"fw_projection_bias": zeros(3)}},
     r"input 16 \(fw_projection_weights\): is omitted, must be present where projection_bias is present"),
    ({"change": {"bw_projection_weights": zeros(2, 2)}}, r"input 33 \(bw_projection_weights\): is present, must be"),
    ({"change": {"fw_cell_to_output_weights": zeros(3)}}, r"input 10 \(fw_cell_to_forget_weights\): is omitted, must"),
    ({"change": {"bw_cell_state_in": zeros(2, 3)}}, r"input 38 \(bw_cell_state_in\): dimension 1 is 3, must be 2"),
    ({"link": "cross", "change": {"aux_input": None}}, r"input 39 \(aux_input\): is omitted, must be present where"),
    ({"link": "cross", "change": {"bw_aux_input_to_cell_weights": None}},
     r"input 46 \(bw_aux_input_to_cell_weights\): is omitted, must be present where fw_aux_input_to_output_weights"),
    ({"link": "cross", "kind": {"cifg": True}, "change": {"fw_aux_input_to_input_weights": zeros(3, 2)}},
     r"input 40 \(fw_aux_input_to_input_weights\): is present, must be omitted where fw_input_to_input_weights is"),
    ({"link": "cross", "change": {"fw_aux_input_to_cell_weights": zeros(3, 3)}},
     r"input 42 \(fw_aux_input_to_cell_weights\): dimension 1 is 3, must be 2"),
    ({"change": {"cell_clip": operand(T.FLOAT32, -1.0)}}, r"input 49 \(cell_clip\): is -1.0, must be >= 0"),
    ({"change": {"activation": ints(2)[0]}}, r"input 48 \(activation\): is 2, must be 0, 1, 3, 4 or 6"),
    ({"merged": True, "outputs": 6}, r"input 51 \(merge_outputs\): is True, must be False with 6 outputs"),
    ({"outputs": 5}, r"input 51 \(merge_outputs\): is False, must be True with 5 outputs"),
])
def test_bad_lstm(options, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(lstm(**options))


def test_counts_of_outputs():
    with pytest.raises(InvalidArgument, match=r"BIDIRECTIONAL_SEQUENCE_LSTM: has 3 outputs, must have 1, 2, 5 or 6"):
        lstm(outputs=3)
    with pytest.raises(InvalidArgument, match=r"BIDIRECTIONAL_SEQUENCE_RNN: has 5 outputs, must have 1, 2, 3 or 4"):
        rnn(outputs=5)


def test_signature_tables():
    check_signatures("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN")


@pytest.mark.parametrize("name", ("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN"))
def test_vectors(name):
    check_vectors(name)
