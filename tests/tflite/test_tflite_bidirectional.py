"""SVDF and the bidirectional sequences: what they compute, step by step in numpy, and what they keep."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.tflite.running import Const, One, State
from nnfast.errors import UnsupportedOperator

TIME, BATCH, SIZE, UNITS, AUX = 4, 2, 3, 5, 2


def f(*shape):
    """Reproducible values of a recurrent layer's size."""
    return (np.random.default_rng((*shape, 3)).standard_normal(shape) * 0.5).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# -- SVDF ----------------------------------------------------------------------------------------------------------
def svdf(bias=True, rank=2):
    """SVDF with a memory of 3 steps."""
    inputs = [f(BATCH, SIZE), Const(f(6, SIZE)), Const(f(6, 3)), Const(f(6 // rank)) if bias else None,
              State((BATCH, 18))]
    return One("SVDF", inputs, [((BATCH, 6 // rank), "float32")], "SVDFOptions",
               {"Rank": rank, "FusedActivationFunction": 1})


@pytest.mark.parametrize("bias", [True, False])
def test_svdf_remembers_three_steps(bias):
    one = svdf(bias)
    sequence = [f(BATCH, SIZE) * k for k in (1, -2, 3, -1, 0)]
    feature, time = (one.inputs[k].array for k in (1, 2))
    history = np.zeros((BATCH, 6, 3))
    for x, result in zip(sequence, one.stream(sequence)):
        history = np.concatenate([history[..., 1:], (x @ feature.T)[..., None]], 2)
        wanted = np.einsum("bfm,fm->bf", history, time).reshape(BATCH, 3, 2).sum(2)
        wanted = np.maximum(wanted + one.inputs[3].array if bias else wanted, 0)
        np.testing.assert_allclose(result, wanted, 1e-5, 1e-6)


def test_svdf_refusals():
    with pytest.raises(UnsupportedOperator, match="rank is 4, must divide the filters of shape"):
        replace(svdf(), fields={"Rank": 4}).model()
    one = svdf()
    one.inputs[4] = f(BATCH, 18)
    with pytest.raises(UnsupportedOperator, match="not a variable tensor"):
        one.model()


# -- bidirectional -------------------------------------------------------------------------------------------------
def bidirectional_rnn(merged, time_major, aux):
    """BIDIRECTIONAL_SEQUENCE_RNN; aux: None, "crossed" or "parallel"."""
    lead = (TIME, BATCH) if time_major else (BATCH, TIME)
    inputs = [f(*lead, SIZE)]
    for _ in range(2):
        inputs += [Const(f(UNITS, SIZE)), Const(f(UNITS, UNITS)), Const(f(UNITS)), State((BATCH, UNITS))]
    inputs.append(f(*lead, SIZE) * 2 if aux else None)
    inputs += 2 * [Const(f(UNITS, SIZE)) if aux == "crossed" else None]
    outputs = [((*lead, 2 * UNITS), "float32")] if merged else 2 * [((*lead, UNITS), "float32")]
    return One("BIDIRECTIONAL_SEQUENCE_RNN", inputs, outputs, "BidirectionalSequenceRNNOptions",
               {"TimeMajor": time_major, "FusedActivationFunction": 4, "MergeOutputs": merged})


def rnn_steps(x, weights, recurrent, bias, extra=0):
    """States of all steps of a time-major sequence."""
    state, result = np.zeros((BATCH, UNITS)), []
    for step, more in zip(x, extra if np.ndim(extra) else [0] * TIME):
        state = np.tanh(step @ weights.T + more + state @ recurrent.T + bias)
        result.append(state)
    return np.array(result)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("aux", [None, "crossed", "parallel"])
def test_bidirectional_rnn(merged, time_major, aux):
    one = bidirectional_rnn(merged, time_major, aux)
    arrays = [getattr(v, "array", v) for v in one.inputs]
    x, second = (None if arrays[k] is None else arrays[k] if time_major else arrays[k].swapaxes(0, 1) for k in (0, 9))
    extra = [second @ arrays[k].T if aux == "crossed" else 0 for k in (10, 11)]
    back = second if aux == "parallel" else x
    wanted = [rnn_steps(x, *arrays[1:4], extra[0]),
              rnn_steps(back[::-1], *arrays[5:8], extra[1][::-1] if aux == "crossed" else 0)[::-1]]
    wanted = [w if time_major else w.swapaxes(0, 1) for w in wanted]
    if merged:
        wanted = [np.concatenate(wanted, 2)]
    results = one.run()
    assert len(results) == len(wanted) and len(one.model().states) == 2
    for result, w in zip(results, wanted):
        np.testing.assert_allclose(result, w, 1e-5, 1e-6)


def bidirectional_lstm(merged, time_major, cifg, aux=False):
    """BIDIRECTIONAL_SEQUENCE_LSTM without peephole and projection."""
    lead = (TIME, BATCH) if time_major else (BATCH, TIME)
    inputs = [f(*lead, SIZE)]
    for way in (1, 2):
        parts = [f(UNITS, SIZE) * way] * 4 + [f(UNITS, UNITS) / way] * 4 + [None] * 3 + [f(UNITS)] * 4 + [None] * 2
        # Gates with equal weights would hide exchanged ones.
        parts = [p if p is None else p * np.float32(1 - k / 20) for k, p in enumerate(parts)]
        if cifg:
            parts[0] = parts[4] = parts[11] = None
        inputs += [None if p is None else Const(p) for p in parts]
    inputs += 4 * [State((BATCH, UNITS))]
    inputs += [f(*lead, AUX) if aux else None, *8 * [Const(f(UNITS, AUX)) if aux else None]]
    outputs = [((*lead, 2 * UNITS), "float32")] if merged else 2 * [((*lead, UNITS), "float32")]
    return One("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, outputs, "BidirectionalSequenceLSTMOptions",
               {"TimeMajor": time_major, "FusedActivationFunction": 4, "MergeOutputs": merged, "CellClip": 0.7})


def lstm_steps(x, parts, extra, cifg):
    """Outputs of all steps of a time-major sequence; extra: what the auxiliary input adds to every gate."""
    h, c, result = np.zeros((BATCH, UNITS)), np.zeros((BATCH, UNITS)), []
    for k, step in enumerate(x):
        i, forget, g, o = (0 if parts[gate] is None else
                           step @ parts[gate].T + h @ parts[4 + gate].T + parts[11 + gate] + extra[k]
                           for gate in range(4))
        forget = sigmoid(forget)
        c = np.clip(forget * c + (1 - forget if cifg else sigmoid(i)) * np.tanh(g), -0.7, 0.7)
        h = sigmoid(o) * np.tanh(c)
        result.append(h)
    return np.array(result)


@pytest.mark.parametrize("merged, time_major, cifg, aux", [
    (False, True, False, False), (True, True, False, False), (False, False, True, False), (False, True, False, True),
])
def test_bidirectional_lstm(merged, time_major, cifg, aux):
    one = bidirectional_lstm(merged, time_major, cifg, aux)
    arrays = [getattr(v, "array", v) for v in one.inputs]
    x = arrays[0] if time_major else arrays[0].swapaxes(0, 1)
    extra = arrays[39] @ arrays[40].T if aux else np.zeros(TIME)
    wanted = [lstm_steps(x, arrays[1:18], extra, cifg), lstm_steps(x[::-1], arrays[18:35], extra[::-1], cifg)[::-1]]
    wanted = [w if time_major else w.swapaxes(0, 1) for w in wanted]
    if merged:
        wanted = [np.concatenate(wanted, 2)]
    results = one.run()
    assert len(results) == len(wanted) and len(one.model().states) == 4
    for result, w in zip(results, wanted):
        np.testing.assert_allclose(result, w, 1e-5, 1e-6)


def test_bidirectional_refusals():
    one = bidirectional_rnn(False, True, None)
    one.inputs[3] = None
    with pytest.raises(UnsupportedOperator, match="omits input 3"):
        one.model()
    one = bidirectional_rnn(False, True, "crossed")
    one.inputs[9] = f(TIME, BATCH, SIZE + 1)
    with pytest.raises(UnsupportedOperator, match="auxiliary input has 4 values in a step, the input 3"):
        one.model()
    one = bidirectional_lstm(True, True, False)
    one.outputs *= 2
    with pytest.raises(UnsupportedOperator, match="48 inputs and 2 outputs, must have 48 and 1"):
        one.model()
