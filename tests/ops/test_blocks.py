"""DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND."""

import numpy as np
import pytest

from helpers.nodes import operand, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.blocks import BATCH_TO_SPACE_ND, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, SPACE_TO_DEPTH

TYPES = pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S"])


def numbers(*shape):
    return np.arange(np.prod(shape)).reshape(shape) % 120


@TYPES
@pytest.mark.parametrize("n", [1, 2, 3])
def test_depth_to_space(abbreviation, n):
    x = numbers(2, 2, 3, 2 * n * n)
    actual = run(DEPTH_TO_SPACE, [operand(abbreviation, x, 0.5, 3), operand("i32", n)])
    assert actual.shape == (2, 2 * n, 3 * n, 2)
    for b, y, x_, d in np.ndindex(actual.shape):
        assert actual[b, y, x_, d] == x[b, y // n, x_ // n, (y % n * n + x_ % n) * 2 + d]


@TYPES
@pytest.mark.parametrize("n", [1, 2, 3])
def test_space_to_depth_undoes_it(abbreviation, n):
    x = numbers(2, 2, 3, 2 * n * n)
    there = run(DEPTH_TO_SPACE, [operand(abbreviation, x, 0.5, 3), operand("i32", n)])
    back = run(SPACE_TO_DEPTH, [operand(abbreviation, there, 0.5, 3), operand("i32", n)])
    np.testing.assert_array_equal(back, x)


@TYPES
@pytest.mark.parametrize("block", [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_space_to_batch(abbreviation, block):
    x, zero, paddings = numbers(2, 3, 4, 2), 7, [[1, 2], [0, 2]]
    actual = run(SPACE_TO_BATCH_ND, [operand(abbreviation, x, 0.5, zero if abbreviation[0] == "Q" else 0),
                                     operand("I32", block), operand("I32", paddings)])
    bh, bw = block
    assert actual.shape == (2 * bh * bw, 6 // bh, 6 // bw, 2)
    for batch, y, x_, d in np.ndindex(actual.shape):
        offset, n = divmod(batch, 2)
        row, column = y * bh + offset // bw - 1, x_ * bw + offset % bw
        inside = 0 <= row < 3 and column < 4
        outside = zero if abbreviation[0] == "Q" else 0
        assert actual[batch, y, x_, d] == (x[n, row, column, d] if inside else outside)


@TYPES
@pytest.mark.parametrize("block", [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_batch_to_space_undoes_it(abbreviation, block):
    x, no_padding = numbers(2, 4, 6, 2), operand("I32", [[0, 0], [0, 0]])
    there = run(SPACE_TO_BATCH_ND, [operand(abbreviation, x, 0.5, 3), operand("I32", block), no_padding])
    back = run(BATCH_TO_SPACE_ND, [operand(abbreviation, there, 0.5, 3), operand("I32", block)])
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(("op", "shape", "rest"), [
    (DEPTH_TO_SPACE, (2, 2, 3, 8), [operand("i32", 2)]),
    (SPACE_TO_DEPTH, (2, 4, 6, 3), [operand("i32", 2)]),
    (BATCH_TO_SPACE_ND, (12, 4, 6, 3), [operand("I32", [2, 3])]),
    (SPACE_TO_BATCH_ND, (2, 4, 6, 3), [operand("I32", [2, 3]), operand("I32", [[2, 0], [1, 2]])]),
])
def test_channels_first_is_the_transposed_result(op, shape, rest):
    x = numbers(*shape)
    plain = run(op, [operand("F32", x), *rest])
    np.testing.assert_array_equal(run(op, [operand("F32", x), *rest, operand("bool", 0)]), plain)
    moved = run(op, [operand("F32", np.moveaxis(x, -1, 1)), *rest, operand("bool", 1)])
    np.testing.assert_array_equal(moved, np.moveaxis(plain, -1, 1))


def test_rules():
    x, flat = operand("F32", np.ones((2, 3, 4, 6))), operand("F32", np.ones((2, 3)))
    no_padding = operand("I32", [[0, 0], [0, 0]])
    for op in (DEPTH_TO_SPACE, SPACE_TO_DEPTH):
        refuses(op, [flat, operand("i32", 1)], " input 0 (input): rank is 2, must be 4")
        refuses(op, [x, operand("i32", 0)], " input 1 (block_size): is 0, must be at least 1")
    refuses(DEPTH_TO_SPACE, [x, operand("i32", 2)],
            " input 1 (block_size): is 2, its square must divide the 6 channels of the input")
    refuses(SPACE_TO_DEPTH, [x, operand("i32", 2)],
            " input 1 (block_size): is 2, must divide height 3 and width 4 of the input")
    for op, rest in ((BATCH_TO_SPACE_ND, []), (SPACE_TO_BATCH_ND, [no_padding])):
        refuses(op, [x, operand("I32", [1, 0]), *rest],
                " input 1 (block_shape): is [1, 0], must hold sizes of at least 1")
        refuses(op, [x, operand("I32", [1]), *rest], " input 1 (block_shape): shape is [1], must be [2]")
    refuses(BATCH_TO_SPACE_ND, [x, operand("I32", [2, 2])],
            " input 1 (block_shape): is [2, 2], its product must divide the batch of 2")
    one = operand("I32", [2, 2])
    refuses(SPACE_TO_BATCH_ND, [x, one, operand("I32", [[0, 0], [1, 1]])],
            " input 1 (block_shape): is [2, 2], must divide the padded height 3 and width 6")
    refuses(SPACE_TO_BATCH_ND, [x, one, operand("I32", [[0, -1], [0, 0]])],
            " input 2 (paddings): holds -1, must not be negative")
    refuses(SPACE_TO_BATCH_ND, [x, one, operand("I32", [[0, 0]])],
            " input 2 (paddings): shape is [1, 2], must be [2, 2]")


def test_versions():
    block, paddings, no = operand("I32", [1, 1]), operand("I32", [[0, 0], [0, 0]]), operand("bool", 0)
    x, shifted = operand("Q8", np.ones((1, 1, 1, 1)), 0.5, 0), operand("Q8", np.ones((1, 1, 1, 1)), 0.5, 1)
    assert version(SPACE_TO_BATCH_ND, [x, block, paddings]) == "1.1"
    assert version(SPACE_TO_BATCH_ND, [shifted, block, paddings]) == "1.2"
    assert version(SPACE_TO_BATCH_ND, [x, block, paddings, no]) == "1.2"
    assert version(BATCH_TO_SPACE_ND, [shifted, block]) == "1.1"
    assert version(DEPTH_TO_SPACE, [x, operand("i32", 1)]) == "1.0"
    assert version(SPACE_TO_DEPTH, [x, operand("i32", 1), no]) == "1.2"


@pytest.mark.parametrize("name", ["DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"])
def test_vectors(name):
    check_vectors(name)
    check_coupling(name)
