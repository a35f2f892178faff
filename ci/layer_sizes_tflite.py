"""Writes .tflite files of one layer each: frequent operators in many sizes, whole and odd, as networks have.

    python ci/layer_sizes_tflite.py FOLDER [--only GROUP]

Groups: convolution, depthwise, groups, transposed, product, softmax, pool, arithmetic, curve, reduction, order, join,
resize. Layers are of float32 and int8, products of float inputs with int8 weights too. `nnfast benchmark
FOLDER/*.tflite` times them, beside LiteRT where it is installed.
"""

import argparse
from pathlib import Path

import numpy as np
from layer_models_tflite import (
    DTYPES,
    FLOAT,
    LAYERS,
    TWO,
    Const,
    add,
    binary,
    convolution,
    drawn,
    fully_connected,
    ints,
    movement,
    quants,
    reduction,
    same,
    unary,
)

CONVOLUTIONS = """
224 3 32 3x3/2  224 3 64 7x7/2  112 1 8 3x3/1  28 1 32 3x3/1  28 1 6 5x5/1  96 1 8 3x3/2  320 3 16 6x6/2
160 4 16 3x3/1  56 16 16 3x3/1  56 24 24 3x3/1  40 40 40 3x3/1  28 48 96 3x3/2  56 32 64 3x3/2  14 256 256 3x3/1
7 512 512 3x3/1  20 100 50 3x3/1  28 17 31 3x3/1  28 64 64 5x5/1  14 128 128 5x5/1  56 16 32 5x5/2  28 64 64 1x7/1
28 64 64 7x1/1  17 192 192 1x7/1  17 192 192 7x1/1  8 384 384 1x3/1  8 384 384 3x1/1  56 24 144 1x1/1  56 144 24 1x1/1
28 192 32 1x1/1  14 576 96 1x1/1  7 960 160 1x1/1  7 320 1280 1x1/1  112 32 16 1x1/1  112 16 96 1x1/1  1 960 240 1x1/1
1 240 960 1x1/1  56 64 256 1x1/1  56 256 128 1x1/2  28 512 256 1x1/2  20 255 255 1x1/1  13 1024 30 1x1/1  64 32 1 1x1/1
128 16 2 1x1/1  64 32 7 1x1/1  64 12 12 1x1/1  100 9 9 1x1/1  32 8 8 3x3/1  64 4 4 3x3/1  128 3 3 3x3/1  256 3 3 9x9/1
128 8 3 9x9/1  33 2048 48 1x1/1  10 30 20 4x4/1  24 96 96 2x2/2  32 48 96 4x4/4
"""
"""Image size, channels, units, filter and stride."""
DEPTHWISE = """
112 32 3x3/1  112 96 3x3/2  56 144 3x3/1  56 144 5x5/2  28 240 5x5/1  14 480 3x3/1  14 672 5x5/1  7 960 3x3/1
7 1152 5x5/1  14 100 3x3/1  30 12 3x3/1  20 9 5x5/1  28 64 7x7/1  14 192 9x9/1  56 96 7x7/1  28 40 1x5/1  28 40 5x1/1
28 72 3x3/3  49 64 10x4/2  24 16 2x2/1  33 256 3x3/2  96 8 3x3/1  48 24 3x3/2  1 512 1x1/1
"""
TRANSPOSED = """
14 256 128 2x2/2  28 128 64 2x2/2  28 64 32 3x3/2  16 128 64 4x4/2  32 64 3 4x4/2  16 32 21 16x16/8  28 64 64 3x3/1
56 32 32 2x2/2  7 512 256 4x4/2  64 16 1 5x5/2
"""
PRODUCTS = """
1x128x10 1x784x128 1x1024x1024 1x4096x1000 1x25088x512 8x256x256 16x768x768 32x768x3072 32x3072x768 128x256x256
197x192x576 2x100x50 3x33x17 1x16x1 64x1x64 100x3x64 1x300x4 5x40x192 1x2048x1001 384x128x512 24x512x8 1x10x10
"""
POOLS = """
112 64 3/2  56 64 2/2  28 192 3/1  7 1024 7/7  14 480 5/3  28 32 2/2  112 16 2/2  8 2048 8/8  40 128 5/1  40 128 9/1
40 128 13/1  24 8 3/3  7 1280 7/1  224 3 2/2  30 20 2/2
"""


def numbers(row):
    """The integers of a row like "28 64 64 1x7/1"."""
    return [int(word) for word in row.replace("x", " ").replace("/", " ").split()]


def rows(table, words):
    """The rows of a table, each of so many words."""
    found = table.split()
    return [numbers(" ".join(found[k:k + words])) for k in range(0, len(found), words)]


