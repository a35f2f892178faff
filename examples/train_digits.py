"""Train the digit classifier of `nnfast demo` and write it as two .tflite files, float32 and int8.

A small convolutional network is trained in plain numpy on the handwritten digits that come with scikit-learn, then
quantized after training: int8 weights (per channel for convolutions), asymmetric int8 activations with ranges seen on
the training pictures. One fifth of the pictures is held out; they are never trained or calibrated on and are written
beside the models. At the end both files are run by nnfast on the held-out pictures.

    python -m pip install -r examples/requirements.txt
    python examples/train_digits.py [--output DIR] [--epochs N]
"""

import argparse
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import flatbuffers
import numpy as np
import tflite
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_digits

import nnfast

SEED = 7
HELD_OUT = 360
GREY_LEVELS = 16
BATCH = 64
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-4
DATA = Path(__file__).resolve().parents[1] / "nnfast" / "data"


# -- layers: forward keeps what backward needs; weights lie as in .tflite ---------------------------------------------
def pad_same(x, size):
    """NHWC array with zeros around, so that a size x size window at stride 1 keeps height and width."""
    edge = size // 2
    return np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))


def unpad_same(x, size):
    """The inside of a padded array."""
    edge = size // 2
    return x[:, edge:x.shape[1] - edge, edge:x.shape[2] - edge] if edge else x


class Conv:
    """CONV_2D, stride 1, SAME, RELU; weight [out, size, size, in]."""

    def __init__(self, rng, size, depth_in, depth_out):
        fan_in = size * size * depth_in
        self.weight = rng.normal(0, math.sqrt(2 / fan_in), (depth_out, size, size, depth_in)).astype(np.float32)
        self.bias = np.zeros(depth_out, np.float32)
        self.size = size

    def forward(self, x):
        windows = sliding_window_view(pad_same(x, self.size), (self.size, self.size), axis=(1, 2))
        self.columns = windows.transpose(0, 1, 2, 4, 5, 3).reshape(x.shape[0] * x.shape[1] * x.shape[2], -1)
        out = self.columns @ self.weight.reshape(len(self.bias), -1).T + self.bias
        self.out = np.maximum(out.reshape(*x.shape[:3], -1), 0)
        return self.out

    def backward(self, grad):
        grad = (grad * (self.out > 0)).reshape(-1, len(self.bias))
        self.weight_grad = (grad.T @ self.columns).reshape(self.weight.shape)
        self.bias_grad = grad.sum(0)
        batch, height, width, _ = self.out.shape
        columns = grad @ self.weight.reshape(len(self.bias), -1)
        columns = columns.reshape(batch, height, width, self.size, self.size, -1)
        edge = self.size // 2 * 2
        padded = np.zeros((batch, height + edge, width + edge, columns.shape[-1]), np.float32)
        for row, column in np.ndindex(self.size, self.size):
            padded[:, row:row + height, column:column + width] += columns[:, :, :, row, column]
        return unpad_same(padded, self.size)


class Depthwise:
    """DEPTHWISE_CONV_2D, stride 1, SAME, RELU, multiplier 1; weight [1, size, size, channels]."""

    def __init__(self, rng, size, channels):
        self.weight = rng.normal(0, math.sqrt(2) / size, (1, size, size, channels)).astype(np.float32)
        self.bias = np.zeros(channels, np.float32)
        self.size = size

    def taps(self, padded):
        """(row, column, view of the padded array under this tap)."""
        height, width = self.out.shape[1:3]
        for row, column in np.ndindex(self.size, self.size):
            yield row, column, padded[:, row:row + height, column:column + width]

    def forward(self, x):
        self.padded = pad_same(x, self.size)
        self.out = np.zeros_like(x)
        for row, column, view in self.taps(self.padded):
            self.out += view * self.weight[0, row, column]
        self.out = np.maximum(self.out + self.bias, 0)
        return self.out

    def backward(self, grad):
        grad = grad * (self.out > 0)
        self.bias_grad = grad.sum((0, 1, 2))
        self.weight_grad = np.zeros_like(self.weight)
        padded = np.zeros_like(self.padded)
        for row, column, view in self.taps(self.padded):
            self.weight_grad[0, row, column] = (view * grad).sum((0, 1, 2))
        for row, column, view in self.taps(padded):
            view += grad * self.weight[0, row, column]
        return unpad_same(padded, self.size)


