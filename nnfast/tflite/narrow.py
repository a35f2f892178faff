"""Widens 4-bit constants: to int8 with the same scales, or if quantized blockwise to int8 for FULLY_CONNECTED, and to
float32 for all others.
"""

import numpy as np

from .._native.conv import BLOCKWISE_GROUP
from .schema import Builtin, TensorType

_FLOATS = (TensorType.FLOAT16, TensorType.FLOAT32)


def is_narrow(t):
    """Whether a FileTensor is a 4-bit constant."""
    return t.type == TensorType.INT4 and t.data is not None and bool(t.dims) and not t.is_sparse


def widened(t):
    """int8 array of a 4-bit constant: two values per byte, the lower nibble first."""
    pairs = t.data[:(np.prod(t.dims, dtype=np.int64) + 1) // 2]
    codes = np.stack([pairs << 4, pairs & 0xF0], -1).reshape(-1).view(np.int8) >> 4
    return codes[:np.prod(t.dims, dtype=np.int64)].reshape(t.dims)


def products(tensors, operators, outputs):
    """Indices of the blockwise constants that only FULLY_CONNECTED of float tensors read, as weights."""
    found = {t.index for t in tensors if is_narrow(t) and t.blocks is not None and len(t.dims) == 2
             and t.blocks.block_size > 0 and t.blocks.block_size % BLOCKWISE_GROUP == 0} - set(outputs)
    for op in operators:
        weights = set()
        if op.code == Builtin.FULLY_CONNECTED and len(op.inputs) > 1 and not op.options.weights_format and \
                {tensors[place].type for place in (op.inputs[0], *op.outputs)} == {TensorType.FLOAT32}:
            weights = {op.inputs[1]} - {op.inputs[0], *op.inputs[2:]}
        found -= set(op.inputs) - weights
    return found


def block_scales(t, scales):
    """float32 array [..., blocks] of the scales of a 4-bit constant, one for each block of its last dimension.

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
    return scales.array.astype(np.float32)


def real(t, scales):
    """float32 array of a 4-bit constant with block_scales."""
    by = block_scales(t, scales)
    return (widened(t).reshape(*by.shape, t.blocks.block_size) * by[..., None]).reshape(t.dims)
