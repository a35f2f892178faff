"""Values that follow from shapes: what a model computes of SHAPE is computed once, while its operations are planned.

Files whose sizes are unknown measure their tensors as they run, and reshape, slice and fill by the result. For the
shapes of one plan all of that is known. What follows from constants alone stays with the kernels.
"""

from math import prod

import numpy as np

from ..engine.reference import compute
from ..errors import GeneralFailure

MOST_FOLDED = 4096
"""Elements that an operation may read and write to be folded."""


def fold(facts, node, resources, go_on):
    """Record the outputs of a settled node as known values, where shapes give them.

    resources, go_on: of the execution or preparation, as reference.compute takes them.
    """
    present = [t for t in node.inputs if t.present]
    if not (node.op.of_shapes or _derived(facts, present)) or facts.widened(node):
        return
    if sum(prod(t.shape) for t in node.outputs) > MOST_FOLDED:
        return
    arrays = [np.broadcast_to(np.zeros((), t.dtype), t.shape) if node.op.of_shapes else t.value for t in node.inputs]
    try:
        results = compute(node, arrays, resources, go_on)
    except GeneralFailure:  # of values that the operation refuses: when it runs, and if it does
        return
    for tensor, value in zip(node.outputs, results):
        known = facts.of[tensor.operand]
        known.value, known.folded = np.ascontiguousarray(value).reshape(tensor.shape), True


def _derived(facts, tensors):
    """Whether all values are known, a few, and not only those of the model's constants."""
    return all(t.value is not None for t in tensors) and sum(t.value.size for t in tensors) <= MOST_FOLDED and \
        not all(facts.graph.operands[t.operand].is_constant for t in tensors)
