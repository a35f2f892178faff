"""TFLite's BATCH_MATMUL with broadcast batch dimensions, of any rank."""

from math import prod

import numpy as np

from ..model.types import OperandType
from ..record import replace
from . import batch_matmul
from .base import Node
from .movement import MOST_DIMENSIONS, copy_order
from .tfl import FLOATS, INTEGERS, own
from .tfl_shape import merged_order


def _matrices(node, arrays):
    """Both factors, the last two dimensions swapped where asked for."""
    return [np.swapaxes(a, -1, -2) if node.scalar(name) else a for a, name in zip(arrays, ("adj_x", "adj_y"))]


def infer(node):
    """Batches broadcast, rows of x and columns of y."""
    for name in ("x", "y"):
        node.check_rank(name, 2, 8)
    x, y = (a.shape for a in _matrices(node, [np.broadcast_to(np.int8(0), node[name].shape) for name in ("x", "y")]))
    try:
        batch = np.broadcast_shapes(x[:-2], y[:-2])
    except ValueError:
        batch = None
    if batch is None or x[-1] != y[-2]:
        node.fail("y", f"factors of shapes {list(x)} and {list(y)} do not go together")
    return [(*batch, x[-2], y[-1])]


def validate(node):
    """Both factors are of one type; products of integers may be wider."""
    x, y, output = node["x"].dtype, node["y"].dtype, node.outputs[0].dtype
    if x != y or output != x and (x.kind not in "iu" or not np.can_cast(x, output, "safe")):
        node.fail("y", f"factors of {x} and {y} with products of {output} do not go together, must be of one type, "
                       "and products of integers of that or a wider one")


def compute(node, inputs):
    """Products in the type of the output."""
    return [np.ascontiguousarray(np.matmul(*_matrices(node, inputs), dtype=node.outputs[0].dtype))]


def lower(node, b):
    """As BATCH_MATMUL of rank 3: with batches that both have, those that only x has as rows, those of y as columns."""
    x, y, output = node["x"], node["y"], node.outputs[0]
    if {t.type for t in (x, y, output)} != {OperandType.TENSOR_FLOAT32}:
        return f"no native kernel for {output.dtype}"
    if 0 in (*x.shape, *y.shape):
        return "no native kernel for tensors without elements"
    rank = len(output.shape)
    x, y = (replace(t, shape=shape, value=None if t.value is None else t.value.reshape(shape))
            for t in (x, y) for shape in [(1,) * (rank - len(t.shape)) + t.shape])
    of_x, of_y = ([axis for axis in range(rank - 2) if one.shape[axis] != 1 == other.shape[axis]]
                  for one, other in ((x, y), (y, x)))
    both = [axis for axis in range(rank - 2) if axis not in of_x + of_y]
    inner, last = rank - 2, rank - 1
    rows, columns, group_x, group_y = [*of_x, inner], [*of_y, last], both + of_y, both + of_x
    orders = [[group_x, [inner], [*of_x, last]] if node.scalar("adj_x") else [group_x, rows, [last]],
              [group_y, [*of_y, inner], [last]] if node.scalar("adj_y") else [group_y, [inner], columns],
              [both, rows, columns]]
    reordered = max(len(merged_order(t.shape, sum(order, []))) for t, order in zip((x, y, output), orders))
    if reordered > MOST_DIMENSIONS:
        return f"reorders {reordered} dimensions, native up to {MOST_DIMENSIONS}"
    factors = [_in_order(b, t, order) for t, order in zip((x, y), orders)]
    shape, order = _shape(output, orders[2]), sum(orders[2], [])
    target = replace(output, shape=shape) if _is_in_place(output, order) else b.stand_in(output, shape=shape)
    flags = [node.inputs[node.place(name)] for name in ("adj_x", "adj_y")]
    reason = batch_matmul.lower(Node(batch_matmul.BATCH_MATMUL, node.path, [*factors, *flags], [target]), b)
    if reason is None and not _is_in_place(output, order):
        copy_order(b, target, output, [output.shape[axis] for axis in order], np.argsort(order).tolist())
    return reason


def _shape(tensor, order):
    """Sizes of a tensor's dimensions in groups."""
    return tuple(prod(tensor.shape[axis] for axis in group) for group in order)


def _is_in_place(tensor, order):
    """Whether a tensor's elements already lie in this order."""
    return len(merged_order(tensor.shape, order)) <= 1


def _in_order(b, tensor, order):
    """The tensor with its dimensions in this order, those of each group as one; copied where they are not."""
    shape, order = _shape(tensor, order), sum(order, [])
    if tensor.value is not None:
        return replace(tensor, shape=shape, value=np.ascontiguousarray(tensor.value.transpose(order)).reshape(shape))
    if _is_in_place(tensor, order):
        return replace(tensor, shape=shape)
    made = b.stand_in(tensor, shape=shape)
    copy_order(b, tensor, made, tensor.shape, order)
    return made


_TYPES = {"T": FLOATS + INTEGERS, "U": FLOATS + INTEGERS, "V": FLOATS + INTEGERS}
TFL_BATCH_MATMUL = own("TFL_BATCH_MATMUL", {"x:T y:U adj_x:bool adj_y:bool -> output:V": _TYPES}, compute, infer,
                       validate, lower=lower, multiply_adds=True)
