"""PAD."""

import numpy as np
import pytest

from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.pad import MIRROR_PAD, PAD, PAD_V2


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


# -- PAD_V2 ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("abbreviation", "kind", "value", "code"), [
    ("F32", "f32", -2.5, -2.5), ("F16", "f16", 0.1, float(np.float16(0.1))), ("Q8", "i32", 200, 200),
    ("Q8", "i32", 256 + 7, 7), ("Q8", "i32", -1, 255), ("Q8S", "i32", -3, -3), ("Q8S", "i32", 200, -56),
])
def test_v2_frames_with_the_value(abbreviation, kind, value, code):
    source = operand(abbreviation, [[1, 2, 3], [4, 5, 6]], 0.5, 9)
    actual = run(PAD_V2, [source, operand("I32", [[1, 0], [0, 2]]), operand(kind, value)])
    assert actual.tolist() == [[code] * 5, [1, 2, 3, code, code], [4, 5, 6, code, code]]


def test_v2_rules():
    x, zero = operand("F32", np.ones((2, 3))), operand("f32", 0)
    refuses(PAD_V2, [x, operand("I32", [[0, 0]]), zero], " input 1 (paddings): shape is [1, 2], must be [2, 2]")
    refuses(PAD_V2, [x, operand("I32", [[0, 0], [2, -1]]), zero], " input 1 (paddings): holds -1, must not be negative")
    refuses(PAD_V2, [x, operand("I32", [[0, 0], [0, 0]]), operand("i32", 0)],
            " input 2 (pad_value): type INT32, must be FLOAT32")
    refuses(PAD_V2, [operand("F32", np.ones((1,) * 5)), operand("I32", np.zeros((5, 2))), zero],
            " input 0 (input): rank is 5, must be 1 to 4")


# -- MIRROR_PAD --------------------------------------------------------------------------------------------------------
REFLECT, SYMMETRIC = 0, 1


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("mode", [REFLECT, SYMMETRIC])
def test_mirror_reads_backwards_over_the_edge(abbreviation, mode):
    x, off = np.arange(24).reshape(2, 3, 4), 1 - mode
    paddings = [(1, mode), (2, 0), (3, 1)]
    actual = run(MIRROR_PAD, [operand(abbreviation, x, 0.5, 3), operand("I32", paddings), operand("i32", mode)])
    for place in np.ndindex(actual.shape):
        source = []
        for p, (before, _), size in zip(place, paddings, x.shape, strict=True):
            at = before + off - 1 - p if p < before else p - before
            source.append(at if at < size else size - 1 - off - (at - size))
        assert actual[place] == x[tuple(source)]


def test_mirror_rules():
    x, zero = operand("F32", np.ones((2, 3))), operand("i32", REFLECT)
    refuses(MIRROR_PAD, [x, operand("I32", [[2, 0], [0, 0]]), zero],
            " input 1 (paddings): dimension 0 has [2, 0], must be at most 1 in mode 0")
    refuses(MIRROR_PAD, [x, operand("I32", [[0, 0], [0, 4]]), operand("i32", SYMMETRIC)],
            " input 1 (paddings): dimension 1 has [0, 4], must be at most 3 in mode 1")
    refuses(MIRROR_PAD, [x, operand("I32", [[0, 0], [-1, 0]]), zero],
            " input 1 (paddings): holds -1, must not be negative")
    refuses(MIRROR_PAD, [x, operand("I32", [[0, 0], [0, 0]]), operand("i32", 2)],
            " input 2 (mode): is 2, must be 0 or 1")
    refuses(MIRROR_PAD, [x, operand("I32", [[0, 0]]), zero],
            " input 1 (paddings): dimension 0 is 1, must be 2, the rank of the input")
    refuses(MIRROR_PAD, [x, operand("I32", [[0], [0]]), zero], " input 1 (paddings): dimension 1 is 1, must be 2")
    refuses(MIRROR_PAD, [x, operand("I32", [[0, 0], [0, 0]]), zero],
            " output 0: rank is 1, must be 2 as of the input", operand("F32", shape=(2,)))
    message = " input 0 (input): scale 0.5 and zero point 3, must be those of the output, 0.5 and 4"
    refuses(MIRROR_PAD, [operand("Q8", [1], 0.5, 3), operand("I32", [[0, 0]]), zero], message, out("Q8", 0.5, 4))


def test_vectors_of_the_others():
    check_vectors("PAD_V2")
    check_vectors("MIRROR_PAD")
    check_coupling("MIRROR_PAD")
