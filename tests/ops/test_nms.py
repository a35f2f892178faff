"""BOX_WITH_NMS_LIMIT."""

import math

import numpy as np
import pytest

from helpers.nodes import fails, operand, out, refuses, run
from helpers.scalar_boxes import greedy, overlap
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.nms import BOX_WITH_NMS_LIMIT as OP
from nnfast.ops.nms import GAUSSIAN, HARD, LINEAR

ROIS, CLASSES = 14, 3
OUTPUTS = [out("F32"), out("F32"), out("I32"), out("I32")]


def data(seed=0):
    """Scores with many ties, boxes, batch indexes in groups of 6, 5 and 3."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 9, (ROIS, CLASSES)).astype(np.float32) / 8
    corners = np.sort(rng.integers(0, 12, (ROIS, CLASSES, 2, 2)), axis=2).reshape(ROIS, CLASSES * 4)
    return scores, corners.astype(np.float32), np.repeat([2, 0, 2], [6, 5, 3])


def operands(scores, roi, batch, kernel=HARD, limit=-1, threshold=0.2, iou=0.3, sigma=0.5, lowest=0.15, kind="F32"):
    scalar = "f16" if kind == "F16" else "f32"
    return [operand(kind, scores), operand(kind, roi), operand("I32", batch), operand(scalar, threshold),
            operand("i32", limit), operand("i32", kernel), operand(scalar, iou), operand(scalar, sigma),
            operand(scalar, lowest)]


def reference(scores, roi, groups, kernel, limit, threshold=0.2, iou=0.3, sigma=0.5, lowest=0.15):
    """Rows (score, box, class, group) of [NN 15.44], one candidate at a time."""
    scores, rows = scores.astype(float), []
    factor = {HARD: lambda o: 1.0 if o < iou else 0.0, LINEAR: lambda o: 1.0 if o < iou else 1 - (0 if o != o else o),
              GAUSSIAN: lambda o: math.exp(-(0 if o != o else o) ** 2 / sigma)}[kernel]
    for members in groups:
        found = []
        for label in range(1, CLASSES):
            column, boxes = scores[:, label], roi[:, 4 * label:4 * label + 4]

            def kill(best, other, column=column, boxes=boxes):
                column[other] *= factor(overlap(boxes[best], boxes[other]))
                return column[other] < lowest

            kept = greedy([m for m in members if column[m] > threshold], column, limit, kill)
            found += [(column[m], boxes[m].tolist(), label) for m in kept]
        found.sort(key=lambda row: -row[0])
        found = found[:limit] if limit >= 0 else found
        rows += sorted(found, key=lambda row: (row[2], -row[0]))
    return rows


@pytest.mark.parametrize("limit", [-1, 0, 1, 3])
@pytest.mark.parametrize("kernel", [HARD, LINEAR, GAUSSIAN])
def test_equals_one_candidate_at_a_time(kernel, limit):
    for seed in range(8):
        scores, roi, batch = data(seed)
        actual = run(OP, operands(scores, roi, batch, kernel, limit), OUTPUTS)
        groups = [range(6), range(6, 11), range(11, 14)]
        wanted = [reference(scores, roi, [group], kernel, limit) for group in groups]
        rows = [row for part in wanted for row in part]
        np.testing.assert_allclose(actual[0], [row[0] for row in rows], rtol=1e-5)
        np.testing.assert_array_equal(actual[1], np.reshape([row[1] for row in rows], (-1, 4)))
        assert actual[2].tolist() == [row[2] for row in rows]
        assert actual[3].tolist() == np.repeat([2, 0, 2], [len(part) for part in wanted]).tolist()


def test_hard_suppression_keeps_zero_scores_without_a_lower_bound():
    scores, roi = np.float32([[0, 0.9], [0, 0.8]]), np.tile(np.float32([0, 0, 4, 4]), (2, 2))
    assert run(OP, operands(scores, roi, [0, 0], lowest=0), OUTPUTS)[0].tolist() == [np.float32(0.9), 0]
    assert run(OP, operands(scores, roi, [0, 0], lowest=0.1), OUTPUTS)[0].tolist() == [np.float32(0.9)]


@pytest.mark.parametrize("kernel", [LINEAR, GAUSSIAN])
def test_empty_boxes_give_no_nan(kernel):
    scores, roi = np.full((3, 2), 0.5, np.float32), np.ones((3, 8), np.float32)
    np.testing.assert_array_equal(run(OP, operands(scores, roi, [0] * 3, kernel), OUTPUTS)[0], [0.5] * 3)


@pytest.mark.parametrize(("kind", "zero_point"), [("Q8", 7), ("Q8S", -121)])
def test_quantized_scores_decay_and_boxes_keep_their_codes(kind, zero_point):
    scores, roi, batch = data(3)
    inputs = operands(scores, roi, batch, LINEAR)
    real = run(OP, inputs, OUTPUTS)
    inputs[0] = operand(kind, np.int64(scores * 8) + zero_point, 0.125, zero_point)
    inputs[1] = operand("Q16A", roi * 8, 0.125)
    codes = run(OP, inputs, [out(kind, 0.125, zero_point), out("Q16A", 0.125), *OUTPUTS[2:]])
    np.testing.assert_array_equal(codes[0], np.floor(real[0] * 8 + zero_point + 0.5))
    np.testing.assert_array_equal(codes[1], real[1] * 8)
    np.testing.assert_array_equal(codes[2], real[2])


def test_no_box():
    arrays = run(OP, operands(np.empty((0, 3)), np.empty((0, 12)), []), OUTPUTS)
    assert [a.shape for a in arrays] == [(0,), (0, 4), (0,), (0,)]


def test_rules():
    scores, roi, batch = data()
    refuses(OP, operands(scores[:, :1], roi, batch),
            " input 0 (scores): dimension 1 is 1, must be at least 2: class 0 is the background", OUTPUTS)
    refuses(OP, operands(scores, roi[:, :8], batch), " input 1 (roi): dimension 1 is 8, must be 12: 4 for each class",
            OUTPUTS)
    refuses(OP, operands(scores, roi[1:], batch), " input 1 (roi): dimension 0 is 13, must be 14", OUTPUTS)
    refuses(OP, operands(scores, roi, batch, kernel=3), " input 5 (nms_kernel): is 3, must be 0, 1 or 2", OUTPUTS)
    for sigma in (0, -1, np.nan):
        refuses(OP, operands(scores, roi, batch, GAUSSIAN, sigma=sigma), f" input 7 (sigma): is {sigma:g}, must be > 0",
                OUTPUTS)


def test_bad_values():
    scores, roi, batch = data()
    batch[0] = -1
    fails(OP, operands(scores, roi, batch), " input 2 (batch_index): element [0] is -1, must not be negative", OUTPUTS)
    scores, roi, batch = data()
    # Beyond the first boxes of a group, too, and for the background class.
    roi[9, :4] = [5, 1, 4, 2]
    fails(OP, operands(scores, roi, batch),
          " input 1 (roi): box [9, 0] is [5, 1, 4, 2], the first corner must not exceed the second", OUTPUTS)
    scores, roi, batch = data()
    scores[4, 1] = np.nan
    fails(OP, operands(scores, roi, batch), " input 0 (scores): element [4, 1] is NaN, must be a number", OUTPUTS)


def test_vectors():
    check_vectors("BOX_WITH_NMS_LIMIT")
    check_coupling("BOX_WITH_NMS_LIMIT")
