"""PAD."""

import numpy as np
import pytest
from handmade import operand, refuses, run, version
from single_op import check_coupling, check_vectors

from nnfast.ops.pad import PAD


@pytest.mark.parametrize(("abbreviation", "zero"), [("F32", 0), ("F16", 0), ("Q8", 9), ("Q8S", -9)])
def test_frames_with_the_zero_of_the_type(abbreviation, zero):
    source = operand(abbreviation, [[1, 2, 3], [4, 5, 6]], 0.5, zero)
    z = zero
    actual = run(PAD, [source, operand("I32", [[1, 0], [0, 2]])])
    assert actual.tolist() == [[z, z, z, z, z], [1, 2, 3, z, z], [4, 5, 6, z, z]]
    np.testing.assert_array_equal(run(PAD, [source, operand("I32", [[0, 0], [0, 0]])]), source.value)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_puts_the_input_after_what_is_before(rank):
    x = np.random.default_rng(rank).standard_normal((2, 3, 4, 5)[:rank]).astype(np.float32)
    paddings = [(d + 1, 3 - d) for d in range(rank)]
    actual = run(PAD, [operand("F32", x), operand("I32", paddings)])
    inside = tuple(slice(before, before + size) for (before, _), size in zip(paddings, x.shape, strict=True))
    np.testing.assert_array_equal(actual[inside], x)
    assert np.count_nonzero(actual) == np.count_nonzero(x)


def test_rules():
    x = operand("F32", np.ones((2, 3)))
    refuses(PAD, [x, operand("I32", [[0, 0]])], " input 1 (paddings): shape is [1, 2], must be [2, 2]")
    refuses(PAD, [x, operand("I32", [0, 0])], " input 1 (paddings): rank is 1, must be 2")
    refuses(PAD, [x, operand("I32", [[0, 0], [2, -1]])], " input 1 (paddings): holds -1, must not be negative")
    refuses(PAD, [operand("F32", np.ones((1,) * 5)), operand("I32", np.zeros((5, 2)))],
            " input 0 (input): rank is 5, must be 1 to 4")


def test_versions():
    paddings = operand("I32", [[0, 0]])
    assert version(PAD, [operand("Q8", [1], 0.5, 0), paddings]) == "1.1"
    assert version(PAD, [operand("Q8", [1], 0.5, 1), paddings]) == "1.2"
    assert version(PAD, [operand("F32", [1]), paddings]) == "1.1"


def test_vectors():
    check_vectors("PAD")
    check_coupling("PAD")