class MaxPool:
    """MAX_POOL_2D 2x2, stride 2."""

    def forward(self, x):
        batch, height, width, depth = x.shape
        self.blocks = x.reshape(batch, height // 2, 2, width // 2, 2, depth)
        self.out = self.blocks.max((2, 4))
        return self.out

    def backward(self, grad):
        hit = (self.blocks == self.out[:, :, None, :, None]).astype(np.float32)
        hit *= (grad / hit.sum((2, 4)))[:, :, None, :, None]
        batch, rows, _, columns, _, depth = hit.shape
        return hit.reshape(batch, rows * 2, columns * 2, depth)


class Flatten:
    """RESHAPE to [batch, -1]."""

    def forward(self, x):
        self.shape = x.shape
        self.out = x.reshape(len(x), -1)
        return self.out

    def backward(self, grad):
        return grad.reshape(self.shape)


class Dense:
    """FULLY_CONNECTED without activation; weight [out, in]."""

    def __init__(self, rng, depth_in, depth_out):
        self.weight = rng.normal(0, math.sqrt(1 / depth_in), (depth_out, depth_in)).astype(np.float32)
        self.bias = np.zeros(depth_out, np.float32)

    def forward(self, x):
        self.x = x
        self.out = x @ self.weight.T + self.bias
        return self.out

    def backward(self, grad):
        self.weight_grad, self.bias_grad = grad.T @ self.x, grad.sum(0)
        return grad @ self.weight


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def network(rng):
    """8x8x1 -> 10 logits: about 11 thousand weights."""
    return [Conv(rng, 3, 1, 16), Depthwise(rng, 3, 16), Conv(rng, 1, 16, 32), MaxPool(), Conv(rng, 3, 32, 32),
            MaxPool(), Flatten(), Dense(rng, 128, 10)]


def forward(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x


# -- training ---------------------------------------------------------------------------------------------------------
def shifted(rng, images):
    """Each picture moved by up to one pixel each way: cheap new handwriting."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    moves = rng.integers(0, 3, (len(images), 2))
    return np.stack([padded[i, r:r + 8, c:c + 8] for i, (r, c) in enumerate(moves)])


def train(layers, rng, images, labels, epochs):
    """Adam on the cross entropy, learning rate falling to zero along a cosine."""
    trained = [layer for layer in layers if hasattr(layer, "weight")]
    moments = {(id(layer), name): [np.zeros_like(getattr(layer, name))] * 2 for layer in trained
               for name in ("weight", "bias")}
    steps, step = epochs * math.ceil(len(images) / BATCH), 0
    for epoch in range(epochs):
        order, losses = rng.permutation(len(images)), []
        for start in range(0, len(images), BATCH):
            chosen = order[start:start + BATCH]
            probability = softmax(forward(layers, shifted(rng, images[chosen])))
            places = np.arange(len(chosen)), labels[chosen]
            losses.append(-np.log(probability[places] + 1e-9).mean())
            probability[places] -= 1
            grad = probability / len(chosen)
            for layer in reversed(layers):
                grad = layer.backward(grad)
            step += 1
            rate = LEARNING_RATE * (1 + math.cos(math.pi * step / steps)) / 2
            for layer in trained:
                for name in ("weight", "bias"):
                    adam(layer, name, moments[id(layer), name], step, rate)
        if epoch % 10 == 9 or epoch == epochs - 1:
            print(f"epoch {epoch + 1:3d}: loss {np.mean(losses):.4f}")


def adam(layer, name, moments, step, rate):
    value, grad = getattr(layer, name), getattr(layer, name + "_grad")
    moments[0] = 0.9 * moments[0] + 0.1 * grad
    moments[1] = 0.999 * moments[1] + 0.001 * grad * grad
    mean, square = moments[0] / (1 - 0.9 ** step), moments[1] / (1 - 0.999 ** step)
    value -= rate * (mean / (np.sqrt(square) + 1e-8) + WEIGHT_DECAY * value)


# -- the graph of a file ----------------------------------------------------------------------------------------------
@dataclass
class TensorSpec:
    """A tensor to write: TFLite type, shape, constant or None, scales and zero point (none for float)."""

    name: str
    type: int
    shape: tuple
    data: np.ndarray | None = None
    scales: list = field(default_factory=list)
    zero_point: int = 0
    channel: int = 0


@dataclass
class OperatorSpec:
    """An operator to write: builtin code, version, options (table name and its fields), tensor indexes."""

    code: int
    version: int
    options: str
    fields: dict
    inputs: list
    outputs: list


B, RELU = tflite.BuiltinOperator, tflite.ActivationFunctionType.RELU
SAME = {"Padding": tflite.Padding.SAME, "StrideW": 1, "StrideH": 1}
POOL = {"Padding": tflite.Padding.VALID, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}
# layer class -> code, version for float32, version for int8, options table, fields
KINDS = {
    Conv: (B.CONV_2D, 1, 3, "Conv2DOptions", SAME | {"FusedActivationFunction": RELU}),
    Depthwise: (B.DEPTHWISE_CONV_2D, 1, 3, "DepthwiseConv2DOptions",
                SAME | {"DepthMultiplier": 1, "FusedActivationFunction": RELU}),
    MaxPool: (B.MAX_POOL_2D, 1, 2, "Pool2DOptions", POOL),
    Flatten: (B.RESHAPE, 1, 1, "ReshapeOptions", {}),
    Dense: (B.FULLY_CONNECTED, 1, 4, "FullyConnectedOptions", {}),
}


def range_to_int8(low, high):
    """(scale, zero point) of int8 values that cover [low, high] and hold zero exactly."""
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = np.float32((high - low) / 255)
    return scale, int(np.clip(round(-128 - low / float(scale)), -128, 127))


def quantize_weights(weight, channel):
    """(int8 weights, float32 scales): symmetric, one scale per index of dimension `channel`, or one in all for None."""
    axes = tuple(axis for axis in range(weight.ndim) if axis != channel)
    scales = (np.maximum(np.abs(weight).max(axes, keepdims=True), 1e-6) / 127).astype(np.float32)
    return np.clip(np.round(weight / scales), -127, 127).astype(np.int8), scales.reshape(-1)


def graph(layers, calibration=None):
    """(tensors, operators) of the network; int8 when calibration pictures are given."""
    quantized = calibration is not None
    kind = tflite.TensorType.INT8 if quantized else tflite.TensorType.FLOAT32
    tensors, operators = [], []

    def tensor(*spec, **more):
        tensors.append(TensorSpec(*spec, **more))
        return len(tensors) - 1

    forward(layers, np.zeros((1, 8, 8, 1), np.float32))
    shapes = [layer.out.shape for layer in layers]
    scale, zero_point = np.float32(0), 0
    if quantized:
        scale, zero_point = range_to_int8(0, 1)
        forward(layers, calibration)
    last = tensor("image", kind, (1, 8, 8, 1), None, [scale] * quantized, zero_point)
    for place, (layer, shape) in enumerate(zip(layers, shapes, strict=True)):
        code, version, version_int8, options, fields = KINDS[type(layer)]
        name = f"{type(layer).__name__.lower()}{place}"
        inputs = [last]
        if isinstance(layer, Flatten):
            inputs.append(tensor(name + "/shape", tflite.TensorType.INT32, (2,), np.array([1, -1], np.int32)))
        elif hasattr(layer, "weight"):
            weight, bias, weight_scales, channel = layer.weight, layer.bias, [], 0
            if quantized:
                channel = {Conv: 0, Depthwise: 3, Dense: None}[type(layer)]
                weight, weight_scales = quantize_weights(weight, channel)
                bias_scales = scale * weight_scales
                bias = np.round(bias / bias_scales.astype(np.float64)).astype(np.int32)
                scale, zero_point = range_to_int8(layer.out.min(), layer.out.max())
            inputs.append(tensor(name + "/weight", kind, weight.shape, weight, list(weight_scales), 0, channel or 0))
            inputs.append(tensor(name + "/bias", tflite.TensorType.INT32 if quantized else kind, bias.shape, bias,
                                 list(bias_scales) if quantized else []))
        last = tensor(name, kind, shape, None, [scale] * quantized, zero_point)
        operators.append(OperatorSpec(code, version_int8 if quantized else version, options, fields, inputs, [last]))
    # The standard fixes the quantization of SOFTMAX's output.
    out = tensor("probability", kind, (1, 10), None, [np.float32(1 / 256)] * quantized, -128 if quantized else 0)
    operators.append(OperatorSpec(B.SOFTMAX, 2 if quantized else 1, "SoftmaxOptions", {"Beta": 1.0}, [last], [out]))
    return tensors, operators


# -- writing the file -------------------------------------------------------------------------------------------------
def vector(builder, start, values, prepend):
    """A flatbuffer vector of scalars or offsets, made by a generated Start...Vector function."""
    start(builder, len(values))
    for value in reversed(values):
        prepend(value)
    return builder.EndVector()


def ints(builder, start, values):
    return vector(builder, start, [int(v) for v in values], builder.PrependInt32)


def offsets(builder, start, values):
    return vector(builder, start, values, builder.PrependUOffsetTRelative)


def table(builder, name, **fields):
    """A flatbuffer table made by the generated functions of the tflite package."""
    getattr(tflite, name + "Start")(builder)
    for key, value in fields.items():
        getattr(tflite, name + "Add" + key)(builder, value)
    return getattr(tflite, name + "End")(builder)


def write_buffer(builder, data):
    raw = data.tobytes()
    builder.StartVector(1, len(raw), 16)
    builder.head -= len(raw)
    builder.Bytes[builder.head:builder.head + len(raw)] = raw
    return table(builder, "Buffer", Data=builder.EndVector())


def write_quantization(builder, spec):
    scale = vector(builder, tflite.QuantizationParametersStartScaleVector, [float(s) for s in spec.scales],
                   builder.PrependFloat32)
    zero_point = vector(builder, tflite.QuantizationParametersStartZeroPointVector,
                        [spec.zero_point] * len(spec.scales), builder.PrependInt64)
    return table(builder, "QuantizationParameters", Scale=scale, ZeroPoint=zero_point, QuantizedDimension=spec.channel)


def write_tensor(builder, spec, buffer):
    fields = {"Name": builder.CreateString(spec.name),
              "Shape": ints(builder, tflite.TensorStartShapeVector, spec.shape), "Type": spec.type, "Buffer": buffer}
    if spec.scales:
        fields["Quantization"] = write_quantization(builder, spec)
    return table(builder, "Tensor", **fields)


def write_operator(builder, spec, opcode):
    options = table(builder, spec.options, **spec.fields)
    return table(builder, "Operator", OpcodeIndex=opcode,
                 Inputs=ints(builder, tflite.OperatorStartInputsVector, spec.inputs),
                 Outputs=ints(builder, tflite.OperatorStartOutputsVector, spec.outputs),
                 BuiltinOptionsType=getattr(tflite.BuiltinOptions, spec.options), BuiltinOptions=options)


def serialize(tensors, operators, description):
    """Bytes of a .tflite file: first tensor in, last tensor out."""
    builder = flatbuffers.Builder(1 << 16)
    codes = sorted({(spec.code, spec.version) for spec in operators})
    buffers, written = [table(builder, "Buffer")], []
    for spec in tensors:
        if spec.data is not None:
            buffers.append(write_buffer(builder, spec.data))
        written.append(write_tensor(builder, spec, len(buffers) - 1 if spec.data is not None else 0))
    steps = [write_operator(builder, spec, codes.index((spec.code, spec.version))) for spec in operators]
    subgraph = table(
        builder, "SubGraph", Tensors=offsets(builder, tflite.SubGraphStartTensorsVector, written),
        Inputs=ints(builder, tflite.SubGraphStartInputsVector, [0]),
        Outputs=ints(builder, tflite.SubGraphStartOutputsVector, [len(tensors) - 1]),
        Operators=offsets(builder, tflite.SubGraphStartOperatorsVector, steps))
    opcodes = [table(builder, "OperatorCode", DeprecatedBuiltinCode=code, Version=version, BuiltinCode=code)
               for code, version in codes]
    model = table(
        builder, "Model", Version=3, Description=builder.CreateString(description),
        OperatorCodes=offsets(builder, tflite.ModelStartOperatorCodesVector, opcodes),
        Subgraphs=offsets(builder, tflite.ModelStartSubgraphsVector, [subgraph]),
        Buffers=offsets(builder, tflite.ModelStartBuffersVector, buffers))
    builder.Finish(model, b"TFL3")
    return bytes(builder.Output())


# -- the whole --------------------------------------------------------------------------------------------------------
def split(rng):
    """(train images, labels, held-out images, labels); images uint8 [n, 8, 8], grey levels 0..16."""
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    images, labels = digits.images[order].astype(np.uint8), digits.target[order].astype(np.uint8)
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def as_input(images):
    """float32 [n, 8, 8, 1] in 0..1."""
    return images[..., None].astype(np.float32) / GREY_LEVELS


def accuracy_of_file(path, images, labels):
    """Share of pictures that nnfast gets right with this file."""
    prepared = nnfast.Device().prepare(nnfast.load(path))
    spec = prepared.inputs[0]
    x = as_input(images)
    if spec.dtype != np.float32:
        info = np.iinfo(spec.dtype)
        x = np.clip(np.round(x / spec.scale) + spec.zero_point, info.min, info.max).astype(spec.dtype)
    return np.mean([prepared.run([one[None]])[0].argmax() == label for one, label in zip(x, labels, strict=True)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=DATA, help="folder for the files (default: nnfast/data)")
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args()
    rng = np.random.default_rng(SEED)
    images, labels, held_images, held_labels = split(rng)
    layers = network(rng)
    train(layers, rng, as_input(images), labels, args.epochs)
    for name, x, y in (("training", images, labels), ("held-out", held_images, held_labels)):
        print(f"{name} pictures: {np.mean(forward(layers, as_input(x)).argmax(1) == y):.2%} right while training")
    args.output.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.output / "digits.npz", images=held_images, labels=held_labels)
    for name, calibration in (("digits_float32", None), ("digits_int8", as_input(images))):
        path = args.output / f"{name}.tflite"
        path.write_bytes(serialize(*graph(layers, calibration), f"nnfast demo: handwritten digits, {name[7:]}"))
        right = accuracy_of_file(path, held_images, held_labels)
        print(f"{path.name}: {path.stat().st_size} bytes, {right:.2%} right on {HELD_OUT} held-out pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
