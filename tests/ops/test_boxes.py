"""What the detection operations share: transform, overlap, greedy suppression."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.nodes import T, operand
from helpers.scalar_boxes import greedy, overlap, transform
from nnfast.ops import boxes

scores_of = st.lists(st.integers(0, 4).map(lambda k: k / 4), max_size=12)


def random_boxes(seed, count, size=8):
    """Boxes with many equal edges, empty ones among them."""
    corners = np.random.default_rng(seed).integers(0, size, (count, 2, 2)).astype(np.float32)
    return np.sort(corners, axis=1).reshape(count, 4)


FREE = SimpleNamespace(go_on=lambda: None)


@settings(max_examples=200)
@given(scores_of, st.integers(-1, 6), st.sampled_from([0.1, 0.3, 1.0]), st.integers(0, 1000))
def test_greedy_keeps_what_the_swapping_list_keeps(scores, limit, threshold, seed):
    corners, scores = random_boxes(seed, len(scores)), np.array(scores, np.float32)
    kept = boxes.greedy(np.arange(len(scores)), scores, limit, boxes.overlap_kill(FREE, corners, threshold))
    wanted = greedy(range(len(scores)), scores, limit, lambda *pair: overlap(*corners[list(pair)]) >= threshold)
    assert kept.tolist() == wanted


def test_greedy_reads_lowered_scores_anew():
    scores = np.array([0.9, 0.8, 0.7], np.float32)

    def kill(best, rest):
        scores[rest[rest == 1]] = 0.1
        return scores[rest] < 0

    assert boxes.greedy([0, 1, 2], scores, -1, kill).tolist() == [0, 2, 1]


def test_overlap():
    box, others = np.float32([0, 0, 4, 2]), np.float32([[0, 0, 4, 2], [2, 1, 6, 3], [4, 2, 5, 5], [1, 1, 1, 1]])
    np.testing.assert_allclose(boxes.iou(box, others), [1, 2 / 14, 0, 0], rtol=1e-6)
    assert np.isnan(boxes.iou(others[3], others[3:]))[0]


def test_transform_equals_the_formula():
    rng = np.random.default_rng(4)
    corners, deltas = random_boxes(1, 50), rng.normal(0, 1, (50, 4)).astype(np.float32)
    actual = boxes.transform(corners, deltas, np.float32([7, 9]))
    wanted = [transform(*pair, (7, 9)) for pair in zip(corners.tolist(), deltas.tolist(), strict=True)]
    np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("type_", "low", "high"), [
    (T.TENSOR_QUANT8_ASYMM, 0, 255), (T.TENSOR_QUANT8_ASYMM_SIGNED, -128, 127), (T.TENSOR_QUANT16_ASYMM, 0, 65535),
])
def test_codes_round_after_the_zero_point_and_saturate(type_, low, high):
    target = operand(type_, None, 0.5, 3)
    values = np.float32([-1.75, -1.25, 0, 0.25, 1e6, -1e6, np.inf, -np.inf])
    wanted = np.clip([-1 if low < 0 else 0, 1, 3, 4, high, low, high, low], low, high)
    np.testing.assert_array_equal(boxes.stored(target, values), wanted)
    codes = np.arange(low, high + 1)
    source = operand(type_, codes, scale=0.125, zero_point=2)
    np.testing.assert_array_equal(boxes.reals(source, source.value), (codes - 2) / 8)
