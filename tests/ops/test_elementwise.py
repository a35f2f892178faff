"""ADD, DIV, MUL, SUB, POW."""

import numpy as np
import pytest

import nnfast
from helpers import scalar_reference as scalar
from helpers.nodes import operand, out, refuses, run, signed_codes, version
from helpers.tflite.running import Const, One
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.elementwise import ADD, DIV, MUL, SUB
from nnfast.ops.power import POW

FLOATS = {"ADD": np.add, "DIV": np.divide, "MUL": np.multiply, "SUB": np.subtract}


def none():
    return operand("i32", 0)


def reference_add(a, b, sign, scales, zero_points):
    """One element of quantized ADD (sign 1) or SUB (-1), as the standard writes it."""
    twice = float(np.float32(2) * np.float32(max(scales[:2])))
    parts = []
    for code, scale, zero_point, side in ((a, scales[0], zero_points[0], 1), (b, scales[1], zero_points[1], sign)):
        multiplier, exponent = scalar.quantize_multiplier(float(np.float32(scale)) / twice)
        parts.append(scalar.rdbpot(scalar.srdhm((code - zero_point) << 20, side * multiplier), -exponent))
    multiplier, exponent = scalar.quantize_multiplier(twice / float(np.float32(2**20) * np.float32(scales[2])))
    total = scalar.rdbpot(scalar.srdhm(sum(parts), multiplier), -exponent)
    return min(max(total + zero_points[2], 0), 255)


def reference_mul(a, b, scales, zero_points):
    product = float(np.float32(scales[0]) * np.float32(scales[1]))
    real = product / float(np.float32(scales[2]))
    multiplier = scalar.quantize_multiplier(real)
    total = scalar.mbqm((a - zero_points[0]) * (b - zero_points[1]), *multiplier) + zero_points[2]
    return min(max(total, 0), 255)


SCALES = [((0.5, 0.5, 1.0), (0, 0, 0)), ((0.013, 0.37, 0.4), (128, 3, 77)), ((1.7, 0.0031, 0.9), (255, 0, 128))]


@pytest.mark.parametrize(("scales", "zero_points"), SCALES)
@pytest.mark.parametrize("op", [ADD, SUB, MUL], ids=lambda op: op.name)
def test_quantized_equals_scalar_arithmetic(op, scales, zero_points):
    a, b = (codes.reshape(-1).astype(np.uint8) for codes in np.meshgrid(np.arange(0, 256, 5), np.arange(0, 256, 3)))
    if op is MUL:
        expected = [reference_mul(int(x), int(y), scales, zero_points) for x, y in zip(a, b, strict=True)]
    else:
        sign = 1 if op is ADD else -1
        expected = [reference_add(int(x), int(y), sign, scales, zero_points) for x, y in zip(a, b, strict=True)]
    inputs = [operand("Q8", a, scales[0], zero_points[0]), operand("Q8", b, scales[1], zero_points[1]), none()]
    actual = run(op, inputs, out("Q8", scales[2], zero_points[2]))
    np.testing.assert_array_equal(actual, expected)
    twins = [operand("Q8S", signed_codes(x), s, z - 128) for x, s, z in zip((a, b), scales, zero_points, strict=False)]
    actual = run(op, [*twins, none()], out("Q8S", scales[2], zero_points[2] - 128))
    np.testing.assert_array_equal(actual, signed_codes(expected))


@pytest.mark.parametrize(("activation", "low", "high"), [(1, 10, 255), (2, 6, 14), (3, 10, 34)])
def test_quantized_activation_clamps_in_the_output_scale(activation, low, high):
    codes = np.arange(256)
    inputs = [operand("Q8", codes, 0.25, 10), operand("Q8", [10], 0.25, 10), operand("i32", activation)]
    actual = run(ADD, inputs, out("Q8", 0.25, 10))
    np.testing.assert_array_equal(actual, np.clip(codes, low, high))


@pytest.mark.parametrize("op", [ADD, DIV, MUL, SUB], ids=lambda op: op.name)
@pytest.mark.parametrize(("shape0", "shape1"), [((2, 3), (2, 3)), ((3,), (4, 1, 3)), ((2, 1, 3), (5, 1)), ((0,), (1,))])
def test_float_broadcasts(op, shape0, shape1):
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (shape0, shape1))
    actual = run(op, [operand("F32", a), operand("F32", b), none()])
    np.testing.assert_array_equal(actual, FLOATS[op.name](a, b))


def test_float_activation_and_special_values():
    x = operand("F32", [-np.inf, -2, 0.5, 7, np.inf, np.nan])
    zero = operand("F32", [0])
    for code, expected in ((1, [0, 0, 0.5, 7, np.inf, np.nan]), (2, [-1, -1, 0.5, 1, 1, np.nan]),
                           (3, [0, 0, 0.5, 6, 6, np.nan])):
        np.testing.assert_array_equal(run(ADD, [x, zero, operand("i32", code)]), np.float32(expected))


def test_float16_rounds_once():
    # In float16 2048 + 1 ties to 2048; the clamp to 6 comes before the rounding.
    assert run(ADD, [operand("F16", [2048]), operand("F16", [1]), none()]) == [2048]
    assert run(MUL, [operand("F16", [60000]), operand("F16", [60000]), operand("i32", 3)]) == [6]
    assert np.isinf(run(MUL, [operand("F16", [60000]), operand("F16", [60000]), none()]))


