"""Inputs and outputs of a prepared model: their description, and conversion between real and quantized values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..checks import kind_of, shown
from ..errors import InvalidArgument
from ..model.quant import round_half_away
from ..model.types import OperandType
from ..record import record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .. import typed

_BOOL = np.dtype(np.bool_)


@record(frozen=True, slots=True)
class TensorInfo:
    """One input or output of a prepared model: name, shape (None = unknown), numpy dtype, NNAPI type, quantization.

        info = prepared.inputs[0]
        codes = info.quantize([[0.5, -0.25]])

    scale, zero_point: of a tensor with one scale, else 0. channel_axis, channel_scales: dimension and scales of a
    per-channel quantized tensor, else None and (). takes_empty: where the shape leaves a size open, it may be 0.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: typed.DType
    type: int
    scale: float
    zero_point: int
    channel_axis: int | None
    operand: int
    channel_scales: tuple[float, ...] = ()
    takes_empty: bool = False

    @property
    def scales(self) -> tuple[float, ...]:
        """Tuple of scales: one, one per channel, or () without quantization."""
        return self.channel_scales or ((self.scale,) if self.scale else ())

    @property
    def zero_points(self) -> tuple[int, ...]:
        """Tuple of zero points, one for each of `scales`."""
        return (self.zero_point,) * len(self.scales)

    @property
    def axis(self) -> int | None:
        """Dimension of per-channel `scales`, else None."""
        return self.channel_axis

    @property
    def is_quantized(self) -> bool:
        """True if values mean (value - zero_point) * scale; int32 tensors with a scale count."""
        return bool(self.scales)

    def quantize(self, values: ArrayLike) -> typed.Array:
        """Quantized codes of real numbers, in the tensor's dtype: round(x / scale) + zero point, ties away from zero,
        clamped to the dtype's range.

        values: array-like of numbers; NaN becomes the highest code. Raises InvalidArgument if the tensor has no
        quantization.
        """
        reals = self._numbers(values, "values", np.float32)
        scale = self._scale(reals.ndim)
        with np.errstate(all="ignore"):
            steps = round_half_away(reals / scale).astype(np.float64) + self.zero_point
        limits = np.iinfo(self.dtype)
        return np.where(np.isnan(steps), limits.max, np.clip(steps, limits.min, limits.max)).astype(self.dtype)

    def dequantize(self, codes: ArrayLike) -> NDArray[np.float32]:
        """Real values of codes as float32: scale * (code - zero point). Raises InvalidArgument as quantize does."""
        codes = self._numbers(codes, "codes", np.int64)
        scale = self._scale(codes.ndim)
        return (codes - self.zero_point).astype(np.float32) * scale

    def _numbers(self, values, what, dtype):
        """The caller's values as an array of numbers."""
        try:
            array = np.asarray(values)
            if array.dtype.kind in "biuf":
                with np.errstate(all="ignore"):
                    return array.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            pass
        raise InvalidArgument(f"{self.name}: {what} are {shown(values)}, must be an array of numbers")

    def _scale(self, rank):
        """Scales as float32, in a shape that broadcasts with an array of this rank."""
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
    """TensorInfo of an operand of the main graph; fallback: name for an operand without one."""
    o = model.main.operands[operand]
    channels = o.channel_quant
    axis, scales = (channels.dim, tuple(channels.scales)) if channels else (None, ())
    # BOOL8 is bytes in NNAPI; models from TFLite files use numpy's bool, as LiteRT does.
    dtype = _BOOL if o.type == OperandType.TENSOR_BOOL8 and model.arithmetic == "litert" else o.dtype
    return TensorInfo(o.name or fallback, o.shape, dtype, o.type, o.scale, o.zero_point, axis, operand, scales,
                      model.arithmetic == "litert")


def array_of(info, value):
    """A caller's input as a numpy array, converted by `__array__`, DLPack or the buffer protocol. A value without
    dimensions becomes shape [1].

    Raises InvalidArgument if no conversion applies.
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
    raise InvalidArgument(f"run input {info.name!r}: is {kind_of(value)}, must be a numpy array of dtype "
                          f"{info.dtype}, or an object with __array__, __dlpack__ or a buffer")
