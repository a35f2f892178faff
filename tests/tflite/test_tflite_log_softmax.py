"""LOG_SOFTMAX of 8-bit tensors: within a step of the formula, and LiteRT's bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.litert_models import litert_outputs
from helpers.lowered import check_all_ways, make
from helpers.nodes import operand, out
from helpers.tflite.running import One
from nnfast._native.reduction import LogSoftmaxQ8
from nnfast.ops.tfl_log_softmax import TFL_QUANTIZED_LOG_SOFTMAX, logarithm

HIGH = {"int8": 127, "uint8": 255}


def one(kind, shape, scale=0.1, output=(1 / 16, None), zero=3):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x = np.random.default_rng(len(shape)).integers(low, high + 1, shape).astype(kind)
    quants = {"i0": (scale, zero), "o0": (output[0], HIGH[kind] if output[1] is None else output[1])}
    return One("LOG_SOFTMAX", [x], [(shape, kind)], "LogSoftmaxOptions", quants=quants)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("shape", "scale"), [((40, 11), 0.1), ((2, 3, 5), 0.01), ((7,), 1.0), ((3, 2000), 0.3),
                                              ((2, 1, 2, 2, 4), 3.0), ((2, 256), 0.1), ((2, 257), 0.1)])
def test_log_softmax(kind, shape, scale, tmp_path):
    case = one(kind, shape, scale)
    (found,) = case.run()
    real = case.inputs[0].astype(float) * float(np.float32(scale))
    real -= real.max(-1, keepdims=True)
    real -= np.log(np.exp(real).sum(-1, keepdims=True))
    steps = np.clip(real * 16 + HIGH[kind], HIGH[kind] - 255, None)
    assert np.abs(found - steps).max() <= 0.51
    theirs = litert_outputs(tmp_path, case.file(), [case.inputs])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])


@given(kind=st.sampled_from(["int8", "uint8"]), rows=st.integers(1, 5), columns=st.integers(0, 4095),
       exponent=st.floats(-25.9, 9), zero=st.integers(0, 127), spread=st.sampled_from([1, 5, 40, 256]),
       seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_steps_give_what_the_definition_gives(kind, rows, columns, exponent, zero, spread, seed):
    source = operand("Q8S" if kind == "int8" else "Q8", shape=(rows, columns), scale=2.0**exponent, zero_point=zero)
    target = out(source.type, 1 / 16, HIGH[kind])
    random, info = np.random.default_rng(seed), np.iinfo(kind)
    top = random.integers(info.min, info.max + 1)
    x = np.clip(random.integers(top - spread, top + 1, (rows, columns)), info.min, info.max).astype(kind)
    check_all_ways(make(TFL_QUANTIZED_LOG_SOFTMAX, [source], target), [x])


def test_logarithm_of_every_power_of_two_and_between():
    words = np.unique(np.concatenate([(1 << np.arange(19, 31)) + d for d in (0, 1, 12345)]))
    np.testing.assert_allclose(logarithm(words) / 2.0**26, np.log(words / 2.0**19), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("change", "reason"), [
    ({"output": (1 / 8, None)}, "scale 0.125"), ({"output": (1 / 16, 0)}, "zero point 0"),
    ({"scale": 1e-9}, "2\\*\\*-26"), ({"shape": (2, 5000)}, "at most 4095"),
])
def test_refused(change, reason):
    case = one(**{"kind": "int8", "shape": (2, 5)} | change)
    with pytest.raises(nnfast.UnsupportedOperator, match=reason):
        nnfast.load(case.file())


def test_a_step_of_long_rows():
    with pytest.raises(ValueError, match="4096 codes"):
        LogSoftmaxQ8((0, 1), True, 1, 4096, np.zeros(256), np.zeros(256))


def test_rows_of_equal_codes():
    case = one("int8", (2, 4))
    (found,) = nnfast.Device().prepare(case.model()).run([np.full((2, 4), 5, np.int8)])
    np.testing.assert_array_equal(found, np.full((2, 4), round(127 - 16 * np.log(4))))
