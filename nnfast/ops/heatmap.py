"""HEATMAP_MAX_KEYPOINT: the peak of each heatmap between its pixels [NN 15.56]."""

from math import prod

import numpy as np

from .._native.elementwise import Convert
from .._native.spatial import HeatmapPeaks
from ..model.types import OperandType, OperationType
from . import boxes, window
from .base import OpDef, Signature

LONGEST_STEP = np.float32(1.5)
_TYPES = {
    OperandType.TENSOR_FLOAT32: "f32", OperandType.TENSOR_FLOAT16: "f32", OperandType.TENSOR_QUANT8_ASYMM: "qu8",
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: "qs8",
}


def infer(node):
    """[boxes, keypoints], [boxes, keypoints, 2]."""
    boxes.check_box_quantization(node, "boxes")
    pattern = "boxes keypoints size size" if node.layout_nchw else "boxes size size keypoints"
    sizes = boxes.match_dims(node, heatmap=pattern, boxes="boxes 4")
    if sizes["size"] < 2:
        node.fail("heatmap", f"is {sizes['size']} x {sizes['size']}, must be at least 2 x 2")
    shape = sizes["boxes"], sizes["keypoints"]
    return [shape, (*shape, 2)]


def _around(maps, y, x):
    """g[row][column]: values [boxes, keypoints] of the 3 x 3 pixels around (y, x), reflected at the border."""
    size = maps.shape[1]
    rows, columns = (np.stack((at - 1, at, at + 1)) for at in (y, x))
    rows, columns = (np.where(at < 0, 1, np.where(at == size, size - 2, at)) for at in (rows, columns))
    number, keypoint = np.ogrid[:maps.shape[0], :maps.shape[3]]
    return maps[number, rows[:, None], columns[None, :], keypoint]


@np.errstate(all="ignore")
def _peak(g, tolerance):
    """(score, offset in x, offset in y) of the peak of the quadratic through g; without one, g[1][1] and 0, 0."""
    half, two = np.float32(0.5), np.float32(2)
    b0, b1 = -half * (g[1, 2] - g[1, 0]), -half * (g[2, 1] - g[0, 1])
    a00, a11 = g[1, 0] - two * g[1, 1] + g[1, 2], g[0, 1] - two * g[1, 1] + g[2, 1]
    a01 = np.float32(0.25) * (g[2, 2] - g[2, 0] - g[0, 2] + g[0, 0])
    product = a00 * a11
    det = product - a01 * a01
    d0, d1 = (a11 * b0 - a01 * b1) / det, (a00 * b1 - a01 * b0) / det
    longest = np.maximum(np.abs(d0), np.abs(d1))
    shorter = np.where(longest > LONGEST_STEP, LONGEST_STEP / longest, np.float32(1))
    d0, d1 = d0 * shorter, d1 * shorter
    score = g[1, 1] - b0 * d0 - b1 * d1 + half * ((a00 * d0 + a01 * d1) * d0 + (a01 * d0 + a11 * d1) * d1)
    curved = ~(np.abs(det) < tolerance + tolerance * product) & np.isfinite(score)
    zero = np.float32(0)
    return np.where(curved, score, g[1, 1]), np.where(curved, d0, zero), np.where(curved, d1, zero)


def _tolerance(node):
    return np.float32(1e-3 if node["heatmap"].type == OperandType.TENSOR_FLOAT16 else 1e-5)


@np.errstate(over="ignore", invalid="ignore")
def compute(node, inputs):
    """Score and (x, y) in the image of every keypoint."""
    maps = boxes.reals(node["heatmap"], window.to_nhwc(node, inputs[0]))
    corners = boxes.reals(node["boxes"], inputs[1])
    boxes.check_numbers(node, "heatmap", maps)
    boxes.check_corners(node, "boxes", corners)
    count, size, _, keypoints = maps.shape
    y, x = np.divmod(maps.reshape(count, size * size, keypoints).argmax(axis=1), size)
    score, right, down = _peak(_around(maps, y, x), _tolerance(node))
    at = np.stack((x.astype(np.float32) + right, y.astype(np.float32) + down), axis=-1)
    low, high = corners[:, None, :2], corners[:, None, 2:]
    at = (at + np.float32(0.5)) / np.float32(size) * (high - low) + low
    return [boxes.stored(node.outputs[0], score), boxes.stored(node.outputs[1], at)]


def lower(node, b):
    """One step, between conversions for float16; it declines invalid numbers and boxes at run time."""
    if node.layout_nchw:
        return "no native kernel for NCHW"
    source, corners = node["heatmap"], node["boxes"]
    tensors = source, corners, *node.outputs
    ends = slots = [b.slot(t) for t in tensors]
    counts = [prod(t.shape) for t in tensors]
    half = source.type == OperandType.TENSOR_FLOAT16
    if half:
        slots = [b.temp(4 * count) for count in counts]
        for place in (0, 1):
            b.emit(Convert((ends[place], slots[place]), counts[place], narrow=False))
    quantization = [(t.scale, t.zero_point) for t in (source, node.outputs[0])]
    boxes_, size, _, keypoints = source.shape
    # After declining, the reference reads the float16 operands themselves, so these must live until the step has run.
    b.emit(HeatmapPeaks([*slots, *ends] if half else slots, _TYPES[source.type], boxes_, size, keypoints,
                        _tolerance(node), corners.scale, quantization), declines=True)
    if half:
        for place in (2, 3):
            b.emit(Convert((slots[place], ends[place]), counts[place], narrow=True))
    return None


HEATMAP_MAX_KEYPOINT = OpDef(
    OperationType.HEATMAP_MAX_KEYPOINT,
    (Signature("heatmap:T boxes:R layout:bool -> out_scores:T out_keypoints:R",
               ("1.2: F16 F16", "1.2: F32 F32", "1.2: Q8 Q16A", "1.3: Q8S Q16A")),),
    infer=infer, compute=compute, lower=lower,
    quant=("free", {OperandType.TENSOR_QUANT16_ASYMM: boxes.BOX_QUANTIZATION}),
)
