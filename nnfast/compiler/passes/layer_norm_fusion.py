"""Runs layer normalization, which files have as ten operations or so, as one step.

The step rounds where the operations do, and adds up in doubles as they do, in another order: results differ in the last
bits.
"""

from collections import Counter
from math import inf, prod

from ..._native.elementwise import BinaryF32, UnaryF32
from ..._native.reduction import LayerNormF32, ReduceF32

WHY = "layer normalization is one step, which reads each row while it is in the cache"

MOST = 12
"""Steps that a normalization has at most."""

_WHOLE = {"x", "centred", "square", "factor", "x factor", "mean factor", "offset", "plain"}
"""What has a value for each element; the rest has one for each row."""


def refine(lowering):
    """Replace the steps of normalizations by one each, where nothing else reads what lies between."""
    items, places, put, place = [], [0], [], 0
    uses = sharing = None
    while place < len(lowering.items):
        if _is_mean(lowering.items[place]):
            uses = uses or Counter(slot for item in lowering.items for slot in item.slots)
            sharing = sharing or Counter(map(lowering.root, range(lowering.slots)))
            count, step = _longest(lowering, place, uses, sharing)
        else:
            count, step = 1, None
        items.append(step or lowering.items[place])
        if step:
            put.append(len(items) - 1)
        places += [len(items) - 1] * (count - 1) + [len(items)]
        place += count
    if put:
        lowering.join(items, places, __name__)
    for place in put:
        lowering.put(place, items[place], __name__)


def _is_mean(step):
    """Whether a step gives the mean of the last dimension of float32 values."""
    if type(step) is not ReduceF32:
        return False
    (_, op, shape, axes, *divisor), named = step.made_with
    return op == "sum" and not named and tuple(axes) == (len(shape) - 1,) and divisor == [shape[-1]]


def _without_ones(shape):
    """A shape without its leading dimensions of 1, which broadcasting ignores."""
    first = next((axis for axis, size in enumerate(shape) if size != 1), len(shape))
    return tuple(shape[first:])


def _longest(lowering, first, uses, sharing):
    """(number of steps, the step that replaces them); (1, None) if there is none."""
    reader, best = _Reader(lowering, lowering.items[first]), (1, None)
    here, written = Counter(lowering.items[first].slots), [lowering.items[first].slots[-1]]
    for count, step in enumerate(lowering.items[first + 1:first + MOST], 2):
        if not hasattr(step, "made_with") or step.reference is not None or not reader.reads(step):
            break
        here.update(step.slots)
        if reader.made and all(uses[slot] == here[slot] and slot not in lowering.bound
                               and sharing[lowering.root(slot)] == 1 for slot in written):
            best = count, reader.step(step.slots[-1])
        written.append(step.slots[-1])
    return best


class _Reader:
    """Goes through steps behind a mean, and tells what they have made of the rows so far."""

    def __init__(self, lowering, mean):
        (_, _, shape, *_), _ = mean.made_with
        self._lowering, self._shape = lowering, tuple(shape)
        self._x, self._n, self._rows = mean.slots[0], shape[-1], prod(shape[:-1])
        self._is = {mean.slots[0]: "x", mean.slots[1]: "mean"}  # slot -> what is in it
        self._gamma = self._beta = None
        self._epsilon, self._divides = 0.0, False
        self.made = None        # "folded" or "plain", once the last step has written the result of a normalization

    def step(self, target):
        """The step that makes it, in the slot `target`."""
        slots = [self._x, *(slot for slot in (self._gamma, self._beta) if slot is not None), target]
        return LayerNormF32(tuple(slots), self._rows, self._n, self._epsilon, self.made == "folded", self._divides,
                            self._gamma is not None, self._beta is not None)

    def reads(self, step):
        """Whether the step is part of a normalization."""
        self.made = None
        arguments, named = step.made_with
        if named:
            return False
        if type(step) is ReduceF32:
            made = "variance" if self._is.get(step.slots[0]) == "square" and _is_mean(step) \
                and tuple(arguments[2]) == self._shape else None
        elif type(step) is UnaryF32:
            made = {"rsqrt": "inverse", "sqrt": "deviation"}.get(arguments[1]) \
                if self._is.get(step.slots[0]) == "moved" else None
        elif type(step) is BinaryF32:
            made = self._pair(*arguments)
        else:
            made = None
        self._is[step.slots[-1]] = made
        if made in ("folded", "plain"):
            self.made = made
        return made is not None

    def _pair(self, slots, op, shape_a, shape_b, *bounds):
        """What a step of two operands makes."""
        if bounds not in ((), (-inf, inf)):
            return None
        (a, shape_a), (b, shape_b) = (slots[0], shape_a), (slots[1], shape_b)
        is_a, is_b = self._is.get(a), self._is.get(b)
        if not self._fits(is_a, shape_a) or not self._fits(is_b, shape_b):
            return None
        if op in ("add", "mul") and is_a is None:   # either operand may come first
            (a, shape_a, is_a), (b, shape_b, is_b) = (b, shape_b, is_b), (a, shape_a, is_a)
        kinds = {is_a, is_b}
        if op == "sub":
            if (is_a, is_b) == ("x", "mean"):
                return "centred"
            return "offset" if is_b == "mean factor" and is_a is None and self._takes("_beta", a, shape_a) else None
        if op == "squared_difference":
            return "square" if kinds == {"x", "mean"} else None
        if op == "div":
            self._divides = True
            return "plain" if (is_a, is_b) == ("centred", "deviation") else None
        if op == "mul":
            return self._product(kinds, is_a, b, is_b, shape_b)
        return self._sum(kinds, is_a, b, is_b, shape_b) if op == "add" else None

    def _fits(self, made, shape):
        """Whether an operand of that shape goes along with the rows: means without the reduced dimension would go along
        the columns."""
        wanted = self._shape if made in _WHOLE else (*self._shape[:-1], 1)
        return made is None or _without_ones(shape) == _without_ones(wanted)

    def _product(self, kinds, is_a, b, is_b, shape):
        if kinds == {"centred"}:
            return "square"
        if kinds == {"centred", "inverse"}:
            return "plain"
        if kinds == {"x", "factor"}:
            return "x factor"
        if kinds == {"mean", "factor"}:
            return "mean factor"
        if is_b is None and is_a in ("inverse", "plain") and self._beta is None and self._takes("_gamma", b, shape):
            return "factor" if is_a == "inverse" else "plain"
        return None

    def _sum(self, kinds, is_a, b, is_b, shape):
        if kinds == {"x factor", "offset"}:
            return "folded"
        if is_a == "variance" and is_b is None and prod(shape) == 1 and b in self._lowering.constants:
            self._epsilon = float(self._lowering.constants[b].reshape(()))
            return "moved"
        return "plain" if is_a == "plain" and is_b is None and self._takes("_beta", b, shape) else None

    def _takes(self, name, slot, shape):
        """Notes gamma or beta, if it is none yet, and a value for each column."""
        if getattr(self, name) is not None or prod(shape) != self._n or not shape or shape[-1] != self._n:
            return False
        setattr(self, name, slot)
        return True
