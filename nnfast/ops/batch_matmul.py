"""BATCH_MATMUL: products of the matrices in the last two dimensions [NN 14.102]."""

from contextlib import suppress
from math import prod

import numpy as np

from .._native.conv import (
    Conv2dF32,
    Conv2dQ8,
    PackF32,
    PackQ8,
    fits_conv2d_q8,
    pack_conv2d_f32,
    pack_conv2d_q8,
    packed_bytes_conv2d,
)
from .._native.movement import StridedCopy
from ..model.quant import conv_multiplier, mbqm, quantize_multiplier
from ..model.types import QUANT_RANGE, OperandType, OperationType, type_name
from .base import OpDef, Signature, is_quant8
from .conv2d import Placement
from .window import POINT


def validate(node):
    """Ranks 2 to 4."""
    node.check_rank("input0", 2, 4)
    node.check_rank("input1", 2, 4)


def infer(node):
    """[..., rows of x, columns of y], counted after the transpositions; batch dimensions must be equal, in LiteRT
    broadcast.
    """
    validate(node)
    x, y = node["input0"].shape, node["input1"].shape
    if len(x) != len(y) and not node.is_litert:
        node.fail("input1", f"rank is {len(y)}, must be that of input0, {len(x)}")
    batch = _batch(node, x[:-2], y[:-2])
    (rows, inner), (meets, columns) = _matrix(x, node.scalar("adj_x")), _matrix(y, node.scalar("adj_y"))
    if inner != meets:
        node.fail("input1", f"has {meets} rows, must have one for each of {inner} columns of input0")
    if is_quant8(node["input0"]):
        multiplier(node)
    return [(*batch, rows, columns)]


def _batch(node, x, y):
    """Batch dimensions of the products."""
    if x == y:
        return x
    if node.is_litert:
        with suppress(ValueError):
            return np.broadcast_shapes(x, y)
    node.fail("input1", f"batch dimensions are {list(y)}, must be those of input0, {list(x)}")


def _matrix(shape, adjoint):
    """(rows, columns) after transposition."""
    return shape[:-3:-1] if adjoint else shape[-2:]


def multiplier(node):
    """(multiplier, exponent) from sums of products to output codes."""
    real = conv_multiplier(node["input0"].scale, node["input1"].scale, node.outputs[0].scale)
    # Shifted by 32 bits, a sum has no bits left.
    if not real < 2.0**31:
        node.fail(0, f"scale {node.outputs[0].scale:.9g} asks for a multiplier of {real:.9g}, must be below 2**31")
    return quantize_multiplier(real)


def compute(node, inputs):
    """Floats and 8-bit in float64 (8-bit sums are exact there), INT32 wraps."""
    output = node.outputs[0]
    x, y = (_turned(node, array, flag) for array, flag in zip(inputs, ("adj_x", "adj_y")))
    if output.type == OperandType.TENSOR_INT32:
        return [(x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32)]
    with np.errstate(all="ignore"):
        x, y = x.astype(np.float64), y.astype(np.float64)
        if not is_quant8(output):
            return [(x @ y).astype(output.dtype)]
    sums = (x - node["input0"].zero_point) @ (y - node["input1"].zero_point)
    codes = mbqm(sums.astype(np.int64), *multiplier(node)) + output.zero_point
    return [np.clip(codes, *QUANT_RANGE[output.type]).astype(output.dtype)]


def _turned(node, array, flag):
    return array.swapaxes(-1, -2) if node.scalar(flag) else array


# -- native ----------------------------------------------------------------------------------------------------------
def lower(node, b):
    """A convolution step of one group per matrix pair, whose weights are the columns of input1."""
    x, y, output = node["input0"], node["input1"], node.outputs[0]
    quantized = is_quant8(output)
    if not quantized and output.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(output.type)}"
    if x.shape[:-2] != y.shape[:-2]:
        return "no native kernel for batches that broadcast"
    (rows, columns), inner, groups = output.shape[-2:], _matrix(x.shape, node.scalar("adj_x"))[1], prod(x.shape[:-2])
    place = Placement(inner, columns, columns, columns, groups=groups, group=rows * inner, out_group=rows * columns)
    left = _dense(b, x, node.scalar("adj_x"))
    if y.value is None:
        packed, size = b.temp(packed_bytes_conv2d(columns, inner, groups, quantized)), (columns, inner, groups)
        bias = b.const(np.zeros(groups * columns, np.int32 if quantized else np.float32))
        by_rows = not node.scalar("adj_y")
        if quantized:
            b.emit(PackQ8((_dense(b, y, by_rows), bias, packed), *size, (y.dtype, y.zero_point), x.zero_point, True,
                          *_scales(node, groups * columns)))
        else:
            b.emit(PackF32((b.slot(y), bias, packed), *size, by_rows))
    else:
        size = packed_bytes_conv2d(columns, inner, groups, quantized)
        packed = b.const(b.packed([y], np.uint8, lambda: _packed(node, columns, inner, groups), lambda found: (
            fits_conv2d_q8(found, columns, inner, groups) if quantized else found.nbytes == size)))
    slots = left, packed, b.slot(output)
    shape = POINT, rows, inner, columns
    if quantized:
        codes = output.zero_point, *QUANT_RANGE[output.type]
        b.emit(Conv2dQ8(slots, *shape, (y.dtype, y.zero_point), x.zero_point, codes, True, place))
    else:
        b.emit(Conv2dF32(slots, *shape, -np.inf, np.inf, place))
    return None


def _dense(b, tensor, swap):
    """Slot of the matrices of a tensor, after a copy with the last two dimensions swapped where `swap` says so."""
    source = b.slot(tensor)
    if not swap:
        return source
    item, (*batch, rows, columns) = tensor.dtype.itemsize, tensor.shape
    matrices, count = b.temp(prod(tensor.shape) * item), prod(batch)
    b.emit(StridedCopy((source, matrices), (count, columns, rows), (item * rows * columns, item, item * columns),
                       (item * rows * columns, item * rows, item), item))
    return matrices


def _packed(node, columns, inner, groups):
    """Constant matrices of input1 as the convolution step reads them."""
    x, y = node["input0"], node["input1"]
    matrices = y.value if node.scalar("adj_y") else y.value.swapaxes(-1, -2)
    matrices, count = np.ascontiguousarray(matrices).reshape(-1, inner), groups * columns
    if not is_quant8(y):
        return pack_conv2d_f32(matrices, np.zeros(count, np.float32), groups)
    return pack_conv2d_q8(matrices, np.zeros(count, np.int32), y.zero_point, x.zero_point, True, *_scales(node, count),
                          groups)


def _scales(node, count):
    """int32 multipliers and exponents of so many columns."""
    return [np.full(count, part, np.int32) for part in multiplier(node)]


BATCH_MATMUL = OpDef(
    OperationType.BATCH_MATMUL,
    (Signature("input0:T input1:T adj_x:bool adj_y:bool -> output:T",
               ("aidl2: F16", "aidl2: F32", "aidl2: Q8S", "aidl2: I32")),),
    validate=validate, infer=infer, compute=compute, lower=lower, multiply_adds=True,
)
