"""Widens 4-bit constants: to int8 with the same scales, or to float32 if quantized blockwise."""

import numpy as np

from .schema import TensorType

_FLOATS = (TensorType.FLOAT16, TensorType.FLOAT32)


def is_narrow(t):
    """Whether a FileTensor is a 4-bit constant."""
    return t.type == TensorType.INT4 and t.data is not None and bool(t.dims) and not t.is_sparse


def widened(t):
    """int8 array of a 4-bit constant: two values per byte, the lower nibble first."""
    pairs = t.data[:(np.prod(t.dims, dtype=np.int64) + 1) // 2]
    codes = np.stack([pairs << 4, pairs & 0xF0], -1).reshape(-1).view(np.int8) >> 4
    return codes[:np.prod(t.dims, dtype=np.int64)].reshape(t.dims)


def real(t, scales):
    """float32 array of a 4-bit constant with a scale for each block of its last dimension.

    scales: their FileTensor. Raises ValueError if it does not match the constant.
    """
    size = t.blocks.block_size
    if size < 1 or t.dims[-1] % size:
        raise ValueError(f"blocks of {size} do not divide {list(t.dims)}")
    if scales.data is None or scales.type not in _FLOATS or scales.dims != (*t.dims[:-1], t.dims[-1] // size):
        raise ValueError(f"tensor[{scales.index}] must be constant float scales of "
                         f"{[*t.dims[:-1], t.dims[-1] // size]}")
    if t.blocks.zero_points > 0:
        raise ValueError(f"zero points in tensor[{t.blocks.zero_points}], must have none")
    parts = widened(t).reshape(*scales.dims, size) * scales.array.astype(np.float32)[..., None]
    return parts.reshape(t.dims)
