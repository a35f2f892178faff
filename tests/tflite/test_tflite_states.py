"""Quantized forms of operators that keep a state, against formulas written out here."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.running import Const, One, State
from nnfast.model.quant import mbqm, quantize_multiplier

RANDOM = np.random.default_rng(12)
STEPS, SIZE, MEMORY = 6, 12, 5


def codes(kind, *shape):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return RANDOM.integers(low, high + 1, shape).astype(kind)


def f32(x):
    return float(np.float32(x))


def int8_svdf(activation=1, memory="int16"):
    weights = codes("int8", 8, SIZE), codes(memory, 8, MEMORY), RANDOM.integers(-9**6, 9**6, 4).astype(np.int32)
    zero = 0 if memory == "int16" else -7
    return weights, One("SVDF", [codes("int8", 2, SIZE), *map(Const, weights), State((2, 8 * MEMORY), memory)],
                        [((2, 4), "int8")], "SVDFOptions", {"Rank": 2, "FusedActivationFunction": activation},
                        {"i0": (0.05, -20), "i1": (0.009, 0), "i2": (0.0037, 0), "i4": (0.0044, zero), "o0": (8.3, 9)})


def test_int8_svdf_keeps_int16_memory():
    (feature, time, bias), one = int8_svdf()
    sequence = [codes("int8", 2, SIZE) for _ in range(STEPS)]
    history = np.zeros((2, 8, MEMORY), np.int64)
    first = quantize_multiplier(f32(0.05) * f32(0.009) / f32(0.0044))
    last = quantize_multiplier(f32(0.0044) * f32(0.0037) / f32(8.3))
    for x, output in zip(sequence, one.stream(sequence)):
        newest = mbqm((x.astype(int) + 20) @ feature.astype(int).T, *first)
        history = np.concatenate([history[:, :, 1:], np.clip(newest, -32768, 32767)[:, :, None]], axis=2)
        sums = (history * time).sum(axis=2).reshape(2, 4, 2).sum(axis=2) + bias
        np.testing.assert_array_equal(output, np.clip(mbqm(sums, *last) + 9, -128, 127))


def test_int8_svdf_is_refused_with_other_activations():
    with pytest.raises(nnfast.UnsupportedOperator, match="must have 1"):
        int8_svdf(activation=0)[1].model()


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize(("activation", "curve"), [(0, lambda x: x), (1, lambda x: np.maximum(x, 0)), (4, np.tanh)])
def test_hybrid_svdf_is_near_the_float_one(is_asymmetric, activation, curve):
    feature, time, bias = codes("int8", 8, SIZE), codes("int8", 8, MEMORY), RANDOM.normal(0, 1, 4).astype(np.float32)
    fields = {"Rank": 2, "FusedActivationFunction": activation, "AsymmetricQuantizeInputs": is_asymmetric}
    one = One("SVDF", [np.zeros((2, SIZE), np.float32), Const(feature), Const(time), Const(bias),
                       State((2, 8 * MEMORY))], [((2, 4), "float32")], "SVDFOptions", fields,
              {"i1": (0.009, 0), "i2": (0.0037, 0)})
    sequence = [RANDOM.normal(0, 1, (2, SIZE)).astype(np.float32) for _ in range(STEPS)]
    sequence[2][:] = 0
    history = np.zeros((2, 8, MEMORY))
    for x, output in zip(sequence, one.stream(sequence)):
        history = np.concatenate([history[:, :, 1:], (x @ feature.T * 0.009)[:, :, None]], axis=2)
        sums = (history * time * 0.0037).sum(axis=2).reshape(2, 4, 2).sum(axis=2) + bias
        np.testing.assert_allclose(output, curve(sums), atol=0.03)


# -- LSTM and RNN with int8 weights ----------------------------------------------------------------------------------
UNITS, OUT, BATCH = 6, 4, 2
WEIGHT = 0.006


def int8_weights(*shape):
    return Const(np.clip(codes("int8", *shape), -127, 127))


def floats(*shape):
    return RANDOM.normal(0, 1, shape).astype(np.float32)


def real(const, scale=WEIGHT):
    return None if const is None else const.array.astype(np.float64) * scale


def lstm_inputs(cifg, peephole, projection, norm):
    out = OUT if projection else UNITS
    inputs = [None, *(int8_weights(UNITS, SIZE) for _ in range(4)), *(int8_weights(UNITS, out) for _ in range(4)),
              *(int8_weights(UNITS) if peephole else None for _ in range(3)), *(Const(floats(UNITS)) for _ in range(4)),
              int8_weights(OUT, UNITS) if projection else None, Const(floats(OUT)) if projection else None,
              State((BATCH, out)), State((BATCH, UNITS))]
    inputs += [Const(floats(UNITS)) for _ in range(4)] if norm else []
    for place in (1, 5, 9, 12, *([20] if norm else [])) if cifg else ():
        inputs[place] = None
    return inputs, out


def lstm_steps(inputs, sequence):
    """Outputs of the float LSTM with these weights."""
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    out = np.zeros(inputs[18].shape)
    cell = np.zeros(inputs[19].shape)
    norm = len(inputs) == 24

    def gate(k, x):
        value = x @ real(inputs[1 + k]).T + out @ real(inputs[5 + k]).T
        peephole = {0: 9, 1: 10, 3: 11}.get(k)
        if peephole and inputs[peephole] is not None:
            value = value + real(inputs[peephole]) * cell
        if norm:
            value = (value - value.mean(axis=1, keepdims=True)) / value.std(axis=1, keepdims=True)
            value = value * inputs[20 + k].array
        return value + inputs[12 + k].array

    for x in sequence:
        forget = sigmoid(gate(1, x))
        enter = 1 - forget if inputs[1] is None else sigmoid(gate(0, x))
        cell = np.clip(forget * cell + enter * np.tanh(gate(2, x)), -3, 3)
        out = sigmoid(gate(3, x)) * np.tanh(cell)
        if inputs[16] is not None:
            out = np.clip(out @ real(inputs[16]).T + inputs[17].array, -0.7, 0.7)
        yield out


@pytest.mark.parametrize("kind", ["LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
@pytest.mark.parametrize(("cifg", "peephole", "projection", "norm"), [
    (False, False, False, False), (True, True, True, False), (False, True, True, True), (True, False, False, True)])
@pytest.mark.parametrize("is_asymmetric", [False, True])
def test_hybrid_lstm_is_near_the_float_one(kind, cifg, peephole, projection, norm, is_asymmetric):
    inputs, out = lstm_inputs(cifg, peephole, projection, norm)
    is_step = kind == "LSTM"
    fields = {"FusedActivationFunction": 4, "CellClip": 3.0, "ProjClip": 0.7, "AsymmetricQuantizeInputs": is_asymmetric}
    sequence = [floats(BATCH, SIZE) for _ in range(STEPS)]
    x = sequence[0] if is_step else np.stack(sequence)
    one = One(kind, [x, *inputs[1:]], [((*x.shape[:-1], out), "float32")],
              "LSTMOptions" if is_step else "UnidirectionalSequenceLSTMOptions",
              fields if is_step else fields | {"TimeMajor": True}, {f"i{k}": (WEIGHT, 0) for k in (*range(1, 12), 16)})
    found = one.stream(sequence) if is_step else one.run()[0]
    for wanted, output in zip(lstm_steps(inputs, sequence), found):
        np.testing.assert_allclose(output, wanted, atol=0.06)


@pytest.mark.parametrize("kind", ["RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"])
def test_hybrid_rnn_is_near_the_float_one(kind):
    weights, again, bias = int8_weights(UNITS, SIZE), int8_weights(UNITS, UNITS), Const(floats(UNITS))
    sequence, is_step = [floats(BATCH, SIZE) for _ in range(STEPS)], kind == "RNN"
    sequence[3][:] = 0
    x = sequence[0] if is_step else np.stack(sequence, axis=1)
    one = One(kind, [x, weights, again, bias, State((BATCH, UNITS))], [((*x.shape[:-1], UNITS), "float32")],
              "RNNOptions" if is_step else "SequenceRNNOptions", {"FusedActivationFunction": 4},
              {"i1": (WEIGHT, 0), "i2": (WEIGHT, 0)})
    found = one.stream(sequence) if is_step else one.run()[0].swapaxes(0, 1)
    state = np.zeros((BATCH, UNITS))
    for rows, output in zip(sequence, found):
        state = np.tanh(rows @ real(weights).T + state @ real(again).T + bias.array)
        np.testing.assert_allclose(output, state, atol=0.06)


def test_hybrid_lstm_takes_int8_weights_only():
    inputs, out = lstm_inputs(False, False, False, False)
    inputs[6] = Const(floats(UNITS, UNITS))
    one = One("LSTM", [floats(BATCH, SIZE), *inputs[1:]], [((BATCH, out), "float32")], "LSTMOptions",
              {"FusedActivationFunction": 4}, {f"i{k}": (WEIGHT, 0) for k in (*range(1, 6), 7, 8)})
    with pytest.raises(nnfast.UnsupportedOperator, match="input 6 must be a dense int8 constant"):
        one.model()
