"""Fixed-point arithmetic and the step from accumulators to codes, against plain Python integers."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers import scalar_reference as ref
from nnfast._native import conv
from nnfast.model import quant
from nnfast.model.types import OperandType
from nnfast.ops.requantize import Requantizer, multipliers

INT32 = st.integers(-2**31, 2**31 - 1)
SCALE = st.floats(2.0**-126, 2.0**127, width=32)


@given(st.floats(0, 1e90))
@example(0.0)
@example(1.0)
@example(math.nextafter(1.0, 0.0))
@example(2.0**-32)
@example(math.nextafter(2.0**-32, 0.0))
@example(0.75 * 2.0**-32)
def test_quantize_multiplier(value):
    assert quant.quantize_multiplier(value) == ref.quantize_multiplier(value)


def test_quantize_multipliers_go_one_by_one():
    values = [0.0, 1e-30, 0.25, math.nextafter(0.5, 0.0), 3.0, 1e30]
    multipliers, exponents = quant.quantize_multipliers(values)
    pairs = list(zip(multipliers.tolist(), exponents.tolist(), strict=True))
    assert pairs == [ref.quantize_multiplier(value) for value in values]


@given(st.lists(st.floats(0, 1e90), min_size=1, max_size=9))
@example([0.0, 1.0, math.nextafter(1.0, 0.0), 2.0**-32, math.nextafter(2.0**-32, 0.0), 2.0**31, 2.0**32, 1e30])
def test_native_multipliers_are_those_of_numpy(values):
    found = conv.multipliers(np.array(values))
    assert [each.dtype for each in found] == [np.int32, np.int32]
    assert np.array_equal(found, multipliers(values))


@given(SCALE, st.lists(SCALE, min_size=1, max_size=9), SCALE, st.booleans())
@example(2.0**127, [2.0**127, 1.0], 1e-3, False)
@example(1e-30, [1e-30], 1.0, False)
def test_native_real_multipliers_are_those_of_numpy(source, weights, target, in_double):
    found = conv.real_multipliers(source, tuple(weights), target, in_double)
    kind = np.float64 if in_double else np.float32
    assert np.array_equal(found, quant.conv_multiplier(source, tuple(weights), target, kind))


@given(INT32, INT32)
@example(-2**31, -2**31)
@example(-2**30, 1)
@example(2**30, 1)
@example(-1, 2**30)
def test_high_multiply(a, b):
    assert int(quant.srdhm(a, b)) == ref.srdhm(a, b)


@given(INT32, st.integers(0, 31))
@example(-5, 1)
@example(-6, 2)
@example(6, 2)
def test_rounding_shift(x, exponent):
    assert int(quant.rdbpot(x, exponent)) == ref.rdbpot(x, exponent)


@given(INT32, st.integers(2**30, 2**31 - 1), st.integers(-31, 40))
def test_multiply_by_quantized_multiplier(x, multiplier, exponent):
    assert int(quant.mbqm(x, multiplier, exponent)) == ref.mbqm(x, multiplier, exponent)


@given(
    st.integers(0, 3), st.sampled_from(("uint8", "int8")), st.floats(2.0**-10, 2.0**10, width=32), st.integers(0, 255),
)
def test_activation_range(activation, kind, scale, code):
    type_ = OperandType.TENSOR_QUANT8_ASYMM if kind == "uint8" else OperandType.TENSOR_QUANT8_ASYMM_SIGNED
    zero_point = code if kind == "uint8" else code - 128
    wanted = ref.clamp_codes(kind, activation, scale, zero_point)
    assert quant.activation_range(activation, type_, scale, zero_point) == wanted


@pytest.mark.parametrize("activation", (0, 1, 2, 3))
@pytest.mark.parametrize("scale", (1e-45, 1e-38, 3e38))
def test_activation_range_of_extreme_scales(activation, scale):
    low, high = quant.activation_range(activation, OperandType.TENSOR_QUANT8_ASYMM, scale, 10)
    tiny = scale < 1
    assert low == (0 if activation == 0 or (tiny and activation == 2) else 10)
    assert high == (255 if tiny or activation < 2 else 10)


def test_requantizer_takes_channels_last():
    step = Requantizer(
        np.array([2**30, 2**30], np.int32), np.array([1, -1], np.int32), -3, -100, 90, np.dtype(np.int8),
    )
    codes = step(np.array([[[10, 10], [-10, -10]], [[1000, 1000], [-1000, -1000]]], np.int64))
    # A multiplier of 2^30 is one half: the first channel keeps its value (times 2), the second gets a quarter.
    assert codes.tolist() == [[[7, 0], [-13, -6]], [[90, 90], [-100, -100]]]
    assert codes.dtype == np.int8
