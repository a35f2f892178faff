"""LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: every kind of cell against a loop over single values."""

import math

import numpy as np
import pytest

from helpers.nodes import T, execute, flag, floats, ints, node, omitted, operand, out
from helpers.vectors import check_signatures, check_vectors
from nnfast.errors import InvalidArgument

UNITS, SIZE, BATCH = 3, 2, 2
GATES = ("input", "forget", "cell", "output")
ORDER = [
    "input", *(f"input_to_{g}_weights" for g in GATES), *(f"recurrent_to_{g}_weights" for g in GATES),
    "cell_to_input_weights", "cell_to_forget_weights", "cell_to_output_weights", "input_gate_bias", "forget_gate_bias",
    "cell_gate_bias", "output_gate_bias", "projection_weights", "projection_bias", "output_state_in", "cell_state_in",
]
NORMS = [f"{g}_layer_norm_weights" for g in GATES]
ACTIVATIONS = {
    0: lambda x: x, 1: lambda x: max(x, 0.0), 3: lambda x: min(max(x, 0.0), 6.0), 4: math.tanh,
    6: lambda x: 1 / (1 + math.exp(-x)),
}


def kept(cifg=False, peephole=False, project=False, bias=True, normal=False):
    """Names of the optional inputs that a kind of cell has."""
    names = set()
    if not cifg:
        names |= {"input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias"}
    if peephole:
        names |= {"cell_to_input_weights", "cell_to_forget_weights", "cell_to_output_weights"}
    if project:
        names |= {"projection_weights"} | ({"projection_bias"} if bias else set())
    if normal:
        names |= set(NORMS)
    if cifg:
        names -= {"cell_to_input_weights", "input_layer_norm_weights"}
    return names


OPTIONAL = kept(peephole=True, project=True, normal=True)


