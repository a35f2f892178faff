"""GENERATE_PROPOSALS."""

import numpy as np
import pytest

from helpers.nodes import fails, operand, out, refuses, run
from helpers.scalar_boxes import greedy, overlap, transform
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.proposals import GENERATE_PROPOSALS as OP

BATCHES, HEIGHT, WIDTH, ANCHORS = 2, 3, 4, 2
STRIDES = (5.0, 4.0)
BOXES = np.float32([[-2, -3, 4, 4], [0, 0, 6, 3]])
IMAGES = np.float32([[15, 16], [9, 12]])
OUTPUTS = [out("F32"), out("F32"), out("I32")]


def data(seed=0):
    """Scores with ties, deltas."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 9, (BATCHES, HEIGHT, WIDTH, ANCHORS)).astype(np.float32) / 8
    return scores, rng.normal(0, 0.3, (BATCHES, HEIGHT, WIDTH, ANCHORS * 4)).astype(np.float32)


def operands(scores, deltas, before=-1, after=-1, iou=0.4, least=1.0, nchw=0, anchors=BOXES, images=IMAGES):
    return [operand("F32", scores), operand("F32", deltas), operand("F32", anchors), operand("F32", images),
            *(operand("f32", stride) for stride in STRIDES), operand("i32", before), operand("i32", after),
            operand("f32", iou), operand("f32", least), operand("bool", nchw)]


def reference(scores, deltas, before, after, iou=0.4, least=1.0):
    """Rows (score, box, batch) of [NN 15.52], one candidate at a time."""
    rows = []
    for batch in range(BATCHES):
        values, candidates = [], []
        for (y, x, a), score in np.ndenumerate(scores[batch]):
            anchor = [v + s for v, s in zip(BOXES[a], np.tile([x * STRIDES[1], y * STRIDES[0]], 2), strict=True)]
            candidates.append(transform(anchor, deltas[batch, y, x, 4 * a:4 * a + 4], IMAGES[batch]))
            values.append(score)
        order = list(range(len(values)))
        if 0 < before < len(order):
            order = sorted(order, key=lambda item: -values[item])[:before]

        def fits(item, batch=batch, candidates=candidates):
            x1, y1, x2, y2 = candidates[item]
            height, width = IMAGES[batch]
            return x2 - x1 > least and y2 - y1 > least and (x1 + x2) / 2 < width and (y1 + y2) / 2 < height

        def kill(best, other, candidates=candidates):
            return overlap(candidates[best], candidates[other]) >= iou

        kept = greedy([item for item in order if fits(item)], values, after, kill)
        rows += [(values[item], candidates[item], batch) for item in kept]
    return rows


@pytest.mark.parametrize(("before", "after"), [(-1, -1), (0, 5), (7, -1), (7, 2), (1000, 3), (-1, 0)])
def test_equals_one_candidate_at_a_time(before, after):
    for seed in range(6):
        scores, deltas = data(seed)
        actual = run(OP, operands(scores, deltas, before, after), OUTPUTS)
        rows = reference(scores, deltas, before, after)
        np.testing.assert_array_equal(actual[0], [row[0] for row in rows])
        np.testing.assert_allclose(actual[1], np.reshape([row[1] for row in rows], (-1, 4)), rtol=1e-5, atol=1e-5)
        assert actual[2].tolist() == [row[2] for row in rows]


def test_channels_first():
    scores, deltas = data()
    plain = run(OP, operands(scores, deltas), OUTPUTS)
    moved = [np.moveaxis(array, -1, 1) for array in (scores, deltas)]
    for one, other in zip(plain, run(OP, operands(*moved, nchw=1), OUTPUTS), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("kind", "zero_point"), [("Q8", 128), ("Q8S", 0)])
def test_quantized(kind, zero_point):
    scores, deltas = data()
    codes = np.clip(np.round(deltas / 0.01), -128, 127).astype(int)
    inputs = operands(scores, codes * np.float32(0.01))
    real = run(OP, inputs, OUTPUTS)
    inputs[:4] = (operand(kind, np.int64(scores * 8) + zero_point, 0.125, zero_point),
                  operand(kind, codes + zero_point, 0.01, zero_point), operand("Q16S", BOXES * 8, 0.125),
                  operand("Q16A", IMAGES * 8, 0.125))
    actual = run(OP, inputs, [out(kind, 0.125, zero_point), out("Q16A", 0.125), OUTPUTS[2]])
    np.testing.assert_array_equal(actual[0], real[0] * 8 + zero_point)
    np.testing.assert_array_equal(actual[1], np.floor(real[1] * 8 + 0.5))
    np.testing.assert_array_equal(actual[2], real[2])


def test_rules():
    scores, deltas = data()
    refuses(OP, operands(scores, deltas[..., :4]),
            " input 1 (box_deltas): has 4 channels, must have 8: 4 for each anchor", OUTPUTS)
    refuses(OP, operands(scores, deltas, anchors=BOXES[:1]), " input 2 (anchors): dimension 0 is 1, must be 2",
            OUTPUTS)
    refuses(OP, operands(scores, deltas[:, :2]), " input 1 (box_deltas): dimension 1 is 2, must be 3", OUTPUTS)
    refuses(OP, operands(scores, deltas, images=IMAGES[:1]), " input 3 (image_info): dimension 0 is 1, must be 2",
            OUTPUTS)


def test_bad_values():
    scores, deltas = data()
    fails(OP, operands(scores, deltas, anchors=[BOXES[0], [1, 5, 2, 4]]),
          " input 2 (anchors): box [1] is [1, 5, 2, 4], the first corner must not exceed the second", OUTPUTS)
    scores[1, 2, 3, 0] = np.nan
    fails(OP, operands(scores, deltas), " input 0 (scores): element [1, 22] is NaN, must be a number", OUTPUTS)
    scores, deltas = data()
    deltas[0, 0, 1, 6] = np.nan
    with pytest.raises(Exception, match=r"input 1 \(box_deltas\): the box from \[0, 3\] is \[nan, "):
        run(OP, operands(scores, deltas), OUTPUTS)


def test_vectors():
    check_vectors("GENERATE_PROPOSALS")
    check_coupling("GENERATE_PROPOSALS")
