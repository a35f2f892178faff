"""Native forms of TFLite's quantized operations on two 8-bit tensors against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.nodes import ints, operand, out
from nnfast._native.elementwise import PairsQ8
from nnfast.errors import InvalidArgument
from nnfast.ops import tfl_quantized_binary, tfl_requantize

CODES = {"Q8": np.uint8, "Q8S": np.int8}
SHAPES = st.sampled_from([((256, 1), (256,)), ((5, 17), (5, 17)), ((3,), (1500, 3)), ((), (33,)), ((0, 3), (1, 3)),
                          ((200, 200), (200, 200))])
RELATIONS = ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"]


def binary(name, kind, shapes, scales, zeros, *more, result=None):
    inputs = [operand(kind, shape=shape, scale=scale, zero_point=zero)
              for shape, scale, zero in zip(shapes, scales, zeros)]
    target = out(result) if result else out(kind, scales[2], zeros[2])
    return make(getattr(tfl_quantized_binary, f"TFL_QUANTIZED_{name}"), [*inputs, *more], target)


def codes(kind, shape, random):
    return random.integers(0, 256, shape).astype(np.uint8).view(CODES[kind])


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("name", RELATIONS)
@given(shapes=SHAPES, zeros=st.sampled_from([(0, 0), (3, 7), (100, 1)]), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_relations(name, kind, shapes, zeros, seed):
    random = np.random.default_rng(seed)
    made = binary(name, kind, shapes, (0.03, 0.03, 0), zeros, result="B8")
    check_all_ways(made, [codes(kind, shape, random) for shape in shapes])


@given(shapes=SHAPES, scales=st.sampled_from([(0.1, 0.2, 0.5), (0.3, 0.01, 0.02)]), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_squared_difference(shapes, scales, seed):
    random = np.random.default_rng(seed)
    made = binary("SQUARED_DIFFERENCE", "Q8S", shapes, scales, (3, -7, -100))
    check_all_ways(made, [codes("Q8S", shape, random) for shape in shapes])


@pytest.mark.parametrize("kind", CODES)
@given(shapes=SHAPES, scales=st.sampled_from([(0.1, 0.2, 0.5), (0.3, 0.01, 0.02)]), activation=st.integers(0, 3),
       seed=st.integers(0, 99))
@settings(max_examples=15)
def test_div(kind, shapes, scales, activation, seed):
    random, zeros = np.random.default_rng(seed), (3, 5, 7)
    x, y = (np.asarray(codes(kind, shape, random)) for shape in shapes)
    y = np.where(y == zeros[1], 6, y).astype(CODES[kind])
    check_all_ways(binary("DIV", kind, shapes, scales, zeros, *ints(activation)), [x, y])


@pytest.mark.parametrize("kind", CODES)
def test_products_of_a_small_output_scale(kind):
    shapes = (256, 1), (256,)
    inputs = [operand(kind, shape=shape, scale=0.5, zero_point=zero) for shape, zero in zip(shapes, (3, 5))]
    made = make(tfl_requantize.TFL_REQUANTIZE_MUL, [*inputs, *ints(1)], out(kind, 0.1, 7))
    every = np.arange(256, dtype=np.uint8).view(CODES[kind])
    check_all_ways(made, [every.reshape(256, 1), every])


def test_div_by_zero_is_left_to_the_reference():
    made = binary("DIV", "Q8S", ((4,), (4,)), (0.1, 0.1, 0.1), (0, -5, 0), *ints(0))
    arrays = [np.int8([1, 2, 3, 4]), np.int8([1, 2, -5, 4])]
    with pytest.raises(AssertionError):
        run_native_all(made, arrays)
    with pytest.raises(InvalidArgument, match="holds zeros, must have none"):
        made.op.compute(made, arrays)


def test_int16_stays_with_numpy():
    made = binary("LESS", "Q16S", ((3,), (3,)), (0.1, 0.1, 0), (0, 0), result="B8")
    assert run_native_all(made, [None, None]) == (None, "no native kernel from int16 and int16 to uint8")


def test_tables_of_another_size_are_refused():
    with pytest.raises(ValueError, match="table has 256 entries, must have 65536"):
        PairsQ8((0, 1, 2), (1,), (1,), np.zeros(256, np.uint8))
