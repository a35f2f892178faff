"""Builds `.tflite` files of whole networks, layer by layer, with drawn weights."""

import numpy as np

from helpers.tflite.file_builder import Op, Tensor, build

ACTIVATIONS = {None: 0, "relu": 1, "relu6": 3}
RANGES = {"relu": (0, 8), "relu6": (0, 6), "logistic": (0, 255 / 256), "tanh": (-1, 127 / 128), "swish": (-0.4, 7.6)}
"""What quantized outputs cover; -8 to 8 otherwise."""


def _pair(size):
    """Height and width of a size that may be one number."""
    return size if isinstance(size, tuple) else (size, size)


class Net:
    """A network that grows; its methods take and give names of tensors."""

    def __init__(self, kind):
        self.kind, self.random = kind, np.random.default_rng(5)
        self.tensors, self.ops, self.inputs, self.named = [], [], [], {}

    def file(self, *outputs):
        return build(self.tensors, self.ops, self.inputs, list(outputs))

    def shape(self, name):
        return self.named[name].shape

    def _put(self, tensor):
        self.tensors.append(tensor)
        self.named[tensor.name] = tensor
        return tensor.name

    def _values(self, shape, covers=None):
        """A tensor that is computed, or an input."""
        name = f"t{len(self.tensors)}"
        if self.kind != "int8":
            return self._put(Tensor(name, tuple(shape)))
        low, high = covers or (-8, 8)
        scale = (high - low) / 255
        return self._put(Tensor(name, tuple(shape), "int8", scale=scale, zero_point=int(round(-128 - low / scale))))

    def const(self, array, **more):
        return self._put(Tensor.of(f"t{len(self.tensors)}", array, **more))

    def ints(self, *values):
        return self.const(np.array(values, np.int32))

    def input(self, *shape):
        name = self._values(shape, (-1, 1))
        self.inputs.append(name)
        return name

    def op(self, kind, inputs, shape, options=None, covers=None, like=None, **fields):
        """An operator of one output, which has the quantization of `like` or covers this."""
        name = self._values(shape, covers)
        if like and self.kind == "int8":
            t, source = self.named[name], self.named[like]
            t.scale, t.zero_point = source.scale, source.zero_point
        self.ops.append(Op(kind, inputs, [name], options, fields))
        return name

    def _weights(self, shape, dim, deep, source):
        """Weights and bias, their variance by how many products a sum has."""
        units = shape[dim]
        w = self.random.standard_normal(shape).astype(np.float32) * np.float32(np.sqrt(1.6 / deep))
        b = self.random.standard_normal(units).astype(np.float32) * np.float32(0.1)
        if self.kind == "f32":
            return self.const(w), self.const(b)
        axes = tuple(axis for axis in range(w.ndim) if axis != dim)
        scales = np.abs(w).max(axis=axes, keepdims=True) / 127
        if len(shape) == 2:
            scales = np.full_like(scales, scales.max())
        codes = np.round(w / scales).astype(np.int8)
        flat = scales.ravel() if len(shape) > 2 else scales.ravel()[:1]
        weights = self.const(codes, scale=flat.tolist(), dim=dim)
        if self.kind == "hybrid":
            return weights, self.const(b)
        steps = flat * self.named[source].scale
        return weights, self.const(np.round(b / steps).astype(np.int32), scale=steps.tolist())

    def conv(self, x, units, size=3, stride=1, act="relu", dilation=1, groups=1):
        """CONV_2D, padded as SAME; size, stride: one number or height and width."""
        _, height, width, channels = self.shape(x)
        (rows, columns), (down, across) = _pair(size), _pair(stride)
        deep = channels // groups
        w, b = self._weights((units, rows, columns, deep), 0, rows * columns * deep, x)
        fields = {"Padding": 0, "StrideW": across, "StrideH": down, "DilationWFactor": dilation,
                  "DilationHFactor": dilation, "FusedActivationFunction": ACTIVATIONS[act]}
        return self.op("CONV_2D", [x, w, b], (1, -(-height // down), -(-width // across), units), "Conv2DOptions",
                       RANGES.get(act), **fields)

    def depthwise(self, x, size=3, stride=1, act="relu6", dilation=1):
        batch, height, width, channels = self.shape(x)
        rows, columns = _pair(size)
        w, b = self._weights((1, rows, columns, channels), 3, rows * columns, x)
        fields = {"Padding": 0, "StrideW": stride, "StrideH": stride, "DilationWFactor": dilation, "DepthMultiplier": 1,
                  "DilationHFactor": dilation, "FusedActivationFunction": ACTIVATIONS[act]}
        return self.op("DEPTHWISE_CONV_2D", [x, w, b], (batch, -(-height // stride), -(-width // stride), channels),
                       "DepthwiseConv2DOptions", RANGES.get(act), **fields)

    def transpose_conv(self, x, units, size=2, stride=2):
        """TRANSPOSE_CONV; size, stride: as those of conv."""
        _, height, width, channels = self.shape(x)
        (rows, columns), (down, across) = _pair(size), _pair(stride)
        w, b = self._weights((units, rows, columns, channels), 0, rows * columns * channels // down // across, x)
        shape = (1, height * down, width * across, units)
        return self.op("TRANSPOSE_CONV", [self.ints(*shape), w, x, b], shape, "TransposeConvOptions", Padding=0,
                       StrideW=across, StrideH=down)

    def apart(self, x, step, back=False):
        """Every `step`th pixel of each axis as an image of a batch; back: those as the image that they were."""
        batch, height, width, channels = self.shape(x)
        kind, shape = ("BATCH_TO_SPACE_ND", (1, height * step, width * step, channels)) if back else (
            "SPACE_TO_BATCH_ND", (step * step, height // step, width // step, channels))
        return self.op(kind, [x, self.ints(step, step), self.const(np.zeros((2, 2), np.int32))], shape, like=x)

    def dense(self, x, units, act=None):
        """FULLY_CONNECTED of the last dimension."""
        *rows, deep = self.shape(x)
        w, b = self._weights((units, deep), 0, deep, x)
        return self.op("FULLY_CONNECTED", [x, w, b], (*rows, units), "FullyConnectedOptions", RANGES.get(act),
                       FusedActivationFunction=ACTIVATIONS[act], KeepNumDims=True)

    def two(self, kind, x, y, covers=None, act=None):
        """ADD, SUB, MUL, DIV of tensors that broadcast."""
        shape = np.broadcast_shapes(self.shape(x), self.shape(y))
        return self.op(kind, [x, y], shape, f"{kind.title()}Options", RANGES.get(act, covers),
                       FusedActivationFunction=ACTIVATIONS[act])

    def add(self, x, y, act=None):
        return self.two("ADD", x, y, act=act)

    def mul(self, x, y, covers=None):
        return self.two("MUL", x, y, covers)

    def plain(self, kind, x, covers=None, options=None, **fields):
        """An operator that keeps the shape."""
        return self.op(kind, [x], self.shape(x), options, covers, **fields)

    def logistic(self, x):
        return self.plain("LOGISTIC", x, RANGES["logistic"])

    def tanh(self, x):
        return self.plain("TANH", x, RANGES["tanh"])

    def swish(self, x):
        return self.mul(x, self.logistic(x), RANGES["swish"])

    def hard_swish(self, x):
        return self.plain("HARD_SWISH", x, RANGES["swish"], "HardSwishOptions")

    def leaky(self, x):
        return self.plain("LEAKY_RELU", x, (-1, 8), "LeakyReluOptions", Alpha=0.1)

    def prelu(self, x):
        """PRELU with a slope for each channel."""
        channels = self.shape(x)[3]
        slopes = self.floats(1, 1, channels, low=0, high=0.3) if self.kind != "int8" else self.const(
            self.random.integers(0, 75, (1, 1, channels)).astype(np.int8), scale=[0.004])
        return self.op("PRELU", [x, slopes], self.shape(x), None, (-2, 8))

    def gelu(self, x, is_approximate=False):
        return self.plain("GELU", x, options="GeluOptions", Approximate=is_approximate)

    def pool(self, x, size=2, stride=2, kind="MAX_POOL_2D"):
        _, height, width, channels = self.shape(x)
        return self.op(kind, [x], (1, -(-height // stride), -(-width // stride), channels), "Pool2DOptions", like=x,
                       Padding=0, StrideW=stride, StrideH=stride, FilterWidth=size, FilterHeight=size)

    def mean(self, x, *axes, keeps=True):
        shape = [1 if axis in axes else size for axis, size in enumerate(self.shape(x)) if keeps or axis not in axes]
        return self.op("MEAN", [x, self.ints(*axes)], shape, "ReducerOptions", KeepDims=keeps)

    def largest(self, x, *axes):
        """REDUCE_MAX, without the axes."""
        shape = [size for axis, size in enumerate(self.shape(x)) if axis not in axes]
        return self.op("REDUCE_MAX", [x, self.ints(*axes)], shape, "ReducerOptions", like=x, KeepDims=False)

    def concat(self, *parts, axis=3):
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        same = [parts[0]]
        for part in parts[1:]: # an int8 concatenation takes one quantization only
            one, other = self.named[parts[0]], self.named[part]
            differs = self.kind == "int8" and (one.scale, one.zero_point) != (other.scale, other.zero_point)
            same.append(self.op("QUANTIZE", [part], other.shape, like=parts[0]) if differs else part)
        return self.op("CONCATENATION", same, shape, "ConcatenationOptions", like=parts[0], Axis=axis)

    def split(self, x, parts, axis=3):
        shape = list(self.shape(x))
        shape[axis] //= parts
        names = [self._values(shape) for _ in range(parts)]
        for name in names:
            self.named[name].scale, self.named[name].zero_point = self.named[x].scale, self.named[x].zero_point
        axis = self.const(np.array(axis, np.int32))
        self.ops.append(Op("SPLIT", [axis, x], names, "SplitOptions", {"NumSplits": parts}))
        return names

    def reshape(self, x, *shape):
        return self.op("RESHAPE", [x, self.ints(*shape)], shape, "ReshapeOptions", like=x, NewShape=list(shape))

    def transpose(self, x, *order):
        return self.op("TRANSPOSE", [x, self.ints(*order)], [self.shape(x)[axis] for axis in order], like=x)

    def slice(self, x, begin, shape):
        return self.op("SLICE", [x, self.ints(*begin), self.ints(*shape)], shape, like=x)

    def pad(self, x, *pairs):
        shape = [size + sum(pair) for size, pair in zip(self.shape(x), pairs, strict=True)]
        return self.op("PAD", [x, self.const(np.array(pairs, np.int32))], shape, like=x)

    def resize(self, x, factor, kind="RESIZE_BILINEAR", **fields):
        batch, height, width, channels = self.shape(x)
        size = height * factor, width * factor
        options = {"RESIZE_BILINEAR": "ResizeBilinearOptions"}.get(kind, "ResizeNearestNeighborOptions")
        return self.op(kind, [x, self.ints(*size)], (batch, *size, channels), options, like=x,
                       **{"HalfPixelCenters": True, **fields})

    def softmax(self, x):
        return self.plain("SOFTMAX", x, RANGES["logistic"], "SoftmaxOptions", Beta=1.0)

    def product(self, x, y, turned=False):
        """BATCH_MATMUL; turned: of y's transpose."""
        columns = self.shape(y)[-2 if turned else -1]
        return self.op("BATCH_MATMUL", [x, y], (*self.shape(x)[:-1], columns), "BatchMatMulOptions", AdjY=turned)

    def floats(self, *shape, low=0.5, high=1.5):
        return self.const(self.random.uniform(low, high, shape).astype(np.float32))

    def layer_norm(self, x):
        axis, deep = len(self.shape(x)) - 1, self.shape(x)[-1]
        mean = self.mean(x, axis)
        variance = self.mean(self.op("SQUARED_DIFFERENCE", [x, mean], self.shape(x)), axis)
        factor = self.mul(self.plain("RSQRT", self.add(variance, self.const(np.array([1e-5], np.float32)))),
                          self.floats(deep))
        return self.add(self.mul(x, factor), self.two("SUB", self.floats(deep, low=-1), self.mul(mean, factor)))

    def instance_norm(self, x):
        """Each channel of the image by its own mean and variance."""
        deep = self.shape(x)[3]
        mean = self.mean(x, 1, 2)
        variance = self.mean(self.op("SQUARED_DIFFERENCE", [x, mean], self.shape(x)), 1, 2)
        factor = self.mul(self.plain("RSQRT", self.add(variance, self.const(np.array([1e-3], np.float32)))),
                          self.floats(deep))
        return self.add(self.mul(x, factor), self.two("SUB", self.floats(deep, low=-1), self.mul(mean, factor)))

    def self_attention(self, x, heads, bias=None):
        """Of [batch, rows, deep], before the last product; bias: what is added to scores."""
        batch, rows, deep = self.shape(x)
        each = deep // heads
        q, k, v = (self.transpose(self.reshape(self.dense(x, deep), batch, rows, heads, each), 0, 2, 1, 3)
                   for _ in range(3))
        scores = self.mul(self.product(q, k, True), self.const(np.array([each ** -0.5], np.float32)))
        weights = self.softmax(self.add(scores, bias) if bias else scores)
        return self.reshape(self.transpose(self.product(weights, v), 0, 2, 1, 3), batch, rows, deep)

    def embedding(self, words, deep, count):
        """Rows of a table, [1, count, deep], by an input of `count` numbers below `words`."""
        places = self._put(Tensor(f"t{len(self.tensors)}", (1, count), "int32"))
        self.inputs.append(places)
        table = self.const(self.random.standard_normal((words, deep)).astype(np.float32) * np.float32(0.5))
        return self.op("GATHER", [table, places], (1, count, deep), "GatherOptions", Axis=0)

    def lstm(self, x, units):
        """UNIDIRECTIONAL_SEQUENCE_LSTM of [1, steps, deep]; one scale for all weights of a gate."""
        _, steps, deep = self.shape(x)
        gates = []
        for columns in (deep, units):
            for _ in range(4):
                w = self.random.standard_normal((units, columns)).astype(np.float32) * np.float32(0.1)
                scale = np.abs(w).max() / 127
                gates.append(self.const(w) if self.kind == "f32" else
                             self.const(np.round(w / scale).astype(np.int8), scale=[float(scale)]))
        biases = [self.floats(units, low=-0.2, high=0.2) for _ in range(4)]
        states = [self._put(Tensor(f"t{len(self.tensors)}", (1, units), "float32", variable=True)) for _ in range(2)]
        inputs = [x, *gates, None, None, None, *biases, None, None, *states, None, None, None, None]
        return self.op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, (1, steps, units), "UnidirectionalSequenceLSTMOptions",
                       FusedActivationFunction=4, TimeMajor=False)

    def squeeze_excite(self, x, few, hard=False):
        gate = self.conv(self.conv(self.mean(x, 1, 2), few, 1), self.shape(x)[3], 1, act=None)
        return self.mul(x, self.logistic(gate)) if not hard else self.mul(x, self.hard_sigmoid(gate))

    def hard_sigmoid(self, x):
        if self.kind == "int8":
            return self.logistic(x)
        return self.mul(self.two("ADD", x, self.const(np.array([3], np.float32)), act="relu6"),
                        self.const(np.array([1 / 6], np.float32)))
