"""Runs float16 operations by float32 kernels: widen the inputs, compute, round the results once [NN 13.10]."""

from math import prod

import numpy as np

from ..._native.elementwise import Convert
from ...errors import InvalidArgument
from ...model.types import OperandType
from ...ops.base import Node

WHY = "float32 kernels compute float16: inputs are widened, results rounded once"

_WIDE = {OperandType.TENSOR_FLOAT16: OperandType.TENSOR_FLOAT32, OperandType.FLOAT16: OperandType.FLOAT32}


def lower(node, b):
    """Emit a node with float16 tensors as conversions around its float32 twin.

    Returns None on success, else why not, or NotImplemented if the node has no such twin. Known values are converted
    right away.
    """
    if all(t.type != OperandType.TENSOR_FLOAT16 for t in (*node.inputs, *node.outputs)):
        return NotImplemented
    if node.op.half_inside:
        return "float16 is rounded inside the operation"
    twins = {}
    inputs, outputs = ([_widened(t, b, twins) for t in side] for side in (node.inputs, node.outputs))
    try:
        twin = Node(node.op, node.path, inputs, outputs, node.relaxed, node.arithmetic)
        twin.frame = node.frame
    except InvalidArgument:
        return NotImplemented
    for tensor, wide in {t.operand: (t, twins[t.operand]) for t in node.inputs if t.operand in twins}.values():
        if tensor.present and tensor.value is None:
            b.emit(Convert((b.slot(tensor), b.slot(wide)), prod(tensor.shape), narrow=False))
    reason = b.native(twin)
    if reason is None:
        for tensor, wide in zip(node.outputs, outputs):
            if tensor.operand in twins:
                b.emit(Convert((b.slot(wide), b.slot(tensor)), prod(tensor.shape), narrow=True))
    return reason


def _widened(tensor, b, twins):
    """The float32 form of a float16 tensor or scalar, anything else unchanged; `twins` collects them."""
    if tensor.type not in _WIDE:
        return tensor
    form = {"type": _WIDE[tensor.type], "value": None if tensor.value is None else tensor.value.astype(np.float32)}
    if tensor.operand not in twins:
        twins[tensor.operand] = b.stand_in(tensor, **form)
    return twins[tensor.operand]
