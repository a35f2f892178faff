"""SLICE and STRIDED_SLICE."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.slice import SLICE, STRIDED_SLICE

X = np.arange(60).reshape(3, 4, 5)


def slice_inputs(x, begin, size):
    return [x, operand("I32", begin), operand("I32", size)]


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
def test_slice_takes_a_box(abbreviation):
    actual = run(SLICE, slice_inputs(operand(abbreviation, X, 0.5, 3), [1, 0, 2], [2, 3, -1]))
    np.testing.assert_array_equal(actual, X[1:3, 0:3, 2:5])


def test_slice_is_a_copy():
    source = operand("F32", X)
    assert not np.shares_memory(run(SLICE, slice_inputs(source, [0, 0, 0], [-1, -1, -1])), source.value)


def test_slice_of_nothing():
    assert run(SLICE, slice_inputs(operand("F32", X), [3, 0, 5], [-1, 4, 0])).shape == (0, 4, 0)
    assert run(SLICE, slice_inputs(operand("F32", np.empty((0, 2))), [0, 1], [0, 1])).shape == (0, 1)


def test_slice_keeps_the_declared_quantization():
    actual = run(SLICE, slice_inputs(operand("Q8", [1, 2, 3], 0.5, 3), [1], [2]), out("Q8", 0.25, 7))
    assert actual.tolist() == [2, 3]


@pytest.mark.parametrize(("begin", "size", "message"), [
    ([0, 5, 0], [1, 0, 1], " input 1 (begin): dimension 1 begins at 5, must be in [0, 4]"),
    ([-1, 0, 0], [1, 1, 1], " input 1 (begin): dimension 0 begins at -1, must be in [0, 3]"),
    ([0, 1, 0], [1, 4, 1], " input 2 (size): dimension 1 has 4, must be -1 or in [0, 3] from 1 on"),
    ([0, 0, 0], [1, 1, -2], " input 2 (size): dimension 2 has -2, must be -1 or in [0, 5] from 0 on"),
    ([0, 0], [1, 1, 1], " input 1 (begin): shape is [2], must be [3]"),
    ([0, 0, 0], [[1, 1, 1]], " input 2 (size): shape is [1, 3], must be [3]"),
])
def test_slice_rules(begin, size, message):
    refuses(SLICE, slice_inputs(operand("F32", X), begin, size), message)


def strided_inputs(x, begin, end, strides, begin_mask=0, end_mask=0, shrink=0):
    return [x, *(operand("I32", v) for v in (begin, end, strides)),
            *(operand("i32", v) for v in (begin_mask, end_mask, shrink))]


def walk(size, begin, end, stride, from_start, to_end):
    """Positions one by one, by the words of the definition."""
    low, high = (0, size) if stride > 0 else (-1, size - 1)
    at = min(max(begin + size if begin < 0 else begin, low), high)
    stop = min(max(end + size if end < 0 else end, low), high)
    at = (0 if stride > 0 else size - 1) if from_start else at
    stop = (size if stride > 0 else -1) if to_end else stop
    found = []
    while (at < stop) if stride > 0 else (at > stop):
        found.append(at)
        at += stride
    return found


@given(st.lists(st.tuples(
    st.integers(1, 6), st.integers(-9, 9), st.integers(-9, 9), st.integers(-4, 4).filter(bool), st.booleans(),
    st.booleans(),
), min_size=1, max_size=4))
def test_strided_walks_every_dimension(dims):
    x = np.arange(np.prod([d[0] for d in dims])).reshape([d[0] for d in dims])
    masks = [sum(d[which] << place for place, d in enumerate(dims)) for which in (4, 5)]
    columns = [[d[which] for d in dims] for which in (1, 2, 3)]
    actual = run(STRIDED_SLICE, strided_inputs(operand("F32", x), *columns, *masks))
    np.testing.assert_array_equal(actual, x[np.ix_(*(walk(*d) for d in dims))])


@pytest.mark.parametrize("extreme", [-2**31, 2**31 - 1])
def test_strided_clamps_extreme_values(extreme):
    x = np.arange(5)
    forward = run(STRIDED_SLICE, strided_inputs(operand("F32", x), [0], [extreme], [2**31 - 1]))
    assert forward.tolist() == ([] if extreme < 0 else [0])
    backward = run(STRIDED_SLICE, strided_inputs(operand("F32", x), [4], [extreme], [-2]))
    assert backward.tolist() == ([4, 2, 0] if extreme < 0 else [])


def test_shrunk_dimensions_disappear():
    x = operand("Q8", X, 0.5, 3)
    actual = run(STRIDED_SLICE, strided_inputs(x, [1, 0, 2], [2, 4, 3], [1, 2, 1], shrink=0b101))
    np.testing.assert_array_equal(actual, X[1, ::2, 2])
    actual = run(STRIDED_SLICE, strided_inputs(x, [1, 3, -1], [2, 4, 5], [1, 1, 1], shrink=0b111))
    assert actual.tolist() == [X[1, 3, 4]]


@pytest.mark.parametrize(("arguments", "message"), [
    (([0], [2], [0]), " input 3 (strides): dimension 0 has 0, must not be zero"),
    (([1], [0], [-1], 0, 0, 1),
     " input 3 (strides): dimension 0 has -1, must be positive where shrink_axis_mask is set"),
    (([0], [2], [1], 0, 0, 1),
     " input 6 (shrink_axis_mask): dimension 0 selects 2 elements, must be 1 to be shrunk"),
    (([2], [2], [1], 0, 0, 1),
     " input 6 (shrink_axis_mask): dimension 0 selects 0 elements, must be 1 to be shrunk"),
    (([0, 0], [1], [1]), " input 1 (begin): shape is [2], must be [1]"),
])
def test_strided_rules(arguments, message):
    refuses(STRIDED_SLICE, strided_inputs(operand("F32", [1, 2, 3]), *arguments), message)


def test_strided_rank():
    refuses(STRIDED_SLICE, strided_inputs(operand("F32", np.ones((1,) * 5)), [0] * 5, [1] * 5, [1] * 5),
            " input 0 (input): rank is 5, must be 1 to 4")


def test_versions():
    assert version(SLICE, slice_inputs(operand("F32", [1]), [0], [1])) == "1.2"
    assert version(STRIDED_SLICE, strided_inputs(operand("F32", [1]), [0], [1], [1])) == "1.1"


@pytest.mark.parametrize("name", ["SLICE", "STRIDED_SLICE"])
def test_vectors(name):
    check_vectors(name)
    check_coupling(name)
