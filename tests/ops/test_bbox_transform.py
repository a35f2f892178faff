"""AXIS_ALIGNED_BBOX_TRANSFORM."""

import numpy as np
import pytest

from helpers.nodes import fails, operand, out, refuses, run
from helpers.scalar_boxes import transform
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.bbox_transform import AXIS_ALIGNED_BBOX_TRANSFORM as OP

ROI = [[1, 2, 5, 8], [0, 0, 4, 4], [3, 3, 3, 3]]
DELTAS = np.random.default_rng(3).normal(0, 0.5, (3, 8)).astype(np.float32)
BATCH, IMAGES = [1, 0, 1], [[6, 7], [9, 10]]


def operands(roi=ROI, deltas=DELTAS, batch=BATCH, images=IMAGES, kind="F32"):
    return [operand(kind, roi), operand(kind, deltas), operand("I32", batch), operand(kind, images)]


@pytest.mark.parametrize(("kind", "tolerance"), [("F32", 1e-5), ("F16", 1e-2)])
def test_each_class_moves_the_box(kind, tolerance):
    (actual,) = run(OP, operands(kind=kind), [out(kind)])
    for row in range(3):
        for label in range(2):
            place = slice(4 * label, 4 * label + 4)
            wanted = transform(ROI[row], DELTAS[row, place], IMAGES[BATCH[row]])
            np.testing.assert_allclose(actual[row, place], wanted, atol=tolerance)


@pytest.mark.parametrize(("kind", "zero_point"), [("Q8", 128), ("Q8S", 0)])
def test_quantized(kind, zero_point):
    codes = np.clip(np.round(DELTAS / 0.02), -128, 127).astype(int)
    inputs = [operand("Q16A", np.multiply(ROI, 8), 0.125), operand(kind, codes + zero_point, 0.02, zero_point),
              operand("I32", BATCH), operand("Q16A", np.multiply(IMAGES, 8), 0.125)]
    (actual,) = run(OP, inputs, [out("Q16A", 0.125)])
    (real,) = run(OP, operands(deltas=codes * np.float32(0.02)), [out("F32")])
    np.testing.assert_array_equal(actual, np.floor(real * 8 + 0.5))


def test_no_box():
    (actual,) = run(OP, operands(np.empty((0, 4)), np.empty((0, 8)), []), [out("F32")])
    assert actual.shape == (0, 8)


def test_rules():
    outputs = [out("F32")]
    refuses(OP, operands(deltas=DELTAS[:, :6]),
            " input 1 (bbox_deltas): dimension 1 is 6, must be a positive multiple of 4", outputs)
    refuses(OP, operands(batch=[0, 1]), " input 2 (batch_index): dimension 0 is 2, must be 3", outputs)
    refuses(OP, operands(images=np.empty((0, 2))), " input 3 (image_info): dimension 0 is 0, must be > 0", outputs)
    refuses(OP, operands(roi=np.ones((3, 5))), " input 0 (roi): dimension 1 is 5, must be 4", outputs)
    quantized = [operand("Q16A", ROI, 0.25), operand("Q8", np.zeros((3, 8)), 1.0), operand("I32", BATCH),
                 operand("Q16A", IMAGES, 0.125)]
    refuses(OP, quantized, " input 0 (roi): scale is 0.25 and zero point 0, must be 0.125 and 0",
            [out("Q16A", 0.125)])


def test_bad_values():
    outputs = [out("F32")]
    crossed = [*ROI[:2], [3, 3, 2, 3]]
    fails(OP, operands(roi=crossed),
          " input 0 (roi): box [2] is [3, 3, 2, 3], the first corner must not exceed the second", outputs)
    fails(OP, operands(roi=[[np.nan, 0, 1, 1], *ROI[1:]]),
          " input 0 (roi): box [0] is [nan, 0, 1, 1], the first corner must not exceed the second", outputs)
    for index in (-1, 2, 2**31 - 1):
        fails(OP, operands(batch=[0, index, 0]), f" input 2 (batch_index): element [1] is {index}, must be in [0, 2)",
              outputs)
    deltas = DELTAS.copy()
    deltas[1, 6] = np.nan
    with pytest.raises(Exception, match=r"input 1 \(bbox_deltas\): the box from \[1, 1\] is \[nan, "):
        run(OP, operands(deltas=deltas), outputs)


def test_vectors():
    check_vectors("AXIS_ALIGNED_BBOX_TRANSFORM")
    check_coupling("AXIS_ALIGNED_BBOX_TRANSFORM")
