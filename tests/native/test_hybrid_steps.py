"""Native steps of operators of floats with int8 weights against their numpy definitions."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import flag, floats, ints, omitted, operand, out
from helpers.steps import at_level
from nnfast._native import kernels
from nnfast.ops import tfl_hybrid, tfl_hybrid_recurrent

RANDOM = np.random.default_rng(31)


def codes(*shape):
    return RANDOM.integers(-127, 128, shape).astype(np.int8)


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_dense(rows, is_asymmetric):
    x = RANDOM.normal(1, 2, (rows, 37)).astype(np.float32)
    x[0, :8] = -100, 155, 2.5, -2.5, 0.5, -0.5, 100.5, -30.5          # scale 1, zero point -28, ties
    made = make(tfl_hybrid.TFL_HYBRID_FULLY_CONNECTED, [
        floats(x), operand("Q8S", codes(19, 37), 0.01), floats(RANDOM.normal(0, 1, 19)), *ints(1), flag(False),
        flag(is_asymmetric)], out())
    check_all_ways(made, [x])


SUMS_IN_16_BITS = [level for level in kernels.levels() if level in ("avx2", "avx512")]
"""Levels at which patches pay most."""


@pytest.mark.parametrize(("size", "channels", "units", "taps", "stride", "patch"), [
    ((30, 26), 20, 37, (3, 3), 1, "4"), ((14, 15), 33, 16, (3, 3), 1, "4"), ((13, 9), 500, 9, (3, 3), 1, "2"),
    ((28, 31), 20, 40, (4, 4), 1, "3"), ((50, 46), 33, 40, (7, 7), 2, "3"), ((40, 44), 20, 33, (5, 5), 2, "4"),
    ((9, 8), 5, 7, (3, 3), 2, ""), ((6, 6), 40, 19, (1, 1), 1, "")])
@pytest.mark.parametrize("scales", [0.01, RANDOM.uniform(0.01, 0.02, 40)], ids=["one scale", "many"])
@pytest.mark.parametrize("padding", [1, 2], ids=["same", "valid"])
def test_convolution(padding, scales, size, channels, units, taps, stride, patch):
    """Of images whose codes have zero points of their own, which also fill what lies beyond them; by Winograd's patches
    where those pay and hold the weights' sums."""
    x = RANDOM.normal(0, 1, (3, *size, channels)).astype(np.float32)
    x[1] = np.abs(x[1]) * 50
    x[2] = np.minimum(x[2], 1.5)
    values = codes(units, *taps, channels)
    if channels == 500:
        values[0] = 127             # too much for larger patches
    kind, quant = ("Q8S", {"scale": scales}) if isinstance(scales, float) else (
        "PC", {"scales": scales[:units], "dim": 0})
    made = make(tfl_hybrid.TFL_HYBRID_CONV_2D, [
        floats(x), operand(kind, values, **quant), floats(RANDOM.normal(0, 1, units)),
        *ints(padding, stride, stride, 1), flag(False), *ints(1, 1)], out())
    check_all_ways(made, [x])
    for level in SUMS_IN_16_BITS:
        with at_level(level):
            _, (_, step) = run_native(made, x)
        assert [each for each in "234" if f"winograd{each}_s16" in step.kernel] == [patch] * bool(patch)


@pytest.mark.parametrize(("filter_size", "stride", "dilation"), [
    ((3, 3), 1, 1), ((3, 3), 2, 1), ((5, 2), 1, 2), ((1, 1), 1, 1),
    ((27, 19), 1, 1), ((27, 20), 1, 1)])                   # 513 taps, whose sums floats hold, and 540
