"""QUANTIZE and DEQUANTIZE."""

import numpy as np
import pytest

from helpers.nodes import all_codes, operand, out, refuses, run, version
from helpers.vectors import check_vectors
from nnfast.ops.quantize import DEQUANTIZE, QUANTIZE


@pytest.mark.parametrize(("abbreviation", "zero_point", "low", "high"), [("Q8", 100, 0, 255), ("Q8S", -28, -128, 127)])
@pytest.mark.parametrize("source", ["F32", "F16"])
def test_quantize(source, abbreviation, zero_point, low, high):
    # Halves go away from zero before the zero point is added, on both sides of it.
    x = [0, 0.25, -0.25, 0.74, -0.75, 1e4, -1e4, np.inf, -np.inf, np.nan]
    steps = np.array([0, 1, -1, 1, -2, 1e9, -1e9, 1e9, -1e9, 1e9])
    actual = run(QUANTIZE, [operand(source, x)], out(abbreviation, 0.5, zero_point))
    np.testing.assert_array_equal(actual, np.clip(steps + zero_point, low, high))


def test_quantize_divides_in_float32():
    # 0.35 / 0.1 is 3.4999999999999996 in float64, but 3.5 between the float32 neighbours.
    assert run(QUANTIZE, [operand("F32", [0.35])], out("Q8", 0.1)).tolist() == [4]
    # Adding 0.5 before cutting would carry the largest float32 below a half up to 1.
    assert run(QUANTIZE, [operand("F32", [0.49999997])], out("Q8", 1.0)).tolist() == [0]


@pytest.mark.parametrize("target", ["F32", "F16"])
@pytest.mark.parametrize(("abbreviation", "zero_point"), [("Q8", 77), ("Q8S", -5), ("Q8SY", 0)])
def test_dequantize(abbreviation, zero_point, target):
    codes = all_codes(abbreviation)
    actual = run(DEQUANTIZE, [operand(abbreviation, codes, 0.013, zero_point)], out(target))
    expected = np.float32(0.013) * (codes.astype(np.float32) - zero_point)
    np.testing.assert_array_equal(actual, expected.astype(actual.dtype))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_dequantize_per_channel(dim):
    codes = np.arange(-30, 30).reshape(3, 4, 5)
    scales = [2.0**-k for k in range(codes.shape[dim])]
    actual = run(DEQUANTIZE, [operand("PC", codes, scales=scales, dim=dim)], out("F32"))
    shape = [-1 if d == dim else 1 for d in range(3)]
    np.testing.assert_array_equal(actual, codes * np.reshape(scales, shape))


@pytest.mark.parametrize("abbreviation", ["Q8", "Q8S"])
def test_round_trip(abbreviation):
    source = operand(abbreviation, all_codes(abbreviation), 0.037, 12)
    real = run(DEQUANTIZE, [source], out("F32"))
    np.testing.assert_array_equal(run(QUANTIZE, [operand("F32", real)], out(abbreviation, 0.037, 12)), source.value)


def test_zero_sized_and_rank():
    assert run(QUANTIZE, [operand("F32", np.empty((3, 0)))], out("Q8", 1.0)).shape == (3, 0)
    assert run(DEQUANTIZE, [operand("Q8", np.empty((0, 3)), 1.0)], out("F32")).shape == (0, 3)
    assert run(QUANTIZE, [operand("F32", np.ones((1,) * 5))], out("Q8", 1.0)).shape == (1,) * 5
    refuses(DEQUANTIZE, [operand("Q8", np.ones((1,) * 5), 1.0)], " input 0 (input): rank is 5, must be 1 to 4",
            out("F32"))


def test_versions():
    assert version(QUANTIZE, [operand("F32", [1])], out("Q8", 1.0)) == "1.2"
    assert version(QUANTIZE, [operand("F32", [1])], out("Q8S", 1.0)) == "1.3"
    assert version(DEQUANTIZE, [operand("Q8", [1], 1.0)], out("F32")) == "1.0"
    assert version(DEQUANTIZE, [operand("Q8", [1], 1.0)], out("F16")) == "1.2"
    assert version(DEQUANTIZE, [operand("Q8S", [1], 1.0)], out("F32")) == "1.3"


def test_vectors():
    check_vectors("QUANTIZE", "DEQUANTIZE")
