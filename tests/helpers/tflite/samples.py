"""Small files that between them hold every kind of table the reader follows."""

import numpy as np
from flatbuffers import flexbuffers

from helpers.tflite.file_builder import Op, Tensor, build

CONV = {"StrideW": 1, "StrideH": 1}


def quantized():
    """uint8 convolution, pooling, reshape, softmax; signature and shape_signature."""
    tensors = [
        Tensor("x", (1, 4, 4, 2), "uint8", scale=0.5, zero_point=3, signature=(-1, 4, 4, 2)),
        Tensor.of("w", np.arange(24, dtype=np.uint8).reshape(3, 2, 2, 2), scale=0.25, zero_point=9),
        Tensor.of("b", np.arange(3, dtype=np.int32), scale=0.125),
        Tensor("c", (1, 4, 4, 3), "uint8", scale=1.0), Tensor("p", (1, 1, 1, 3), "uint8", scale=1.0),
        Tensor.of("s", np.array([1, 3], np.int32)), Tensor("r", (1, 3), "uint8", scale=1.0),
        Tensor("y", (1, 3), "uint8", scale=1 / 256),
    ]
    pool = {"Padding": 1, "StrideW": 1, "StrideH": 1, "FilterWidth": 4, "FilterHeight": 4}
    ops = [
        Op("CONV_2D", ["x", "w", "b"], ["c"], "Conv2DOptions", CONV),
        Op("AVERAGE_POOL_2D", ["c"], ["p"], "Pool2DOptions", pool),
        Op("RESHAPE", ["p", "s"], ["r"], "ReshapeOptions", {"NewShape": [1, 3]}),
        Op("SOFTMAX", ["r"], ["y"], "SoftmaxOptions", {"Beta": 1.0}),
    ]
    return build(tensors, ops, ["x"], ["y"], ({"x": "image"}, {"y": "scores"}))


def per_channel(external=False):
    """int8 depthwise and dense layers with a scale per channel, float16 weights, quantize at the border."""
    scales = [0.1, 0.2, 0.3, 0.4]
    tensors = [
        Tensor("u", (1, 4, 4, 2), "uint8", scale=0.5, zero_point=128), Tensor("x", (1, 4, 4, 2), "int8", scale=0.5),
        Tensor.of("w", np.ones((1, 2, 2, 4), np.int8), scale=scales, dim=3),
        Tensor("d", (1, 2, 2, 4), "int8", scale=1.0),
        Tensor.of("v", np.ones((4, 16), np.int8), scale=scales), Tensor("f", (1, 4), "int8", scale=1.0),
        Tensor("g", (1, 4)), Tensor.of("h", np.ones((3, 4), np.float16)), Tensor("k", (3, 4)), Tensor("y", (1, 3)),
    ]
    ops = [
        Op("QUANTIZE", ["u"], ["x"]),
        Op("DEPTHWISE_CONV_2D", ["x", "w"], ["d"], "DepthwiseConv2DOptions", {"StrideW": 2, "StrideH": 2}),
        Op("FULLY_CONNECTED", ["d", "v", None], ["f"], "FullyConnectedOptions"), Op("DEQUANTIZE", ["f"], ["g"]),
        Op("DEQUANTIZE", ["h"], ["k"]), Op("FULLY_CONNECTED", ["g", "k"], ["y"], "FullyConnectedOptions"),
    ]
    return build(tensors, ops, ["u"], ["y"], external=external)


def recurrent():
    """A float RNN with a variable, then moving operators with constant arguments."""
    tensors = [
        Tensor("x", (2, 3)), Tensor.of("w", np.ones((4, 3), np.float32)), Tensor.of("r", np.eye(4, dtype=np.float32)),
        Tensor.of("b", np.zeros(4, np.float32)), Tensor("h", (2, 4), variable=True), Tensor("m", (2, 4)),
        Tensor.of("q", np.array([1, 0], np.int32)), Tensor("t", (), has_rank=False),
        Tensor.of("p", np.array([[1, 0], [0, 2]], np.int64)), Tensor("z", (), has_rank=False),
    ]
    ops = [
        Op("RNN", ["x", "w", "r", "b", "h"], ["m"], "RNNOptions", {"FusedActivationFunction": 4}),
        Op("TRANSPOSE", ["m", "q"], ["t"]), Op("PAD", ["t", "p"], ["z"]),
    ]
    return build(tensors, ops, ["x"], ["z"])


def shapes():
    """Arithmetic of a shape, parts of an image, a choice between subgraphs."""
    tensors = [
        Tensor("x", (2, 4, 4, 2)), Tensor("s", (4,), "int32"), Tensor("n", (), "int32"),
        Tensor.of("a", np.array([0], np.int32)), Tensor.of("b", np.array([1], np.int32)),
        Tensor.of("many", np.array(32, np.int32)), Tensor("t", (2,), "int32"), Tensor("y", (2, 32)),
        Tensor("v", (2, 3)), Tensor("i", (2, 3), "int32"), Tensor.of("k", np.array(3, np.int32)),
        Tensor("u", (3,)), Tensor("w", (3,)), Tensor("g", (3,)), Tensor("c", (1,), "bool"), Tensor("z", (3,)),
    ]
    ops = [
        Op("SHAPE", ["x"], ["s"], "ShapeOptions", {"OutType": 2}),
        Op("STRIDED_SLICE", ["s", "a", "b", "b"], ["n"], "StridedSliceOptions", {"ShrinkAxisMask": 1}),
        Op("PACK", ["n", "many"], ["t"], "PackOptions", {"ValuesCount": 2}), Op("RESHAPE", ["x", "t"], ["y"]),
        Op("TOPK_V2", ["y", "k"], ["v", "i"]), Op("UNPACK", ["v"], ["u", "w"], "UnpackOptions", {"Num": 2}),
        Op("SELECT_V2", ["c", "u", "w"], ["g"]),
        Op("IF", ["c", "g"], ["z"], "IfOptions", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}),
    ]
    others = [([Tensor("x", (3,)), Tensor("y", (3,))], [Op(kind, ["x"], ["y"])], ["x"], ["y"])
              for kind in ("CEIL", "SQUARE")]
    return build(tensors, ops, ["x", "c"], ["z", "i"], others=others)


def detections(has_shapes=True):
    """The custom operator, whose options are a format of their own. has_shapes: the file has those of the results."""
    options = {"max_detections": 3, "max_classes_per_detection": 1, "num_classes": 2, "nms_score_threshold": 0.25,
               "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
    tensors = [Tensor("d", (1, 4, 4)), Tensor("s", (1, 4, 3), "uint8", scale=0.005),
               Tensor.of("a", np.ones((4, 4), np.float32)), Tensor("o0", (1, 3, 4)), Tensor("o1", (1, 3)),
               Tensor("o2", (1, 3)), Tensor("o3", (1,))]
    names = [f"o{k}" for k in range(4)]
    if not has_shapes:
        tensors[3:] = [Tensor(name, (), has_rank=False) for name in names]
    op = Op("TFLite_Detection_PostProcess", ["d", "s", "a"], names, custom=bytes(flexbuffers.Dumps(options)))
    return build(tensors, [op], ["d", "s"], names)


def samples():
    """All of them, by name."""
    return {"quantized": quantized(), "per_channel": per_channel(), "external": per_channel(True),
            "recurrent": recurrent(), "shapes": shapes(), "detections": detections()}
