"""What the benchmarks share: shared models and their inputs, layer shapes from text, models of a single operation."""

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

import nnfast
from nnfast import config

HERE = Path(__file__).resolve().parent
MODELS = HERE.parents[1] / config.get("NNFAST_SHARED") / "models"

MODEL_NAMES = (
    "asr_like_f32",
    "efficientnet_lite0_224_f32", "efficientnet_lite0_224_int8",
    "mobilenet_v1_0.25_128_f32", "mobilenet_v1_0.25_128_int8", "mobilenet_v1_0.25_128_uint8",
    "mobilenet_v1_1.0_224_f32", "mobilenet_v1_1.0_224_int8", "mobilenet_v1_1.0_224_uint8",
    "mobilenet_v2_1.0_224_f32", "mobilenet_v2_1.0_224_int8", "mobilenet_v2_1.0_224_uint8",
    "resnet18_half_224_f32", "resnet18_half_224_int8",
    "ssd_mobilenet_v1_0.5_300_f32", "ssd_mobilenet_v1_0.5_300_int8",
    "tts_like_f32", "tts_seq32_f32",
)

# Type token of kernel names -> operand type, scale, zero point of activations.
ACTIVATIONS = {
    "f32": ("TENSOR_FLOAT32", 0.0, 0),
    "qu8": ("TENSOR_QUANT8_ASYMM", 1 / 64, 128),
    "qs8": ("TENSOR_QUANT8_ASYMM_SIGNED", 1 / 64, 0),
}
WEIGHT_SCALE = 1 / 128
FUSED = {"none": 0, "relu": 1, "relu1": 2, "relu6": 3}
PADDING = {"same": 1, "valid": 2}


# -- shared models -----------------------------------------------------------------------------------------------------
def model_path(name):
    """Path of a shared model; where it is absent asv is told to leave the benchmark out."""
    path = MODELS / f"{name}.tflite"
    if not path.is_file():
        raise NotImplementedError(f"no model {name} (NNFAST_SHARED)")
    return str(path)


def model_input(name):
    """What a shared model is fed in one call."""
    data = np.load(MODELS / f"{name}.npz")
    return data["input"] if int(data["calls"]) == 1 else data["input"][0]


# -- single operations -------------------------------------------------------------------------------------------------
def shapes(name):
    """Lines of shapes/<name>.txt without comments, as they appear in reports."""
    lines = (HERE / "shapes" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [" ".join(line.split()) for line in lines if line and not line.startswith("#")]


def fields(line):
    """Numbers of a shape; words stay text."""
    return [int(word) if word.isdigit() else word for word in line.split()]


class Operation(ABC):
    """One operation, by default on one thread, all weights constant. Subclasses say how it is built."""

    threads = 1

    @abstractmethod
    def build(self, b, *params):
        """Add inputs, operation and outputs to a ModelBuilder."""

    def setup(self, *params):
        self.rng = np.random.default_rng(5)
        b = nnfast.ModelBuilder()
        self.build(b, *params)
        self.prepared = nnfast.Device(num_threads=self.threads).prepare(b.build())
        self.inputs = [self.values(info.dtype, info.shape) for info in self.prepared.inputs]
        self.out = self.prepared.run(self.inputs)

    def time_run(self, *params):
        self.prepared.run(self.inputs, self.out)

    # -- parts for build() -------------------------------------------------------------------------------------------
    def values(self, dtype, shape):
        """Random array: normal floats, or integers over the whole range."""
        if np.issubdtype(dtype, np.floating):
            return self.rng.standard_normal(shape).astype(dtype)
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def weights(self, b, types, shape, channel_dim=0):
        """Constant filter; a type token like qs8_qs8c makes it per-channel along channel_dim."""
        if types == "f32":
            return b.constant(self.values(np.float32, shape))
        if types.endswith("qs8c"):
            scales = self.rng.uniform(0.5, 1.5, shape[channel_dim]) * WEIGHT_SCALE
            return b.constant(np.maximum(self.values(np.int8, shape), -127), channel_quant=(channel_dim, scales))
        type_, _, zero_point = ACTIVATIONS[types]
        return b.constant(self.values(np.uint8 if types == "qu8" else np.int8, shape), type_, WEIGHT_SCALE, zero_point)

    def bias(self, b, types, units):
        """Constant bias of the type and scale that go with these weights."""
        if types == "f32":
            return b.constant(self.values(np.float32, (units,)))
        scale = 0.0 if types.endswith("qs8c") else ACTIVATIONS[types][1] * WEIGHT_SCALE
        return b.constant(self.rng.integers(-1000, 1000, units, np.int32), "TENSOR_INT32", scale)


def source(b, types, shape):
    """Model input of an activation type."""
    type_, scale, zero_point = ACTIVATIONS[types.split("_")[0]]
    return b.input(type_, shape, scale, zero_point)


def target(b, types, rank, scale=1 / 8, zero_point=None):
    """Model output whose shape is inferred; scale and zero point hold for quantized types."""
    type_, quantized, middle = ACTIVATIONS[types.split("_")[0]]
    return b.output(type_, (0,) * rank, scale if quantized else 0.0, middle if zero_point is None else zero_point)
