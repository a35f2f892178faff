"""Models of whole networks, of the families that people run, with drawn weights.

    python ci/network_models.py FOLDER [--only TEXT]
    nnfast benchmark FOLDER/*.tflite

Single layers do not show what joining, planning of memory and hand-over from layer to layer do; the networks do. Each
is there in float32, in int8 with a scale for each unit, and with int8 weights for float inputs ("hybrid"), where that
makes sense. They are smaller than those of the papers, with the same layers in the same order. Values are drawn with a
fixed seed. It needs the packages of the tests.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from helpers.tflite.networks import Net  # noqa: E402

ALL, FLOATS = ("f32", "int8", "hybrid"), ("f32", "hybrid")
"""Kinds of a network; layer normalization is one of floats."""


def classifier(net, x, units=100):
    pooled = net.mean(x, 1, 2, keeps=False)
    return net.file(net.softmax(net.dense(pooled, units)))


def mobilenet_v3(net):
    x = net.hard_swish(net.conv(net.input(1, 160, 160, 3), 16, 3, 2, act=None))
    for wide, units, size, stride, excites, hard in (
            (16, 16, 3, 2, True, False), (72, 24, 3, 2, False, False), (88, 24, 3, 1, False, False),
            (96, 40, 5, 2, True, True), (240, 40, 5, 1, True, True), (120, 48, 5, 1, True, True),
            (288, 96, 5, 2, True, True), (576, 96, 5, 1, True, True)):
        act = None if hard else "relu"
        y = net.conv(x, wide, 1, act=act)
        y = net.hard_swish(y) if hard else y
        y = net.depthwise(y, size, stride, act)
        y = net.hard_swish(y) if hard else y
        y = net.squeeze_excite(y, max(8, wide // 4), True) if excites else y
        y = net.conv(y, units, 1, act=None)
        x = net.add(x, y) if net.shape(x) == net.shape(y) else y
    return classifier(net, net.hard_swish(net.conv(x, 576, 1, act=None)))


def efficientnet(net):
    x = net.swish(net.conv(net.input(1, 160, 160, 3), 32, 3, 2, act=None))
    for expands, units, size, stride in ((1, 16, 3, 1), (6, 24, 3, 2), (6, 24, 3, 1), (6, 40, 5, 2), (6, 40, 5, 1),
                                         (6, 80, 3, 2), (6, 80, 3, 1), (6, 112, 5, 1), (6, 192, 5, 2), (6, 192, 5, 1)):
        wide = net.shape(x)[3] * expands
        y = net.swish(net.conv(x, wide, 1, act=None)) if expands > 1 else x
        y = net.swish(net.depthwise(y, size, stride, None))
        y = net.conv(net.squeeze_excite(y, max(4, wide // expands // 4)), units, 1, act=None)
        x = net.add(x, y) if net.shape(x) == net.shape(y) else y
    return classifier(net, net.swish(net.conv(x, 640, 1, act=None)))


def squeezenet(net):
    x = net.pool(net.conv(net.input(1, 160, 160, 3), 64, 3, 2), 3)
    for few, units in ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (64, 256)):
        y = net.conv(x, few, 1)
        x = net.concat(net.conv(y, units, 1), net.conv(y, units, 3))
        x = net.pool(x, 3) if few == 32 and units == 128 and net.shape(x)[1] > 20 else x
    return classifier(net, net.conv(x, 100, 1))


def shufflenet(net):
    x = net.pool(net.conv(net.input(1, 160, 160, 3), 24, 3, 2), 3)
    for units, blocks in ((116, 4), (232, 6), (464, 3)):
        for block in range(blocks):
            if block == 0:
                left = net.conv(net.depthwise(x, 3, 2, None), units // 2, 1)
                right = net.depthwise(net.conv(x, units // 2, 1), 3, 2, None)
            else:
                left, right = net.split(x, 2)
                right = net.depthwise(net.conv(right, units // 2, 1), 3, 1, None)
            joined = net.concat(left, net.conv(right, units // 2, 1))
            _, height, width, _ = net.shape(joined)
            pairs = net.transpose(net.reshape(joined, 1, height, width, 2, units // 2), 0, 1, 2, 4, 3)
            x = net.reshape(pairs, 1, height, width, units)
    return classifier(net, net.conv(x, 512, 1))


def densenet(net):
    x = net.pool(net.conv(net.input(1, 128, 128, 3), 48, 7, 2), 3)
    for layers in (4, 6, 8):
        for _ in range(layers):
            y = x
            if net.kind != "int8":
                wide = net.shape(x)[3]
                y = net.two("ADD", net.mul(x, net.floats(wide)), net.floats(wide, low=-1, high=1), act="relu")
            x = net.concat(x, net.conv(net.conv(y, 64, 1), 24, 3))
        x = net.pool(net.conv(x, net.shape(x)[3] // 2, 1), 2, kind="AVERAGE_POOL_2D")
    return classifier(net, x)


def inception(net):
    x = net.pool(net.conv(net.conv(net.input(1, 149, 149, 3), 32, 3, 2), 64, 3), 3)
    for units in (32, 64, 64):
        x = net.concat(net.conv(x, units, 1), net.conv(net.conv(x, units // 2, 1), units, 5),
                       net.conv(net.conv(net.conv(x, units, 1), units, 3), units, 3),
                       net.conv(net.pool(x, 3, 1, "AVERAGE_POOL_2D"), units, 1))
    x = net.pool(x, 3)
    for units in (96, 96):
        deep = net.conv(net.conv(net.conv(x, units, 1), units, (1, 7)), units, (7, 1))
        x = net.concat(net.conv(x, units, 1), deep, net.conv(net.pool(x, 3, 1, "AVERAGE_POOL_2D"), units, 1))
    return classifier(net, x)


def resnet50(net):
    x = net.pool(net.conv(net.input(1, 128, 128, 3), 32, 7, 2), 3)
    for units, blocks, stride in ((32, 2, 1), (64, 3, 2), (128, 3, 2), (256, 2, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            y = net.conv(net.conv(net.conv(x, units, 1), units, 3, step), 4 * units, 1, act=None)
            x = net.add(net.conv(x, 4 * units, 1, step, None) if block == 0 else x, y, "relu")
    return classifier(net, x)


def resnext(net):
    x = net.pool(net.conv(net.input(1, 128, 128, 3), 32, 7, 2), 3)
    for units, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        y = net.conv(net.conv(net.conv(x, units, 1), units, 3, stride, groups=16), 2 * units, 1, act=None)
        x = net.add(net.conv(x, 2 * units, 1, stride, None) if stride == 2 or units == 64 else x, y, "relu")
    return classifier(net, x)


def unet(net):
    x, kept = net.input(1, 128, 128, 3), []
    for units in (16, 32, 64):
        x = net.conv(net.conv(x, units), units)
        kept.append(x)
        x = net.pool(x)
    x = net.conv(net.conv(x, 128), 128)
    for units in (64, 32, 16):
        x = net.conv(net.concat(net.transpose_conv(x, units), kept.pop()), units)
    return net.file(net.logistic(net.conv(x, 1, 1, act=None)))


def segmentation(net):
    """Dilated convolutions, a pooled branch, and classes at the size of the picture."""
    x = net.conv(net.input(1, 193, 193, 3), 32, 3, 2, "relu6")
    for units, stride in ((24, 2), (32, 2), (64, 1)):
        x = net.conv(net.depthwise(net.conv(x, 4 * units, 1, act="relu6"), 3, stride), units, 1, act=None)
    for dilation in (2, 4):
        x = net.conv(net.depthwise(net.conv(x, 256, 1, act="relu6"), 3, dilation=dilation), 64, 1, act=None)
    _, height, width, _ = net.shape(x)
    pooled = net.resize(net.conv(net.mean(x, 1, 2), 64, 1), height)
    x = net.conv(net.concat(pooled, net.conv(x, 64, 1), net.conv(x, 64, 3, dilation=6)), 64, 1)
    return net.file(net.resize(net.conv(x, 21, 1, act=None), 8))


def detector(net):
    """Leaky activations, a pyramid of two levels, boxes in one list."""
    x = net.leaky(net.conv(net.input(1, 192, 192, 3), 16, act=None))
    for units in (32, 64, 128, 256):
        last, x = x, net.leaky(net.conv(net.pool(x), units, act=None))
    lists = [x, net.concat(net.resize(net.conv(x, 64, 1), 2, "RESIZE_NEAREST_NEIGHBOR"), last)]
    boxes = []
    for level in lists:
        y = net.logistic(net.conv(net.leaky(net.conv(level, 128, act=None)), 3 * 25, 1, act=None))
        boxes.append(net.reshape(y, 1, 3 * net.shape(y)[1] * net.shape(y)[2], 25))
    return net.file(net.concat(*boxes, axis=1))


def super_resolution(net):
    x = first = net.conv(net.input(1, 96, 96, 3), 32)
    for _ in range(4):
        x = net.add(x, net.conv(net.conv(x, 32), 32, act=None))
    x = net.conv(net.add(x, first), 12, act=None)
    shape = (1, 192, 192, 3)
    return net.file(net.op("DEPTH_TO_SPACE", [x], shape, "DepthToSpaceOptions", like=x, BlockSize=2))


def pose(net):
    """Heat maps by transposed convolutions."""
    x = net.conv(net.input(1, 128, 128, 3), 32, 3, 2, "relu6")
    for units, stride in ((32, 2), (64, 2), (96, 2)):
        x = net.conv(net.depthwise(net.conv(x, 4 * units, 1, act="relu6"), 5, stride), units, 1, act=None)
    for _ in range(3):
        x = net.plain("RELU", net.transpose_conv(x, 64, 4), (0, 8))
    return net.file(net.conv(x, 17, 1, act=None))


def convnext(net):
    x = net.layer_norm(net.conv(net.input(1, 128, 128, 3), 48, 4, 4, None))
    for units, blocks in ((48, 2), (96, 2), (192, 3)):
        x = net.conv(net.layer_norm(x), units, 2, 2, None) if net.shape(x)[3] != units else x
        for _ in range(blocks):
            y = net.dense(net.layer_norm(net.depthwise(x, 7, act=None)), 4 * units)
            y = net.dense(net.plain("GELU", y, options="GeluOptions", Approximate=False), units)
            x = net.add(x, net.mul(y, net.floats(units)))
    return classifier(net, x)


def transformer(net):
    """Patches of a picture, four layers of self-attention."""
    patches = net.conv(net.input(1, 112, 112, 3), 128, 8, 8, None)
    x = net.add(net.reshape(patches, 1, 196, 128), net.floats(1, 196, 128, low=-1))
    for _ in range(4):
        y = net.layer_norm(x)
        q, k, v = (net.transpose(net.reshape(net.dense(y, 128), 1, 196, 4, 32), 0, 2, 1, 3) for _ in range(3))
        scores = net.mul(net.product(q, k, True), net.const(np.array([32 ** -0.5], np.float32)))
        y = net.transpose(net.product(net.softmax(scores), v), 0, 2, 1, 3)
        x = net.add(x, net.dense(net.reshape(y, 1, 196, 128), 128))
        y = net.plain("GELU", net.dense(net.layer_norm(x), 512), options="GeluOptions", Approximate=True)
        x = net.add(x, net.dense(y, 128))
    return net.file(net.softmax(net.dense(net.mean(net.layer_norm(x), 1, keeps=False), 100)))


def attention(net):
    """Self-attention without layer norms, as int8 networks have it."""
    x = net.dense(net.input(1, 64, 128), 128)
    for _ in range(3):
        q, k, v = (net.transpose(net.reshape(net.dense(x, 128), 1, 64, 4, 32), 0, 2, 1, 3) for _ in range(3))
        y = net.transpose(net.product(net.softmax(net.product(q, k, True)), v), 0, 2, 1, 3)
        x = net.add(x, net.dense(net.reshape(y, 1, 64, 128), 128))
        x = net.add(x, net.dense(net.dense(x, 512, "relu"), 128))
    return net.file(net.softmax(net.dense(net.mean(x, 1, keeps=False), 50)))


def wavenet(net):
    """Dilated convolutions along time, gates of tanh and logistic."""
    x, sums = net.conv(net.input(1, 1, 800, 40), 64, (1, 1), act=None), None
    for dilation in (1, 2, 4, 8, 1, 2, 4, 8):
        y = net.conv(x, 128, (1, 3), act=None, dilation=dilation)
        left, right = net.split(y, 2)
        y = net.mul(net.tanh(left), net.logistic(right), (-1, 1))
        skip = net.conv(y, 64, 1, act=None)
        sums = net.add(sums, skip) if sums else skip
        x = net.add(x, net.conv(y, 64, 1, act=None))
    return net.file(net.softmax(net.conv(net.plain("RELU", sums, (0, 8)), 64, 1, act=None)))


def keywords(net):
    x = net.conv(net.input(1, 49, 10, 1), 64, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x, act="relu"), 64, 1)
    return classifier(net, x, 12)


def keywords_1d(net):
    """Residual blocks of a temporal convolution of 9 steps."""
    x = net.conv(net.input(1, 98, 1, 40), 16, (3, 1))
    for units, stride in ((24, 2), (32, 2), (48, 2)):
        y = net.conv(net.conv(x, units, (9, 1), stride), units, (9, 1), act=None)
        x = net.add(net.conv(x, units, 1, stride), y, "relu")
    return classifier(net, x, 12)


def autoencoder(net):
    x = net.input(1, 640)
    for units in (128, 128, 128, 8, 128, 128, 128):
        x = net.dense(x, units, "relu")
    return net.file(net.dense(x, 640))


def recommender(net):
    rows = [net.input(1, 64) for _ in range(3)]
    x = net.concat(*rows, axis=1)
    for units in (256, 128, 64):
        x = net.dense(x, units, "relu")
    return net.file(net.logistic(net.dense(net.mul(x, net.dense(rows[0], 64)), 1)))


def gru(net):
    """Steps of a gated recurrent unit, unrolled; its weights are given again for each step."""
    frames, state = net.input(1, 20, 40), net.dense(net.input(1, 64), 64)
    for step in range(20):
        x = net.reshape(net.slice(frames, (0, step, 0), (1, 1, 40)), 1, 40)
        z, r, h = net.split(net.dense(x, 192), 3, axis=1)
        uz, ur = net.split(net.dense(state, 128), 2, axis=1)
        z, r = net.logistic(net.add(z, uz)), net.logistic(net.add(r, ur))
        new = net.tanh(net.add(h, net.dense(net.mul(r, state, (-1, 1)), 64)))
        state = net.add(new, net.mul(z, net.two("SUB", state, new, (-2, 2)), (-2, 2)))
    return net.file(net.dense(state, 12))


def faces(net):
    """Single-stage detector of faces: residual depthwise blocks whose short cut is pooled and padded."""
    x = net.conv(net.input(1, 128, 128, 3), 24, 5, 2)
    for units, stride in ((24, 1), (28, 1), (32, 2), (36, 1), (42, 1), (48, 2), (56, 1), (64, 1), (96, 2), (96, 1)):
        y = net.conv(net.depthwise(x, stride=stride, act=None), units, 1, act=None)
        short = net.pool(x) if stride == 2 else x
        extra = units - net.shape(short)[3]
        short = net.pad(short, (0, 0), (0, 0), (0, 0), (0, extra)) if extra else short
        x = net.add(short, y, "relu")
    boxes = net.reshape(net.conv(x, 32, 1, act=None), 1, 128, 16)
    return net.file(boxes, net.logistic(net.reshape(net.conv(x, 2, 1, act=None), 1, 128, 1)))


def dehazing(net):
    """Few channels at full size."""
    x = net.input(1, 240, 320, 3)
    parts = [net.conv(x, 8, 1)]
    for size in (3, 5, 7):
        parts.append(net.conv(parts[-1], 8, size))
    return net.file(net.conv(net.concat(*parts), 3, 3, act=None))


NETWORKS = {
    mobilenet_v3: ALL, efficientnet: ALL, squeezenet: ALL, shufflenet: ALL, densenet: ALL, inception: ALL,
    resnet50: ALL, resnext: ("f32", "int8"), unet: ("f32", "int8"), segmentation: ALL, detector: ALL,
    super_resolution: ALL, pose: ("f32", "int8"), convnext: FLOATS, transformer: FLOATS, attention: ALL, wavenet: ALL,
    keywords: ALL, keywords_1d: ALL, autoencoder: ALL, recommender: ALL, gru: ALL, faces: ALL, dehazing: ALL,
}
"""Network -> what it is there in."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name has this")
    options = parser.parse_args()
    models = {f"{network.__name__}_{kind}": (network, kind) for network, kinds in NETWORKS.items() for kind in kinds}
    chosen = [name for name in models if options.only in name]
    if not chosen:
        parser.error(f"--only {options.only}: no model has this in its name, must be part of one of "
                     + ", ".join(models))
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        network, kind = models[name]
        (options.folder / f"{name}.tflite").write_bytes(network(Net(kind)))


if __name__ == "__main__":
    main()
