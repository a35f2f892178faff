"""GENERATE_PROPOSALS: anchors over a feature map, moved, filtered and suppressed [NN 15.52]."""

import numpy as np

from ..model.types import OperationType
from . import boxes
from .base import OpDef, Signature
from .window import to_nhwc


def infer(node):
    """[N], [N, 4], [N]: the number N of boxes kept depends on the data."""
    boxes.check_box_quantization(node, "anchors", "image_info")
    maps = ("batches anchors height width", "batches deltas height width") if node.layout_nchw else \
        ("batches height width anchors", "batches height width deltas")
    sizes = boxes.match_dims(node, scores=maps[0], box_deltas=maps[1], anchors="anchors 4", image_info="batches 2")
    if sizes["deltas"] != 4 * sizes["anchors"]:
        node.fail("box_deltas", f"has {sizes['deltas']} channels, must have {4 * sizes['anchors']}: 4 for each anchor")
    return [(None,), (None, 4), (None,)]


def _placed_anchors(node, anchors, height, width):
    """float32 [height * width * anchors, 4]: every anchor at every position of the feature map."""
    y = np.arange(height, dtype=np.float32) * np.float32(node.scalar("height_stride"))
    x = np.arange(width, dtype=np.float32) * np.float32(node.scalar("width_stride"))
    shift = np.stack(np.broadcast_arrays(x, y[:, None]), axis=-1)
    return (np.tile(shift, 2)[:, :, None] + anchors).reshape(-1, 4)


def _propose(node, scores, candidates, image):
    """Indices of the candidates [n, 4] of one image that are kept, best first."""
    node.go_on()
    items = np.arange(len(scores))
    most = node.scalar("pre_nms_top_n")
    if 0 < most < len(scores):
        items = boxes.descending(scores)[:most]
    low, size = candidates[items, :2], candidates[items, 2:] - candidates[items, :2]
    large = np.all(size > node.scalar("min_size"), axis=1)
    inside = np.all(low + size / np.float32(2) < image[::-1], axis=1)
    kill = boxes.overlap_kill(node, candidates, node.scalar("iou_threshold"))
    return boxes.greedy(items[large & inside], scores, node.scalar("post_nms_top_n"), kill)


@np.errstate(over="ignore", invalid="ignore")
def compute(node, inputs):
    """Images in order, the proposals of each by descending score; scores keep their codes."""
    raw = to_nhwc(node, inputs[0])
    batches, height, width, _ = raw.shape
    raw = raw.reshape(batches, -1)
    scores = boxes.reals(node["scores"], raw)
    deltas = boxes.reals(node["box_deltas"], to_nhwc(node, inputs[1])).reshape(batches, -1, 4)
    anchors, images = boxes.reals(node["anchors"], inputs[2]), boxes.reals(node["image_info"], inputs[3])
    boxes.check_numbers(node, "scores", scores)
    boxes.check_corners(node, "anchors", anchors)
    placed = _placed_anchors(node, anchors, height, width)
    candidates = boxes.transform(placed, deltas, images[:, None])
    boxes.check_corners(node, "box_deltas", candidates, "the box from")
    kept = [_propose(node, *image) for image in zip(scores, candidates, images)]
    batch = np.repeat(np.arange(batches, dtype=np.int32), [len(numbers) for numbers in kept])
    numbers = np.concatenate(kept)
    return [raw[batch, numbers], boxes.stored(node.outputs[1], candidates[batch, numbers]), batch]


GENERATE_PROPOSALS = OpDef(
    OperationType.GENERATE_PROPOSALS,
    (Signature("scores:T box_deltas:T anchors:A image_info:R height_stride:fT width_stride:fT pre_nms_top_n:i32 "
               "post_nms_top_n:i32 iou_threshold:fT min_size:fT layout:bool -> "
               "out_scores:T out_roi:R out_batch_index:I32",
               ("1.2: F16 F16 F16", "1.2: F32 F32 F32", "1.2: Q8 Q16S Q16A", "1.3: Q8S Q16S Q16A")),),
    infer=infer, compute=compute, quant="same", data_dependent=True,
)
