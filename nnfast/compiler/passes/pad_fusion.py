"""Lets convolutions pad their images themselves: what PAD would write is neither stored nor read again.

A window that reaches beyond an image finds the zero point there, as it would in the output of PAD [NN 14.32, 13.6].
"""

from ...model.types import OperationType
from ...ops import window
from ...ops.base import Node

WHY = "a convolution pads its image itself: what PAD would write is neither stored nor read again"

_CONVOLUTIONS = (OperationType.CONV_2D, OperationType.DEPTHWISE_CONV_2D)


def postpone(node, b):
    """Whether a PAD waits for a reader that cannot do without it: all that read its output are convolutions."""
    if not node.has("paddings"):
        return False
    paddings = node.value("paddings").tolist()
    if len(paddings) != 4 or any(paddings[0] + paddings[3]):
        return False
    readers = b.readers(node.outputs[0])
    return bool(readers) and all(reader in _CONVOLUTIONS for reader in readers)


def lower(node, b):
    """Emit a convolution of what a PAD reads in place of what it writes.

    Returns None on success, else why not, or NotImplemented if its image is not the output of a PAD that waits, or the
    windows would reach further beyond the image than padding may.
    """
    pad = b.postponed(node.inputs[0]) if node.op.type in _CONVOLUTIONS else None
    if pad is None or node.layout_nchw or node["filter"].value is None:
        return NotImplemented
    twin = Node(node.op, node.path, [pad["input"], *node.inputs[1:]], node.outputs, node.relaxed, node.arithmetic)
    twin.frame = tuple(map(tuple, pad.value("paddings").tolist()[1:3]))
    win = window.window(twin, pad["input"].shape[1:3], node["filter"].shape[1:3])
    for axis in (0, 1):
        extent = (win.filter[axis] - 1) * win.dilation[axis] + 1
        tail = (win.output[axis] - 1) * win.stride[axis] + extent - win.head[axis] - win.input[axis]
        if max(win.head[axis], tail) >= extent:
            return NotImplemented
    return b.native(twin)
