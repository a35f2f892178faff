"""Models of one layer each, for a look at what no benchmark network has.

    python ci/layer_models.py FOLDER
    nnfast benchmark FOLDER/*.tflite

Layers in float32 and in int8: convolutions and depthwise ones with unusual windows, strides and dilations, matrix
products, pools, curves, element-wise operations with whole operands and with rows, and movements. Weights and scales
are drawn with a fixed seed.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import nnfast
from nnfast.tflite.export import to_tflite

FLOAT, CODES = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM_SIGNED"
SAME, VALID = 1, 2
INPUT, SECOND, WEIGHTS, OUTPUT = (0.0513, 3), (0.0297, -2), (0.0107, 0), (0.2311, -5)
"""Scales and zero points of codes."""
FIXED = {"LOGISTIC": (1 / 256, -128), "SOFTMAX": (1 / 256, -128), "TANH": (1 / 128, 0)}


class Layer:
    """A ModelBuilder of one operation on float32 tensors or int8 codes."""

    def __init__(self, is_quantized):
        self.builder, self.is_quantized, self.random = nnfast.ModelBuilder(), is_quantized, np.random.default_rng(1)

    def _kind(self, quant):
        return (CODES, *quant) if self.is_quantized else (FLOAT, 0.0, 0)

    def input(self, shape, quant=INPUT):
        kind, *quant = self._kind(quant)
        return self.builder.input(kind, shape, *quant)

    def output(self, shape, quant=OUTPUT):
        kind, *quant = self._kind(quant)
        return self.builder.output(kind, shape, *quant)

    def weights(self, shape):
        if self.is_quantized:
            return self.builder.constant(self.random.integers(-127, 128, shape).astype(np.int8), CODES, *WEIGHTS)
        return self.builder.constant(self.random.normal(0, 0.1, shape).astype(np.float32))

    def bias(self, units):
        if self.is_quantized:
            scale, codes = float(np.float32(INPUT[0]) * np.float32(WEIGHTS[0])), self.random.integers(-999, 1000, units)
            return self.builder.constant(codes.astype(np.int32), "TENSOR_INT32", scale)
        return self.builder.constant(self.random.normal(0, 0.1, units).astype(np.float32))

    def add(self, operation, inputs, parameters, output):
        """The bytes of the `.tflite` file. parameters: numbers, or lists for constants of int32."""
        more = [self.builder.constant(np.array(p, np.int32)) if isinstance(p, list) else self.builder.scalar(p)
                for p in parameters]
        self.builder.operation(operation, [*inputs, *more], [output])
        return to_tflite(self.builder.build())


def conv2d(layer, height, width, channels, units, window, stride=1, dilation=1, padding=SAME):
    sizes = [-(-size // stride) if padding == SAME else (size - (taps - 1) * dilation - 1) // stride + 1
             for size, taps in zip((height, width), window)]
    inputs = [layer.input((1, height, width, channels)), layer.weights((units, *window, channels)), layer.bias(units)]
    return layer.add("CONV_2D", inputs, [padding, stride, stride, 0, False, dilation, dilation],
                     layer.output((1, *sizes, units)))


def depthwise_conv2d(layer, height, width, channels, window, multiplier=1, stride=1, dilation=1):
    units = channels * multiplier
    inputs = [layer.input((1, height, width, channels)), layer.weights((1, *window, units)), layer.bias(units)]
    return layer.add("DEPTHWISE_CONV_2D", inputs,
                     [SAME, stride, stride, multiplier, 0, False, dilation, dilation],
                     layer.output((1, -(-height // stride), -(-width // stride), units)))


def fully_connected(layer, rows, depth, units):
    inputs = [layer.input((rows, depth)), layer.weights((units, depth)), layer.bias(units)]
    return layer.add("FULLY_CONNECTED", inputs, [0], layer.output((rows, units)))


def pool(layer, operation, shape, window, stride):
    _, height, width, channels = shape
    made = layer.output((1, -(-height // stride), -(-width // stride), channels), INPUT)
    return layer.add(operation, [layer.input(shape)], [SAME, stride, stride, window, window, 0], made)


def unary(layer, operation, shape, *parameters, result=None):
    return layer.add(operation, [layer.input(shape)], parameters,
                     layer.output(shape if result is None else result, FIXED.get(operation, INPUT)))


def binary(layer, operation, shape, other, *parameters):
    return layer.add(operation, [layer.input(shape), layer.input(other, SECOND)], parameters, layer.output(shape))


IMAGE, ROW = (1, 56, 56, 64), (1, 1, 1, 64)
LAYERS = {
    "conv_1x1_7x7x960": partial(conv2d, height=7, width=7, channels=960, units=320, window=(1, 1)),
    "conv_1x1_stride2": partial(conv2d, height=56, width=56, channels=64, units=128, window=(1, 1), stride=2),
    "conv_3x3_few_channels": partial(conv2d, height=20, width=20, channels=10, units=20, window=(3, 3)),
    "conv_3x3_odd": partial(conv2d, height=48, width=48, channels=33, units=17, window=(3, 3), padding=VALID),
    "conv_3x3_stride2": partial(conv2d, height=56, width=56, channels=64, units=128, window=(3, 3), stride=2),
    "conv_3x3_dilation2": partial(conv2d, height=33, width=33, channels=128, units=128, window=(3, 3), dilation=2),
    "conv_3x3_dilation4": partial(conv2d, height=33, width=33, channels=64, units=64, window=(3, 3), dilation=4),
    "conv_5x5": partial(conv2d, height=28, width=28, channels=32, units=32, window=(5, 5)),
    "conv_7x7_picture": partial(conv2d, height=224, width=224, channels=3, units=64, window=(7, 7), stride=2),
    "conv_9x9_picture": partial(conv2d, height=128, width=128, channels=3, units=16, window=(9, 9)),
    "conv_1x7": partial(conv2d, height=17, width=17, channels=128, units=128, window=(1, 7)),
    "conv_7x1": partial(conv2d, height=17, width=17, channels=128, units=128, window=(7, 1)),
    "conv_row": partial(conv2d, height=1, width=400, channels=64, units=64, window=(1, 3)),
    "conv_speech": partial(conv2d, height=49, width=40, channels=1, units=64, window=(10, 4), stride=2),
    "depthwise_3x3_dilation2": partial(depthwise_conv2d, height=33, width=33, channels=64, window=(3, 3), dilation=2),
    "depthwise_3x3_times2": partial(depthwise_conv2d, height=56, width=56, channels=32, window=(3, 3), multiplier=2),
    "depthwise_3x3_times8": partial(depthwise_conv2d, height=28, width=28, channels=3, window=(3, 3), multiplier=8),
    "depthwise_5x5_stride2": partial(depthwise_conv2d, height=56, width=56, channels=72, window=(5, 5), stride=2),
    "depthwise_7x7": partial(depthwise_conv2d, height=14, width=14, channels=96, window=(7, 7)),
    "depthwise_column": partial(depthwise_conv2d, height=200, width=1, channels=64, window=(9, 1)),
    "fully_connected_1x1024": partial(fully_connected, rows=1, depth=1024, units=1000),
    "fully_connected_8x256": partial(fully_connected, rows=8, depth=256, units=256),
    "fully_connected_128x512": partial(fully_connected, rows=128, depth=512, units=2048),
    "average_pool_3x3": partial(pool, operation="AVERAGE_POOL_2D", shape=(1, 28, 28, 64), window=3, stride=1),
    "max_pool_2x2": partial(pool, operation="MAX_POOL_2D", shape=(1, 112, 112, 64), window=2, stride=2),
    "max_pool_3x3": partial(pool, operation="MAX_POOL_2D", shape=(1, 112, 112, 64), window=3, stride=2),
    "add": lambda layer: binary(layer, "ADD", IMAGE, IMAGE, 0),
    "add_row": lambda layer: binary(layer, "ADD", IMAGE, ROW, 0),
    "sub_row": lambda layer: binary(layer, "SUB", IMAGE, ROW, 0),
    "mul": lambda layer: binary(layer, "MUL", IMAGE, IMAGE, 0),
    "mul_row": lambda layer: binary(layer, "MUL", IMAGE, ROW, 0),
    "hard_swish": lambda layer: unary(layer, "HARD_SWISH", IMAGE),
    "logistic": lambda layer: unary(layer, "LOGISTIC", (1, 100000)),
    "tanh": lambda layer: unary(layer, "TANH", (1, 100000)),
    "softmax_row": lambda layer: unary(layer, "SOFTMAX", (1, 1000), 1.0),
    "softmax_rows": lambda layer: unary(layer, "SOFTMAX", (1536, 128), 1.0),
    "mean": lambda layer: unary(layer, "MEAN", (1, 14, 14, 256), [1, 2], 1, result=(1, 1, 1, 256)),
    "pad": lambda layer: unary(layer, "PAD", IMAGE, [[0, 0], [1, 1], [1, 1], [0, 0]], result=(1, 58, 58, 64)),
    "slice": lambda layer: unary(layer, "SLICE", IMAGE, [0, 1, 1, 0], [1, 54, 54, 32], result=(1, 54, 54, 32)),
    "transpose": lambda layer: unary(layer, "TRANSPOSE", IMAGE, [0, 3, 1, 2], result=(1, 64, 56, 56)),
}
"""Name -> the layer's file, of a Layer."""
LAYERS_OF_FLOATS = {
    **{name.lower(): partial(unary, operation=name, shape=(1, 100000))
       for name in ("ABS", "EXP", "FLOOR", "LOG", "NEG", "RELU6", "RSQRT", "SIN", "SQRT")},
    "div": lambda layer: binary(layer, "DIV", IMAGE, IMAGE, 0),
    "maximum": lambda layer: binary(layer, "MAXIMUM", IMAGE, IMAGE),
    "pow": lambda layer: binary(layer, "POW", IMAGE, IMAGE),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in {**LAYERS, **LAYERS_OF_FLOATS}.items():
        (folder / f"{name}_f32.tflite").write_bytes(make(Layer(False)))
    for name, make in LAYERS.items():
        (folder / f"{name}_int8.tflite").write_bytes(make(Layer(True)))
    print(f"{2 * len(LAYERS) + len(LAYERS_OF_FLOATS)} models in {folder}")


if __name__ == "__main__":
    main()
