"""Chains of steps with large tensors between them run band by band, a few rows at a time (_native/engine/bands.pxi).

A convolution reads the rows of the one before while they are in the cache, not after the whole image.
Every output is computed as before, to the bit.
"""

from collections import Counter

from ..._native.engine import MAX_STEPS, Bands

WHY = "chains run a few rows at a time: each convolution reads rows that are still in the cache"

LARGE = 3 << 18
"""Bytes of a tensor above which it, what it is made from and what is made from it crowd each other out of the cache."""

WEIGHTS = 1 << 19
"""Bytes of packed weights that a chain may go through again in every band."""

BUFFERS = 5 << 17
"""Bytes of a thread's buffers between the steps of a chain: beside weights, input and output in a level 2 cache."""

SPREAD = 1.1
"""How much more work threads may do together, because they make the rows between their shares twice."""


def refine(lowering):
    """Replace chains of the lowering's steps by Bands, and let its rows say so."""
    uses = Counter(slot for item in lowering.items for slot in item.slots)
    sharing = Counter(lowering.root(slot) for slot in range(lowering.slots))
    items, places = [], [0]
    first = 0
    while first < len(lowering.items):
        last = first
        while last + 1 < len(lowering.items) and last + 1 - first < MAX_STEPS:
            step, after = lowering.items[last:last + 2]
            if not _linked(step, after) or uses[after.slots[0]] != 2 or sharing[after.slots[0]] != 1 \
                    or after.slots[0] in lowering.bound:
                break
            longer = lowering.items[first:last + 2]
            if sum(s.packed for s in longer) > WEIGHTS or spread(longer, lowering.threads) > SPREAD:
                break
            last += 1
        places += [len(items)] * (last - first) + [len(items) + 1]
        chain = lowering.items[first:last + 1]
        items.append(Bands(chain, BUFFERS) if last > first else chain[0])
        first = last + 1
    if len(items) < len(lowering.items):
        lowering.items = items
        _renumber(lowering, places)


def _linked(step, after):
    """Whether two steps can and should run in bands together."""
    if getattr(step, "window", None) is None or getattr(after, "window", None) is None:
        return False
    (_, rows, _, _), (read, _, _, _) = step.window, after.window
    return step.slots[-1] == after.slots[0] and rows == read and step.out_row == after.in_row \
        and rows * step.out_row >= LARGE


def spread(chain, threads):
    """Work of a chain on so many threads, over its work on one."""
    total, rows = 0.0, -(-chain[-1].window[1] // threads)
    for step in reversed(chain):
        read, made, stride, reach = step.window
        total += step.work * min(rows * threads / made, threads)
        rows = min(read, (rows - 1) * stride + reach)
    return total / sum(step.work for step in chain)


def _renumber(lowering, places):
    """Steps of each row after the joining; places: new position of each old one. A chain counts for its last row."""
    waiting = []
    for row in lowering.rows:
        old, row["steps"] = row["steps"], tuple(places[i] for i in row["steps"])
        steps = lowering.items[slice(*row["steps"])]
        if row["reason"] == "":
            row["work"] = sum(step.work for step in steps)
        if steps:
            for other in waiting:
                other["joined"] = row["index"]
                lowering.note(other, __name__)
            if waiting:
                lowering.note(row, __name__)
            waiting = []
        elif old[0] != old[1]:
            waiting.append(row)
