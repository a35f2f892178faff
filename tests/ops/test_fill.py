"""FILL and RANK."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make
from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_vectors
from nnfast.ops.base import ValueUnknown
from nnfast.ops.fill import FILL, RANK


@pytest.mark.parametrize(("scalar", "tensor", "value"), [
    ("f32", "F32", 0.1), ("f16", "F16", 0.1), ("i32", "I32", -2**31), ("f32", "F32", -0.0), ("f16", "F16", np.inf),
])
def test_fill_keeps_the_bits_of_the_value(scalar, tensor, value):
    source = operand(scalar, value)
    actual = run(FILL, [operand("I32", [2, 3, 1]), source], out(tensor))
    assert actual.shape == (2, 3, 1)
    assert actual.tobytes() == source.value.tobytes() * 6


@pytest.mark.parametrize(("scalar", "tensor"), [("f32", "F32"), ("f16", "F16"), ("i32", "I32")])
@pytest.mark.parametrize("shape", [(0, 2), (1,), (3, 5, 7), (400, 400)])
def test_native_fill(scalar, tensor, shape):
    source = operand(scalar, 3)
    node = make("FILL", [operand("I32", shape), source], out(tensor))
    check_all_ways(node, [])
    late = make("FILL", [operand("I32", shape), operand(scalar, shape=())], out(tensor))
    check_all_ways(late, [None, source.value])


def test_fill_with_nothing():
    assert run(FILL, [operand("I32", [2, 0]), operand("i32", 1)], out("I32")).shape == (2, 0)


def test_fill_rules():
    one, target = operand("i32", 1), out("I32")
    refuses(FILL, [operand("I32", [2, -1]), one], " input 0 (dims): is [2, -1], must not hold negative sizes", target)
    refuses(FILL, [operand("I32", [[2]]), one], " input 0 (dims): rank is 2, must be 1", target)
    with pytest.raises(ValueUnknown):
        run(FILL, [operand("I32", shape=(2,)), one], target)


@pytest.mark.parametrize("abbreviation", ["F16", "F32", "I32", "Q8", "Q16S", "B8", "PC", "Q16A", "Q8SY", "Q8S"])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_rank_is_a_scalar(abbreviation, rank):
    shape = tuple(range(2, 2 + rank))
    source = operand(abbreviation, np.zeros(shape), 0.5, scales=[1.0, 1.0] if abbreviation == "PC" else None)
    actual = run(RANK, [source], out("i32"))
    assert actual.shape == () and actual == rank


def test_versions():
    assert version(RANK, [operand("F32", [1])], out("i32")) == "1.3"


@pytest.mark.parametrize("name", ["FILL", "RANK"])
def test_vectors(name):
    check_vectors(name)
