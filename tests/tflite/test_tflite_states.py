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
