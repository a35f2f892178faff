"""TFL_MFCC by native steps against its numpy definition, which works in float64."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import floats, ints, operand, out
from nnfast.ops.tfl_signal import TFL_MFCC

RANDOM = np.random.default_rng(9)


def mfcc(shape, channels, coefficients, rate):
    """(node, spectrogram) with energies of many sizes, and a window of silence."""
    x = (RANDOM.random(shape)**8 * 1000).astype(np.float32)
    x[..., -1, :] = 0
    rate = rate if rate is None else operand("I32", np.int32([rate]))
    operands = [floats(x), operand("I32", shape=(1,)) if rate is None else rate, operand("f32", 4000.0),
                operand("f32", 20.0), *ints(channels, coefficients)]
    return make(TFL_MFCC, operands, out()), x


@pytest.mark.parametrize(("shape", "channels", "coefficients"), [
    ((1, 98, 257), 40, 13), ((2, 3, 129), 20, 20), ((1, 1, 9), 1, 1), ((1, 5, 65), 65, 7)])
def test_coefficients(shape, channels, coefficients):
    node, x = mfcc(shape, channels, coefficients, 16000)
    check_all_ways(node, [x], atol=1e-4)                    # of values up to 250: silence has logarithms of 1e-12


@pytest.mark.parametrize(("channels", "rate", "reason"), [
    (10, 16000, "10 channels of 9"), (4, 0, "not above 0"), (4, None, "computed")])
def test_what_is_left_to_numpy(channels, rate, reason):
    node, x = mfcc((1, 2, 9), channels, 3, rate)
    found, why = run_native(node, x)
    assert found is None
    assert reason in why
