"""Cases of operators with weights: grouped and transposed convolutions, batches of 8-bit matrices, detections."""

import numpy as np
from flatbuffers import flexbuffers

from helpers.tflite.cases import codes, f, ints
from helpers.tflite.running import Const, One
from nnfast.model.quant import conv_multiplier, mbqm, quantize_multiplier

CASES = {}
"""Name -> (One, expected arrays)."""


def windows(x, size, stride):
    """[batch, height, width, size, size, channels] of all whole windows."""
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), (1, 2))
    return view[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)


def grouped(x, w, groups, stride=1):
    """Sums of a convolution in groups, without padding."""
    parts = zip(np.split(x, groups, 3), np.split(w, groups))
    return np.concatenate([np.einsum("nyxijc,kijc->nyxk", windows(a, w.shape[1], stride), b) for a, b in parts], 3)


def spread(x, w, stride, shape):
    """Transposed convolution, padding VALID."""
    result = np.zeros(shape, x.dtype)
    for y in range(x.shape[1]):
        for z in range(x.shape[2]):
            part = np.einsum("nc,kijc->nijk", x[:, y, z], w)
            top, left = y * stride, z * stride
            result[:, top:top + w.shape[1], left:left + w.shape[2]] += part
    return result


def requantized(sums, source, weights, target, dtype):
    """8-bit codes of integer sums, as TFLite's reference computes them."""
    pair = quantize_multiplier(conv_multiplier(source, weights, target[0]))
    info = np.iinfo(dtype)
    return np.clip(mbqm(sums, *pair) + target[1], info.min, info.max).astype(dtype)


CONV = {"Padding": 1, "StrideW": 2, "StrideH": 2}
X, W, B = f(1, 5, 5, 4), f(6, 2, 2, 2), f(6)
CASES["grouped_conv"] = (One("CONV_2D", [X, Const(W), Const(B)], [((1, 2, 2, 6), "float32")], "Conv2DOptions",
                             CONV | {"FusedActivationFunction": 1}), [np.maximum(grouped(X, W, 2, 2) + B, 0)])
XQ, WQ = codes("int8", 1, 5, 5, 4), codes("int8", 6, 2, 2, 2)
SCALES = [0.01, 0.02, 0.03, 0.01, 0.02, 0.03]
BIAS = [100, -900, 400, 3000, 5, 0]
SUMS = grouped(XQ.astype(np.int64) - 3, WQ.astype(np.int64), 2) + BIAS
EXPECTED = np.stack([requantized(SUMS[..., k], 0.5, SCALES[k], (2.0, -5), "int8") for k in range(6)], 3)
QUANTS = {"i0": (0.5, 3), "i1": (SCALES, 0), "i2": ([0.5 * scale for scale in SCALES], 0), "o0": (2.0, -5)}
CASES["grouped_conv_int8"] = (One("CONV_2D", [XQ, Const(WQ), ints(*BIAS)], [((1, 4, 4, 6), "int8")], "Conv2DOptions",
                                  {"Padding": 1, "StrideW": 1, "StrideH": 1}, quants=QUANTS), [EXPECTED])
XT, WT, BT = f(1, 3, 2, 4), f(5, 3, 3, 4), f(5)
TRANSPOSED = spread(XT, WT, 2, (1, 7, 5, 5))
CASES["transpose_conv"] = (One("TRANSPOSE_CONV", [ints(1, 7, 5, 5), Const(WT), XT], [((1, 7, 5, 5), "float32")],
                               "TransposeConvOptions", CONV), [TRANSPOSED])
CASES["transpose_conv_bias"] = (One("TRANSPOSE_CONV", [ints(1, 7, 5, 5), Const(WT), XT, Const(BT)],
                                    [((1, 7, 5, 5), "float32")], "TransposeConvOptions", CONV), [TRANSPOSED + BT])
# SAME: the padding of 1 in all is cut off behind.
CASES["transpose_conv_same"] = (One("TRANSPOSE_CONV", [ints(1, 6, 4, 5), Const(WT), XT], [((1, 6, 4, 5), "float32")],
                                    "TransposeConvOptions", CONV | {"Padding": 0}), [TRANSPOSED[:, :6, :4]])
M1, M2 = codes("int8", 2, 3, 4), codes("int8", 2, 4, 5)
SUMS = (M1.astype(np.int64) - 3) @ (M2.astype(np.int64) + 2)
CASES["batch_matmul_int8"] = (
    One("BATCH_MATMUL", [M1, M2], [((2, 3, 5), "int8")], "BatchMatMulOptions",
        quants={"i0": (0.5, 3), "i1": (0.25, -2), "o0": (64.0, 7)}),
    [requantized(SUMS, 0.5, 0.25, (64.0, 7), "int8")])

OPTIONS = {
    "max_detections": 3, "max_classes_per_detection": 1, "num_classes": 2, "nms_score_threshold": 0.25,
    "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
}
DETECTION = "TFLite_Detection_PostProcess"
ANCHORS = np.array([[.5, .5, 1, 1], [.5, .5, 1, 1], [.5, 10.5, 1, 1], [.5, 20.5, 1, 1]], np.float32)
DELTAS = np.zeros((1, 4, 4), np.float32)
DELTAS[0, 2, 0] = 10
SCORES = np.array([[[0, .9, .1], [0, .75, .2], [0, .2, .8], [0, .25, .125]]], np.float32)
BOXES = np.array([[[0, 0, 1, 1], [1, 10, 2, 11], [0, 20, 1, 21]]], np.float32)
RESULTS = [BOXES, np.array([[0, 1, 0]], np.float32), np.array([[.9, .8, .25]], np.float32), np.array([3], np.float32)]


def detection(options, deltas=DELTAS, scores=SCORES, anchors=ANCHORS, **more):
    """The operator with three detections."""
    custom = bytes(flexbuffers.Dumps(options))
    return One(DETECTION, [deltas, scores, Const(anchors)], [(r.shape, "float32") for r in RESULTS], custom=custom,
               **more)


# The fourth box has exactly the score of the threshold, which TFLite takes; the second one overlaps the first.
CASES["detection"] = detection(OPTIONS), RESULTS
CASES["detection_regular"] = detection(OPTIONS | {"use_regular_nms": True, "detections_per_class": 2}), RESULTS
