"""BATCH_MATMUL."""

import numpy as np
import pytest

from helpers import scalar_reference as scalar
from helpers.nodes import operand, out, refuses, run, version
from helpers.vectors import check_vectors
from nnfast.ops.batch_matmul import BATCH_MATMUL

RNG = np.random.default_rng(23)


def flags(adj_x=0, adj_y=0):
    return [operand("bool", adj_x), operand("bool", adj_y)]


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
@pytest.mark.parametrize("adj_x", [0, 1])
@pytest.mark.parametrize("adj_y", [0, 1])
def test_float(batch, adj_x, adj_y):
    x, y = (RNG.standard_normal((*batch, *matrix)).astype(np.float32) for matrix in ((5, 7), (7, 2)))
    expected = np.einsum("...ij,...jk->...ik", x.astype(np.float64), y.astype(np.float64))
    inputs = [operand("F32", m.swapaxes(-1, -2) if flag else m) for m, flag in ((x, adj_x), (y, adj_y))]
    np.testing.assert_allclose(run(BATCH_MATMUL, inputs + flags(adj_x, adj_y)), expected, rtol=1e-6, atol=1e-7)


def test_float16_rounds_once():
    # A running sum in float16 would stop at 2048.
    ones = operand("F16", np.ones((1, 4097)))
    assert run(BATCH_MATMUL, [ones, ones, *flags(0, 1)]).tolist() == [[4096]]


def test_int32_wraps():
    x, y = RNG.integers(-(2**31), 2**31, (3, 4)), RNG.integers(-(2**31), 2**31, (4, 2))
    expected = [[scalar.wrap(sum(a * b for a, b in zip(row, column, strict=True))) for column in y.T.tolist()]
                for row in x.tolist()]
    assert run(BATCH_MATMUL, [operand("I32", x), operand("I32", y), *flags()]).tolist() == expected


@pytest.mark.parametrize(("scales", "zero_points"), [((0.5, 0.25, 8.0), (0, 0, 0)), ((0.013, 0.37, 0.2), (-128, 3, 77)),
                                                     ((2.0, 3.0, 0.5), (5, 127, -9))])
def test_quantized_equals_scalar_arithmetic(scales, zero_points):
    x, y = RNG.integers(-128, 128, (2, 6, 9)), RNG.integers(-128, 128, (2, 4, 9))
    multiplier = scalar.quantize_multiplier(scalar.f32(scalar.f32(scales[0]) * scalar.f32(scales[1]))
                                            / scalar.f32(scales[2]))
    expected = np.zeros((2, 6, 4), int)
    for place in np.ndindex(expected.shape):
        n, i, k = place
        pairs = zip(x[n, i].tolist(), y[n, k].tolist(), strict=True)
        total = sum((a - zero_points[0]) * (b - zero_points[1]) for a, b in pairs)
        expected[place] = min(max(scalar.mbqm(total, *multiplier) + zero_points[2], -128), 127)
    inputs = [operand("Q8S", x, scales[0], zero_points[0]), operand("Q8S", y, scales[1], zero_points[1]), *flags(0, 1)]
    np.testing.assert_array_equal(run(BATCH_MATMUL, inputs, out("Q8S", scales[2], zero_points[2])), expected)
    assert len(np.unique(expected)) > 1


def test_rules():
    x = operand("F32", np.ones((2, 3, 4)))
    refuses(BATCH_MATMUL, [x, x, *flags()],
            " input 1 (input1): has 3 rows, must have one for each of 4 columns of input0")
    refuses(BATCH_MATMUL, [x, operand("F32", np.ones((1, 4, 3))), *flags()],
            " input 1 (input1): batch dimensions are [1], must be those of input0, [2]")
    refuses(BATCH_MATMUL, [x, operand("F32", np.ones((4, 3))), *flags()],
            " input 1 (input1): rank is 2, must be that of input0, 3")
    refuses(BATCH_MATMUL, [operand("F32", [1]), x, *flags()], " input 0 (input0): rank is 1, must be 2 to 4")
    huge = operand("Q8S", [[1]], 1e30)
    refuses(BATCH_MATMUL, [huge, huge, *flags()],
            " output 0: scale 1 asks for a multiplier of inf, must be below 2**31", out("Q8S", 1.0))
    assert version(BATCH_MATMUL, [x, x, *flags()]) == "aidl2"


def test_vectors():
    check_vectors("BATCH_MATMUL")
