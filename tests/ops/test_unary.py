"""ABS, EXP, FLOOR, LOG, LOGICAL_NOT, NEG, RSQRT, SIN, SQRT."""

import math

import numpy as np
import pytest

from helpers.nodes import all_codes, operand, out, refuses, run, version
from helpers.vectors import check_vectors
from nnfast.ops.unary import ABS, EXP, FLOOR, LOG, LOGICAL_NOT, NEG, RSQRT, SIN, SQRT

SCALAR = {
    ABS: abs, EXP: math.exp, FLOOR: math.floor, LOG: math.log, NEG: lambda x: -x, RSQRT: lambda x: x**-0.5,
    SIN: math.sin, SQRT: math.sqrt,
}
POSITIVE = np.float32([1e-30, 0.3, 0.9999999, 1, 1.5, 2.5, 31.4, 1e6])


@pytest.mark.parametrize("op", SCALAR, ids=lambda op: op.name)
def test_floats(op):
    x = POSITIVE[:-1] if op is EXP else POSITIVE
    if op in (ABS, FLOOR, NEG, SIN):
        x = np.concatenate([x, -x])
    np.testing.assert_array_equal(run(op, [operand("F32", x)]), np.float32([SCALAR[op](v) for v in x.tolist()]))
    half = np.float16([0.1, 1, 2.7, 9])
    np.testing.assert_array_equal(run(op, [operand("F16", half)]), np.float16([SCALAR[op](v) for v in half.tolist()]))


@pytest.mark.parametrize(("op", "expected"), [
    (ABS, [np.inf, np.inf, np.nan, 0]), (EXP, [np.inf, 0, np.nan, 1]), (FLOOR, [np.inf, -np.inf, np.nan, 0]),
    (LOG, [np.inf, np.nan, np.nan, -np.inf]), (NEG, [-np.inf, np.inf, np.nan, 0]), (RSQRT, [0, np.nan, np.nan, np.inf]),
    (SIN, [np.nan, np.nan, np.nan, 0]), (SQRT, [np.inf, np.nan, np.nan, 0]),
], ids=lambda value: getattr(value, "name", ""))
def test_special_values(op, expected):
    np.testing.assert_array_equal(run(op, [operand("F32", [np.inf, -np.inf, np.nan, 0])]), np.float32(expected))


def test_int32_minimum_wraps_to_itself():
    lowest = -(2**31)
    assert run(ABS, [operand("I32", [lowest, -5, 5, 2**31 - 1])]).tolist() == [lowest, 5, 5, 2**31 - 1]
    assert run(NEG, [operand("I32", [lowest, -5, 5, 2**31 - 1])]).tolist() == [lowest, 5, -5, 1 - 2**31]


def test_logical_not_takes_any_nonzero_byte_as_true():
    assert run(LOGICAL_NOT, [operand("B8", [[0, 1], [2, 255]])]).tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(("abbreviation", "zero_point", "highest"), [("Q8", 3, 255), ("Q8S", -125, 127)])
def test_quantized_rsqrt(abbreviation, zero_point, highest):
    low = highest - 255
    target = out(abbreviation, 0.01, low + 7)
    actual = run(RSQRT, [operand(abbreviation, all_codes(abbreviation), 0.036, zero_point)], target)
    for code, got in zip(all_codes(abbreviation).tolist(), actual.tolist(), strict=True):
        real = (code - zero_point) * 0.036
        # No quotient comes within float32 rounding of a half here, so double precision decides the same.
        expected = min(math.floor(real**-0.5 / 0.01 + 0.5) + low + 7, highest) if real > 0 else highest
        assert got == expected, code


def test_any_rank_but_for_floor():
    deep = operand("F32", np.full((1,) * 6, 4.0))
    assert run(SQRT, [deep]).shape == (1,) * 6
    refuses(FLOOR, [deep], " input 0 (input): rank is 6, must be 1 to 4")


def test_types_and_versions():
    assert version(FLOOR, [operand("F32", [1])]) == "1.0"
    assert version(NEG, [operand("I32", [1])]) == "1.2"
    assert version(ABS, [operand("I32", [1])]) == "1.3"
    assert version(RSQRT, [operand("Q8", [1], 1.0)]) == "aidl3"
    refuses(SQRT, [operand("I32", [1])],
            " input 0 (input): type TENSOR_INT32, must be TENSOR_FLOAT32 or TENSOR_FLOAT16")


@pytest.mark.parametrize("op", [*SCALAR, LOGICAL_NOT], ids=lambda op: op.name)
def test_vectors(op):
    check_vectors(op.name)
