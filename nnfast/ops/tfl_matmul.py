"""TFLite's BATCH_MATMUL with broadcast batch dimensions, of any rank."""

from dataclasses import replace
from math import prod

import numpy as np

from ..model.types import OperandType
from . import batch_matmul
from .base import Node
from .tfl import FLOATS, INTEGERS, own


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


def compute(node, inputs):
    """Products in the type of the output."""
    return [np.ascontiguousarray(np.matmul(*_matrices(node, inputs), dtype=node.outputs[0].dtype))]


def lower(node, b):
    """As BATCH_MATMUL of rank 3 where the batches are as many, of rank 2 where all are multiplied by one matrix."""
    x, y, output = node["x"], node["y"], node.outputs[0]
    if {t.type for t in (x, y, output)} != {OperandType.TENSOR_FLOAT32}:
        return f"no native kernel for {output.dtype}"
    if 0 in (*x.shape, *y.shape):
        return "no native kernel for tensors without elements"
    batch, count = output.shape[:-2], prod(output.shape[:-2])
    if (1,) * (len(batch) - len(y.shape) + 2) + y.shape[:-2] == batch == x.shape[:-2]:
        shapes = [(count, *t.shape[-2:]) for t in (x, y, output)]
    elif prod(y.shape[:-2]) == 1 and x.shape[:-2] == batch and not node.scalar("adj_x"):
        shapes = [(count * t.shape[-2], t.shape[-1]) for t in (x, output)]
        shapes.insert(1, y.shape[-2:])
    else:
        return f"batches are {list(x.shape[:-2])} and {list(y.shape[:-2])}, native where they agree or y is one matrix"
    first, second, target = (replace(t, shape=shape, value=None if t.value is None else t.value.reshape(shape))
                             for t, shape in zip((x, y, output), shapes))
    flags = [node.inputs[node.place(name)] for name in ("adj_x", "adj_y")]
    return batch_matmul.lower(Node(batch_matmul.BATCH_MATMUL, node.path, [first, second, *flags], [target]), b)


_TYPES = {"T": FLOATS + INTEGERS, "U": FLOATS + INTEGERS, "V": FLOATS + INTEGERS}
TFL_BATCH_MATMUL = own("TFL_BATCH_MATMUL", {"x:T y:U adj_x:bool adj_y:bool -> output:V": _TYPES}, compute, infer,
                       lower=lower, multiply_adds=True)
