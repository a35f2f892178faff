"""Native forms of TFLite's operations on one tensor against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import flag, operand, out
from nnfast.ops import tfl_unary

SPECIAL = np.float32([0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 8388609, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38])
EXACT = ["ABS", "NEG", "SQUARE", "CEIL", "FLOOR", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "ROUND", "SIGN"]
OF_INTEGERS = ["ABS", "NEG", "SQUARE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "SIGN"]
KINDS = {"I32": np.int32, "I64": np.int64, "I16": np.int16, "I8": np.int8}


@pytest.fixture(autouse=True)
def quiet():
    """References run without warnings, as in a driver."""
    with np.errstate(all="ignore"):
        yield


def floats(count, spread, seed):
    """Numbers within a spread, every fifth a special one."""
    random = np.random.default_rng(seed)
    x = random.uniform(-spread, spread, count).astype(np.float32)
    x[::5] = random.choice(SPECIAL, len(x[::5]))
    return x


def unary(name, kind, shape, *more):
    return make(getattr(tfl_unary, f"TFL_{name}"), [operand(kind, shape=shape), *more], out(kind))


@pytest.mark.parametrize("name", EXACT)
@given(shape=st.sampled_from([(), (1,), (5, 1, 2, 3, 1, 7), (9000,)]), spread=st.sampled_from([2.0, 8.0, 1e6]),
       seed=st.integers(0, 99))
@settings(max_examples=15)
def test_exact_ones(name, shape, spread, seed):
    x = floats(int(np.prod(shape)), spread, seed).reshape(shape)
    check_all_ways(unary(name, "F32", shape), [x])


@pytest.mark.parametrize("name", ["EXP", "LOG", "SQRT", "RSQRT", "SIN", "COS", "TANH", "LOGISTIC", "ELU", "HARD_SWISH"])
@given(count=st.sampled_from([1, 15, 16, 17, 5000]), spread=st.sampled_from([0.1, 4.0, 80.0]), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_curves(name, count, spread, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, count).astype(np.float32)
    check_all_ways(unary(name, "F32", (count,)), [x], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("approximate", [False, True])
@given(count=st.sampled_from([1, 7, 16, 33, 10_000]), spread=st.sampled_from([0.01, 1.0, 4.0, 20.0]),
       seed=st.integers(0, 99))
@settings(max_examples=25)
def test_gelu(approximate, count, spread, seed):
    """1 + erf and 1 + tanh have few digits far below 0: results are off by so much of the argument."""
    x = floats(count, spread, seed)
    check_all_ways(unary("GELU", "F32", (count,), flag(approximate)), [x], rtol=0, atol=2.5e-7, unit=abs(x) + 1e-30)


@given(alpha=st.sampled_from([0.0, 0.2, -0.5, 1.5]), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_leaky(alpha, seed):
    check_all_ways(unary("LEAKY_RELU", "F32", (333,), operand("f32", alpha)), [floats(333, 4.0, seed)])


def test_a_slope_without_an_end_stays_with_numpy():
    """0 times it is no number, 0 itself is one."""
    found, reason = run_native(unary("LEAKY_RELU", "F32", (3,), operand("f32", np.inf)), np.float32([0, 1, -1]))
    assert found is None and reason == "no native kernel for float32 with a slope of inf"


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("kind", KINDS)
@given(count=st.sampled_from([1, 31, 32, 33, 20_000]), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_integers(name, kind, count, seed):
    limits = np.iinfo(KINDS[kind])
    random = np.random.default_rng(seed)
    x = random.integers(limits.min, limits.max, count, endpoint=True, dtype=KINDS[kind])
    x[::3] = random.choice(np.array([limits.min, limits.max, 0, 1, -1, 5, 7], KINDS[kind]), len(x[::3]))
    check_all_ways(unary(name, kind, (count,)), [x])


@pytest.mark.parametrize("name", ["ABS", "NEG", "SQUARE", "RELU", "RELU6", "RELU_0_TO_1", "SIGN"])
def test_bytes(name):
    check_all_ways(unary(name, "U8", (256,)), [np.arange(256, dtype=np.uint8)])


def test_not():
    check_all_ways(unary("LOGICAL_NOT", "B8", (256,)), [np.arange(256, dtype=np.uint8) % 3 % 2])


@pytest.mark.parametrize("kind", ["C64", "C128"])
@pytest.mark.parametrize("name", ["REAL", "IMAG"])
def test_parts_of_complex_numbers(kind, name):
    random = np.random.default_rng(3)
    x = (random.normal(size=(4, 5)) + 1j * random.normal(size=(4, 5))).astype(f"complex{kind[1:]}")
    target = out("F32" if kind == "C64" else "F64")
    check_all_ways(make(getattr(tfl_unary, f"TFL_{name}"), [operand(kind, shape=x.shape)], target), [x])


@pytest.mark.parametrize("name", ["ABS", "GELU", "SIN"])
def test_what_stays_with_numpy(name):
    more = [flag(False)] if name == "GELU" else []
    found, reason = run_native(unary(name, "F64", (3,), *more), np.ones(3))
    assert found is None and reason == "no native kernel for float64"
