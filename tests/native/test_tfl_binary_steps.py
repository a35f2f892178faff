"""Native forms of TFLite's operations on two tensors, and of its choices, against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.nodes import flag, ints, operand, out
from nnfast.errors import GeneralFailure
from nnfast.ops import tfl_binary

SHAPES = st.sampled_from([((5, 17), (5, 17)), ((5, 17), (17,)), ((3, 1, 9), (4, 1)), ((), (33,)), ((33,), ()),
                          ((1,), (1,)), ((2, 1, 3, 1, 2, 5), (2, 2, 1, 4, 1, 1)), ((130, 130), (130, 130)),
                          ((0, 3), (1, 3))])
SPECIAL = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 3e38])
KINDS = {"I32": np.int32, "I64": np.int64, "I16": np.int16, "I8": np.int8, "U8": np.uint8}
FUSED = ["ADD", "SUB", "MUL", "DIV"]
RELATIONS = ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"]


@pytest.fixture(autouse=True)
def quiet():
    """References run without warnings, as in a driver."""
    with np.errstate(all="ignore"):
        yield


def floats(shape, random):
    x = random.uniform(-5, 5, shape).astype(np.float32)
    return np.where(random.random(shape) < 0.2, random.choice(SPECIAL, shape), x).astype(np.float32)


def integers(kind, shape, random, low=None, high=None):
    """Any of the type, or of a range; most of them small, so that equal ones and whole quotients are common."""
    limits = np.iinfo(KINDS[kind])
    low, high = limits.min if low is None else low, limits.max if high is None else high
    wide = random.integers(low, high, shape, endpoint=True, dtype=KINDS[kind])
    small = random.integers(max(low, -7), min(high, 7), shape, endpoint=True).astype(KINDS[kind])
    ends = random.choice(np.array([low, high], KINDS[kind]), shape)
    return np.choose(random.integers(0, 4, shape), [wide, small, small, ends]).astype(KINDS[kind])


def binary(name, kind, shapes, activation=None, result=None):
    more = [] if activation is None else ints(activation)
    inputs = [operand(kind, shape=shape) for shape in shapes]
    return make(getattr(tfl_binary, f"TFL_{name}"), [*inputs, *more], out(result or kind))


@pytest.mark.parametrize("name", FUSED)
@given(shapes=SHAPES, activation=st.integers(0, 3), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_floats(name, shapes, activation, seed):
    random = np.random.default_rng(seed)
    check_all_ways(binary(name, "F32", shapes, activation), [floats(shape, random) for shape in shapes])


@pytest.mark.parametrize("name", ["STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE",
                                  "FLOOR_DIV", "FLOOR_MOD"])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=20)
def test_more_floats(name, shapes, seed):
    random = np.random.default_rng(seed)
    check_all_ways(binary(name, "F32", shapes), [floats(shape, random) for shape in shapes])


@pytest.mark.parametrize("name", ["ATAN2", "POW"])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=20)
def test_curves(name, shapes, seed):
    random = np.random.default_rng(seed)
    low = -5.0 if name == "ATAN2" else 0.1
    values = [random.uniform(low, 5.0, shape).astype(np.float32) for shape in shapes]
    check_all_ways(binary(name, "F32", shapes), values, rtol=2e-7)


def test_every_quadrant_and_zero():
    x, y = np.meshgrid(np.float32([0, -0.0, 1, -1, np.inf, -np.inf]), np.float32([0, -0.0, 1, -1, np.inf, -np.inf]))
    check_all_ways(binary("ATAN2", "F32", (x.shape, y.shape)), [x, y], rtol=2e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE",
                                  "RIGHT_SHIFT", "BITWISE_XOR", *RELATIONS])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=10)
def test_integers(name, kind, shapes, seed):
    random = np.random.default_rng(seed)
    made = binary(name, kind, shapes, result="B8" if name in RELATIONS else None)
    check_all_ways(made, [integers(kind, shape, random) for shape in shapes])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@given(shapes=SHAPES, activation=st.sampled_from([0, 1, 3]), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_integers_with_an_activation(name, kind, shapes, activation, seed):
    random = np.random.default_rng(seed)
    check_all_ways(binary(name, kind, shapes, activation), [integers(kind, shape, random) for shape in shapes])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["DIV", "FLOOR_DIV", "FLOOR_MOD"])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=15)
def test_quotients(name, kind, shapes, seed):
    random = np.random.default_rng(seed)
    x, y = (integers(kind, shape, random) for shape in shapes)
    y = np.where(y == 0, 3, y).astype(KINDS[kind])
    check_all_ways(binary(name, kind, shapes, 0 if name == "DIV" else None), [x, y])


@pytest.mark.parametrize("kind", KINDS)
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=15)
def test_powers_of_integers(kind, shapes, seed):
    random = np.random.default_rng(seed)
    x, y = integers(kind, shapes[0], random), integers(kind, shapes[1], random, 0, 40)
    check_all_ways(binary("POW", kind, shapes), [x, y])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, bad, message", [
    ("DIV", 0, "has a 0, integers cannot be divided by it"),
    ("FLOOR_DIV", 0, "has a 0, integers cannot be divided by it"),
    ("FLOOR_MOD", 0, "has a 0, integers cannot be divided by it"),
    ("POW", -1, "has a negative exponent of an integer")])
def test_what_they_do_not_take_is_left_to_the_reference(kind, name, bad, message):
    """The step stops before it computes anything, and the reference tells what is wrong."""
    if kind == "U8" and bad < 0:
        pytest.skip("uint8 has no negative numbers")
    made = binary(name, kind, ((4,), (4,)), 0 if name == "DIV" else None)
    arrays = [np.array([1, 2, 3, 4], KINDS[kind]), np.array([1, 2, bad, 4], KINDS[kind])]
    with pytest.raises(AssertionError):
        run_native_all(made, arrays)
    with pytest.raises(GeneralFailure, match=message):
        made.op.compute(made, arrays)


@pytest.mark.parametrize("name", ["LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "EQUAL", "NOT_EQUAL"])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=15)
def test_booleans(name, shapes, seed):
    random = np.random.default_rng(seed)
    check_all_ways(binary(name, "B8", shapes), [random.integers(0, 2, shape).astype(np.uint8) for shape in shapes])


@pytest.mark.parametrize("name", RELATIONS)
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=10)
def test_relations_of_floats(name, shapes, seed):
    random = np.random.default_rng(seed)
    values = [random.choice(SPECIAL, shape) for shape in shapes]
    check_all_ways(binary(name, "F32", shapes, result="B8"), values)


@pytest.mark.parametrize("kind, dtype", [("F32", "f4"), ("I64", "i8"), ("I8", "i1"), ("I16", "i2"), ("F64", "f8"),
                                         ("C64", "c8")])
@given(shapes=st.sampled_from([((5, 17), (5, 17), (5, 17)), ((17,), (5, 1), ()), ((), (3, 4), (1, 4)),
                               ((2, 1, 3, 1), (1, 7, 1, 9), (2, 7, 3, 9)), ((9000,), (9000,), (1,))]),
       seed=st.integers(0, 99))
@settings(max_examples=15)
def test_choices(kind, dtype, shapes, seed):
    random = np.random.default_rng(seed)
    condition, x, y = (random.integers(low, 100, shape) for low, shape in zip((-100, -100, -100), shapes))
    tensors = [operand("B8", shape=shapes[0]), operand(kind, shape=shapes[1]), operand(kind, shape=shapes[2])]
    made = make(tfl_binary.TFL_SELECT_V2, [*tensors, flag(False)], out(kind))
    check_all_ways(made, [(condition > 0).astype(np.uint8), x.astype(dtype), y.astype(dtype)])


def test_choices_of_rows():
    tensors = [operand("B8", shape=(4,)), operand("I32", shape=(4, 3)), operand("I32", shape=(4, 3))]
    made = make(tfl_binary.TFL_SELECT, [*tensors, flag(True)], out("I32"))
    x = np.arange(12, dtype=np.int32).reshape(4, 3)
    check_all_ways(made, [np.uint8([1, 0, 0, 1]), x, -x])


@pytest.mark.parametrize("kind", ["U32", "U64", "F64"])
def test_what_stays_with_numpy(kind):
    found, reason = run_native_all(binary("STABLEHLO_ADD", kind, ((3,), (3,))), [None, None])
    assert found is None and reason.startswith("no native kernel for ")


def test_a_quotient_with_an_activation_stays_with_numpy():
    found, reason = run_native_all(binary("DIV", "I32", ((3,), (3,)), 1), [None, None])
    assert found is None and reason == "no native kernel for DIV of int32 with an activation"
