"""Computes x times LOGISTIC of x, which networks call SiLU or swish, in one step instead of two.

The values of LOGISTIC are rounded as before, but not stored. Results are bit-identical, but for the sign and payload of
a NaN.
"""

from itertools import pairwise
from math import inf

from ..._native.elementwise import BinaryF32, UnaryF32

WHY = "x times LOGISTIC of x is one step, which neither stores nor reads the values between"


def refine(lowering):
    """Replace LOGISTIC and the MUL right after it by one step where nothing else reads what lies between."""
    gates = {place for place, pair in enumerate(pairwise(lowering.items)) if _is_gate(*pair)}
    if gates:
        private = lowering.private()
        gates = {place for place in gates if lowering.items[place].slots[1] in private}
    if not gates:
        return
    items, places, fused = [], [0], []
    for place, step in enumerate(lowering.items):
        if place in gates:
            fused.append(len(items))
            after = lowering.items[place + 1]
            step = UnaryF32((step.slots[0], after.slots[2]), "silu", step.made_with[0][2])
        if place - 1 in gates:
            places[-1:] = [len(items) - 1, len(items)]
        else:
            items.append(step)
            places.append(len(items))
    lowering.join(items, places, __name__)
    for place in fused:
        lowering.put(place, items[place], __name__)


def _is_gate(step, after):
    """Whether a step is LOGISTIC of float32 values, and the next one their product with what it reads, and no more."""
    if type(step) is not UnaryF32 or type(after) is not BinaryF32:
        return False
    (_, f, _), (_, op, shape_a, shape_b, *bounds) = step.made_with[0], after.made_with[0]
    return f == "logistic" and op == "mul" and sorted(after.slots[:2]) == sorted(step.slots) \
        and tuple(shape_a) == tuple(shape_b) and bounds in ([], [-inf, inf]) and not after.made_with[1]
