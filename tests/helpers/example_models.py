"""Small models for the programs in examples/litert: a network of each kind, with seeded weights."""

import numpy as np
from flatbuffers import flexbuffers

from helpers.tflite.file_builder import Op, Tensor, build

CONV = {"StrideW": 1, "StrideH": 1}
F32 = np.float32


class _Weights:
    """Constants of a model under construction, from one generator."""

    def __init__(self, seed):
        self.generator, self.tensors = np.random.default_rng(seed), []

    def __call__(self, name, *shape, scale=None):
        """Name of a constant with normal values."""
        scale = 1 / np.sqrt(shape[-1]) if scale is None else scale
        return self.given(name, (self.generator.normal(size=shape) * scale).astype(F32))

    def given(self, name, array):
        """Name of a constant with this value."""
        self.tensors.append(Tensor.of(name, np.asarray(array)))
        return name


def detection(count=(1,)):
    """Bright and dark squares: 4 x 4 cells of a picture [1, 8, 8, 3], boxes of the cells' size, two classes.

    count: shape that the file gives to the number of detections.
    """
    w = _Weights(1)
    center = (np.arange(4) + 0.5) / 4
    y, x = (grid.reshape(-1) for grid in np.meshgrid(center, center, indexing="ij"))
    w.given("anchors", np.stack([y, x, np.full(16, 0.25), np.full(16, 0.25)], 1).astype(F32))
    w.given("no_box", np.zeros((4, 1, 1, 3), F32)), w.given("no_shift", np.zeros(4, F32))
    w.given("kinds", np.array([[0, 0, 0], [2, 1, 1], [-1, -2, -0.5]], F32).reshape(3, 1, 1, 3))
    w.given("bias", np.array([0, -1, -2.5], F32))
    w.given("flat4", np.array([1, 16, 4], np.int32)), w.given("flat3", np.array([1, 16, 3], np.int32))
    names = ["boxes", "classes", "scores", "count"]
    tensors = [Tensor("picture", (1, 8, 8, 3)), Tensor("cells", (1, 4, 4, 3)), Tensor("b", (1, 4, 4, 4)),
               Tensor("s", (1, 4, 4, 3)), Tensor("p", (1, 4, 4, 3)), Tensor("b2", (1, 16, 4)), Tensor("p2", (1, 16, 3)),
               *w.tensors, Tensor("boxes", (1, 5, 4)), Tensor("classes", (1, 5)), Tensor("scores", (1, 5)),
               Tensor("count", count, has_rank=bool(count))]
    options = {"max_detections": 5, "max_classes_per_detection": 1, "num_classes": 2, "nms_score_threshold": 0.3,
               "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
    pool = {"Padding": 1, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}
    ops = [Op("AVERAGE_POOL_2D", ["picture"], ["cells"], "Pool2DOptions", pool),
           Op("CONV_2D", ["cells", "no_box", "no_shift"], ["b"], "Conv2DOptions", CONV),
           Op("CONV_2D", ["cells", "kinds", "bias"], ["s"], "Conv2DOptions", CONV), Op("LOGISTIC", ["s"], ["p"]),
           Op("RESHAPE", ["b", "flat4"], ["b2"], "ReshapeOptions", {"NewShape": [1, 16, 4]}),
           Op("RESHAPE", ["p", "flat3"], ["p2"], "ReshapeOptions", {"NewShape": [1, 16, 3]}),
           Op("TFLite_Detection_PostProcess", ["b2", "p2", "anchors"], names,
              custom=bytes(flexbuffers.Dumps(options)))]
    return build(tensors, ops, ["picture"], names)


def keyword():
    """A recurrent layer with a variable over frames of 6 values, three classes."""
    w = _Weights(2)
    weights = [w("w", 8, 6, scale=0.6), w("r", 8, 8, scale=0.5), w("b", 8, scale=0.1)]
    head = [w("v", 3, 8, scale=1.5), w("c", 3, scale=0.1)]
    tensors = [Tensor("frame", (1, 6)), *w.tensors, Tensor("h", (1, 8), variable=True), Tensor("n", (1, 8)),
               Tensor("logits", (1, 3)), Tensor("scores", (1, 3))]
    ops = [Op("RNN", ["frame", *weights, "h"], ["n"], "RNNOptions", {"FusedActivationFunction": 4}),
           Op("FULLY_CONNECTED", ["n", *head], ["logits"], "FullyConnectedOptions"),
           Op("SOFTMAX", ["logits"], ["scores"], "SoftmaxOptions", {"Beta": 1.0})]
    return build(tensors, ops, ["frame"], ["scores"])


def lstm():
    """An LSTM of 10 units over [1, 16, 4], the mean of its outputs through a layer of five classes."""
    w = _Weights(3)
    inputs = [w(f"i{k}", 10, 4, scale=0.7) for k in range(4)] + [w(f"r{k}", 10, 10) for k in range(4)]
    biases = [w(f"b{k}", 10, scale=0.2) for k in range(4)]
    head = [w("v", 5, 10, scale=2.0), w("c", 5, scale=0.1)]
    w.given("time", np.array([1], np.int32))
    tensors = [Tensor("series", (1, 16, 4)), *w.tensors, Tensor("h", (1, 10), variable=True),
               Tensor("cell", (1, 10), variable=True), Tensor("steps", (1, 16, 10)), Tensor("mean", (1, 10)),
               Tensor("logits", (1, 5)), Tensor("scores", (1, 5))]
    options = {"FusedActivationFunction": 4, "TimeMajor": False}
    ops = [Op("UNIDIRECTIONAL_SEQUENCE_LSTM", ["series", *inputs, None, None, None, *biases, None, None, "h", "cell"],
              ["steps"], "UnidirectionalSequenceLSTMOptions", options),
           Op("MEAN", ["steps", "time"], ["mean"], "ReducerOptions"),
           Op("FULLY_CONNECTED", ["mean", *head], ["logits"], "FullyConnectedOptions"),
           Op("SOFTMAX", ["logits"], ["scores"], "SoftmaxOptions", {"Beta": 1.0})]
    return build(tensors, ops, ["series"], ["scores"])


def text(length=12, width=8, words=20):
    """Embeddings, one masked head of self-attention, a normalized layer and two classes of the first token."""
    w = _Weights(4)
    w("words", words, width, scale=1.0), w("kinds", 2, width, scale=0.3), w("positions", 1, length, width, scale=0.3)
    head = [w("v", 2, width, scale=1.5), w("c", 2, scale=0.1)]
    for name, value in (("one", 1), ("far", 1e4), ("root", 1 / np.sqrt(width)), ("small", 1e-6)):
        w.given(name, np.array([value], F32))
    for name, value in (("row", [1, 1, length]), ("last", [2]), ("zeros", [0, 0, 0]), ("first", [1, 1, width]),
                        ("flat", [1, width])):
        w.given(name, np.array(value, np.int32))
    whole, square, line = (1, length, width), (1, length, length), (1, length, 1)
    shapes = {"e": whole, "k": whole, "ek": whole, "x": whole, "m": (1, length), "m3": (1, 1, length),
              "m4": (1, 1, length), "hidden": (1, 1, length), "scores": square, "scaled": square, "masked": square,
              "share": square, "mixed": whole, "sum": whole, "mean": line, "apart": whole, "variance": line,
              "kept": line, "inverse": line, "centred": whole, "normal": whole, "cls": (1, 1, width),
              "token": (1, width), "logits": (1, 2), "answer": (1, 2)}
    tensors = [Tensor("segment_ids", (1, length), "int32"), Tensor("input_ids", (1, length), "int32"),
               Tensor("input_mask", (1, length), "int32"), *w.tensors,
               *(Tensor(name, shape) for name, shape in shapes.items())]
    ops = [Op("GATHER", ["words", "input_ids"], ["e"], "GatherOptions"),
           Op("GATHER", ["kinds", "segment_ids"], ["k"], "GatherOptions"),
           Op("ADD", ["e", "k"], ["ek"], "AddOptions"), Op("ADD", ["ek", "positions"], ["x"], "AddOptions"),
           Op("CAST", ["input_mask"], ["m"]), Op("RESHAPE", ["m", "row"], ["m3"], "ReshapeOptions",
                                                 {"NewShape": [1, 1, length]}),
           Op("SUB", ["m3", "one"], ["m4"], "SubOptions"), Op("MUL", ["m4", "far"], ["hidden"], "MulOptions"),
           Op("BATCH_MATMUL", ["x", "x"], ["scores"], "BatchMatMulOptions", {"AdjY": True}),
           Op("MUL", ["scores", "root"], ["scaled"], "MulOptions"),
           Op("ADD", ["scaled", "hidden"], ["masked"], "AddOptions"),
           Op("SOFTMAX", ["masked"], ["share"], "SoftmaxOptions", {"Beta": 1.0}),
           Op("BATCH_MATMUL", ["share", "x"], ["mixed"], "BatchMatMulOptions"),
           Op("ADD", ["x", "mixed"], ["sum"], "AddOptions"),
           Op("MEAN", ["sum", "last"], ["mean"], "ReducerOptions", {"KeepDims": True}),
           Op("SQUARED_DIFFERENCE", ["sum", "mean"], ["apart"]),
           Op("MEAN", ["apart", "last"], ["variance"], "ReducerOptions", {"KeepDims": True}),
           Op("ADD", ["variance", "small"], ["kept"], "AddOptions"), Op("RSQRT", ["kept"], ["inverse"]),
           Op("SUB", ["sum", "mean"], ["centred"], "SubOptions"),
           Op("MUL", ["centred", "inverse"], ["normal"], "MulOptions"),
           Op("SLICE", ["normal", "zeros", "first"], ["cls"]),
           Op("RESHAPE", ["cls", "flat"], ["token"], "ReshapeOptions", {"NewShape": [1, width]}),
           Op("FULLY_CONNECTED", ["token", *head], ["logits"], "FullyConnectedOptions"),
           Op("SOFTMAX", ["logits"], ["answer"], "SoftmaxOptions", {"Beta": 1.0})]
    return build(tensors, ops, ["segment_ids", "input_ids", "input_mask"], ["answer"])


def segmentation():
    """Two convolutions at half the size of [1, 32, 32, 3] and a resize back, three classes."""
    w = _Weights(5)
    first = [w("w", 6, 3, 3, 3, scale=0.5), w("b", 6, scale=0.2)]
    second = [w("v", 3, 1, 1, 6, scale=0.8), w("c", 3, scale=0.2)]
    w.given("size", np.array([32, 32], np.int32))
    tensors = [Tensor("picture", (1, 32, 32, 3)), *w.tensors, Tensor("h", (1, 16, 16, 6)),
               Tensor("s", (1, 16, 16, 3)), Tensor("classes", (1, 32, 32, 3))]
    ops = [Op("CONV_2D", ["picture", *first], ["h"], "Conv2DOptions",
              {"StrideW": 2, "StrideH": 2, "FusedActivationFunction": 1}),
           Op("CONV_2D", ["h", *second], ["s"], "Conv2DOptions", CONV),
           Op("RESIZE_BILINEAR", ["s", "size"], ["classes"], "ResizeBilinearOptions", {"HalfPixelCenters": True})]
    return build(tensors, ops, ["picture"], ["classes"])


def signatures():
    """blend(left, right, share) = left * share + right * (1 - share), and distance(x, y): two subgraphs."""
    row, one = (1, 8), Tensor.of("one", np.ones(1, F32))
    blend = ([Tensor("r", row), Tensor("l", row), Tensor("s", (1, 1)), one, Tensor("rest", (1, 1)), Tensor("a", row),
              Tensor("b", row), Tensor("mix", row)],
             [Op("SUB", ["one", "s"], ["rest"], "SubOptions"), Op("MUL", ["l", "s"], ["a"], "MulOptions"),
              Op("MUL", ["r", "rest"], ["b"], "MulOptions"), Op("ADD", ["a", "b"], ["mix"], "AddOptions")],
             ["r", "l", "s"], ["mix"])
    axis = Tensor.of("axis", np.array([1], np.int32))
    distance = ([Tensor("x", row), Tensor("y", row), axis, Tensor("d", row), Tensor("sum", (1, 1)),
                 Tensor("far", (1, 1))],
                [Op("SQUARED_DIFFERENCE", ["x", "y"], ["d"]),
                 Op("SUM", ["d", "axis"], ["sum"], "ReducerOptions", {"KeepDims": True}),
                 Op("SQRT", ["sum"], ["far"])], ["x", "y"], ["d", "far"])
    return build(*blend, others=[distance], signatures=[
        ("blend", 0, {"l": "left", "r": "right", "s": "share"}, {"mix": "mixed"}),
        ("distance", 1, {"x": "x", "y": "y"}, {"far": "distance", "d": "parts"})])


def float16():
    """Two dense layers with weights in float16."""
    w = _Weights(6)
    sizes = {"w": (12, 20), "v": (4, 12)}
    for name, shape in sizes.items():
        w.given(f"{name}16", (w.generator.normal(size=shape) / 3).astype(np.float16))
    w("b", 12, scale=0.1), w("c", 4, scale=0.1)
    tensors = [Tensor("x", (1, 20)), *w.tensors, Tensor("w", sizes["w"]), Tensor("v", sizes["v"]), Tensor("h", (1, 12)),
               Tensor("y", (1, 4))]
    ops = [Op("DEQUANTIZE", ["w16"], ["w"]), Op("DEQUANTIZE", ["v16"], ["v"]),
           Op("FULLY_CONNECTED", ["x", "w", "b"], ["h"], "FullyConnectedOptions", {"FusedActivationFunction": 1}),
           Op("FULLY_CONNECTED", ["h", "v", "c"], ["y"], "FullyConnectedOptions")]
    return build(tensors, ops, ["x"], ["y"])


MAKERS = {"detect": detection, "keyword_stream": keyword, "lstm": lstm, "text": text, "segment": segmentation,
          "signatures": signatures, "float16": float16}
"""Program of examples/litert -> what makes its model; the others use those that ship with nnfast."""
