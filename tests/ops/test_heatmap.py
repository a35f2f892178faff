"""HEATMAP_MAX_KEYPOINT."""

import numpy as np
import pytest

from helpers.nodes import fails, operand, out, refuses, run
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.heatmap import HEATMAP_MAX_KEYPOINT as OP

BOXES = np.float32([[1, 2, 9, 14], [0, 0, 4, 4]])
MAPS = np.random.default_rng(5).normal(0, 3, (2, 6, 6, 3)).astype(np.float32)
OUTPUTS = [out("F32"), out("F32")]


def operands(maps=MAPS, boxes=BOXES, nchw=0):
    return [operand("F32", maps), operand("F32", boxes), operand("bool", nchw)]


def quadratic(peak_x, peak_y, size=7):
    """A paraboloid of height 5 with its peak at (peak_x, peak_y), mixed term included."""
    y, x = np.mgrid[:size, :size]
    dx, dy = x - peak_x, y - peak_y
    return (5 - 0.3 * dx * dx - 0.2 * dy * dy + 0.1 * dx * dy).astype(np.float32)


@pytest.mark.parametrize(("x", "y"), [(3, 2), (2.3, 3.6), (4.45, 1.7)])
def test_finds_the_peak_of_a_paraboloid(x, y):
    score, point = run(OP, operands(quadratic(x, y).reshape(1, 7, 7, 1), BOXES[:1]), OUTPUTS)
    np.testing.assert_allclose(score, [[5]], rtol=1e-5)
    wanted = [(x + 0.5) / 7 * 8 + 1, (y + 0.5) / 7 * 12 + 2]
    np.testing.assert_allclose(point[0, 0], wanted, rtol=1e-5)


def solved(heatmap, box):
    """(score, x, y) of one map in float64, the step from numpy's solver."""
    size = len(heatmap)
    row, column = np.unravel_index(heatmap.argmax(), heatmap.shape)
    fold = {-1: 1, size: size - 2}
    g = [[float(heatmap[fold.get(r, r), fold.get(c, c)]) for c in range(column - 1, column + 2)]
         for r in range(row - 1, row + 2)]
    b = -np.array([g[1][2] - g[1][0], g[2][1] - g[0][1]]) / 2
    mixed = (g[2][2] - g[2][0] - g[0][2] + g[0][0]) / 4
    a = np.array([[g[1][0] - 2 * g[1][1] + g[1][2], mixed], [mixed, g[0][1] - 2 * g[1][1] + g[2][1]]])
    step = np.linalg.solve(a, b)
    step *= 1.5 / max(1.5, np.abs(step).max())
    x, y = (np.array([column, row]) + step + 0.5) / size * (box[2:] - box[:2]) + box[:2]
    return g[1][1] - b @ step + step @ a @ step / 2, x, y


def test_equals_a_solver_at_every_map():
    rng = np.random.default_rng(1)
    for size in (2, 3, 5):
        maps = rng.normal(0, 3, (2, size, size, 40)).astype(np.float32)
        score, point = run(OP, operands(maps), OUTPUTS)
        for box in range(2):
            for keypoint in range(40):
                wanted = solved(maps[box, :, :, keypoint], BOXES[box])
                np.testing.assert_allclose([score[box, keypoint], *point[box, keypoint]], wanted, rtol=1e-3, atol=1e-3)


def test_flat_maps_and_infinite_neighbours_give_the_first_maximum():
    maps = np.zeros((1, 4, 4, 2), np.float32)
    maps[0, :, :, 1] = -np.inf
    maps[0, 2, 1, 1] = 3
    score, point = run(OP, operands(maps, BOXES[1:]), OUTPUTS)
    assert score.tolist() == [[0, 3]]
    assert point.tolist() == [[[0.5, 0.5], [1.5, 2.5]]]


def test_channels_first():
    plain = run(OP, operands(), OUTPUTS)
    for one, other in zip(plain, run(OP, operands(np.moveaxis(MAPS, -1, 1), nchw=1), OUTPUTS), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("kind", "zero_point"), [("Q8", 100), ("Q8S", -28)])
def test_quantized(kind, zero_point):
    codes = np.clip(np.round(MAPS / 0.1) + 100, 0, 255).astype(int) - 100
    real = run(OP, operands(codes * np.float32(0.1)), OUTPUTS)
    inputs = [operand(kind, codes + zero_point, 0.1, zero_point), operand("Q16A", BOXES * 8, 0.125), operand("bool", 0)]
    score, point = run(OP, inputs, [out(kind, 0.25, 3), out("Q16A", 0.125)])
    high = 255 if kind == "Q8" else 127
    np.testing.assert_array_equal(score, np.clip(np.floor(real[0] / np.float32(0.25) + 3.5), high - 255, high))
    np.testing.assert_array_equal(point, np.clip(np.floor(real[1] * 8 + 0.5), 0, 65535))


def test_rules():
    refuses(OP, operands(MAPS[:, :5]), " input 0 (heatmap): dimension 2 is 6, must be 5", OUTPUTS)
    refuses(OP, operands(MAPS[:, :1, :1]), " input 0 (heatmap): is 1 x 1, must be at least 2 x 2", OUTPUTS)
    refuses(OP, operands(boxes=BOXES[:1]), " input 1 (boxes): dimension 0 is 1, must be 2", OUTPUTS)


def test_bad_values():
    fails(OP, operands(boxes=[BOXES[0], [3, 0, 2, 5]]),
          " input 1 (boxes): box [1] is [3, 0, 2, 5], the first corner must not exceed the second", OUTPUTS)
    maps = MAPS.copy()
    maps[1, 5, 0, 2] = np.nan
    fails(OP, operands(maps), " input 0 (heatmap): element [1, 5, 0, 2] is NaN, must be a number", OUTPUTS)


def test_vectors():
    check_vectors("HEATMAP_MAX_KEYPOINT")
    check_coupling("HEATMAP_MAX_KEYPOINT")
