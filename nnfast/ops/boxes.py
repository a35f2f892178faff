"""Boxes of the detection operations: quantization, corners and centres, IoU, suppression [NN 15.2, 15.3].

A box is the last axis of an array: [x1, y1, x2, y2], corners in image coordinates. All arithmetic is float32.
"""

import numpy as np

from ..model.quant import round_half_away
from ..model.types import QUANT_RANGE, QUANTIZED_TYPES, OperandType

BOX_QUANTIZATION = (0.125, 0)
"""Scale and zero point of every box in TENSOR_QUANT16_ASYMM or TENSOR_QUANT16_SYMM."""

_BOX_TYPES = (OperandType.TENSOR_QUANT16_ASYMM, OperandType.TENSOR_QUANT16_SYMM)


# -- rules of preparation ----------------------------------------------------------------------------------------------
def match_dims(node, **patterns):
    """Every named input has the dimensions of its pattern; returns the size of each symbol.

    A pattern is a text of sizes and symbols, ``roi="rois 4"``; the same symbol stands for the same size everywhere.
    """
    sizes = {}
    for name, pattern in patterns.items():
        rules = pattern.split()
        node.check_rank(name, len(rules))
        for axis, (rule, size) in enumerate(zip(rules, node[name].shape)):
            wanted = int(rule) if rule.isdigit() else sizes.setdefault(rule, size)
            if size != wanted:
                node.fail(name, f"dimension {axis} is {size}, must be {wanted}")
    return sizes


def check_box_quantization(node, *names):
    """Quantized boxes in these inputs have scale 0.125 and zero point 0."""
    for name in names:
        tensor = node[name]
        if tensor.type in _BOX_TYPES and (tensor.scale, tensor.zero_point) != BOX_QUANTIZATION:
            node.fail(name, f"scale is {tensor.scale:g} and zero point {tensor.zero_point}, must be 0.125 and 0")


def check_above_zero(node, *names):
    """These scalars are greater than zero (a NaN is not)."""
    for name in names:
        value = node.scalar(name)
        if not value > 0:
            node.fail(name, f"is {value:g}, must be > 0")


def check_not_negative(node, *names):
    """These scalars are zero or more (a NaN is not)."""
    for name in names:
        value = node.scalar(name)
        if not value >= 0:
            node.fail(name, f"is {value:g}, must be >= 0")


# -- rules of execution ------------------------------------------------------------------------------------------------
def check_corners(node, name, boxes, what="box"):
    """x1 <= x2 and y1 <= y2 in every box of [..., 4]; a NaN fails too."""
    good = np.all(boxes[..., :2] <= boxes[..., 2:], axis=-1)
    if not good.all():
        place = tuple(np.argwhere(~good)[0])
        node.fail_run(name, f"{what} {_index(place)} is {listed(boxes[place])}, the first corner must not exceed the "
                            f"second")


def check_numbers(node, name, array):
    """No element is NaN."""
    wrong = np.isnan(array)
    if wrong.any():
        node.fail_run(name, f"element {_index(np.argwhere(wrong)[0])} is NaN, must be a number")


def check_indices(node, name, array, count=None):
    """Every element lies in [0, count); any size when count is None."""
    wrong = array < 0
    if count is not None:
        wrong |= array >= count
    if wrong.any():
        place = np.flatnonzero(wrong)[0]
        rule = "must not be negative" if count is None else f"must be in [0, {count})"
        node.fail_run(name, f"element [{place}] is {array[place]}, {rule}")


def listed(box):
    """`[1, 2.5, 3, 4]`."""
    return "[" + ", ".join(f"{value:g}" for value in box) + "]"


def _index(place):
    return "[" + ", ".join(str(number) for number in place) + "]"


# -- codes and reals ---------------------------------------------------------------------------------------------------
def reals(tensor, array):
    """float32 copy of an array; codes become (code - zero_point) * scale."""
    if tensor.type not in QUANTIZED_TYPES:
        return array.astype(np.float32)
    with np.errstate(over="ignore"):
        return (array.astype(np.int32) - tensor.zero_point).astype(np.float32) * np.float32(tensor.scale)


@np.errstate(over="ignore", invalid="ignore")
def stored(tensor, values):
    """float32 values, no NaN among codes, in the type of a tensor: the zero point is added before the rounding."""
    if tensor.type not in QUANTIZED_TYPES:
        return values.astype(tensor.dtype)
    place = values / np.float32(tensor.scale) + np.float32(tensor.zero_point)
    return np.clip(round_half_away(place), *QUANT_RANGE[tensor.type]).astype(tensor.dtype)


# -- geometry ----------------------------------------------------------------------------------------------------------
@np.errstate(over="ignore", invalid="ignore")
def transform(boxes, deltas, image):
    """Boxes [..., 4] moved by deltas [..., 4] (dx, dy, dw, dh) and clipped to image [..., 2] (height, width).

    Shapes broadcast. Deltas that overflow can give a NaN: see check_corners.
    """
    size = boxes[..., 2:] - boxes[..., :2]
    centre = (boxes[..., :2] + boxes[..., 2:]) / np.float32(2) + deltas[..., :2] * size
    half = np.exp(deltas[..., 2:]) * size / np.float32(2)
    limit = image[..., ::-1]
    corners = [np.minimum(np.maximum(corner, np.float32(0)), limit) for corner in (centre - half, centre + half)]
    return np.concatenate(corners, axis=-1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def iou(box, others):
    """Intersection over union of one box [4] with each of [n, 4]; NaN where both are empty."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, np.float32(0)), axis=1)
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    return common / (area + areas - common)


def greedy(items, scores, limit, kill):
    """Item numbers that survive greedy suppression, best first; at most `limit` of them unless that is negative.

    items: item numbers; scores: float32 score of every item, read again for each choice. kill(best, rest) returns a
    bool array of the items in `rest` that `best` suppresses; it may lower scores. Among equal scores the first in the
    list wins. The list is ordered as in the reference: the winner swaps places with the first item, and a removed item
    is replaced by the last survivor.
    """
    items, kept = np.array(items, np.int64), []
    while items.size and (limit < 0 or len(kept) < limit):
        best = np.argmax(scores[items])
        items[[0, best]] = items[[best, 0]]
        kept.append(items[0])
        rest = items[1:]
        alive = ~kill(items[0], rest)
        count = np.count_nonzero(alive)
        holes = np.flatnonzero(~alive[:count])
        rest[holes] = rest[count + np.flatnonzero(alive[count:])[::-1]]
        items = rest[:count]
    return np.array(kept, np.int64)


def overlap_kill(node, boxes, threshold):
    """kill function of `greedy`: boxes that overlap the best one by `threshold` or more."""
    def kill(best, rest):
        node.go_on()
        return iou(boxes[best], boxes[rest]) >= threshold
    return kill


def descending(scores):
    """Order by falling score; equal scores stay as they are."""
    return np.argsort(-scores, kind="stable")
