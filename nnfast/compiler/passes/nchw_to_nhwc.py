"""Runs operations on NCHW images by NHWC kernels: the same values in another order [NN 13.9]."""

from math import prod

import numpy as np

from ..._native.movement import StridedCopy
from ...ops.base import Node
from ...record import replace

WHY = "kernels take NHWC: images are transposed once and stay NHWC between operations"

_CHANNELS_LAST = (0, 2, 3, 1)
_CHANNELS_FIRST = (0, 3, 1, 2)


def lower(node, b):
    """Emit a node whose layout flag says NCHW as transpositions around its NHWC twin.

    Returns None on success, else why not, or NotImplemented if the node is in NHWC. The image is input 0; output 0 is
    an image too if its rank is 4. Between two such operations the image stays in NHWC.
    """
    if not node.layout_nchw:
        return NotImplemented
    source, target = node.inputs[0], node.outputs[0]
    is_image = len(target.shape) == 4
    image = b.channels_last.get(source.operand) or _channels_last(source, b)
    result = b.stand_in(target, **_moved(target)) if is_image else target
    twin = Node(node.op, node.path, [image, *map(_flipped(node), node.inputs[1:])], [result, *node.outputs[1:]],
                node.relaxed, node.arithmetic)
    reason = b.native(twin)
    if reason is None and is_image:
        b.channels_last[target.operand] = result
        b.emit_when_read(target, _transposition(b, result, target, _CHANNELS_FIRST))
    return reason


def _channels_last(tensor, b):
    """The NHWC twin of an NCHW image; emits the step that fills it, or transposes a known value right away."""
    image = b.stand_in(tensor, **_moved(tensor))
    if tensor.value is None:
        b.emit(_transposition(b, tensor, image, _CHANNELS_LAST))
    return image


def _moved(tensor):
    """Fields that differ in the NHWC twin of an NCHW image."""
    value = None if tensor.value is None else np.ascontiguousarray(tensor.value.transpose(_CHANNELS_LAST))
    return {"shape": tuple(tensor.shape[axis] for axis in _CHANNELS_LAST), "value": value}


def _flipped(node):
    """Function that converts a non-image input for NHWC: the layout flag, and an output size given in the layout."""
    flag = node["layout"]
    size = node["output_shape"] if node.has("output_shape") else None

    def change(tensor):
        if tensor is flag:
            return replace(tensor, value=np.zeros_like(tensor.value))
        if tensor is size and size.value is not None:  # an unknown value is not read
            return replace(tensor, value=tensor.value[list(_CHANNELS_LAST)])
        return tensor
    return change


def _transposition(b, source, target, order):
    """Step that transposes a tensor of rank 4: axis i of the result is axis order[i] of the input."""
    item = source.dtype.itemsize
    along = [item * prod(source.shape[axis + 1:]) for axis in order]
    dense = [item * prod(target.shape[axis + 1:]) for axis in range(4)]
    return StridedCopy((b.slot(source), b.slot(target)), target.shape, along, dense, item)
