"""Computes a function of one 8-bit code by one look-up, however many steps it was.

Such are a look-up of what a look-up gave, the square of a code, and the sum or product of a code and what a look-up
made of it: codes times LOGISTIC of them, or HARD_SWISH in its parts. The steps themselves fill the table, so results
are bit-identical.
"""

from collections import Counter
from math import prod

import numpy as np

from ..._native.elementwise import BinaryQ8, LookupQ8
from ..._native.engine import Frame, Program

WHY = "a function of one 8-bit code is one look-up, however many operations it takes"

FEWEST = 1024
"""Elements from which on a table saves more than it takes to fill."""


def refine(lowering):
    """Replace steps by look-ups, and leave out look-ups that nothing else reads."""
    if not any(type(item) in (LookupQ8, BinaryQ8) for item in lowering.items):
        return
    steps, changed = _Tables(lowering).looked_up()
    if not changed:
        return
    items, places, put = [], [], []
    for place, step in enumerate(steps):
        places.append(len(items))
        if step is not None:
            if place in changed:
                put.append(len(items))
            items.append(step)
    lowering.join(items, [*places, len(items)], __name__)
    for place in put:
        lowering.put(place, items[place], __name__)


class _Tables:
    """What is known of the slots of a lowering: which of them are looked up, from which slot, by which table."""

    def __init__(self, lowering):
        self._lowering = lowering
        self._steps = list(lowering.items)
        self._uses = Counter(slot for item in self._steps for slot in item.slots)
        self._sharing = Counter(map(lowering.root, range(lowering.slots)))
        self._known = {}    # slot -> place of its look-up, slot that this reads, table
        self._changed = set()

    def looked_up(self):
        """(steps, None for those left out; places of those that have changed)."""
        last = None
        for place, step in enumerate(self._steps):
            if type(step) is LookupQ8 and step.reference is None:
                self._chain(place, last, *step.slots, *step.made_with[0][1:3])
            elif type(step) is BinaryQ8 and step.reference is None:
                self._pair(place, last, step)
            last = place
        return self._steps, self._changed

    def _is_private(self, slot):
        """Whether nobody but the steps sees a slot."""
        return slot not in self._lowering.bound and self._sharing[self._lowering.root(slot)] == 1

    def _leave_out(self, slot):
        """Leave out the look-up of a slot that nothing reads."""
        self._steps[self._known[slot][0]] = None
        self._changed.add(self._known[slot][0])

    def _chain(self, place, last, x, y, count, table):
        """A look-up at a place; `last`: the step before it. If that looks up what nothing else reads, both are one."""
        before, source, inner = self._known.get(x, (None, None, None))
        if before is not None and before == last and self._uses[x] == 2 and self._is_private(x) and count >= FEWEST:
            self._leave_out(x)
            x, table = source, np.asarray(table)[inner]
            self._put(place, x, y, count, table)
        self._known[y] = place, x, np.asarray(table)

    def _put(self, place, x, y, count, table):
        self._steps[place] = LookupQ8((x, y), count, table)
        self._changed.add(place)

    def _pair(self, place, last, step):
        """A sum or product, of one code where one operand is looked up from the other, or is the other."""
        _, op, signed, shape_a, shape_b, *more = step.made_with[0]
        a, b, y = step.slots
        if tuple(shape_a) != tuple(shape_b) or prod(shape_a) < FEWEST:
            return
        read = {slot: self._known[slot][1] if slot in self._known else None for slot in (a, b)}
        x = a if b == a or read[b] == a else b if read[a] == b else None
        if x is None:
            return
        codes = np.arange(256, dtype=np.uint8)
        operands = [codes if slot == x else self._known[slot][2] for slot in (a, b)]
        table = _run(BinaryQ8((0, 1, 2), op, signed, codes.shape, codes.shape, *more), operands)
        count = prod(shape_a)
        self._put(place, x, y, count, table)
        other = b if a == x else a
        self._uses[other] -= 1
        if other != x and self._uses[other] == 1 and self._is_private(other):
            self._leave_out(other)
            self._uses[x] -= 1
            last = self._last_before(place)
        self._chain(place, last, x, y, count, table)

    def _last_before(self, place):
        """The place of the step before a place."""
        return next((before for before in range(place - 1, -1, -1) if self._steps[before] is not None), None)


def _run(step, operands):
    """What a step makes of arrays of 256 bytes."""
    made = np.empty(256, np.uint8)
    program = Program([step])
    program.run(Frame(3, {}, 0, dict(enumerate([*operands, made])), program.scratch, 1), 1, None)
    return made
