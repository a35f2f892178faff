"""Models of one TFLite layer each, of kinds and types that ci/layer_models.py has not.

    python ci/layer_models_tflite.py FOLDER
    nnfast benchmark FOLDER/*.tflite

Layers of float32, int8, uint8, int16 and int32, and of float inputs with int8 weights ("hybrid"): curves, two operands
that broadcast, reductions, movements, casts, resizing, pools, products, recurrent layers. Values are drawn with a fixed
seed. It needs the packages of the tests.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from helpers.tflite.running import Const, One, State  # noqa: E402

RANDOM = np.random.default_rng(3)
DTYPES = {"f32": np.float32, "int8": np.int8, "int16": np.int16, "uint8": np.uint8, "i32": np.int32}
INPUT = {"int8": (0.0513, 3), "int16": (0.00021, 0), "uint8": (0.0513, 131)}
OUTPUT = {"int8": (0.0711, -5), "int16": (0.00031, 0), "uint8": (0.0711, 120)}
SUMS = {"int8": (0.9, -5), "int16": (0.003, 0)}
"""type -> scale and zero point of inputs, of outputs, and of outputs that add up many products."""
FLOAT, TWO, ALL = ("f32",), ("f32", "int8"), ("f32", "int8", "int16")
IMAGE, ROW, LONG = (1, 56, 56, 64), (64,), (1, 100000)
LAYERS = {}
"""Name -> One."""


def drawn(kind, *shape):
    """Values of a type; int16 without its least code, which symmetric quantization does not use."""
    dtype = DTYPES[kind]
    if kind == "f32":
        return RANDOM.standard_normal(shape).astype(dtype)
    if kind == "i32":
        return RANDOM.integers(-1000, 1000, shape).astype(dtype)
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min + (kind == "int16"), info.max + 1, shape).astype(dtype)


def truths(*shape):
    return drawn("f32", *shape) > 0


def ints(*values):
    return Const(np.array(values, np.int32))


def add(name, kind, inputs, outputs, options=None, fields=None, **more):
    LAYERS[name] = One(kind, inputs, outputs, options, fields, **more)


def quants(kind, inputs=1, output=None):
    """Of so many inputs and one output; None for types without scales."""
    if kind not in INPUT:
        return None
    scale, zero = INPUT[kind]
    more = {f"i{k}": (scale * 0.6, zero) for k in range(1, inputs)}
    return {"i0": (scale, zero), **more, "o0": output or OUTPUT[kind]}


def same(kind, *names):
    """One quantization for all the tensors named."""
    return dict.fromkeys(names, INPUT[kind]) if kind in INPUT else None


def unary(kind, types, shape, options=None, fields=None, output=None, name=None):
    for t in types:
        add(f"{name or kind.lower()}_{t}", kind, [drawn(t, *shape)], [(shape, DTYPES[t])], options, fields,
            quants=quants(t, output=(output or {}).get(t)))


def binary(kind, types, shape, other, options=None, result=None, constant=False, name=None):
    for t in types:
        y = drawn(t, *other)
        if t == "i32":
            y[y == 0] = 7
        add(f"{name or kind.lower()}_{t}", kind, [drawn(t, *shape), Const(y) if constant else y],
            [(np.broadcast_shapes(shape, other), result or DTYPES[t])], options, quants=quants(t, 2))


def reduction(kind, types, shape, axes, name, keeps=False):
    for t in types:
        kept = [1 if keeps and k in axes else size for k, size in enumerate(shape) if keeps or k not in axes]
        add(f"{kind.lower()}_{name}_{t}", kind, [drawn(t, *shape), ints(*axes)], [(tuple(kept), DTYPES[t])],
            "ReducerOptions", {"KeepDims": keeps},
            quants=quants(t, output=INPUT.get(t) if kind.startswith("REDUCE") else None))


def movement(name, kind, types, shape, result, more=(), options=None, fields=None):
    for t in types:
        add(f"{name}_{t}", kind, [drawn(t, *shape), *more], [(result, DTYPES[t])], options, fields,
            quants=same(t, "i0", "o0"))


def weights(kind, *shape):
    if kind == "f32":
        return Const(drawn(kind, *shape) * np.float32(0.1))
    return Const(np.maximum(drawn("int8", *shape), -127))


def bias(kind, units):
    if kind == "f32":
        return Const(drawn(kind, units))
    return Const(RANDOM.integers(-999, 1000, units).astype(np.int64 if kind == "int16" else np.int32))


def convolution(name, kind, shape, filters, result, types=TWO, stride=1):
    """Of either CONV_2D, DEPTHWISE_CONV_2D or TRANSPOSE_CONV, padded as SAME, with a scale for each unit."""
    turned, deep = kind == "TRANSPOSE_CONV", kind == "DEPTHWISE_CONV_2D"
    units, dim = filters[3 if deep else 0], 3 if deep else 0
    fields = {"Padding": 0, "StrideW": stride, "StrideH": stride}
    if not turned:
        fields |= {"DilationWFactor": 1, "DilationHFactor": 1}
    if deep:
        fields["DepthMultiplier"] = 1
    options = {"CONV_2D": "Conv2DOptions", "TRANSPOSE_CONV": "TransposeConvOptions"}.get(kind, "DepthwiseConv2DOptions")
    scales = [0.003 + 0.0001 * (unit % 7) for unit in range(units)]
    x, w, b = ("i2", "i1", "i3") if turned else ("i0", "i1", "i2")
    for t in types:
        source, target = drawn("f32" if t == "hybrid" else t, *shape), DTYPES.get(t, np.float32)
        first = [ints(*result), weights(t, *filters), source] if turned else [source, weights(t, *filters)]
        q = None if t == "f32" else {w: (scales, 0)}
        if t in INPUT:
            q |= {x: INPUT[t], b: ([INPUT[t][0] * scale for scale in scales], 0), "o0": SUMS[t]}
        add(f"{name}_{t}", kind, [*first, bias("f32" if t == "hybrid" else t, units)], [(result, target)], options,
            fields, quants=q, dims={w: dim})


def fully_connected(name, rows, depth, units, types=(*TWO, "hybrid")):
    for t in types:
        kind = "f32" if t == "hybrid" else t
        q = None if t == "f32" else {"i1": (0.004, 0)}
        if t in INPUT:
            q |= {"i0": INPUT[t], "i2": (INPUT[t][0] * 0.004, 0), "o0": SUMS[t]}
        add(f"{name}_{t}", "FULLY_CONNECTED", [drawn(kind, rows, depth), weights(t, units, depth), bias(kind, units)],
            [((rows, units), DTYPES[kind])], "FullyConnectedOptions", {}, quants=q)


def curves():
    for kind in ("SQUARE", "COS", "CEIL", "ROUND"):
        unary(kind, FLOAT, LONG)
    for kind in ("ELU", "HARD_SWISH", "RELU", "RELU6", "RELU_N1_TO_1"):
        unary(kind, TWO, LONG)
    unary("ABS", ("int8",), LONG)
    unary("GELU", TWO, LONG, "GeluOptions")
    unary("GELU", FLOAT, LONG, "GeluOptions", {"Approximate": True}, name="gelu_tanh")
    unary("LEAKY_RELU", ALL, LONG, "LeakyReluOptions", {"Alpha": 0.2})
    fixed = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0)}
    for kind in ("LOGISTIC", "TANH"):
        unary(kind, ("int16",), LONG, output=fixed)
    for name, types, shape in (("rows", ALL, (64, 1000)), ("pairs", TWO, (3136, 2)), ("1001", TWO, (1, 1001)),
                               ("attention", TWO, (8, 64, 64)), ("21", TWO, (8732, 21))):
        unary("SOFTMAX", types, shape, "SoftmaxOptions", {"Beta": 1.0}, fixed, f"softmax_{name}")
    for shape in ((64, 1000), (1000, 29)):
        unary("LOG_SOFTMAX", TWO, shape, "LogSoftmaxOptions", output={"int8": (16 / 256, 127)},
              name=f"log_softmax_{shape[1]}")
    unary("L2_NORMALIZATION", TWO, (196, 128), "L2NormOptions", output={"int8": (1 / 128, 0)})
    unary("LOCAL_RESPONSE_NORMALIZATION", FLOAT, (1, 28, 28, 64), "LocalResponseNormalizationOptions",
          {"Radius": 2, "Bias": 1.0, "Alpha": 1e-4, "Beta": 0.75})


def operands():
    for kind, options in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")):
        binary(kind, ("int16", "i32"), IMAGE, IMAGE, options)
        binary(kind, TWO, IMAGE, (1,), options, constant=True, name=f"{kind.lower()}_scalar")
        binary(kind, TWO, IMAGE, (1, 56, 56, 1), options, name=f"{kind.lower()}_column")
    binary("SUB", TWO, IMAGE, IMAGE, "SubOptions")
    binary("DIV", FLOAT, IMAGE, ROW, "DivOptions", name="div_row")
    binary("DIV", ("i32",), IMAGE, IMAGE, "DivOptions")
    for kind in ("MAXIMUM", "MINIMUM"):
        binary(kind, ("int8", "i32", "int16"), IMAGE, IMAGE, "MaximumMinimumOptions")
    binary("SQUARED_DIFFERENCE", ("f32", "int8", "i32"), IMAGE, IMAGE)
    for kind in ("FLOOR_DIV", "FLOOR_MOD"):
        binary(kind, ("f32", "i32"), IMAGE, IMAGE)
    for kind in ("LESS", "EQUAL", "GREATER_EQUAL"):
        binary(kind, ("f32", "int8", "i32"), IMAGE, IMAGE, result=np.bool_)
    binary("GREATER", ("f32", "int8", "i32"), IMAGE, (1,), result=np.bool_, constant=True)
    binary("POW", FLOAT, IMAGE, (1,), constant=True)
    binary("PRELU", TWO, IMAGE, (1, 1, 64), constant=True)
    for kind in ("LOGICAL_AND", "LOGICAL_OR"):
        add(kind.lower(), kind, [truths(*IMAGE), truths(*IMAGE)], [(IMAGE, np.bool_)])
    add("logical_not", "LOGICAL_NOT", [truths(*IMAGE)], [(IMAGE, np.bool_)])
    for t in ALL:
        for kind, shape in (("SELECT", IMAGE), ("SELECT_V2", (1, 56, 56, 1))):
            add(f"{kind.lower()}_{t}", kind, [truths(*shape), drawn(t, *IMAGE), drawn(t, *IMAGE)],
                [(IMAGE, DTYPES[t])], quants=same(t, "i1", "i2", "o0"))
    add("add_n_f32", "ADD_N", [drawn("f32", *IMAGE), drawn("f32", *IMAGE), drawn("f32", *IMAGE)], [(IMAGE, np.float32)])


def reductions():
    for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        reduction(kind, ALL if kind == "MEAN" else TWO, IMAGE, (1, 2), "space")
        reduction(kind, TWO, IMAGE, (3,), "last", keeps=True)
    reduction("REDUCE_PROD", FLOAT, IMAGE, (3,), "last")
    reduction("SUM", ("i32",), IMAGE, (3,), "last")
    reduction("SUM", ("i32",), IMAGE, (1,), "rows")
    for kind in ("REDUCE_ANY", "REDUCE_ALL"):
        add(kind.lower(), kind, [truths(*IMAGE), ints(3)], [((1, 56, 56), np.bool_)], "ReducerOptions")
    for t in TWO:
        for kind, options in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
            for shape in ((1, 128, 128, 21), (4, 10000)):
                add(f"{kind.lower()}_{shape[-1]}_{t}", kind, [drawn(t, *shape), ints(len(shape) - 1)],
                    [(shape[:-1], np.int32)], options, {"OutputType": 2}, quants=same(t, "i0"))
        add(f"topk_{t}", "TOPK_V2", [drawn(t, 1, 10000), Const(np.array(10, np.int32))],
            [((1, 10), DTYPES[t]), ((1, 10), np.int32)], "TopKV2Options", quants=same(t, "i0", "o0"))
    for t, axis in (("f32", 1), ("i32", 0)):
        add(f"cumsum_{t}", "CUMSUM", [drawn(t, 64, 1000), ints(axis)], [((64, 1000), DTYPES[t])], "CumsumOptions")


def movements():
    around = Const(np.array([[0, 0], [2, 2], [2, 2], [0, 0]], np.int32))
    movement("pad", "PAD", ALL, IMAGE, (1, 60, 60, 64), [around])
    movement("mirror_pad", "MIRROR_PAD", TWO, (1, 112, 112, 8), (1, 116, 116, 8), [around], "MirrorPadOptions",
             {"Mode": 0})
    movement("slice", "SLICE", ALL, IMAGE, (1, 54, 54, 32), [ints(0, 1, 1, 0), ints(1, 54, 54, 32)])
    for name, result, steps in (("strided_slice", (1, 28, 28, 64), (1, 2, 2, 1)),
                                ("strided_channels", (1, 56, 56, 32), (1, 1, 1, 2))):
        movement(name, "STRIDED_SLICE", ALL, IMAGE, result, [ints(0, 0, 0, 0), ints(*IMAGE), ints(*steps)],
                 "StridedSliceOptions", {})
    for name, shape, order in (("planes", (1, 224, 224, 3), (0, 3, 1, 2)), ("back", (1, 3, 224, 224), (0, 2, 3, 1)),
                               ("heads", (1, 196, 8, 64), (0, 2, 1, 3)), ("keys", (1, 196, 8, 64), (0, 2, 3, 1)),
                               ("matrix", (1000, 300), (1, 0)), ("shuffle", (1, 28, 28, 2, 58), (0, 1, 2, 4, 3))):
        movement(f"transpose_{name}", "TRANSPOSE", ALL, shape, tuple(shape[axis] for axis in order), [ints(*order)])
    movement("reverse_last", "REVERSE_V2", ALL, IMAGE, IMAGE, [ints(3)])
    movement("reverse_rows", "REVERSE_V2", TWO, IMAGE, IMAGE, [ints(1)])
    movement("reverse_sequence", "REVERSE_SEQUENCE", FLOAT, (8, 100, 64), (8, 100, 64),
             [ints(100, 90, 80, 70, 60, 50, 40, 30)], "ReverseSequenceOptions", {"SeqDim": 1, "BatchDim": 0})
    movement("tile", "TILE", TWO, (1, 28, 28, 64), IMAGE, [ints(1, 2, 2, 1)])
    places = Const(RANDOM.integers(0, 5000, 64).astype(np.int32))
    movement("gather_rows", "GATHER", TWO, (5000, 128), (64, 128), [places], "GatherOptions", {"Axis": 0})
    movement("gather_last", "GATHER", TWO, (64, 5000), (64, 64), [places], "GatherOptions", {"Axis": 1})
    movement("gather_nd", "GATHER_ND", TWO, (50, 100, 128), (64, 128),
             [Const(RANDOM.integers(0, 50, (64, 2)).astype(np.int32))])
    block, none = ints(2, 2), Const(np.zeros((2, 2), np.int32))
    movement("space_to_depth", "SPACE_TO_DEPTH", TWO, (1, 112, 112, 16), IMAGE, (), "SpaceToDepthOptions",
             {"BlockSize": 2})
    movement("depth_to_space", "DEPTH_TO_SPACE", TWO, IMAGE, (1, 112, 112, 16), (), "DepthToSpaceOptions",
             {"BlockSize": 2})
    movement("space_to_batch", "SPACE_TO_BATCH_ND", TWO, IMAGE, (4, 28, 28, 64), [block, none])
    movement("batch_to_space", "BATCH_TO_SPACE_ND", TWO, (4, 28, 28, 64), IMAGE, [block, none])
    for t in ALL:
        square, pair = [drawn(t, 100, 100), drawn(t, 100, 100)], (100, 100, 2)
        add(f"concat_channels_{t}", "CONCATENATION", [drawn(t, 1, 56, 56, 24), drawn(t, 1, 56, 56, 40)],
            [(IMAGE, DTYPES[t])], "ConcatenationOptions", {"Axis": 3}, quants=same(t, "i0", "i1", "o0"))
        add(f"pack_{t}", "PACK", square, [(pair, DTYPES[t])], "PackOptions", {"Axis": 2, "ValuesCount": 2},
            quants=same(t, "i0", "i1", "o0"))
        add(f"unpack_{t}", "UNPACK", [drawn(t, *pair)], [((100, 100), DTYPES[t])] * 2, "UnpackOptions",
            {"Axis": 2, "Num": 2}, quants=same(t, "i0", "o0", "o1"))
        add(f"split_{t}", "SPLIT", [ints(3), drawn(t, *IMAGE)], [((1, 56, 56, 32), DTYPES[t])] * 2, "SplitOptions",
            {"NumSplits": 2}, quants=same(t, "i1", "o0", "o1"))
    add("one_hot", "ONE_HOT", [RANDOM.integers(0, 100, 64).astype(np.int32), Const(np.array(100, np.int32)),
                               Const(np.array(1, np.float32)), Const(np.array(0, np.float32))],
        [((64, 100), np.float32)], "OneHotOptions", {"Axis": -1})
    add("embedding", "EMBEDDING_LOOKUP", [RANDOM.integers(0, 5000, 64).astype(np.int32),
                                          Const(drawn("f32", 5000, 128))], [((64, 128), np.float32)])


def types_and_sizes():
    picture, whole = (1, 224, 224, 3), ("f32", "i32", "uint8", "int8")
    for source in whole:
        for target in whole:
            if source != target:
                add(f"cast_{source}_{target}", "CAST", [drawn(source, *picture)], [(picture, DTYPES[target])],
                    "CastOptions")
    add("cast_bool_f32", "CAST", [truths(*picture)], [(picture, np.float32)], "CastOptions")
    for t in INPUT:
        add(f"quantize_{t}", "QUANTIZE", [drawn("f32", *picture)], [(picture, DTYPES[t])], quants=same(t, "o0"))
        add(f"dequantize_{t}", "DEQUANTIZE", [drawn(t, *picture)], [(picture, np.float32)], quants=same(t, "i0"))
        add(f"requantize_{t}", "QUANTIZE", [drawn(t, *picture)], [(picture, DTYPES[t])], quants=quants(t))
    for name, kind, fields in (("bilinear", "RESIZE_BILINEAR", {"HalfPixelCenters": True}),
                               ("corners", "RESIZE_BILINEAR", {"AlignCorners": True}),
                               ("nearest", "RESIZE_NEAREST_NEIGHBOR", {})):
        options = "ResizeBilinearOptions" if kind == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
        for size, larger, channels in ((28, 56, 64), (33, 257, 21), (17, 224, 3)):
            movement(f"resize_{name}_{channels}", kind, TWO, (1, size, size, channels), (1, larger, larger, channels),
                     [ints(larger, larger)], options, fields)
    image, wide = (1, 28, 28, 64), (1, 20, 20, 256)
    for name, kind, types, shape, size in (
            ("average_pool", "AVERAGE_POOL_2D", ALL, image, 3), ("max_pool", "MAX_POOL_2D", ALL, image, 3),
            ("l2_pool", "L2_POOL_2D", FLOAT, image, 3), ("max_pool_5x5", "MAX_POOL_2D", TWO, wide, 5)):
        movement(name, kind, types, shape, shape, (), "Pool2DOptions",
                 {"Padding": 0, "StrideW": 1, "StrideH": 1, "FilterWidth": size, "FilterHeight": size})


def products():
    image, large = (1, 28, 28, 64), (1, 112, 112, 32)
    convolution("conv_3x3", "CONV_2D", image, (64, 3, 3, 64), image, (*ALL, "hybrid"))
    convolution("conv_1x1", "CONV_2D", image, (128, 1, 1, 64), (1, 28, 28, 128), ALL)
    convolution("conv_grouped", "CONV_2D", image, (64, 3, 3, 8), image)
    for width in (16, 24, 64):
        convolution(f"conv_grouped_{width}", "CONV_2D", (1, 14, 14, 384), (384, 3, 3, width), (1, 14, 14, 384))
    convolution("conv_one_unit", "CONV_2D", large, (1, 3, 3, 32), (1, 112, 112, 1))
    convolution("conv_picture_3x3", "CONV_2D", (1, 224, 224, 3), (16, 3, 3, 3), (1, 112, 112, 16), stride=2)
    convolution("conv_patch", "CONV_2D", (1, 224, 224, 3), (192, 16, 16, 3), (1, 14, 14, 192), stride=16)
    convolution("conv_21_units", "CONV_2D", (1, 33, 33, 256), (21, 1, 1, 256), (1, 33, 33, 21))
    convolution("depthwise_3x3", "DEPTHWISE_CONV_2D", IMAGE, (1, 3, 3, 64), IMAGE, (*ALL, "hybrid"))
    convolution("depthwise_7x7", "DEPTHWISE_CONV_2D", (1, 28, 28, 96), (1, 7, 7, 96), (1, 28, 28, 96))
    convolution("transpose_conv_2x2", "TRANSPOSE_CONV", image, (32, 2, 2, 64), (1, 56, 56, 32), ALL, 2)
    convolution("transpose_conv_4x4", "TRANSPOSE_CONV", image, (32, 4, 4, 64), (1, 56, 56, 32), stride=2)
    convolution("transpose_conv_one", "TRANSPOSE_CONV", large, (1, 3, 3, 32), (1, 224, 224, 1), stride=2)
    add("conv_3d_f32", "CONV_3D", [drawn("f32", 1, 8, 28, 28, 16), weights("f32", 3, 3, 3, 16, 16), bias("f32", 16)],
        [((1, 8, 28, 28, 16), np.float32)], "Conv3DOptions",
        {"Padding": 0, "StrideD": 1, "StrideW": 1, "StrideH": 1, "DilationDFactor": 1, "DilationWFactor": 1,
         "DilationHFactor": 1})
    for rows in (1, 4, 64):
        fully_connected(f"fully_connected_{rows}x512", rows, 512, 512, (*ALL, "hybrid"))
    fully_connected("fully_connected_head", 1, 1280, 1001)
    fully_connected("fully_connected_small", 1, 64, 10)
    for t in TWO:
        for name, a, b in (("attention", (8, 196, 64), (8, 64, 196)), ("values", (8, 196, 196), (8, 196, 64)),
                           ("row", (1, 1, 256), (1, 256, 512))):
            add(f"batch_matmul_{name}_{t}", "BATCH_MATMUL", [drawn(t, *a), drawn(t, *b)],
                [((*a[:2], b[2]), DTYPES[t])], "BatchMatMulOptions", {}, quants=quants(t, 2, (1.2, 4)))
    add("batch_matmul_weights_f32", "BATCH_MATMUL", [drawn("f32", 1, 196, 256), weights("f32", 256, 512)],
        [((1, 196, 512), np.float32)], "BatchMatMulOptions", {})


def recurrent():
    steps, size, units = 20, 64, 128
    result = [((steps, 1, units), np.float32)]
    for t in ("f32", "hybrid"):
        gates = [*(weights(t, units, size) for _ in range(4)), *(weights(t, units, units) for _ in range(4))]
        state = [None, None, State((1, units)), State((1, units)), None, None, None, None]
        add(f"lstm_{t}", "UNIDIRECTIONAL_SEQUENCE_LSTM",
            [drawn("f32", steps, 1, size), *gates, None, None, None, *(bias("f32", units) for _ in range(4)), *state],
            result, "UnidirectionalSequenceLSTMOptions", {"FusedActivationFunction": 4, "TimeMajor": True},
            quants=None if t == "f32" else {f"i{k}": (0.004, 0) for k in range(1, 9)})
    add("rnn_f32", "UNIDIRECTIONAL_SEQUENCE_RNN",
        [drawn("f32", steps, 1, size), weights("f32", units, size), weights("f32", units, units), bias("f32", units),
         State((1, units))], result, "SequenceRNNOptions", {"FusedActivationFunction": 4, "TimeMajor": True})
    add("svdf_f32", "SVDF", [drawn("f32", 1, 40), weights("f32", 256, 40), weights("f32", 256, 8), bias("f32", 128),
                             State((1, 2048))], [((1, 128), np.float32)], "SVDFOptions",
        {"Rank": 2, "FusedActivationFunction": 1})


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for group in (curves, operands, reductions, movements, types_and_sizes, products, recurrent):
        group()
    for name, layer in LAYERS.items():
        (folder / f"{name}.tflite").write_bytes(layer.file())
    print(f"{len(LAYERS)} models in {folder}")


if __name__ == "__main__":
    main()
