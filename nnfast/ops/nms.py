"""BOX_WITH_NMS_LIMIT: non-maximum suppression of each class, hard or soft [NN 15.44]."""

import numpy as np

from ..model.types import OperationType
from . import boxes
from .base import OpDef, Signature

HARD, LINEAR, GAUSSIAN = 0, 1, 2


def infer(node):
    """[N], [N, 4], [N], [N]: the number N of boxes kept depends on the data; num_rois may be 0."""
    boxes.check_box_quantization(node, "roi")
    sizes = boxes.match_dims(node, scores="rois classes", roi="rois corners", batch_index="rois")
    if sizes["classes"] < 2:
        node.fail("scores", f"dimension 1 is {sizes['classes']}, must be at least 2: class 0 is the background")
    if sizes["corners"] != 4 * sizes["classes"]:
        node.fail("roi", f"dimension 1 is {sizes['corners']}, must be {4 * sizes['classes']}: 4 for each class")
    if node.check_in("nms_kernel", (HARD, LINEAR, GAUSSIAN)) == GAUSSIAN:
        boxes.check_above_zero(node, "sigma")
    return [(None,), (None, 4), (None,), (None,)]


def _factor(kernel, overlap, threshold, sigma):
    """Factor by which a score is reduced for its overlap with a better box."""
    if kernel == HARD:
        return np.where(overlap < threshold, np.float32(1), np.float32(0))
    # Two empty boxes overlap by 0 / 0: count that as no overlap, which keeps NaN out of the scores.
    overlap = np.nan_to_num(overlap, nan=0.0)
    if kernel == LINEAR:
        return np.where(overlap < threshold, np.float32(1), np.float32(1) - overlap)
    return np.exp(-overlap * overlap / np.float32(sigma))


def _suppress(node, scores, roi):
    """(rows, classes) that one group keeps, in order of output; lowers scores [n, classes] of roi [n, classes, 4]."""
    kernel, limit = node.scalar("nms_kernel"), node.scalar("max_num_detections")
    iou_threshold, sigma = node.scalar("iou_threshold"), node.scalar("sigma")
    lowest, score_threshold = node.scalar("nms_score_threshold"), node.scalar("score_threshold")
    rows, classes = [], []
    for number in range(1, scores.shape[1]):
        of_class, corners = scores[:, number], roi[:, number]

        node.go_on()

        def kill(best, rest, of_class=of_class, corners=corners):
            node.go_on()
            of_class[rest] *= _factor(kernel, boxes.iou(corners[best], corners[rest]), iou_threshold, sigma)
            return of_class[rest] < lowest

        kept = boxes.greedy(np.flatnonzero(of_class > score_threshold), of_class, limit, kill)
        rows.append(kept)
        classes.append(np.full(kept.size, number))
    rows, classes = np.concatenate(rows), np.concatenate(classes)
    best = boxes.descending(scores[rows, classes])
    best = best[:limit] if limit >= 0 else best
    rows, classes = rows[best], classes[best]
    order = np.lexsort((-scores[rows, classes], classes))
    return rows[order], classes[order]


def compute(node, inputs):
    """Consecutive rois of one batch index form a group, whose boxes are output by class, then by descending score."""
    batch = inputs[2]
    scores, roi = boxes.reals(node["scores"], inputs[0]), boxes.reals(node["roi"], inputs[1])
    roi = roi.reshape(*scores.shape, 4)
    boxes.check_numbers(node, "scores", scores)
    boxes.check_corners(node, "roi", roi)
    boxes.check_indices(node, "batch_index", batch)
    rows, classes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    borders = [0, *(np.flatnonzero(batch[1:] != batch[:-1]) + 1), len(batch)]
    for start, stop in zip(borders, borders[1:]):
        kept, labels = _suppress(node, scores[start:stop], roi[start:stop])
        rows.append(kept + start)
        classes.append(labels)
    rows, classes = np.concatenate(rows), np.concatenate(classes)
    raw = inputs[1].reshape(roi.shape)[rows, classes]
    return [boxes.stored(node.outputs[0], scores[rows, classes]), raw, classes.astype(np.int32), batch[rows]]


BOX_WITH_NMS_LIMIT = OpDef(
    OperationType.BOX_WITH_NMS_LIMIT,
    (Signature("scores:T roi:R batch_index:I32 score_threshold:fT max_num_detections:i32 nms_kernel:i32 "
               "iou_threshold:fT sigma:fT nms_score_threshold:fT -> "
               "out_scores:T out_roi:R out_classes:I32 out_batch_index:I32",
               ("1.2: F16 F16", "1.2: F32 F32", "1.2: Q8 Q16A", "1.3: Q8S Q16A")),),
    infer=infer, compute=compute, quant="same", zero_sized="any", data_dependent=True,
)