def convolutions():
    for size, channels, units, height, width, stride in rows(CONVOLUTIONS, 4):
        out = -(-size // stride)
        convolution(f"conv_{size}_{channels}_{units}_{height}x{width}_{stride}", "CONV_2D", (1, size, size, channels),
                    (units, height, width, channels), (1, out, out, units), stride=stride)


def depthwise():
    for size, channels, height, width, stride in rows(DEPTHWISE, 3):
        out = -(-size // stride)
        convolution(f"depthwise_{size}_{channels}_{height}x{width}_{stride}", "DEPTHWISE_CONV_2D",
                    (1, size, size, channels), (1, height, width, channels), (1, out, out, channels), stride=stride)


def groups():
    for size, channels in ((28, 192), (14, 384), (7, 384)):
        for width in (4, 8, 12, 16, 24, 32, 48, 64, 96):
            image = (1, size, size, channels)
            convolution(f"groups_{size}_{channels}_{width}", "CONV_2D", image, (channels, 3, 3, width), image)


def transposed():
    for size, channels, units, height, width, stride in rows(TRANSPOSED, 4):
        convolution(f"transposed_{size}_{channels}_{units}_{height}x{width}_{stride}", "TRANSPOSE_CONV",
                    (1, size, size, channels), (units, height, width, channels),
                    (1, size * stride, size * stride, units), stride=stride)


def products():
    for name, depth, units in rows(PRODUCTS, 1):
        fully_connected(f"product_{name}x{depth}x{units}", name, depth, units, (*TWO, "hybrid"))
    for name, x, y in (("scores", (1, 12, 128, 64), (1, 12, 64, 128)), ("values", (1, 12, 128, 128), (1, 12, 128, 64)),
                       ("small", (1, 4, 16, 16), (1, 4, 16, 16)), ("token", (1, 8, 1, 64), (1, 8, 64, 256)),
                       ("windows", (64, 49, 32), (64, 32, 49)), ("long", (1, 4, 1024, 32), (1, 4, 32, 1024)),
                       ("vector", (1, 512, 512), (1, 512, 1))):
        for t in TWO:
            add(f"matmul_{name}_{t}", "BATCH_MATMUL", [drawn(t, *x), drawn(t, *y)],
                [((*x[:-1], y[-1]), DTYPES[t])], "BatchMatMulOptions", {}, quants=quants(t, 2, (1.2, 4)))


def softmax():
    for shape in ((1, 10), (1, 1000), (12, 128, 128), (1, 8, 1024, 32), (49, 49), (1, 100, 81), (196, 2), (1, 6300, 4),
                  (1, 3, 3, 3, 2), (1, 512, 512)):
        unary("SOFTMAX", TWO, shape, "SoftmaxOptions", {"Beta": 1.0}, {"int8": (1 / 256, -128)},
              "softmax_" + "x".join(map(str, shape)))


def pools():
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for size, channels, taps, stride in rows(POOLS, 3):
            out = -(-size // stride)
            movement(f"{kind[:3].lower()}_{size}_{channels}_{taps}_{stride}", kind, TWO, (1, size, size, channels),
                     (1, out, out, channels), (), "Pool2DOptions",
                     {"Padding": 0, "StrideW": stride, "StrideH": stride, "FilterWidth": taps, "FilterHeight": taps})


def arithmetic():
    for kind, options in (("ADD", "AddOptions"), ("MUL", "MulOptions"), ("SUB", "SubOptions")):
        for name, x, y in (("large", (1, 112, 112, 64), (1, 112, 112, 64)),
                           ("same", (1, 14, 14, 256), (1, 14, 14, 256)), ("channels", (1, 28, 28, 128), (1, 1, 1, 128)),
                           ("outer", (1, 64, 1), (1, 1, 64)),
                           ("mask", (1, 12, 128, 128), (1, 1, 128, 128)), ("column", (128, 768), (128, 1)),
                           ("tiny", (1, 16), (1, 16)), ("odd", (1, 7, 7, 33), (1, 7, 7, 33)),
                           ("five", (1, 10, 10, 5), (1, 10, 10, 5))):
            binary(kind, TWO, x, y, options, name=f"{kind.lower()}_{name}")
        binary(kind, TWO, (1, 28, 28, 128), (128,), options, constant=True, name=f"{kind.lower()}_bias")
        binary(kind, TWO, (197, 192), (1,), options, constant=True, name=f"{kind.lower()}_scalar")


def curves():
    outputs = {"LOGISTIC": {"int8": (1 / 256, -128)}, "TANH": {"int8": (1 / 128, 0)}}
    for name, shape in (("small", (1, 64)), ("middle", (1, 14, 14, 96)), ("large", (1, 112, 112, 64))):
        for kind in ("RSQRT", "SQRT", "EXP", "LOG", "NEG", "ABS", "FLOOR", "SIN"):
            unary(kind, FLOAT, shape, name=f"{kind.lower()}_{name}")
        for kind in ("TANH", "LOGISTIC", "HARD_SWISH", "RELU6", "RELU", "ELU"):
            unary(kind, TWO, shape, output=outputs.get(kind), name=f"{kind.lower()}_{name}")


def reductions():
    for name, shape, axes, keeps in (
            ("global", (1, 7, 7, 1280), (1, 2), False), ("global_kept", (1, 14, 14, 480), (1, 2), True),
            ("rows", (1, 128, 768), (2,), True), ("patches", (1, 197, 192), (2,), True),
            ("steps", (1, 128, 256), (1,), False), ("channels", (1, 56, 56, 24), (3,), True),
            ("all", (1, 28, 28, 16), (0, 1, 2, 3), False), ("small", (1, 4, 4, 8), (1, 2), False),
            ("lines", (1, 32, 32, 64), (1,), False)):
        for kind in ("MEAN", "SUM", "REDUCE_MAX"):
            reduction(kind, TWO, shape, axes, name, keeps)


def orders():
    for name, shape, order in (
            ("nchw", (1, 56, 56, 64), (0, 3, 1, 2)), ("nhwc", (1, 64, 56, 56), (0, 2, 3, 1)),
            ("heads", (1, 128, 12, 64), (0, 2, 1, 3)), ("joined", (1, 12, 128, 64), (0, 2, 1, 3)),
            ("keys", (1, 128, 12, 64), (0, 2, 3, 1)), ("matrix", (128, 768), (1, 0)), ("small", (4, 8), (1, 0)),
            ("windows", (1, 8, 7, 8, 7, 96), (0, 1, 3, 2, 4, 5)), ("blocks", (1, 16, 16, 2, 2, 16), (0, 1, 3, 2, 4, 5)),
            ("boxes", (1, 84, 8400), (0, 2, 1)), ("shuffle", (1, 14, 14, 2, 116), (0, 1, 2, 4, 3)),
            ("thirty", (100, 20, 30), (2, 0, 1))):
        movement(f"transpose_{name}", "TRANSPOSE", TWO, shape, tuple(shape[k] for k in order), [ints(*order)])
    for name, shape, pads in (
            ("one", (1, 56, 56, 24), ((0, 0), (1, 1), (1, 1), (0, 0))),
            ("behind", (1, 224, 224, 3), ((0, 0), (0, 1), (0, 1), (0, 0))),
            ("channels", (1, 28, 28, 16), ((0, 0), (0, 0), (0, 0), (0, 16))),
            ("steps", (1, 100, 64), ((0, 0), (28, 0), (0, 0))),
            ("three", (1, 112, 112, 8), ((0, 0), (3, 3), (3, 3), (0, 0)))):
        padded = tuple(size + sum(pair) for size, pair in zip(shape, pads))
        movement(f"pad_{name}", "PAD", TWO, shape, padded, [Const(np.array(pads, np.int32))])


def joins():
    for name, axis, shapes in (
            ("pyramid", 3, [(1, 40, 40, 128)] * 2), ("boxes", 1, [(1, 100, 64), (1, 400, 64), (1, 1600, 64)]),
            ("odd", 3, [(1, 28, 28, 17), (1, 28, 28, 40), (1, 28, 28, 7)]), ("branches", 3, [(1, 17, 17, 192)] * 4),
            ("small", 1, [(1, 10), (1, 20)]), ("dense", 3, [(1, 28, 28, 128), (1, 28, 28, 32)]),
            ("cache", 2, [(1, 8, 63, 64), (1, 8, 1, 64)])):
        result = list(shapes[0])
        result[axis] = sum(shape[axis] for shape in shapes)
        for t in TWO:
            add(f"concat_{name}_{t}", "CONCATENATION", [drawn(t, *shape) for shape in shapes],
                [(tuple(result), DTYPES[t])], "ConcatenationOptions", {"Axis": axis},
                quants=same(t, *(f"i{k}" for k in range(len(shapes))), "o0"))


def resizes():
    for kind, options in (("RESIZE_BILINEAR", "ResizeBilinearOptions"),
                          ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")):
        for size, channels, result in ((14, 256, 28), (28, 64, 56), (65, 21, 513), (32, 1, 64), (20, 128, 40),
                                       (40, 64, 80), (56, 3, 224), (7, 512, 14), (1, 256, 33), (33, 48, 129),
                                       (224, 3, 96), (16, 8, 32)):
            for half in (False, True):
                movement(f"{kind[7:].lower()}_{size}_{channels}_{result}{'_half' * half}", kind, TWO,
                         (1, size, size, channels), (1, result, result, channels), [ints(result, result)], options,
                         {"AlignCorners": False, "HalfPixelCenters": half})


GROUPS = {"convolution": convolutions, "depthwise": depthwise, "groups": groups, "transposed": transposed,
          "product": products, "softmax": softmax, "pool": pools, "arithmetic": arithmetic, "curve": curves,
          "reduction": reductions, "order": orders, "join": joins, "resize": resizes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=GROUPS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, group in GROUPS.items():
        if arguments.only in (None, name):
            group()
    for name, layer in LAYERS.items():
        (arguments.folder / f"{name}.tflite").write_bytes(layer.file())
    print(f"{len(LAYERS)} models in {arguments.folder}")


if __name__ == "__main__":
    main()
