"""TFLite_Detection_PostProcess in the forms that DETECTION_POSTPROCESSING lacks: any threshold, no background class."""

import numpy as np

from .detection_postprocessing import compute as compute_standard
from .detection_postprocessing import shapes
from .tfl import own


def infer(node):
    """As DETECTION_POSTPROCESSING."""
    return shapes(node, node.scalar("has_background"))


def compute(node, inputs):
    """As DETECTION_POSTPROCESSING, with a background of zeros where the scores have none."""
    scores, *others = inputs
    if not node.scalar("has_background"):
        scores = np.concatenate([np.zeros_like(scores[..., :1]), scores], -1)
    return compute_standard(node, [scores, *others])


TFL_DETECTION_POSTPROCESS = own(
    "TFL_DETECTION_POSTPROCESS",
    {"scores:F32 box_deltas:F32 anchors:F32 scale_dy:f32 scale_dx:f32 scale_dh:f32 scale_dw:f32 use_regular_nms:bool "
     "max_num_detections:i32 max_classes_per_detection:i32 max_detections_per_class:i32 score_threshold:f32 "
     "iou_threshold:f32 include_background_in_label:bool has_background:bool -> "
     "out_scores:F32 out_boxes:F32 out_classes:I32 out_num_detections:I32": {}}, compute, infer)
