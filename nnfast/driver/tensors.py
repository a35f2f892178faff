"""Inputs and outputs of a prepared model: what they are, and real numbers as their codes."""

from dataclasses import dataclass

import numpy as np

from ..checks import shown
from ..errors import InvalidArgument
from ..model.quant import round_half_away
from ..model.types import OperandType

_BOOL = np.dtype(np.bool_)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output: name, shape (None = unknown), numpy dtype, NNAPI type, quantization.

    scale, zero_point: of a quantized tensor, 0 for others. channel_axis, channel_scales: dimension and scales of a
    tensor with one scale for each channel, else None and ().
    """

    name: str
    shape: tuple | None
    dtype: np.dtype
    type: int
    scale: float
    zero_point: int
    channel_axis: int | None
    operand: int
    channel_scales: tuple = ()

    @property
    def scales(self):
        """All scales: one, one for each channel, or () without quantization."""
        return self.channel_scales or ((self.scale,) if self.scale else ())

    @property
    def zero_points(self):
        """A zero point for each of `scales`."""
        return (self.zero_point,) * len(self.scales)

    @property
    def axis(self):
        """Dimension that `scales` go along where there are several, else None."""
        return self.channel_axis

    @property
    def is_quantized(self):
        """Whether values stand for real numbers: (value - zero_point) * scale. Scales of int32 tensors count too."""
        return bool(self.scales)

    def quantize(self, values):
        """Codes of real numbers in the tensor's dtype: round(x / scale) + zero point, ties away from 0, in its range.

        values: anything that numpy makes an array of. NaN gives the highest code. Raises InvalidArgument where the
        tensor has no quantization.
        """
        reals = self._numbers(values, "values", np.float32)
        scale = self._scale(reals.ndim)
        with np.errstate(all="ignore"):
            steps = round_half_away(reals / scale).astype(np.float64) + self.zero_point
        limits = np.iinfo(self.dtype)
        return np.where(np.isnan(steps), limits.max, np.clip(steps, limits.min, limits.max)).astype(self.dtype)

    def dequantize(self, codes):
        """Real numbers of codes, float32: scale * (code - zero point). Raises InvalidArgument as quantize does."""
        codes = self._numbers(codes, "codes", np.int64)
        scale = self._scale(codes.ndim)
        return (codes - self.zero_point).astype(np.float32) * scale

    def _numbers(self, values, what, dtype):
        """Array of numbers that a caller gave."""
        try:
            array = np.asarray(values)
            if array.dtype.kind in "biuf":
                with np.errstate(all="ignore"):
                    return array.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            pass
        raise InvalidArgument(f"{self.name}: {what} are {shown(values)}, must be an array of numbers")

    def _scale(self, rank):
        """Scales as float32, in a shape that goes with an array of this rank."""
        if not self.is_quantized:
            raise InvalidArgument(f"{self.name}: is {self.dtype} without quantization, there is nothing to convert")
        if self.channel_axis is None:
            return np.float32(self.scale)
        if self.channel_axis >= rank:
            raise InvalidArgument(f"{self.name}: has its scales along dimension {self.channel_axis}, the array has "
                                  f"rank {rank}")
        shape = [1] * rank
        shape[self.channel_axis] = -1
        return np.array(self.channel_scales, np.float32).reshape(shape)


def info_of(model, operand, fallback):
    """TensorInfo of an operand of the main graph; fallback: the name of one that has none."""
    o = model.main.operands[operand]
    channels = o.channel_quant
    axis, scales = (channels.dim, tuple(channels.scales)) if channels else (None, ())
    # Booleans are bytes to NNAPI; who comes with a file of TFLite's has numpy's, and gets them.
    dtype = _BOOL if o.type == OperandType.TENSOR_BOOL8 and model.arithmetic == "litert" else o.dtype
    return TensorInfo(o.name or fallback, o.shape, dtype, o.type, o.scale, o.zero_point, axis, operand, scales)


def array_of(info, value):
    """numpy array of what a caller gave for an input: itself, or made of its `__array__`, DLPack or buffer. A single
    value without dimensions is one of shape [1].

    Raises InvalidArgument for what has none of them.
    """
    if isinstance(value, np.ndarray):
        return value.reshape(1) if not value.ndim and info.shape == (1,) else value
    try:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        if not isinstance(value, str | bytes | bytearray):
            return np.asarray(memoryview(value))
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        if not isinstance(error, TypeError) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
            raise InvalidArgument(f"run input {info.name!r}: no array can be made of this {type(value).__name__}: "
                                  f"{error}") from None
    raise InvalidArgument(f"run input {info.name!r}: is a {type(value).__name__}, must be a numpy array of dtype "
                          f"{info.dtype}, or an object with __array__, __dlpack__ or a buffer")
