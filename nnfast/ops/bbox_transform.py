"""AXIS_ALIGNED_BBOX_TRANSFORM: boxes moved by deltas of each class [NN 15.41]."""

import numpy as np

from ..model.types import OperandType, OperationType
from . import boxes
from .base import OpDef, Signature


def infer(node):
    """[num_rois, classes * 4]; num_rois may be 0."""
    boxes.check_box_quantization(node, "roi", "image_info")
    sizes = boxes.match_dims(node, roi="rois 4", bbox_deltas="rois deltas", batch_index="rois", image_info="batches 2")
    if sizes["deltas"] < 4 or sizes["deltas"] % 4:
        node.fail("bbox_deltas", f"dimension 1 is {sizes['deltas']}, must be a positive multiple of 4")
    if sizes["batches"] < 1:
        node.fail("image_info", "dimension 0 is 0, must be > 0")
    return [node["bbox_deltas"].shape]


def compute(node, inputs):
    """Every box transformed by the deltas of each class and clipped to the image of its batch."""
    roi, deltas, image = (boxes.reals(node.inputs[place], inputs[place]) for place in (0, 1, 3))
    boxes.check_corners(node, "roi", roi)
    boxes.check_indices(node, "batch_index", inputs[2], len(image))
    moved = boxes.transform(roi[:, None], deltas.reshape(len(roi), deltas.shape[1] // 4, 4), image[inputs[2]][:, None])
    boxes.check_corners(node, "bbox_deltas", moved, "the box from")
    return [boxes.stored(node.outputs[0], np.ascontiguousarray(moved.reshape(deltas.shape)))]


AXIS_ALIGNED_BBOX_TRANSFORM = OpDef(
    OperationType.AXIS_ALIGNED_BBOX_TRANSFORM,
    (Signature("roi:T bbox_deltas:D batch_index:I32 image_info:T -> output:T",
               ("1.2: F16 F16", "1.2: F32 F32", "1.2: Q16A Q8", "1.3: Q16A Q8S")),),
    infer=infer, compute=compute, quant={OperandType.TENSOR_QUANT16_ASYMM: boxes.BOX_QUANTIZATION}, zero_sized="any",
)
