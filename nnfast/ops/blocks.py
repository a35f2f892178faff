"""Operations that move blocks of height and width to depth or batch, and back.

DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND [NN 14.5, 14.29].
"""

from math import prod

import numpy as np

from .._native.movement import FillBytes, StridedCopy
from ..model.types import OperandType, OperationType
from .base import OpDef, forms
from .movement import dense


def _sizes(node):
    """[batch, height, width, channels] of the input in either layout."""
    batch, *rest = node["input"].shape
    channels, height, width = rest if node.layout_nchw else (rest[2], rest[0], rest[1])
    return batch, height, width, channels


def _in_layout(node, batch, height, width, channels):
    """An output shape in the layout of the operation."""
    return (batch, channels, height, width) if node.layout_nchw else (batch, height, width, channels)


def _computed(node, array, move):
    """`move` applied to an array with channels last; the result in the layout of the operation."""
    if not node.layout_nchw:
        return [np.array(move(array), order="C")]
    return [np.array(np.moveaxis(move(np.moveaxis(array, 1, -1)), -1, 1), order="C")]


def _strides(node, tensor, shape=None):
    """Bytes from one (image, row, column, channel) to the next of a tensor in the layout of the operation."""
    shape = tensor.shape if shape is None else shape
    batch, *rest = dense(shape, tensor.dtype.itemsize)
    channels, height, width = rest if node.layout_nchw else (rest[2], rest[0], rest[1])
    return batch, height, width, channels


def _depth_steps(strides, size, channels):
    """Strides of the loops image, row, row in the block, column, column in the block, channel: blocks in the depth."""
    image, row, column, channel = strides
    return image, row, size * channels * channel, column, channels * channel, channel


def _batch_steps(strides, columns, batch):
    """As _depth_steps, for blocks in the batch."""
    image, row, column, channel = strides
    return image, row, columns * batch * image, column, batch * image, channel


def _space_steps(strides, rows, columns):
    """As _depth_steps, for blocks in height and width."""
    image, row, column, channel = strides
    return image, rows * row, row, columns * column, column, channel


def _forms(inputs, since):
    sets = (f"{since}: F32", f"{since}: Q8", "1.2: F16", "1.3: Q8S")
    return forms((f"{inputs} -> output:T", since), (f"{inputs} layout:bool -> output:T", "1.2"), sets=sets)


# -- depth -----------------------------------------------------------------------------------------------------------
def validate(node):
    """Rank is 4."""
    node.check_rank("input", 4)


def _block_size(node):
    size = node.scalar("block_size")
    if size < 1:
        node.fail("block_size", f"is {size}, must be at least 1")
    return size


