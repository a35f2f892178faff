"""Translation of LSTM and RNN: omitted inputs, states."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.translated import f32, named, refused, show, translate
from nnfast.model.types import LifeTime, OperandType, State

T = OperandType
RNG = np.random.default_rng(5)


UNITS, SIZE, OUT, BATCH = 4, 3, 2, 2


def lstm_file(kind="LSTM", cifg=False, peephole=False, projection=True, norm=False, fields=(), drop=(), x_shape=None,
              rank=True):
    """(tensors, operators, inputs, outputs) of one LSTM with its inputs named i0, i1 ..."""
    out = OUT if projection else UNITS
    shapes = {0: x_shape or (BATCH, SIZE), 18: (BATCH, out), 19: (BATCH, UNITS)}
    for k in range(1, 5):
        shapes[k] = (UNITS, SIZE)
    for k in range(5, 9):
        shapes[k] = (UNITS, out)
    for k in (9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23):
        shapes[k] = (UNITS,)
    shapes[16], shapes[17] = (OUT, UNITS), (OUT,)
    gone = set(drop)
    gone |= {1, 5, 9, 12, 20} if cifg else set()
    gone |= set() if peephole else {9, 10, 11}
    gone |= set() if projection else {16, 17}
    count = 24 if norm else 20
    names = [None if k in gone else f"i{k}" for k in range(count)]
    tensors = []
    for k, name in enumerate(names):
        if name and k in (18, 19):
            tensors.append(Tensor(name, shapes[k], variable=True))
        elif name:
            tensors.append(Tensor.of(name, f32(*shapes[k])) if k else Tensor(name, shapes[k]))
    dims = (*shapes[0][:-1], out)
    tensors.append(Tensor("y", dims if rank else (), has_rank=rank))
    options = "LSTMOptions" if kind == "LSTM" else "UnidirectionalSequenceLSTMOptions"
    return tensors, [Op(kind, names, ["y"], options, {"FusedActivationFunction": 4, **dict(fields)})], ["i0"], ["y"]


def test_lstm():
    model = translate(*lstm_file(fields={"CellClip": 10.0, "ProjClip": 2.5}))
    expected = [f"i{k}" if k not in (9, 10, 11) else None for k in range(20)]
    assert show(model) == [("LSTM", [*expected, 4, 10.0, 2.5], ["", "i18_out", "i19_out", "y"])]
    graph = model.main
    scratch = graph.operands[graph.operations[0].outputs[0]]
    assert scratch.dims == (BATCH, 4 * UNITS) and scratch.lifetime == LifeTime.TEMPORARY_VARIABLE
    assert [graph.operands[k].name for k in graph.inputs] == ["i0", "i18", "i19"]
    assert [graph.operands[k].name for k in graph.outputs] == ["y", "i18_out", "i19_out"]
    assert model.states == (State(1, 1), State(2, 2))
    assert named(model, "i19_out").dims == (BATCH, UNITS)


def test_lstm_cifg_peephole_norm_unknown_rank():
    model = translate(*lstm_file(cifg=True, peephole=True, norm=True, rank=False))
    (_, inputs, outputs), = show(model)
    assert [k for k, v in enumerate(inputs) if v is None] == [1, 5, 9, 12, 23] and len(inputs) == 27
    assert inputs[24:] == ["i21", "i22", "i23"]
    assert model.main.operands[model.main.operations[0].outputs[0]].dims == (BATCH, 3 * UNITS)
    assert named(model, "y").dims == (BATCH, OUT)
    model = translate(*lstm_file(projection=False))
    assert show(model)[0][1][16:18] == [None, None] and named(model, "y").dims == (BATCH, UNITS)


def test_sequence_lstm():
    model = translate(*lstm_file("UNIDIRECTIONAL_SEQUENCE_LSTM", fields={"TimeMajor": True}, x_shape=(5, BATCH, SIZE)))
    (name, inputs, outputs), = show(model)
    assert name == "UNIDIRECTIONAL_SEQUENCE_LSTM" and outputs == ["y", "i18_out", "i19_out"]
    assert inputs[20:] == [4, 0.0, 0.0, 1, None, None, None, None]
    assert model.states == (State(1, 1), State(2, 2))


@pytest.mark.parametrize("kind", ["LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_lstm_refusals(kind):
    shape = None if kind == "LSTM" else (5, BATCH, SIZE)

    def check(text, **more):
        refused(*lstm_file(kind, x_shape=shape, **more), text)

    check("omits input 13", drop=[13])
    check("only some of the input gate", drop=[5])
    check("only some of the peephole", peephole=True, drop=[10])
    check("projection bias without", drop=[16])
    check("fused activation is 5", fields={"FusedActivationFunction": 5})
    tensors, ops, ins, outs = lstm_file(kind, x_shape=shape)
    for t in tensors:
        t.variable = False
    refused(tensors, ops, [*ins, "i18", "i19"], outs, "not a variable tensor")


def test_lstm_of_other_kernels_is_refused():
    refused(*lstm_file(fields={"KernelType": 2}), "kernel type 2")
    refused(*lstm_file(fields={"KernelType": 1}), "basic kernel has 5")


# -- the basic kernel --------------------------------------------------------------------------------------------------
def basic_file(weights, bias, dtype="float32", scale=None, fields=(), outputs=4, units=UNITS):
    """(tensors, operators, inputs, outputs) of one LSTM of the basic kernel, with the first of its outputs."""
    size, word = weights.shape[1] - units, "float32" if dtype == "float32" else "int16"
    tensors = [Tensor("x", (BATCH, size), dtype), Tensor("h", (BATCH, units), dtype, variable=True),
               Tensor.of("w", weights), Tensor.of("b", bias), Tensor("c", (BATCH, units), word, variable=True),
               Tensor("y", (BATCH, units), dtype), Tensor("state", (BATCH, units), word),
               Tensor("joined", (BATCH, size + units), dtype), Tensor("sums", (BATCH, 4 * units), word)]
    if scale is not None:
        quants = {"w": (scale, 121), "b": (float(np.float32(scale) / np.float32(128)), 0), "c": (2**-11, 0),
                  "state": (2**-11, 0), "sums": (2**-12, 0)}
        for t in tensors:
            t.scale, t.zero_point = quants.get(t.name, (2**-7, 128))
    results = ["y", "state", "joined", "sums"]
    op = Op("LSTM", ["x", "h", "w", "b", "c"], results, "LSTMOptions", {"KernelType": 1, **dict(fields)})
    return tensors, [op], ["x"], results[:outputs]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def basic_steps(xs, weights, bias, hidden):
    """(output, cell, joined, sums) of each step, in float64."""
    cell = np.zeros((BATCH, UNITS))
    for x in xs:
        joined = np.concatenate([x, hidden], 1)
        sums = joined @ weights.T.astype(np.float64) + bias
        enter, candidate, forget, leave = np.split(sums, 4, 1)
        cell = logistic(enter) * np.tanh(candidate) + logistic(forget) * cell
        hidden = logistic(leave) * np.tanh(cell)
        yield hidden, cell, joined, sums


@pytest.mark.parametrize("is_open", [False, True])
def test_basic_lstm_of_floats(is_open):
    """The file may leave the batch open, which is that of the states."""
    weights, bias, xs = f32(4 * UNITS, SIZE + UNITS), f32(4 * UNITS), f32(3, BATCH, SIZE)
    tensors, *rest = basic_file(weights, bias)
    if is_open:
        tensors[0].signature, tensors[5].signature = (-1, SIZE), (-1, UNITS)
    stream = nnfast.Device().prepare(nnfast.load(build(tensors, *rest))).stream()
    for x, wanted in zip(xs, basic_steps(xs, weights, bias, np.zeros((BATCH, UNITS)))):
        for found, expected in zip(stream.run([x]), wanted, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize("scale", [0.008, 0.02, 0.003])
def test_basic_lstm_of_codes(scale, outputs):
    """The hidden state starts from codes of 0. Sums are rounded as a product, and again when shifted, halves up."""
    weights, bias = RNG.integers(0, 256, (4 * UNITS, SIZE + UNITS)), RNG.integers(-3000, 3000, 4 * UNITS)
    xs = RNG.integers(0, 256, (4, BATCH, SIZE))
    data = build(*basic_file(weights.astype(np.uint8), bias.astype(np.int32), "uint8", scale, outputs=outputs))
    stream = nnfast.Device().prepare(nnfast.load(data)).stream()
    real = float(np.float32(scale)) / 128 * 4096
    right = -int(np.frexp(real)[1])
    wanted = basic_steps((xs - 128) / 128, (weights - 121) * scale, bias * scale / 128, np.full((BATCH, UNITS), -1.0))
    previous = np.zeros((BATCH, UNITS), int)
    for x, (output, cell, *_) in zip(xs, wanted):
        found = stream.run([x.astype(np.uint8)])
        np.testing.assert_allclose((found[0].astype(int) - 128) / 128, output, atol=0.02)
        if outputs == 4:
            _, state, joined, sums = found
            np.testing.assert_allclose(state / 2048, cell, atol=0.02)
            np.testing.assert_array_equal(joined, np.concatenate([x, previous], 1))
            products = (joined.astype(int) - 128) @ (weights - 121).T + bias
            once = np.floor(products * real * 2.0**right + 0.5)
            np.testing.assert_array_equal(sums, np.clip(np.floor(once / 2**right + 0.5), -32768, 32767))
        previous = found[0]


@pytest.mark.parametrize(("changes", "reason"), [
    ({"weights": f32(4 * UNITS, SIZE + UNITS)[1:]}, "shape"), ({"bias": f32(4 * UNITS)[1:]}, "shape"),
    ({"fields": {"CellClip": 1.0}}, "clips"), ({"dtype": "uint8", "scale": 0.01}, "LSTM"),
])
def test_basic_lstm_refusals(changes, reason):
    given = {"weights": f32(4 * UNITS, SIZE + UNITS), "bias": f32(4 * UNITS)} | changes
    refused(*basic_file(given.pop("weights"), given.pop("bias"), **given), reason)


def test_basic_lstm_with_a_cell_of_another_scale_is_refused():
    weights, bias = np.full((4 * UNITS, SIZE + UNITS), 7, np.uint8), np.zeros(4 * UNITS, np.int32)
    tensors, *rest = basic_file(weights, bias, "uint8", 0.01)
    tensors[4].scale = 2**-10
    refused(tensors, *rest, "cell")


def rnn_file(kind, x_shape, y_shape, options, fields):
    tensors = [Tensor("x", x_shape), Tensor.of("w", f32(4, 3)), Tensor.of("r", f32(4, 4)), Tensor.of("b", f32(4)),
               Tensor("h", (2, 4), variable=True), Tensor("y", y_shape)]
    return tensors, [Op(kind, ["x", "w", "r", "b", "h"], ["y"], options, fields)], ["x"], ["y"]


def test_rnn():
    model = translate(*rnn_file("RNN", (2, 3), (2, 4), "RNNOptions", {"FusedActivationFunction": 1}))
    assert show(model) == [("RNN", ["x", "w", "r", "b", "h", 1], ["h_out", "y"])]
    assert model.states == (State(1, 1),)


def test_sequence_rnn():
    parts = rnn_file("UNIDIRECTIONAL_SEQUENCE_RNN", (5, 2, 3), (5, 2, 4), "SequenceRNNOptions",
                     {"TimeMajor": True, "FusedActivationFunction": 4})
    model = translate(*parts)
    assert show(model) == [("UNIDIRECTIONAL_SEQUENCE_RNN", ["x", "w", "r", "b", "h", 4, 1], ["y", "h_out"])]
    assert model.states == (State(1, 1),)


def test_a_variable_of_two_operators_is_handed_on():
    tensors, (op,), ins, outs = rnn_file("RNN", (2, 3), (2, 4), "RNNOptions", {})
    tensors.append(Tensor("z", (2, 4)))
    model = translate(tensors, [op, Op("RNN", ["x", "w", "r", "b", "h"], ["z"], "RNNOptions", {})], ins, ["y", "z"])
    graph = model.main
    first, second = graph.operations
    assert second.inputs[4] == first.outputs[0]
    assert model.states == (State(1, 2),) and graph.outputs[2] == second.outputs[0]


def test_a_variable_read_elsewhere_is_refused():
    tensors = [Tensor("x", (2, 4)), Tensor("h", (2, 4), variable=True), Tensor("y", (2, 4))]
    refused(tensors, [Op("ADD", ["x", "h"], ["y"], "AddOptions")], ["x"], ["y"], "only recurrent")


# -- what RELU_N1_TO_1 computes ----------------------------------------------------------------------------------------
def ran(parts, x):
    """What the native and the defining implementation give, which must agree."""
    devices = nnfast.Device(), nnfast.Device(without_passes=["native_kernels"])
    found, wanted = (device.prepare(nnfast.load(build(*parts))).stream().run([x])[0] for device in devices)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    return found


@pytest.mark.parametrize("kind", ["LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_an_lstm_that_is_cut_off_at_1(kind):
    shape = (BATCH, SIZE) if kind == "LSTM" else (BATCH, 1, SIZE)
    parts = lstm_file(kind, projection=False, fields={"FusedActivationFunction": 2}, x_shape=shape)
    for t in parts[0]:
        if t.data is not None:
            t.data = (2 * RNG.standard_normal(t.shape)).astype(np.float32)
    values, x = {t.name: t.data for t in parts[0]}, f32(*shape)
    rows = x.reshape(BATCH, SIZE)
    enter, _, cell, leave = (rows @ values[f"i{1 + k}"].T + values[f"i{12 + k}"] for k in range(4))
    logistic = 1 / (1 + np.exp([-enter, -leave]))
    state = logistic[0] * np.clip(cell, -1, 1)
    found = ran(parts, x).reshape(BATCH, UNITS)
    np.testing.assert_allclose(found, logistic[1] * np.clip(state, -1, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"])
def test_an_rnn_that_is_cut_off_at_1(kind):
    times = 1 if kind == "RNN" else 4
    x, w, r, bias = f32(BATCH, times, SIZE), f32(UNITS, SIZE), f32(UNITS, UNITS), f32(UNITS)
    shape, options = ((BATCH,), "RNNOptions") if kind == "RNN" else ((BATCH, times), "SequenceRNNOptions")
    tensors = [Tensor("x", (*shape, SIZE)), Tensor.of("w", w), Tensor.of("r", r), Tensor.of("bias", bias),
               Tensor("h", (BATCH, UNITS), variable=True), Tensor("y", (*shape, UNITS))]
    op = Op(kind, ["x", "w", "r", "bias", "h"], ["y"], options, {"FusedActivationFunction": 2})
    state, wanted = np.zeros((BATCH, UNITS)), []
    for time in range(times):
        state = np.clip(x[:, time] @ w.T + bias + state @ r.T, -1, 1)
        wanted.append(state)
    found = ran((tensors, [op], ["x"], ["y"]), x.reshape(*shape, SIZE))
    np.testing.assert_allclose(found.reshape(BATCH, times, UNITS), np.stack(wanted, 1), rtol=1e-5, atol=1e-5)


def test_the_arithmetic_of_nnapi_has_no_such_activation():
    with pytest.raises(nnfast.UnsupportedOperator, match="fused activation is 2"):
        nnfast.load(build(*lstm_file(fields={"FusedActivationFunction": 2})), arithmetic="nnapi")
