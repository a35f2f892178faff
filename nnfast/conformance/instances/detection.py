"""Instances of the operations over boxes and regions, and of the random ones."""

import numpy as np

from ...model.types import QUANTIZED_TYPES
from .draft import makes

BOX = (0.125, 0)


def corners(d, name, boxes, width, height, per_row=1, constant=None):
    """Draw boxes (x1, y1, x2, y2) of [boxes, 4 * per_row] within an image."""
    first = d.rng.uniform(0, 0.6, (boxes, per_row, 2))
    second = first + d.rng.uniform(0.1, 0.4, (boxes, per_row, 2))
    real = np.concatenate([first, second], axis=2) * (width, height, width, height)
    return reals(d, name, real.reshape(boxes, 4 * per_row), BOX, constant)


def reals(d, name, array, quantization=None, constant=None):
    """Give real numbers as a tensor of the input's type."""
    type_ = d.types[name]
    if type_ not in QUANTIZED_TYPES:
        return d.put(name, array, constant=constant)
    scale, zero_point = d.quantization(type_) if quantization is None else quantization
    limits = np.iinfo(d.values(type_, ()).dtype)
    codes = np.clip(np.round(array / scale) + zero_point, limits.min, limits.max)
    return d.put(name, codes, scale, zero_point, constant=constant)


def batches(d, boxes, images):
    """Ascending image numbers of boxes."""
    return np.sort(d.rng.integers(0, images, boxes))


@makes("ROI_ALIGN", "ROI_POOLING")
def roi(d):
    images, height, width, boxes = d.int(1, 3), d.int(4, 12), d.int(4, 12), d.int(1, 6)
    stride = d.choice(1.0, 2.0, 4.0)
    d.image("input", (images, height, width, d.channels()), d.layout())
    corners(d, "roi", boxes, (width - 1) * stride, (height - 1) * stride)
    d.put("batch_index", batches(d, boxes, images))
    for axis in ("height", "width"):
        d.scalar(f"out_{axis}", d.int(1, 5))
        d.scalar(f"{axis}_stride", stride)
        d.scalar(f"{axis}_sampling_ratio", d.int(0, 3))


@makes("AXIS_ALIGNED_BBOX_TRANSFORM")
def bbox_transform(d):
    boxes, classes, images = d.int(1, 8), d.int(1, 4), d.int(1, 3)
    corners(d, "roi", boxes, 200, 200)
    d.tensor("bbox_deltas", (boxes, 4 * classes), spread=0.5)
    d.put("batch_index", batches(d, boxes, images))
    reals(d, "image_info", np.full((images, 2), 200.0), BOX)


@makes("BOX_WITH_NMS_LIMIT")
def nms(d):
    boxes, classes, images = d.int(1, 12), d.int(2, 5), d.int(1, 3)
    d.tensor("scores", (boxes, classes), low=0.0 if d.output_types[0] not in QUANTIZED_TYPES else None, high=1.0)
    corners(d, "roi", boxes, 100, 100, classes)
    d.put("batch_index", batches(d, boxes, images))
    d.scalar("score_threshold", d.real(0.0, 0.5))
    d.scalar("max_num_detections", d.choice(-1, d.int(1, 9)))
    d.scalar("nms_kernel", d.int(0, 2))
    d.scalar("iou_threshold", d.real(0.1, 0.9))
    d.scalar("sigma", d.real(0.2, 1.0))
    d.scalar("nms_score_threshold", d.real(0.0, 0.4))


@makes("GENERATE_PROPOSALS")
def proposals(d):
    images, height, width, anchors = d.int(1, 2), d.int(1, 5), d.int(1, 5), d.int(1, 4)
    nchw = d.layout()
    d.image("scores", (images, height, width, anchors), nchw)
    d.image("box_deltas", (images, height, width, 4 * anchors), nchw, spread=0.3)
    corners(d, "anchors", anchors, 12, 12)
    reals(d, "image_info", np.full((images, 2), 32.0), BOX)
    for axis in ("height", "width"):
        d.scalar(f"{axis}_stride", d.choice(2.0, 4.0, 8.0))
    d.scalar("pre_nms_top_n", d.choice(-1, d.int(1, 20)))
    d.scalar("post_nms_top_n", d.choice(-1, d.int(1, 20)))
    d.scalar("iou_threshold", d.real(0.1, 0.9))
    d.scalar("min_size", d.real(0.5, 3.0))


@makes("HEATMAP_MAX_KEYPOINT")
def heatmap(d):
    boxes, size = d.int(1, 4), d.int(2, 9)
    d.image("heatmap", (boxes, size, size, d.int(1, 9)), d.layout())
    corners(d, "boxes", boxes, 60, 60)


@makes("DETECTION_POSTPROCESSING")
def detection(d):
    images, boxes, classes = d.int(1, 2), d.int(1, 12), d.int(2, 5)
    d.tensor("scores", (images, boxes, classes), low=0.0, high=1.0)
    d.tensor("box_deltas", (images, boxes, d.int(4, 6)), spread=0.5)
    d.tensor("anchors", (boxes, 4), low=0.1, high=1.0)
    for name in ("dy", "dx", "dh", "dw"):
        d.scalar(f"scale_{name}", d.choice(1.0, 5.0, 10.0))
    for name in ("use_regular_nms", "include_background_in_label"):
        d.scalar(name, d.chance(0.5))
    for name in ("max_num_detections", "max_classes_per_detection", "max_detections_per_class"):
        d.scalar(name, d.int(1, 6))
    d.scalar("score_threshold", d.real(0.0, 0.6))
    d.scalar("iou_threshold", d.real(0.1, 0.9))


@makes("RANDOM_MULTINOMIAL")
def random_multinomial(d):
    d.tensor("logits", (d.int(1, 4), d.size()))
    d.scalar("sample_count", d.int(1, 30))
    d.put("seeds", d.rng.integers(1, 1000, 2))  # two zeros would ask for other numbers each time


@makes("LSH_PROJECTION")
def lsh(d):
    functions, bits, items = d.int(1, 5), d.int(1, 9), d.size()
    d.tensor("hash", (functions, bits), constant=True)
    d.tensor("input", (items, d.size(6)), constant=False)
    if d.scalar("type", d.choice(1, 2, 2, 3)) == 2:
        d.tensor("weight", (items,))
