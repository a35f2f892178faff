"""Runs numpy references of operations, with their memory charged and warnings off."""

from math import prod

import numpy as np

from ..errors import guarded
from .resources import Owner

WIDENED = 8
"""Bytes of working memory per element of inputs and outputs: most references compute in float64 or int64."""


def compute(node, arrays, resources, go_on):
    """Output arrays of a node from input arrays (None = omitted), by its numpy reference.

    go_on(): called between parts of long work, may raise to stop. Raises ResourceExhausted* before it allocates more
    memory than the budget allows.
    """
    with np.errstate(all="ignore"), guarded(node.path):
        if resources.budget is None:
            return node.op.compute(node.with_values(arrays, go_on), arrays)
        memory = Owner()
        elements = sum(array.size for array in arrays if array is not None)
        elements += sum(prod(t.shape) for t in node.outputs if t.is_known)
        resources.take(WIDENED * elements, memory, f"{node.path}: working memory")
        return node.op.compute(node.with_values(arrays, go_on), arrays)
