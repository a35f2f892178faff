"""Constant folding of shape arithmetic: values that depend on shapes alone are computed once, during planning.

Files with unknown dimensions compute sizes at run time by SHAPE, and reshape, slice and fill by the results. For the
shapes of one plan these are constants. Values that depend on the model's constants alone are left to the kernels.
"""

from math import prod

import numpy as np

from ..engine.reference import compute
from ..errors import GeneralFailure

MOST_FOLDED = 4096
"""Most elements that an operation may read and write to be folded."""


def fold(facts, node, resources, go_on):
    """Compute the outputs of a settled node and record them as known values, if they depend on shapes alone.

    resources, go_on: of the execution or preparation, as for reference.compute.
    """
    present = [t for t in node.inputs if t.present]
    if not (node.op.of_shapes or _derived(facts, present)) or facts.widened(node):
        return
    if sum(prod(t.shape) for t in node.outputs) > MOST_FOLDED:
        return
    arrays = [np.broadcast_to(np.zeros((), t.dtype), t.shape) if node.op.of_shapes else t.value for t in node.inputs]
    try:
        results = compute(node, arrays, resources, go_on)
    except GeneralFailure:  # bad values are an error only if and when the operation runs
        return
    for tensor, value in zip(node.outputs, results):
        known = facts.of[tensor.operand]
        known.value, known.folded = np.ascontiguousarray(value).reshape(tensor.shape), True


def _derived(facts, tensors):
    """Whether all inputs have known values, few enough, and not all of them are constants of the model."""
    return all(t.value is not None for t in tensors) and sum(t.value.size for t in tensors) <= MOST_FOLDED and \
        not all(facts.graph.operands[t.operand].is_constant for t in tensors)
