"""DETECTION_POSTPROCESSING: boxes from anchors, then suppression by class or by best class [NN 15.47]."""

import numpy as np

from ..model.types import OperationType
from . import boxes
from .base import OpDef, Signature

MOST_DETECTIONS = 2**31 - 1
CANDIDATES = 512
"""Boxes compared with the kept ones at a time."""


def _slots(node):
    """Most detections per image: dimension 1 of the outputs."""
    most = node.scalar("max_num_detections")
    return most if node.scalar("use_regular_nms") else most * node.scalar("max_classes_per_detection")


def infer(node):
    """[batches, M], [batches, M, 4], [batches, M], [batches]."""
    boxes.check_not_negative(node, "score_threshold")
    return shapes(node)


def shapes(node, has_background=True):
    """Shapes of the outputs; has_background: class 0 of the scores is none."""
    sizes = boxes.match_dims(node, scores="batches boxes classes", box_deltas="batches boxes encoding",
                             anchors="boxes 4")
    least = 1 + has_background
    if sizes["classes"] < least:
        reason = ": class 0 is the background" if has_background else ""
        node.fail("scores", f"dimension 2 is {sizes['classes']}, must be at least {least}{reason}")
    if sizes["encoding"] < 4:
        node.fail("box_deltas", f"dimension 2 is {sizes['encoding']}, must be at least 4")
    regular = node.scalar("use_regular_nms")
    per_class = "max_detections_per_class" if regular else "max_classes_per_detection"
    boxes.check_above_zero(node, "scale_dy", "scale_dx", "scale_dh", "scale_dw", "max_num_detections", per_class)
    boxes.check_not_negative(node, "iou_threshold")
    batches, slots = sizes["batches"], _slots(node)
    if slots > MOST_DETECTIONS:
        node.fail("max_classes_per_detection", f"makes room for {slots} detections, must be at most {MOST_DETECTIONS}")
    return [(batches, slots), (batches, slots, 4), (batches, slots), (batches,)]


@np.errstate(over="ignore", invalid="ignore")
def _decoded(node, deltas, anchors):
    """Corner boxes [..., 4] (y1, x1, y2, x2) from deltas (dy, dx, dh, dw, more) and anchors [n, 4] (y, x, h, w).

    LiteRT computes centres and halves in double.
    """
    scale = np.array([node.scalar(f"scale_{name}") for name in ("dy", "dx", "dh", "dw")], np.float32)
    if node.is_litert:
        deltas, anchors, scale = (array.astype(np.float64) for array in (deltas, anchors, scale))
        centre = (deltas[..., :2] / scale[:2] * anchors[:, 2:] + anchors[:, :2]).astype(np.float32)
        half = (0.5 * np.exp(deltas[..., 2:4] / scale[2:]) * anchors[:, 2:]).astype(np.float32)
    else:
        centre = anchors[:, :2] + anchors[:, 2:] * deltas[..., :2] / scale[:2]
        half = anchors[:, 2:] * np.exp(deltas[..., 2:4] / scale[2:]) * np.float32(0.5)
    return np.concatenate((centre - half, centre + half), axis=-1)


def _suppressed(node, items, scores, limit, kill):
    """As boxes.greedy; with LiteRT's arithmetic, equal scores keep the order of their boxes."""
    if not node.is_litert:
        return boxes.greedy(items, scores, limit, kill)
    items, kept = items[boxes.descending(scores[items])], []
    for start in range(0, items.size, CANDIDATES):
        # Boxes after the last kept one are never compared.
        block = items[start:start + CANDIDATES]
        for best in kept:
            block = block[~kill(best, block)]
        while block.size and len(kept) < limit:
            kept.append(block[0])
            block = block[1:][~kill(block[0], block[1:])]
        if len(kept) == limit:
            break
    return np.array(kept, np.int64)


def _by_class(node, scores, kill):
    """(box numbers, classes) with a separate suppression per class; the best over all classes."""
    threshold, limit = node.scalar("score_threshold"), node.scalar("max_detections_per_class")
    numbers, classes = [], []
    for label in range(1, scores.shape[1]):
        node.go_on()
        of_class = scores[:, label]
        kept = _suppressed(node, np.flatnonzero(of_class > threshold), of_class, limit, kill)
        numbers.append(kept)
        classes.append(np.full(kept.size, label))
    numbers, classes = np.concatenate(numbers), np.concatenate(classes)
    order = boxes.descending(scores[numbers, classes])[:node.scalar("max_num_detections")]
    return numbers[order], classes[order]


def _by_best_class(node, scores, kill):
    """(box numbers, classes) with one suppression over the best score of each box, then its best classes in order."""
    best = scores[:, 1:].max(axis=1)
    kept = _suppressed(node, np.flatnonzero(best > node.scalar("score_threshold")), best,
                       node.scalar("max_num_detections"), kill)
    count = min(scores.shape[1] - 1, node.scalar("max_classes_per_detection"))
    classes = np.argsort(-scores[kept, 1:], axis=1, kind="stable")[:, :count] + 1
    return np.repeat(kept, count), classes.reshape(-1)


def compute(node, inputs):
    """Detections of each image at the start of its rows; the rest is 0."""
    scores, deltas, anchors = (boxes.reals(node.inputs[place], inputs[place]) for place in range(3))
    boxes.check_numbers(node, "scores", scores)
    decoded = _decoded(node, deltas, anchors)
    boxes.check_corners(node, "box_deltas", decoded, "the box from")
    threshold = node.scalar("iou_threshold")
    choose = _by_class if node.scalar("use_regular_nms") else _by_best_class
    first_label = 0 if node.scalar("include_background_in_label") else 1
    shape = (len(scores), _slots(node))
    results = [np.zeros((*shape, *rest), t.dtype) for t, rest in zip(node.outputs, ((), (4,), ()))]
    counts = np.zeros(shape[0], np.int32)
    for image, (values, corners) in enumerate(zip(scores, decoded)):
        node.go_on()
        numbers, classes = choose(node, values, boxes.overlap_kill(node, corners, threshold))
        counts[image] = count = len(numbers)
        results[0][image, :count] = boxes.stored(node.outputs[0], values[numbers, classes])
        results[1][image, :count] = boxes.stored(node.outputs[1], corners[numbers])
        results[2][image, :count] = classes - first_label
    return [*results, counts]


DETECTION_POSTPROCESSING = OpDef(
    OperationType.DETECTION_POSTPROCESSING,
    (Signature("scores:T box_deltas:T anchors:T scale_dy:fT scale_dx:fT scale_dh:fT scale_dw:fT use_regular_nms:bool "
               "max_num_detections:i32 max_classes_per_detection:i32 max_detections_per_class:i32 score_threshold:fT "
               "iou_threshold:fT include_background_in_label:bool -> "
               "out_scores:T out_boxes:T out_classes:I32 out_num_detections:I32", ("1.2: F16", "1.2: F32")),),
    infer=infer, compute=compute,
)
