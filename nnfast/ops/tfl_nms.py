"""TFLite's NON_MAX_SUPPRESSION_V4 and _V5: boxes one by one from a queue, those that overlap a better one left out.

Of equal scores that one comes first which a binary heap gives first: LiteRT's queue is std::priority_queue, whose heap
lets the hole of the top sink to a leaf, to the right of equal children, and puts the last element there, which rises.
"""

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


class _Queue:
    """std::priority_queue of (score, number of the box, first box to compare with), ordered by score alone."""

    def __init__(self):
        self._heap = []

    def __len__(self):
        return len(self._heap)

    def push(self, item):
        self._heap.append(item)
        self._rise(len(self._heap) - 1, item)

    def _rise(self, hole, item):
        heap = self._heap
        while hole and heap[(hole - 1) // 2][0] < item[0]:
            heap[hole] = heap[(hole - 1) // 2]
            hole = (hole - 1) // 2
        heap[hole] = item

    def pop(self):
        heap = self._heap
        top, last = heap[0], heap.pop()
        if not heap:
            return top
        hole, child = 0, 2
        while child < len(heap):
            child -= heap[child][0] < heap[child - 1][0]
            heap[hole] = heap[child]
            hole, child = child, 2 * child + 2
        if child == len(heap):
            heap[hole] = heap[child - 1]
            hole = child - 1
        self._rise(hole, last)
        return top


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
    queue = _Queue()
    for number in np.flatnonzero(scores > lowest).tolist():
        queue.push((scores[number], number, 0))
    most = min(len(queue), node.scalar("most"))
    chosen, values = [], []
    while queue and len(chosen) < most:
        node.go_on()
        score, number, first = queue.pop()
        left = score
        overlaps = _overlaps(low, high, number, np.array(chosen[first:], np.int64))[::-1]
        for overlap in overlaps:
            if overlap >= limit:
                break
            if sigma > 0:
                left *= np.float32(np.exp(np.float64(scale * overlap * overlap)))
            if left <= lowest:
                break
        else:
            # A box that was chosen goes back too, as in LiteRT: it meets itself, but the queue's order is another one.
            queue.push((left, number, len(chosen)))
            if left == score:
                chosen.append(number)
                values.append(score)
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