def test_int32_wraps():
    a, b = operand("I32", [2**31 - 1, -(2**31), 70000]), operand("I32", [1, 1, 70000])
    assert run(ADD, [a, b, none()]).tolist() == [-(2**31), -(2**31) + 1, 140000]
    assert run(SUB, [a, b, none()]).tolist() == [2**31 - 2, 2**31 - 1, 0]
    assert run(MUL, [a, b, none()]).tolist() == [2**31 - 1, -(2**31), 70000 * 70000 - 2**32]


def test_float_division_by_zero():
    x, zero = operand("F32", [1, -1, 0]), operand("F32", [0])
    np.testing.assert_array_equal(run(DIV, [x, zero, none()]), [np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(run(DIV, [x, zero, operand("i32", 3)]), [6, 0, np.nan])


def test_int32_division_rounds_down():
    a, b = operand("I32", [5, -5, 5, -5, 7, -(2**31)]), operand("I32", [2, 2, -2, -2, 0, -1])
    assert run(DIV, [a, b, none()]).tolist() == [2, -3, -3, 2, 0, -(2**31)]
    whole = operand("I32", [1])
    refuses(DIV, [whole, whole, operand("i32", 3)], " input 2 (activation): is 3, must be 0 for TENSOR_INT32")


def test_pow():
    base, exponent = operand("F32", [[2], [-2], [0], [np.inf]]), operand("F32", [3, -1, 0.5, 0])
    np.testing.assert_array_equal(run(POW, [base, exponent]), np.float32([
        [8, 0.5, 2**0.5, 1], [-8, -0.5, np.nan, 1], [0, np.inf, 0, 1], [np.inf, 0, np.inf, 1],
    ]))
    assert run(POW, [operand("F16", [[200, 3]]), operand("F16", [2])]).tolist() == [[40000, 9]]
    assert run(POW, [operand("F32", np.ones((1,) * 6)), exponent]).shape == (1, 1, 1, 1, 1, 4)
    refuses(POW, [base, operand("F32", [1, 2, 3]), none()], ": has 3 inputs, must have 2")
    refuses(POW, [operand("F32", [1, 2, 3]), exponent], " input 1 (exponent): shape [4] does not broadcast with [3]")


def test_a_known_power_of_2_is_a_product():
    x = np.float32([-np.inf, -3, -1e-30, -0.0, 0, 1e-20, 0.1, 1e19, 1e20, np.inf, np.nan])
    inputs = [x, Const(np.float32([2]))]
    prepared = nnfast.Device().prepare(One("POW", inputs, [(x.shape, "float32")], "PowOptions").model())
    assert "mul_f32" in prepared.explain().rows[0]["kernel"]
    with np.errstate(over="ignore"):
        wanted = (x.astype(np.float64) ** 2).astype(np.float32)
    np.testing.assert_array_equal(prepared.run([x])[0], wanted)


def test_rules():
    x, bad = operand("F32", np.ones((2, 3))), operand("F32", np.ones((2, 2)))
    refuses(ADD, [x, bad, none()], " input 1 (input1): shape [2, 2] does not broadcast with [2, 3]")
    refuses(ADD, [x, x, operand("i32", 4)], " input 2 (activation): is 4, must be 0, 1, 2 or 3")
    deep = operand("F32", np.ones((1,) * 5))
    refuses(SUB, [x, deep, none()], " input 1 (input1): rank is 5, must be 0 to 4")
    whole = operand("I32", [1])
    refuses(MUL, [whole, whole, operand("i32", 1)], " input 2 (activation): is 1, must be 0 for TENSOR_INT32")


def test_zero_does_not_broadcast_over_more_than_one():
    refuses(
        ADD, [operand("F32", np.ones((0, 2))), operand("F32", np.ones((3, 2))), none()],
        " input 1 (input1): shape [3, 2] does not broadcast with [0, 2]",
    )


def test_multiplier_rules():
    half = operand("Q8", [1], 0.5)
    refuses(MUL, [half, half, none()], " output 0: scale is 0.25, must be greater than the product of the input scales,"
            " 0.25", out("Q8", 0.25))
    assert run(MUL, [half, half, none()], out("Q8", 0.2500001)).tolist() == [1]
    refuses(ADD, [half, half, none()], " output 0: scale 9.53674316e-07 asks for a multiplier of 1, must be between 0"
            " and 1", out("Q8", 2**-20))
    huge = operand("Q8", [1], 1e30)
    refuses(MUL, [huge, huge, none()], " output 0: scale is 1, must be greater than the product of the input scales,"
            " inf", out("Q8", 1.0))


def test_versions():
    for op, since in ((ADD, "1.0"), (DIV, "1.1"), (MUL, "1.0"), (SUB, "1.1")):
        assert version(op, [operand("F32", [1]), operand("F32", [1]), none()]) == since
    whole = operand("I32", [1])
    assert version(SUB, [whole, whole, none()]) == "1.3"


@pytest.mark.parametrize("name", ["ADD", "MUL", "SUB"])
def test_vectors(name):
    check_vectors(name)
    check_coupling(name)


@pytest.mark.parametrize("name", ["DIV", "POW"])
def test_vectors_without_quantized_types(name):
    check_vectors(name)
