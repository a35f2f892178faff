"""DETECTION_POSTPROCESSING."""

import math

import numpy as np
import pytest

from helpers.nodes import execute, fails, node, operand, out, refuses, run
from helpers.scalar_boxes import greedy, overlap
from helpers.vectors import check_vectors
from nnfast.ops.detection_postprocessing import DETECTION_POSTPROCESSING as OP

BATCHES, ANCHORS, CLASSES = 2, 9, 4
SCALES = (10.0, 9.0, 5.0, 4.0)
OUTPUTS = [out("F32"), out("F32"), out("I32"), out("I32")]


def data(seed=0):
    """Scores with ties, deltas of 6 numbers, anchors that overlap."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 9, (BATCHES, ANCHORS, CLASSES)).astype(np.float32) / 8
    deltas = rng.normal(0, 1, (BATCHES, ANCHORS, 6)).astype(np.float32)
    anchors = np.concatenate((rng.integers(0, 4, (ANCHORS, 2)), rng.integers(1, 4, (ANCHORS, 2))), axis=1)
    return scores, deltas, anchors.astype(np.float32)


def operands(tensors, regular=1, most=5, classes=2, per_class=3, threshold=0.2, iou=0.4, background=0, kind="F32",
             scales=SCALES):
    scalar = "f16" if kind == "F16" else "f32"
    return [*(operand(kind, t) for t in tensors), *(operand(scalar, scale) for scale in scales),
            operand("bool", regular), *(operand("i32", value) for value in (most, classes, per_class)),
            operand(scalar, threshold), operand(scalar, iou), operand("bool", background)]


def decoded(delta, anchor):
    """[y1, x1, y2, x2] of one anchor."""
    cy, cx = (anchor[k] + anchor[2 + k] * delta[k] / SCALES[k] for k in (0, 1))
    hh, hw = (anchor[2 + k] * math.exp(delta[2 + k] / SCALES[2 + k]) / 2 for k in (0, 1))
    return [cy - hh, cx - hw, cy + hh, cx + hw]


def reference(scores, deltas, anchors, regular, most, classes, per_class, threshold=0.2, iou=0.4):
    """Rows (score, box, class) of one image after [NN 15.47]."""
    boxes = [decoded(*pair) for pair in zip(deltas.tolist(), anchors.tolist(), strict=True)]

    def kill(best, other):
        return overlap(boxes[best], boxes[other]) >= iou

    def suppressed(values, limit):
        return greedy([a for a in range(ANCHORS) if values[a] > threshold], values, limit, kill)

    if regular:
        rows = [(scores[a, c], boxes[a], c) for c in range(1, CLASSES) for a in suppressed(scores[:, c], per_class)]
        return sorted(rows, key=lambda row: -row[0])[:most]
    rows = []
    for a in suppressed(scores[:, 1:].max(axis=1), most):
        labels = sorted(range(1, CLASSES), key=lambda c: -scores[a, c])[:classes]
        rows += [(scores[a, c], boxes[a], c) for c in labels]
    return rows


@pytest.mark.parametrize("background", [0, 1])
@pytest.mark.parametrize(("regular", "most", "classes", "per_class"),
                         [(1, 5, 0, 3), (1, 30, -1, 1), (0, 3, 2, 0), (0, 20, 7, -1), (0, 1, 1, 1)])
def test_equals_one_candidate_at_a_time(regular, most, classes, per_class, background):
    for seed in range(5):
        tensors = data(seed)
        inputs = operands(tensors, regular, most, classes, per_class, background=background)
        scores, boxes, labels, counts = run(OP, inputs, OUTPUTS)
        assert scores.shape == (BATCHES, most if regular else most * classes)
        for image in range(BATCHES):
            rows = reference(tensors[0][image], tensors[1][image], tensors[2], regular, most, classes, per_class)
            count = counts[image]
            assert count == len(rows)
            np.testing.assert_array_equal(scores[image, :count], [row[0] for row in rows])
            np.testing.assert_allclose(boxes[image, :count], [row[1] for row in rows], rtol=1e-5, atol=1e-5)
            assert labels[image, :count].tolist() == [row[2] - 1 + background for row in rows]
            assert not scores[image, count:].any()
            assert not boxes[image, count:].any()
            assert not labels[image, count:].any()


def test_half_precision_rounds_once():
    tensors = [np.float16(t) for t in data(2)]
    real = run(OP, operands([np.float32(t) for t in tensors], threshold=0.25, iou=0.5), OUTPUTS)
    half = run(OP, operands(tensors, threshold=0.25, iou=0.5, kind="F16"), [out("F16"), out("F16"),
                   *OUTPUTS[2:]])
    for one, other in zip(real, half, strict=True):
        np.testing.assert_array_equal(one.astype(other.dtype), other)


def test_rules():
    scores, deltas, anchors = data()
    refuses(OP, operands((scores[..., :1], deltas, anchors)),
            " input 0 (scores): dimension 2 is 1, must be at least 2: class 0 is the background", OUTPUTS)
    refuses(OP, operands((scores, deltas[..., :3], anchors)),
            " input 1 (box_deltas): dimension 2 is 3, must be at least 4", OUTPUTS)
    refuses(OP, operands((scores, deltas, anchors[1:])), " input 2 (anchors): dimension 0 is 8, must be 9", OUTPUTS)
    for value in (0, -1, np.nan):
        refuses(OP, operands(data(), scales=(1, 1, value, 1)), f" input 5 (scale_dh): is {value:g}, must be > 0",
                OUTPUTS)
    refuses(OP, operands(data(), most=0), " input 8 (max_num_detections): is 0, must be > 0", OUTPUTS)
    refuses(OP, operands(data(), per_class=0), " input 10 (max_detections_per_class): is 0, must be > 0", OUTPUTS)
    refuses(OP, operands(data(), regular=0, classes=0), " input 9 (max_classes_per_detection): is 0, must be > 0",
            OUTPUTS)
    refuses(OP, operands(data(), threshold=-0.5), " input 11 (score_threshold): is -0.5, must be >= 0", OUTPUTS)
    refuses(OP, operands(data(), iou=np.nan), " input 12 (iou_threshold): is nan, must be >= 0", OUTPUTS)
    refuses(OP, operands(data(), regular=0, most=2**20, classes=2**20),
            " input 9 (max_classes_per_detection): makes room for 1099511627776 detections, must be at most 2147483647",
            OUTPUTS)


def test_bad_values():
    scores, deltas, anchors = data()
    scores[1, 3, 0] = np.nan
    fails(OP, operands((scores, deltas, anchors)), " input 0 (scores): element [1, 3, 0] is NaN, must be a number",
          OUTPUTS)
    scores, deltas, anchors = data()
    deltas[1, 4, :4] = np.nan
    fails(OP, operands((scores, deltas, anchors)),
          " input 1 (box_deltas): the box from [1, 4] is [nan, nan, nan, nan], the first corner must not exceed the "
          "second",
          OUTPUTS)


def test_vectors():
    check_vectors("DETECTION_POSTPROCESSING")


@pytest.mark.parametrize("most", [1, 40, 3000])
def test_many_boxes_with_the_order_of_litert(most):
    """Boxes in piles, so that most of the first thousand go; equal scores stay in the order of their boxes."""
    rng, count = np.random.default_rng(4), 1500
    piles = rng.integers(0, 60, count) * (np.arange(count) % 3 > 0)
    scores = np.zeros((1, count, 2), np.float32)
    scores[0, :, 1] = rng.integers(4, 40, count) / np.float32(40) + (piles == 0)
    anchors = np.stack([piles * 3, 0 * piles, 2 + 0 * piles, 2 + 0 * piles], 1).astype(np.float32)
    deltas = np.zeros((1, count, 4), np.float32)
    made = node(OP, operands((scores, deltas, anchors), 0, most, 1, 1, scales=(1.0, 1.0, 1.0, 1.0)), OUTPUTS)
    made.arithmetic = "litert"
    found, boxes, _, (kept,) = execute(made)
    first = [min((a for a in range(count) if piles[a] == pile), key=lambda a: -scores[0, a, 1]) for pile in set(piles)]
    first.sort(key=lambda a: (-scores[0, a, 1], a))
    assert kept == min(most, len(first))
    assert found[0, :kept].tolist() == scores[0, first[:kept], 1].tolist()
    assert boxes[0, :kept, 0].tolist() == (anchors[first[:kept], 0] - 1).tolist()