def arrays(seed, outputs, data_shape=(BATCH, SIZE)):
    """All tensors of a cell by name, as float32 values."""
    rng = np.random.default_rng(seed)
    shapes = {"input": data_shape, "output_state_in": (BATCH, outputs), "cell_state_in": (BATCH, UNITS)}
    shapes |= {"projection_weights": (outputs, UNITS), "projection_bias": (outputs,)}
    for gate in GATES:
        shapes |= {f"input_to_{gate}_weights": (UNITS, SIZE), f"recurrent_to_{gate}_weights": (UNITS, outputs)}
        bias = f"{gate}_gate_bias"
        shapes |= {f"cell_to_{gate}_weights": (UNITS,), bias: (UNITS,), f"{gate}_layer_norm_weights": (UNITS,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def build(name, values, names, activation=4, clips=(0.0, 0.0), norms=True, time_major=None, outputs=4, half=False):
    """The operation with the optional inputs `names`; the others are omitted with placeholder shapes."""
    type_, scalar = (T.TENSOR_FLOAT16, T.FLOAT16) if half else (T.TENSOR_FLOAT32, T.FLOAT32)

    def take(key):
        return omitted(type_) if key in OPTIONAL and key not in names else floats(values[key], half)

    inputs = [take(key) for key in ORDER] + ints(activation) + [operand(scalar, clip) for clip in clips]
    if time_major is not None:
        inputs.append(flag(time_major))
    if norms:
        inputs += [take(key) for key in NORMS]
    return node(name, inputs, [out(type_) for _ in range(outputs)])


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def dot(a, b):
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def step(v, names, x, h, c, activation, clips):
    """(h, c) of one batch row after one step, one value at a time."""
    act = ACTIVATIONS[activation]
    peephole, normal = "cell_to_output_weights" in names, "output_layer_norm_weights" in names

    def gate(kind, cells):
        weights = zip(v[f"input_to_{kind}_weights"], v[f"recurrent_to_{kind}_weights"], strict=True)
        z = [dot(forward, x) + dot(back, h) for forward, back in weights]
        if peephole and kind != "cell":
            z = [a + float(w) * s for a, w, s in zip(z, v[f"cell_to_{kind}_weights"], cells, strict=True)]
        if normal:
            mean = sum(z) / UNITS
            deviation = math.sqrt(sum((a - mean) ** 2 for a in z) / UNITS + 1e-8)
            z = [(a - mean) / deviation * float(w) for a, w in zip(z, v[f"{kind}_layer_norm_weights"], strict=True)]
        return [a + float(b) for a, b in zip(z, v[f"{kind}_gate_bias"], strict=True)]

    def clip(values, limit):
        return [min(max(a, -limit), limit) for a in values] if limit > 0 else values

    f = [sigmoid(a) for a in gate("forget", c)]
    i = [sigmoid(a) for a in gate("input", c)] if "input_gate_bias" in names else [1 - a for a in f]
    g = [act(a) for a in gate("cell", c)]
    c = clip([fu * cu + iu * gu for fu, cu, iu, gu in zip(f, c, i, g, strict=True)], clips[0])
    h = [sigmoid(a) * act(s) for a, s in zip(gate("output", c), c, strict=True)]
    if "projection_weights" in names:
        bias = v["projection_bias"] if "projection_bias" in names else [0.0] * len(v["projection_weights"])
        h = clip([dot(row, h) + float(b) for row, b in zip(v["projection_weights"], bias, strict=True)], clips[1])
    return h, c


KINDS = [
    {}, {"cifg": True}, {"peephole": True}, {"cifg": True, "peephole": True}, {"project": True}, {"normal": True},
    {"project": True, "bias": False}, {"cifg": True, "normal": True},
    {"peephole": True, "normal": True, "project": True},
    {"cifg": True, "peephole": True, "normal": True, "project": True},
]


def one_step(kind, activation=4, clips=(0.0, 0.0), **options):
    outputs = 2 if kind.get("project") else UNITS
    values, names = arrays(11, outputs), kept(**kind)
    made = build("LSTM", values, names, activation, clips, **options)
    wanted = [
        step(values, names, *(values[key][b].tolist() for key in ("input", "output_state_in", "cell_state_in")),
             activation, clips) for b in range(BATCH)
    ]
    return execute(made), np.array([h for h, _ in wanted]), np.array([c for _, c in wanted])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "+".join(kind) or "plain")
@pytest.mark.parametrize("clips", ((0.0, 0.0), (0.3, 0.05)))
def test_one_step(kind, clips):
    (scratch, state, cell, output), h, c = one_step(kind, clips=clips)
    np.testing.assert_allclose(output, h, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(cell, c, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(state, output)
    assert not np.shares_memory(state, output)
    assert scratch.shape == (BATCH, (3 if kind.get("cifg") else 4) * UNITS)
    assert np.abs(cell).max() > 0.5 or clips[0]


def test_clips_clip():
    free, clipped = one_step({"project": True})[0], one_step({"project": True}, clips=(0.3, 0.05))[0]
    assert np.abs(free[2]).max() > 0.3 == pytest.approx(np.abs(clipped[2]).max())
    assert np.abs(free[3]).max() > 0.05 == pytest.approx(np.abs(clipped[3]).max())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    # Code 0 too gives o * C' [NN 13.17 no. 24].
    (_, _, cell, output), h, c = one_step({}, activation)
    np.testing.assert_allclose(output, h, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(cell, c, rtol=1e-6, atol=1e-7)


def test_the_short_form_is_1_0_and_the_long_one_1_2():
    values = arrays(12, UNITS)
    short, long = (build("LSTM", values, kept(), norms=norms) for norms in (False, True))
    assert (short.version, long.version) == ("1.0", "1.2")
    for a, b in zip(execute(short), execute(long), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("half", (False, True))
@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("kind", (KINDS[0], KINDS[-1]), ids=("plain", "full"))
@pytest.mark.parametrize("outputs", (1, 3))
def test_sequences(kind, time_major, half, outputs):
    size = 2 if kind.get("project") else UNITS
    values, names = arrays(13, size, (BATCH, 4, SIZE)), kept(**kind)
    if half:
        values = {name: value.astype(np.float16) for name, value in values.items()}
    stored = values | {"input": values["input"].swapaxes(0, 1)} if time_major else values
    made = build("UNIDIRECTIONAL_SEQUENCE_LSTM", stored, names, 4, (2.0, 1.5), time_major=time_major, outputs=outputs,
                 half=half)
    assert made.version == ("1.2" if outputs == 1 else "1.3")
    results = execute(made)
    wanted, last_h, last_c = [], [], []
    for b in range(BATCH):
        h, c = values["output_state_in"][b].tolist(), values["cell_state_in"][b].tolist()
        rows = []
        for x in values["input"][b].tolist():
            h, c = step(values, names, x, h, c, 4, (2.0, 1.5))
            rows.append(h)
        wanted.append(rows)
        last_h.append(h)
        last_c.append(c)
    tolerance = np.finfo(np.float16 if half else np.float32).eps / 2 * 1.001
    sequence = results[0].swapaxes(0, 1) if time_major else results[0]
    np.testing.assert_allclose(sequence, wanted, rtol=tolerance)
    for result, expected in zip(results[1:], (last_h, last_c), strict=outputs == 3):
        np.testing.assert_allclose(result, expected, rtol=tolerance)


def test_cells_may_change_kind_between_executions():
    values = arrays(14, UNITS)
    made = build("LSTM", values, kept())
    assert [t.shape for t in made.inputs[9:12]] == [(None,)] * 3
    assert execute(made)[0].shape == (BATCH, 4 * UNITS)
    for name in ("input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias"):
        made[name].present, made[name].shape = False, (None, None, None)
    assert execute(made)[0].shape == (BATCH, 3 * UNITS)


@pytest.mark.parametrize(("drop", "add", "message"), [
    ({"input_gate_bias"}, set(), r"LSTM input 12 \(input_gate_bias\): is omitted, must be present where input_to_inp"),
    ({"input_to_input_weights"}, set(), r"input 5 \(recurrent_to_input_weights\): is present, must be omitted where"),
    (set(), {"cell_to_output_weights"}, r"input 10 \(cell_to_forget_weights\): is omitted, must be present where"),
    (set(), {"cell_to_forget_weights"}, r"input 10 \(cell_to_forget_weights\): is present, must be omitted where"),
    (set(), {"cell_to_output_weights", "cell_to_forget_weights"}, r"input 9 \(cell_to_input_weights\): is omitted"),
    (set(), {"projection_bias"}, r"input 16 \(projection_weights\): is omitted, must be present where projection_bias"),
    (set(), {"output_layer_norm_weights"}, r"input 24 \(forget_layer_norm_weights\): is omitted, must be present"),
    (set(), {"cell_layer_norm_weights"}, r"input 25 \(cell_layer_norm_weights\): is present, must be omitted"),
    ({"input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias"}, set(NORMS),
     r"input 23 \(input_layer_norm_weights\): is present, must be omitted .* the gates are coupled"),
])
def test_presence(drop, add, message):
    values = arrays(15, UNITS)
    execute(build("LSTM", values, kept()))
    with pytest.raises(InvalidArgument, match=message):
        execute(build("LSTM", values, kept() - drop | add))


@pytest.mark.parametrize(("name", "shape", "message"), [
    ("input", (2, 2, 1), r"main.operation\[3\] LSTM input 0 \(input\): rank is 3, must be 2"),
    ("input_to_cell_weights", (3, 4), r"input 3 \(input_to_cell_weights\): dimension 1 is 4, must be 2"),
    ("recurrent_to_forget_weights", (2, 3), r"input 6 \(recurrent_to_forget_weights\): dimension 0 is 2, must be 3"),
    ("recurrent_to_output_weights", (3,), r"input 8 \(recurrent_to_output_weights\): rank is 1, must be 2"),
    ("forget_gate_bias", (4,), r"input 13 \(forget_gate_bias\): dimension 0 is 4, must be 3"),
    ("output_state_in", (2, 2), r"input 18 \(output_state_in\): dimension 1 is 2, must be 3"),
    ("cell_state_in", (1, 3), r"input 19 \(cell_state_in\): dimension 0 is 1, must be 2"),
])
def test_bad_shapes(name, shape, message):
    values = arrays(16, UNITS) | {name: np.zeros(shape)}
    with pytest.raises(InvalidArgument, match=message):
        execute(build("LSTM", values, kept()))


def test_without_projection_outputs_are_units():
    message = r"input 8 \(recurrent_to_output_weights\): dimension 1 is 2, must be 3 where nothing projects"
    with pytest.raises(InvalidArgument, match=message):
        execute(build("LSTM", arrays(17, 2), kept()))


@pytest.mark.parametrize(("options", "message"), [
    ({"activation": 2}, r"input 20 \(activation\): is 2, must be 0, 1, 3, 4 or 6"),
    ({"clips": (-1.0, 0.0)}, r"input 21 \(cell_clip\): is -1.0, must be >= 0"),
    ({"clips": (0.0, float("nan"))}, r"input 22 \(proj_clip\): is nan, must be >= 0"),
])
def test_bad_scalars(options, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(build("LSTM", arrays(18, UNITS), kept(), **options))


def test_sequences_take_a_negative_clip_and_a_lone_projection_bias():
    values = arrays(19, UNITS, (BATCH, 2, SIZE))
    options = {"time_major": False, "outputs": 1}
    plain = execute(build("UNIDIRECTIONAL_SEQUENCE_LSTM", values, kept(), **options))
    names = kept() | {"projection_bias"}
    odd = execute(build("UNIDIRECTIONAL_SEQUENCE_LSTM", values, names, clips=(-1.0, -1.0), **options))
    np.testing.assert_array_equal(odd[0], plain[0])


def test_signature_tables():
    check_signatures("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")


@pytest.mark.parametrize("name", ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"))
def test_vectors(name):
    check_vectors(name)
