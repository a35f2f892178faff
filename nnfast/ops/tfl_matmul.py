"""TFLite's BATCH_MATMUL with broadcast batch dimensions, of any rank."""

import numpy as np

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


_TYPES = {"T": FLOATS + INTEGERS, "U": FLOATS + INTEGERS, "V": FLOATS + INTEGERS}
TFL_BATCH_MATMUL = own("TFL_BATCH_MATMUL", {"x:T y:U adj_x:bool adj_y:bool -> output:V": _TYPES}, compute, infer)
