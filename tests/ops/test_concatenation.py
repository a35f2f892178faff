"""CONCATENATION."""

import numpy as np
import pytest

from helpers.nodes import operand, out, refuses, run, signed_codes, version
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.concatenation import CONCATENATION, PACK


def axis(value):
    return operand("i32", value)


@pytest.mark.parametrize("abbreviation", ["F32", "F16", "Q8", "Q8S"])
def test_along_every_axis(abbreviation):
    shape = (2, 3, 4, 2)
    for place in range(4):
        parts = [np.full(shape[:place] + (size,) + shape[place + 1:], size) for size in (1, 4, 2)]
        actual = run(CONCATENATION, [*(operand(abbreviation, p, 0.5, 1) for p in parts), axis(place)])
        np.testing.assert_array_equal(actual, np.concatenate(parts, place))


def test_one_input_is_copied():
    source = operand("F32", [1, 2])
    actual = run(CONCATENATION, [source, axis(0)])
    assert actual.tolist() == [1, 2] and not np.shares_memory(actual, source.value)


def half_away(x):
    return np.float32(np.trunc(x + np.copysign(np.float32(0.5), x)))


@pytest.mark.parametrize(("scale", "zero_point", "out_scale"), [
    (0.3, 7, 0.2), (0.1, 250, 0.2), (4.0, 0, 0.2), (0.2, 128, 0.2), (0.05, 0, 0.3), (1.1, 0, 0.6),
])
def test_requantizes_like_the_reference(scale, zero_point, out_scale):
    codes = np.arange(256)
    plain, out_zero_point = [11, 12], 100
    inputs = [operand("Q8", codes, scale, zero_point), operand("Q8", plain, out_scale, out_zero_point), axis(0)]
    actual = run(CONCATENATION, inputs, out("Q8", out_scale, out_zero_point))
    ratio = np.float32(scale) * (np.float32(1) / np.float32(out_scale))
    moved = [half_away(np.float32(q) * ratio + np.float32(-zero_point) * ratio) + out_zero_point for q in codes]
    np.testing.assert_array_equal(actual, np.append(np.clip(moved, 0, 255), plain))
    twin = run(
        CONCATENATION, [
            operand("Q8S", signed_codes(codes), scale, zero_point - 128),
            operand("Q8S", signed_codes(plain), out_scale, out_zero_point - 128), axis(0),
        ], out("Q8S", out_scale, out_zero_point - 128),
    )
    np.testing.assert_array_equal(twin, signed_codes(actual))


def test_empty_inputs_add_nothing():
    actual = run(CONCATENATION, [operand("F32", np.empty((0, 2))), operand("F32", [[1, 2]]), axis(0)])
    assert actual.tolist() == [[1, 2]]
    assert run(CONCATENATION, [operand("Q8", np.empty((2, 0)), 1.0), axis(1)], out("Q8", 2.0)).shape == (2, 0)


def test_rules():
    a, b = operand("F32", np.ones((2, 3))), operand("F32", np.ones((2, 4)))
    refuses(CONCATENATION, [a, a, b, axis(0)],
            " input 2 (input): dimension 1 is 4, must be 3 as of input 0 (the axis is 0)")
    refuses(CONCATENATION, [a, operand("F32", [1]), axis(0)], " input 1 (input): rank is 1, must be 2 as of input 0")
    refuses(CONCATENATION, [a, operand("F32", np.ones((1,) * 5)), axis(0)],
            " input 1 (input): rank is 5, must be 1 to 4")
    for value in (-1, 2):
        refuses(CONCATENATION, [a, b, axis(value)], f" input 2 (axis): is {value}, must be in [0, 2)")


def test_versions():
    a, b = operand("Q8", [1], 0.5, 3), operand("Q8", [1], 0.5, 4)
    assert version(CONCATENATION, [a, a, axis(0)]) == "1.0"
    assert version(CONCATENATION, [a, b, axis(0)]) == "1.2"
    assert version(CONCATENATION, [a, a, axis(0)], out("Q8", 0.25, 3)) == "1.2"
    assert version(CONCATENATION, [operand("F32", [1]), axis(0)]) == "1.0"


def test_vectors():
    check_vectors("CONCATENATION")
    check_coupling("CONCATENATION")


# -- PACK --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("abbreviation", ["F32", "F16", "I32", "Q8", "Q8S"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_pack_along_a_new_axis(abbreviation, place):
    parts = [np.arange(6).reshape(2, 3) + 10 * n for n in range(4)]
    inputs = [axis(place), *(operand(abbreviation, part, 0.5, 3) for part in parts)]
    actual = run(PACK, inputs, out(abbreviation, 0.5, 3))
    for n, part in enumerate(parts):
        np.testing.assert_array_equal(actual.take(n, place), part)
    assert run(PACK, inputs[:2], out(abbreviation, 0.5, 3)).size == 6


def test_pack_rules():
    a, flat, target = operand("F32", np.ones((2, 3))), operand("F32", [1, 2]), out("F32")
    refuses(PACK, [axis(0), a, flat], " input 2 (input): rank is 1, must be 2 as of the other inputs", target)
    refuses(PACK, [axis(0), flat, operand("F32", [1])],
            " input 2 (input): shape is [1], must be [2] as of the first", target)
    for value in (-1, 3):
        refuses(PACK, [axis(value), a], f" input 0 (axis): is {value}, must be in [0, 3)", target)
    refuses(PACK, [axis(0), a], " output 0: rank is 2, must be 3, one more than that of the inputs",
            operand("F32", shape=(2, 3)))
    message = " input 2 (input): scale 0.5 and zero point 4, must be those of the output, 0.5 and 3"
    refuses(PACK, [axis(0), operand("Q8", [1], 0.5, 3), operand("Q8", [1], 0.5, 4)], message, out("Q8", 0.5, 3))


def test_pack_vectors():
    check_vectors("PACK")
    check_coupling("PACK")
