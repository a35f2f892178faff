"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_AND, LOGICAL_OR."""

import operator

import numpy as np
import pytest

from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.comparison import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL
from nnfast.ops.logical import LOGICAL_AND, LOGICAL_OR

RELATIONS = {
    EQUAL: operator.eq, NOT_EQUAL: operator.ne, GREATER: operator.gt, GREATER_EQUAL: operator.ge, LESS: operator.lt,
    LESS_EQUAL: operator.le,
}
each_relation = pytest.mark.parametrize("op", RELATIONS, ids=lambda op: op.name)


def compare(op, x, y):
    return run(op, [x, y], out("B8")).tolist()


@each_relation
@pytest.mark.parametrize(("abbreviation", "values"), [
    ("F32", [-np.inf, -1, -0.0, 0, 1, np.inf, np.nan]), ("F16", [-1, 0, 0.1, 1, np.nan]),
    ("I32", [-(2**31), -1, 0, 2**24, 2**24 + 1, 2**31 - 1]), ("B8", [0, 1, 2, 255]),
])
def test_every_pair(op, abbreviation, values):
    x = operand(abbreviation, np.reshape(values, (-1, 1)))
    y = operand(abbreviation, values)
    expected = [[int(RELATIONS[op](a, b)) for b in y.value.tolist()] for a in y.value.tolist()]
    assert compare(op, x, y) == expected


@each_relation
@pytest.mark.parametrize(("abbreviation", "shift"), [("Q8", 0), ("Q8S", -128)])
def test_quantized_compares_real_values(op, abbreviation, shift):
    x = operand(abbreviation, np.reshape(np.arange(256) + shift, (-1, 1)), 0.5, 100 + shift)
    y = operand(abbreviation, np.arange(256) + shift, 1.5, 7 + shift)
    expected = [[int(RELATIONS[op]((a - 100) * 0.5, (b - 7) * 1.5)) for b in range(256)] for a in range(256)]
    assert compare(op, x, y) == expected


def test_quantized_values_are_float32():
    # 3 * 0.1 and 1 * 0.3 differ as doubles of the float32 scales, and agree as float32.
    x, y = operand("Q8", [3], 0.1), operand("Q8", [1], np.float32(3) * np.float32(0.1))
    assert compare(EQUAL, x, y) == [1]


def test_logical_truth_is_any_nonzero_byte():
    x, y = operand("B8", [[0], [1], [4]]), operand("B8", [0, 2, 255])
    assert compare(LOGICAL_AND, x, y) == [[0, 0, 0], [0, 1, 1], [0, 1, 1]]
    assert compare(LOGICAL_OR, x, y) == [[0, 1, 1], [1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("op", [*RELATIONS, LOGICAL_AND, LOGICAL_OR], ids=lambda op: op.name)
def test_shapes_and_types(op):
    deep, row = operand("B8", np.ones((2, 1, 1, 1, 1, 3))), operand("B8", [[1], [0]])
    assert run(op, [deep, row], out("B8")).shape == (2, 1, 1, 1, 2, 3)
    refuses(op, [operand("B8", [1, 1]), operand("B8", [1, 1, 1])],
            " input 1 (y): shape [3] does not broadcast with [2]", out("B8"))
    refuses(op, [deep, deep], " output 0 (output): type TENSOR_INT32, must be TENSOR_BOOL8", out("I32"))
    assert version(op, [deep, deep], out("B8")) == "1.2"


@each_relation
def test_vectors(op):
    check_vectors(op.name)
    check_coupling(op.name)


def test_logical_vectors():
    check_vectors("LOGICAL_AND", "LOGICAL_OR")