def infer_depth_to_space(node):
    """Height and width grow by the block size, channels shrink by its square."""
    validate(node)
    size, (batch, height, width, channels) = _block_size(node), _sizes(node)
    if channels % size**2:
        node.fail("block_size", f"is {size}, its square must divide the {channels} channels of the input")
    return [_in_layout(node, batch, height * size, width * size, channels // size**2)]


def compute_depth_to_space(node, inputs):
    """out[b, y*n+i, x*n+j, d] = in[b, y, x, (i*n+j)*D + d]"""
    size = _block_size(node)

    def move(x):
        b, h, w, c = x.shape
        blocks = x.reshape(b, h, w, size, size, c // size**2)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(b, h * size, w * size, c // size**2)

    return _computed(node, inputs[0], move)


def lower_depth_to_space(node, b):
    """A strided copy."""
    source, output, size = node["input"], node.outputs[0], _block_size(node)
    batch, height, width, channels = _sizes(node)
    channels //= size**2
    b.emit(StridedCopy((b.slot(source), b.slot(output)), (batch, height, size, width, size, channels),
                       _depth_steps(_strides(node, source), size, channels),
                       _space_steps(_strides(node, output), size, size), source.dtype.itemsize))
    return None


DEPTH_TO_SPACE = OpDef(
    OperationType.DEPTH_TO_SPACE, _forms("input:T block_size:i32", "1.0"),
    validate=validate, infer=infer_depth_to_space, compute=compute_depth_to_space,
    lower=lower_depth_to_space, quant="same", moves=True,
)


def infer_space_to_depth(node):
    """Height and width shrink by the block size, channels grow by its square."""
    validate(node)
    size, (batch, height, width, channels) = _block_size(node), _sizes(node)
    if height % size or width % size:
        node.fail("block_size", f"is {size}, must divide height {height} and width {width} of the input")
    return [_in_layout(node, batch, height // size, width // size, channels * size**2)]


def compute_space_to_depth(node, inputs):
    """out[b, y, x, (i*n+j)*C + d] = in[b, y*n+i, x*n+j, d]"""
    size = _block_size(node)

    def move(x):
        b, h, w, c = x.shape
        blocks = x.reshape(b, h // size, size, w // size, size, c)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(b, h // size, w // size, c * size**2)

    return _computed(node, inputs[0], move)


def lower_space_to_depth(node, b):
    """A strided copy."""
    source, output, size = node["input"], node.outputs[0], _block_size(node)
    batch, height, width, channels = _sizes(node)
    b.emit(StridedCopy((b.slot(source), b.slot(output)), (batch, height // size, size, width // size, size, channels),
                       _space_steps(_strides(node, source), size, size),
                       _depth_steps(_strides(node, output), size, channels), source.dtype.itemsize))
    return None


SPACE_TO_DEPTH = OpDef(
    OperationType.SPACE_TO_DEPTH, _forms("input:T block_size:i32", "1.0"),
    validate=validate, infer=infer_space_to_depth, compute=compute_space_to_depth,
    lower=lower_space_to_depth, quant="same", moves=True,
)


# -- batch -----------------------------------------------------------------------------------------------------------
def _block_shape(node):
    """(height, width) of a block."""
    block = node.value("block_shape")
    if block.shape != (2,):
        node.fail("block_shape", f"shape is {list(block.shape)}, must be [2]")
    if block.min() < 1:
        node.fail("block_shape", f"is {block.tolist()}, must hold sizes of at least 1")
    return block.tolist()


def infer_batch_to_space(node):
    """Height and width grow by the block, the batch shrinks by its area."""
    validate(node)
    (rows, columns), (batch, height, width, channels) = _block_shape(node), _sizes(node)
    if batch % (rows * columns):
        node.fail("block_shape", f"is {[rows, columns]}, its product must divide the batch of {batch}")
    return [_in_layout(node, batch // (rows * columns), height * rows, width * columns, channels)]


def compute_batch_to_space(node, inputs):
    """out[n, y*bh+i, x*bw+j, d] = in[(i*bw+j)*B + n, y, x, d]"""
    rows, columns = _block_shape(node)

    def move(x):
        b, h, w, c = x.shape
        batch = b // (rows * columns)
        blocks = x.reshape(rows, columns, batch, h, w, c)
        return blocks.transpose(2, 3, 0, 4, 1, 5).reshape(batch, h * rows, w * columns, c)

    return _computed(node, inputs[0], move)


def lower_batch_to_space(node, b):
    """A strided copy."""
    source, output, (rows, columns) = node["input"], node.outputs[0], _block_shape(node)
    batch, height, width, channels = _sizes(node)
    batch //= rows * columns
    b.emit(StridedCopy((b.slot(source), b.slot(output)), (batch, height, rows, width, columns, channels),
                       _batch_steps(_strides(node, source), columns, batch),
                       _space_steps(_strides(node, output), rows, columns), source.dtype.itemsize))
    return None


BATCH_TO_SPACE_ND = OpDef(
    OperationType.BATCH_TO_SPACE_ND, _forms("input:T block_shape:I32", "1.1"),
    validate=validate, infer=infer_batch_to_space, compute=compute_batch_to_space,
    lower=lower_batch_to_space, quant="same", moves=True,
)


def validate_space_to_batch(node):
    """Rank is 4; before HAL 1.2 a TENSOR_QUANT8_ASYMM had to have zero point 0."""
    validate(node)
    if node["input"].type == OperandType.TENSOR_QUANT8_ASYMM and node["input"].zero_point != 0:
        node.require("1.2")


def _paddings(node):
    """[[top, bottom], [left, right]]"""
    paddings = node.value("paddings")
    if paddings.shape != (2, 2):
        node.fail("paddings", f"shape is {list(paddings.shape)}, must be [2, 2]")
    if paddings.min() < 0:
        node.fail("paddings", f"holds {paddings.min()}, must not be negative")
    return paddings.tolist()


def infer_space_to_batch(node):
    """Padded height and width shrink by the block, the batch grows by its area."""
    validate(node)
    (rows, columns), (batch, height, width, channels) = _block_shape(node), _sizes(node)
    vertical, horizontal = _paddings(node)
    height, width = height + sum(vertical), width + sum(horizontal)
    if height % rows or width % columns:
        node.fail("block_shape", f"is {[rows, columns]}, must divide the padded height {height} and width {width}")
    return [_in_layout(node, batch * rows * columns, height // rows, width // columns, channels)]


def compute_space_to_batch(node, inputs):
    """out[(i*bw+j)*b + n, y, x, d] = padded[n, y*bh+i, x*bw+j, d]"""
    (rows, columns), paddings, zero = _block_shape(node), _paddings(node), node["input"].zero_point

    def move(x):
        x = np.pad(x, [[0, 0], *paddings, [0, 0]], constant_values=zero)
        b, h, w, c = x.shape
        blocks = x.reshape(b, h // rows, rows, w // columns, columns, c)
        return blocks.transpose(2, 4, 0, 1, 3, 5).reshape(b * rows * columns, h // rows, w // columns, c)

    return _computed(node, inputs[0], move)


def lower_space_to_batch(node, b):
    """A strided copy; with paddings it reads a padded copy of the input."""
    source, output, (rows, columns) = node["input"], node.outputs[0], _block_shape(node)
    batch, height, width, channels = _sizes(node)
    ((top, bottom), (left, right)), item, slot = _paddings(node), source.dtype.itemsize, b.slot(source)
    shape = _in_layout(node, batch, height + top + bottom, width + left + right, channels)
    strides = _strides(node, source, shape)
    if any((top, bottom, left, right)):
        slot = b.temp(prod(shape) * item)
        b.emit(FillBytes((slot,), prod(shape) * item, source.zero_point))
        b.emit(StridedCopy((b.slot(source), slot), source.shape, dense(source.shape, item), dense(shape, item), item,
                           top * strides[1] + left * strides[2]))
    loops = batch, (height + top + bottom) // rows, rows, (width + left + right) // columns, columns, channels
    b.emit(StridedCopy((slot, b.slot(output)), loops, _space_steps(strides, rows, columns),
                       _batch_steps(_strides(node, output), columns, batch), item))
    return None


SPACE_TO_BATCH_ND = OpDef(
    OperationType.SPACE_TO_BATCH_ND, _forms("input:T block_shape:I32 paddings:I32", "1.1"),
    validate=validate_space_to_batch, infer=infer_space_to_batch, compute=compute_space_to_batch,
    lower=lower_space_to_batch, quant="same", moves=True,
)
