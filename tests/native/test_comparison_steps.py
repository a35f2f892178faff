"""Native comparisons, logical operations, SELECT, INT32 arithmetic, MAXIMUM and MINIMUM against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import T, ints, operand
from nnfast._native.elementwise import Select

CODES = {T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
FLOATS = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_FLOAT16: np.float16}
SHAPES = st.sampled_from([((5, 17), (5, 17)), ((5, 17), (17,)), ((3, 1, 9), (4, 1)), ((), (33,)), ((1,), (1,)),
                          ((150, 150), (150, 150))])
INTEGERS = np.int32([0, 1, -1, 2**31 - 1, -2**31, 46341, -46341, 12345678])


def values(type_, shape, random):
    """Numbers among which equal ones and special ones are common."""
    if type_ in FLOATS:
        return random.choice(np.array([0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 0.5], FLOATS[type_]), shape)
    if type_ == T.TENSOR_BOOL8:
        return random.choice(np.uint8([0, 0, 1, 2, 128, 255]), shape)
    if type_ == T.TENSOR_INT32:
        return random.choice(INTEGERS, shape)
    return random.integers(0, 256, shape).astype(np.uint8).view(CODES[type_])


def side(type_, shape, scale, zero_point=0):
    """An input or output, quantized where it can be."""
    return operand(type_, shape=shape, scale=scale if type_ in CODES else 0.0,
                  zero_point=zero_point if type_ in CODES else 0)


@pytest.mark.parametrize("name", ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"])
@pytest.mark.parametrize("type_", [T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_BOOL8, *CODES])
@given(shapes=SHAPES, zero_points=st.sampled_from([(0, 0), (3, 7), (100, 1)]), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_relations(name, type_, shapes, zero_points, seed):
    random = np.random.default_rng(seed)
    inputs = [side(type_, shape, scale, zero) for shape, scale, zero in zip(shapes, (0.5, 1.0), zero_points)]
    check_all_ways(make(name, inputs, operand(T.TENSOR_BOOL8)), [values(type_, shape, random) for shape in shapes])


@pytest.mark.parametrize("type_", [*FLOATS, T.TENSOR_INT32, *CODES])
@given(shape=st.sampled_from([(1,), (5, 17), (3, 1, 9), (40_001,)]),
       scales=st.sampled_from([(0.5, 0.5, 0.5), (0.5, 1.0, 0.7)]), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_select(type_, shape, scales, seed):
    random = np.random.default_rng(seed)
    condition = random.choice(np.uint8([0, 0, 1, 128, 255]), shape)
    first, second, output = (side(type_, shape, scale, 3) for scale in scales)
    node = make("SELECT", [operand(T.TENSOR_BOOL8, shape=shape), first, second], output)
    check_all_ways(node, [condition, values(type_, shape, random), values(type_, shape, random)])


@pytest.mark.parametrize("name", ["LOGICAL_AND", "LOGICAL_OR"])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=20)
def test_logical(name, shapes, seed):
    random = np.random.default_rng(seed)
    node = make(name, [operand(T.TENSOR_BOOL8, shape=shape) for shape in shapes], operand(T.TENSOR_BOOL8))
    check_all_ways(node, [values(T.TENSOR_BOOL8, shape, random) for shape in shapes])


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "DIV"])
@given(shapes=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=20)
def test_integers_wrap(name, shapes, seed):
    random = np.random.default_rng(seed)
    node = make(name, [*(operand(T.TENSOR_INT32, shape=shape) for shape in shapes), *ints(0)], operand(T.TENSOR_INT32))
    check_all_ways(node, [values(T.TENSOR_INT32, shape, random) for shape in shapes])


@pytest.mark.parametrize("name", ["ABS", "NEG"])
@pytest.mark.parametrize("count", [1, 7, 8, 16, 17, 40_001])
def test_signs_of_integers(name, count):
    x = values(T.TENSOR_INT32, (count,), np.random.default_rng(count))
    check_all_ways(make(name, [operand(T.TENSOR_INT32, shape=x.shape)], operand(T.TENSOR_INT32)), [x])


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("type_", [T.TENSOR_INT32, *CODES])
@given(shapes=SHAPES, scales=st.sampled_from([(0.5, 0.5, 0.5), (0.5, 1.0, 0.7), (0.01, 0.5, 0.5)]),
       seed=st.integers(0, 99))
@settings(max_examples=20)
def test_extremes(name, type_, shapes, scales, seed):
    random = np.random.default_rng(seed)
    inputs = [side(type_, shape, scale, 3) for shape, scale in zip(shapes, scales)]
    check_all_ways(make(name, inputs, side(type_, None, scales[2], 3)),
                   [values(type_, shape, random) for shape in shapes])


@pytest.mark.parametrize("name, type_", [
    ("EQUAL", T.TENSOR_FLOAT32), ("LOGICAL_OR", T.TENSOR_BOOL8), ("MINIMUM", T.TENSOR_INT32), ("POW", T.TENSOR_FLOAT32),
    ("PRELU", T.TENSOR_FLOAT32),
])
def test_too_many_turns_are_left_to_numpy(name, type_):
    inputs = [operand(type_, shape=shape * 5) for shape in ((2, 1), (1, 2))]
    node = make(name, inputs, operand(T.TENSOR_BOOL8 if name == "EQUAL" else type_))
    assert run_native(node, None) == (None, "broadcast repeats 10 dimensions in turn, native up to 8")


def test_odd_items_are_refused():
    with pytest.raises(ValueError, match="must have 1, 2, 4 or 8"):
        Select((0, 1, 2, 3), 5, 3)
