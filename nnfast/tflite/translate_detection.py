"""The custom operator TFLite_Detection_PostProcess."""

import numpy as np

from ..model.types import OperandType, OperationType
from .flexmap import decode, float32
from .own import extends
from .rules import QUANT8, translates

T = OperandType
SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
MOST_INTEGER = (1 << 31) - 1


@translates("TFLite_Detection_PostProcess")
def detection(b, op):
    """DETECTION_POSTPROCESSING after DEQUANTIZEs, with CASTs of classes and count, which are floats in TFLite.

    TFLite takes scores equal to their threshold and keeps overlaps equal to theirs, NNAPI does neither: the thresholds
    move by one float.
    """
    _detection(b, op, is_standard=True)


@extends("TFLite_Detection_PostProcess")
def detection_of_our_own(b, op):
    """As NNAPI's, but with any threshold, and scores without a background class."""
    _detection(b, op, is_standard=False)


def _detection(b, op, is_standard):
    b.check_counts(op, 3, outputs=4)
    options = _options(b, op, is_standard)
    encodings, scores, anchors = (b.tensor(op, place) for place in range(3))
    for t, rank in ((encodings, 3), (scores, 3), (anchors, 2)):
        b.check_rank(op, t, rank, rank)
        if not b.dims(op, t) or 0 in b.dims(op, t)[rank - 2:]:  # the batch is 1, whether the file says so or not
            b.refuse(op, f"tensor[{t.index}] must have known dimensions")
    b.check_types(op, (T.TENSOR_FLOAT32,), *(b.result(op, place) for place in range(4)))
    batches, _, classes = b.dims(op, scores)
    if batches > 1:
        b.refuse(op, f"scores have {batches} batches, must have 1")
    has_background = classes == options["num_classes"] + 1
    if not has_background and (is_standard or classes != options["num_classes"]):
        b.refuse(op, f"scores have {classes} classes, NNAPI takes num_classes ({options['num_classes']}) and a"
                     " background")
    regular = options["use_regular_nms"]
    if not regular and options["max_classes_per_detection"] != 1:
        b.refuse(op, f"max_classes_per_detection is {options['max_classes_per_detection']}; TFLite leaves gaps between"
                     " the detections of more than 1, NNAPI does not")
    most = options["max_detections"]
    inputs = [_floats(b, op, t) for t in (scores, encodings, anchors)]
    inputs += [b.real(T.TENSOR_FLOAT32, options[name]) for name in SCALES]
    inputs += [b.bool(regular), *(b.i32(options[name]) for name in (
        "max_detections", "max_classes_per_detection", "detections_per_class"))]
    inputs += [b.real(T.TENSOR_FLOAT32, options[name]) for name in ("nms_score_threshold", "nms_iou_threshold")]
    classes_out = b.temporary(T.TENSOR_INT32, (1, most), name=f"{b.result(op, 1).name}_int")
    count = b.temporary(T.TENSOR_INT32, (1,), name=f"{b.result(op, 3).name}_int")
    outputs = b.output(op, (1, most), 2), b.output(op, (1, most, 4), 0), classes_out, count
    if is_standard:
        b.emit(OperationType.DETECTION_POSTPROCESSING, (*inputs, b.bool(False)), outputs)
    else:
        b.emit_own("TFL_DETECTION_POSTPROCESS", (*inputs, b.bool(False), b.bool(has_background)), outputs)
    b.emit(OperationType.CAST, (classes_out,), (b.output(op, (1, most), 1),))
    b.emit(OperationType.CAST, (count,), (b.output(op, (1,), 3),))


def _options(b, op, is_standard):
    """The operator's options, checked; thresholds as NNAPI compares them. is_standard: NNAPI accepts them."""
    try:
        found = decode(op.options)
    except ValueError as error:
        b.refuse(op, f"custom_options {error}")
    options = {"detections_per_class": 100, "use_regular_nms": False} | found
    for name in ("max_detections", "max_classes_per_detection", "detections_per_class", "num_classes"):
        value = options.get(name)
        if not isinstance(value, int) or not 0 < value <= MOST_INTEGER:
            b.refuse(op, f"{name} is {value}, must be an integer above 0")
    for name in (*SCALES, "nms_score_threshold", "nms_iou_threshold"):
        value = options.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            b.refuse(op, f"{name} is {value}, must be a number")
        options[name] = float32(value)
    for name in SCALES:
        if not 0 < options[name] < np.inf:
            b.refuse(op, f"{name} is {options[name]}, must be above 0")
    score, overlap = options["nms_score_threshold"], options["nms_iou_threshold"]
    if not (0 if is_standard else -np.inf) < score < np.inf:
        b.refuse(op, f"nms_score_threshold is {score}, must be above 0: NNAPI takes scores above a threshold that is"
                     " not negative, so never those of 0")
    if not 0 <= overlap < np.inf:
        b.refuse(op, f"nms_iou_threshold is {overlap}, must be at least 0")
    options["nms_score_threshold"] = np.nextafter(score, np.float32(-np.inf))
    options["nms_iou_threshold"] = np.nextafter(overlap, np.float32(np.inf))
    for name in (*SCALES, "nms_score_threshold", "nms_iou_threshold"):
        options[name] = float(options[name])
    options["use_regular_nms"] = bool(options["use_regular_nms"])
    return options


def _floats(b, op, t):
    """Operand of a tensor as floats."""
    code = b.supported_type(op, t)
    if code not in (T.TENSOR_FLOAT32, *QUANT8):
        b.refuse(op, f"tensor[{t.index}] has type {code.name}, must be float32 or 8-bit")
    if code == T.TENSOR_FLOAT32:
        return b.operand(op, t)
    target = b.temporary(T.TENSOR_FLOAT32, b.dims(op, t), name=f"{t.name}_real")
    b.emit(OperationType.DEQUANTIZE, (b.operand(op, t),), (target,))
    return target