@pytest.mark.parametrize("scales", [0.01, RANDOM.uniform(0.01, 0.02, 38)])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise(multiplier, scales, filter_size, stride, dilation):
    """Equal to exact sums, for weights and codes that make the largest ones too."""
    channels = 38 // multiplier
    x = RANDOM.normal(1, 2, (2, 29, 23, channels)).astype(np.float32)
    x[0] = 255 * (x[0] > 5)                                   # zero point -128: codes of 255 less it
    x[1] *= 100
    values = codes(1, *filter_size, 38)
    values[..., 0] = -128
    kind, quant = "Q8S", {"scale": scales}
    if not isinstance(scales, float):
        kind, quant = "PC", {"scales": scales, "dim": 3}
    made = make(tfl_hybrid.TFL_HYBRID_DEPTHWISE_CONV_2D, [
        floats(x), operand(kind, values, **quant), floats(RANDOM.normal(0, 1, 38)), *ints(1, stride, stride, 3),
        flag(False), *ints(dilation, dilation)], out())
    check_all_ways(made, [x])


def test_depthwise_without_a_bias():
    x = RANDOM.normal(0, 1, (1, 4, 4, 5)).astype(np.float32)
    made = make(tfl_hybrid.TFL_HYBRID_DEPTHWISE_CONV_2D, [
        floats(x), operand("Q8S", codes(1, 3, 3, 5), 0.01), omitted("F32"), *ints(2, 1, 1, 0), flag(False),
        *ints(1, 1)], out())
    check_all_ways(made, [x])


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("scales", [0.01, RANDOM.uniform(0.01, 0.02, 19)])
@pytest.mark.parametrize(("first", "batches"), [((5, 37), ()), ((3, 4, 37), (1,)), ((1, 3, 2, 37), ())])
def test_one_second_matrix(first, batches, scales, is_turned, is_asymmetric):
    x, shape = RANDOM.normal(0, 1, first).astype(np.float32), (19, 37) if is_turned else (37, 19)
    kind, quant = "Q8S", {"scale": scales}
    if not isinstance(scales, float):
        kind, quant = "PC", {"scales": scales, "dim": len(batches) + (not is_turned)}
    weights = operand(kind, codes(*batches, *shape), **quant)
    made = make(tfl_hybrid.TFL_HYBRID_BATCH_MATMUL, [floats(x), weights, flag(False), flag(is_turned),
                                                     flag(is_asymmetric)], out())
    check_all_ways(made, [x])


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize(("cifg", "peephole", "projection", "norm"), [
    (False, False, False, False), (True, True, True, False), (False, True, True, True), (True, False, False, True)])
def test_lstm(cifg, peephole, projection, norm, time_major, is_asymmetric):
    """Native sums are float32 ones: near the numpy form, whose roundings of a state may differ by one code."""
    times, batch, size, units, outputs = 4, 2, 13, 37, 21 if projection else 37
    gates = ["input", "forget", "cell", "output"]

    def weights(*shape):
        return operand("Q8S", codes(*shape), 0.003)

    def vector(count):
        return floats(RANDOM.normal(0, 0.3, count).astype(np.float32))

    def of_gates(make_one, active=gates, kind="F32"):
        return [omitted(kind, (units,)) if gate not in active or cifg and gate == "input" else make_one()
                for gate in gates]

    x = RANDOM.normal(0, 1, (times, batch, size) if time_major else (batch, times, size)).astype(np.float32)
    seeing = of_gates(lambda: weights(units), [g for g in gates if g != "cell"] if peephole else [], "Q8S")
    made = make(tfl_hybrid_recurrent.TFL_HYBRID_LSTM, [
        floats(x), *of_gates(lambda: weights(units, size), kind="Q8S"),
        *of_gates(lambda: weights(units, outputs), kind="Q8S"), seeing[0], seeing[1], seeing[3],
        *of_gates(lambda: vector(units)), weights(outputs, units) if projection else omitted("Q8S", (outputs, units)),
        vector(outputs) if projection else omitted("F32", (outputs,)),
        floats(RANDOM.normal(0, 0.5, (batch, outputs))), floats(RANDOM.normal(0, 0.5, (batch, units))), *ints(4),
        operand("f32", 2.0), operand("f32", 0.8), flag(time_major),
        *of_gates(lambda: vector(units), gates if norm else []), flag(is_asymmetric)], out(), out(), out())
    check_all_ways(made, [x], atol=0.01)
