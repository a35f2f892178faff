"""TFLite's NON_MAX_SUPPRESSION_V4 and _V5: boxes one by one from a queue, those that overlap a better one left out.

Of equal scores the first box comes first.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from .boxes import check_numbers, match_dims
from .tfl import own

_SCALARS = {"M": ("I32", "i32"), "O": ("F32", "f32"), "T": ("F32", "f32"), "S": ("F32", "f32")}


def infer(node):
    """As many numbers and scores as may be selected, and how many were."""
    match_dims(node, boxes="boxes 4", scores="boxes")
    most = node.scalar("most")
    if most < 0:
        node.fail("most", f"is {most}, must not be negative")
    if not 0 <= node.scalar("overlap") <= 1:
        node.fail("overlap", f"is {node.scalar('overlap'):g}, must be in [0, 1]")
    if node.scalar("sigma", 0.0) < 0:
        node.fail("sigma", f"is {node.scalar('sigma'):g}, must not be negative")
    return [*[(most,)] * (len(node.outputs) - 1), ()]


def _sorted_corners(boxes):
    """Boxes [n, 4] of any two opposite corners as (lower, upper) corners."""
    pairs = boxes.reshape(-1, 2, 2)
    return pairs.min(1), pairs.max(1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _overlaps(low, high, one, others):
    """Intersection over union of a box with others; 0 where one of them is empty."""
    common = np.prod(np.maximum(np.minimum(high[one], high[others]) - np.maximum(low[one], low[others]), 0), -1)
    area, areas = np.prod(high[one] - low[one]), np.prod(high[others] - low[others], -1)
    return np.where((area > 0) & (areas > 0), common / (area + areas - common), np.float32(0))


def compute(node, inputs):
    """Numbers of the selected boxes, best first, their scores (V5) and how many there are; zeros behind them.

    With a sigma, boxes that overlap are not left out below the threshold, but fall in the queue by their overlap.
    """
    boxes, scores = inputs[:2]
    check_numbers(node, "scores", scores)
    limit, lowest = np.float32(node.scalar("overlap")), np.float32(node.scalar("lowest"))
    sigma = np.float32(node.scalar("sigma", 0.0))
    scale = np.float32(-0.5) / sigma if sigma > 0 else np.float32(0)
    low, high = _sorted_corners(boxes)
    heap = [(-scores[number], number, 0) for number in np.flatnonzero(scores > lowest)]
    heapify(heap)
    most = min(len(heap), node.scalar("most"))
    chosen, values = [], []
    while heap and len(chosen) < most:
        node.go_on()
        score, number, first = heappop(heap)
        score = left = -score
        overlaps = _overlaps(low, high, number, np.array(chosen[first:], np.int64))[::-1]
        for overlap in overlaps:
            if overlap >= limit:
                break
            if sigma > 0:
                left *= np.float32(np.exp(np.float64(scale * overlap * overlap)))
            if left <= lowest:
                break
        else:
            if left == score:
                chosen.append(number)
                values.append(score)
            else:
                heappush(heap, (-left, number, len(chosen)))
    count, size = len(chosen), node.scalar("most")
    numbers, found = np.zeros(size, np.int32), np.zeros(size, np.float32)
    numbers[:count], found[:count] = chosen, values
    return [numbers, *[found] * (len(node.outputs) - 2), np.array(count, np.int32)]


TFL_NON_MAX_SUPPRESSION_V4 = own(
    "TFL_NON_MAX_SUPPRESSION_V4",
    {"boxes:F32 scores:F32 most:M overlap:O lowest:T -> numbers:I32 count:I32": _SCALARS}, compute, infer)
TFL_NON_MAX_SUPPRESSION_V5 = own(
    "TFL_NON_MAX_SUPPRESSION_V5",
    {"boxes:F32 scores:F32 most:M overlap:O lowest:T sigma:S -> numbers:I32 found:F32 count:I32": _SCALARS}, compute,
    infer)
