"""Runs chains of element-wise steps block by block (_native/engine/blocks.pxi).

Each step reads what the one before it wrote while it is in the level 1 cache, and what only the chain reads is never
stored. Results are bit-identical.
"""

from collections import Counter

from ..._native import kernels
from ..._native.engine import MAX_LINKS, Blocks

WHY = "element-wise chains run block by block: each step reads what is still in the level 1 cache"


def refine(lowering):
    """Replace chains of the lowering's steps by Blocks, and update its rows."""
    sizes, known = kernels.sizes(), None
    items, places, first = [], [0], 0
    while first < len(lowering.items):
        chain = _chain(lowering.items[first:first + MAX_LINKS], sizes["blocks_tensor"])
        if len(chain) > 1:
            known = known or _uses_and_sharing(lowering)
            items.append(Blocks(chain, _inner(chain, lowering, *known), sizes["blocks_buffers"]))
        else:
            items.append(lowering.items[first])
        places += [len(items) - 1] * (len(chain) - 1) + [len(items)]
        first += len(chain)
    if len(items) < len(lowering.items):
        lowering.join(items, places, __name__)


def _chain(items, large):
    """The first of these items, and those behind it that belong to a chain with it: each computes as many elements,
    `large` bytes or more, and reads what one before it wrote."""
    chain, written = items[:1], set()
    for item, after in zip(items, items[1:]):
        if not _has_elements(item, large) or not _has_elements(after, large) or after.elements != item.elements:
            break
        written.add(item.slots[-1])
        if written.isdisjoint(after.slots[:-1]):
            break
        chain.append(after)
    return chain


def _has_elements(item, large):
    count = getattr(item, "elements", 0)
    return count and count * max(item.items) >= large and item.reference is None


def _uses_and_sharing(lowering):
    """How often steps read or write each slot, and how many slots share the memory of each representative."""
    return (Counter(slot for item in lowering.items for slot in item.slots),
            Counter(map(lowering.root, range(lowering.slots))))


def _inner(chain, lowering, uses, sharing):
    """Slots that a step of the chain writes, and that nothing outside of it reads or shares memory with."""
    here = Counter(slot for step in chain for slot in step.slots)
    written = dict.fromkeys(step.slots[-1] for step in chain)
    return tuple(slot for slot in written if uses[slot] == here[slot] > 1 and slot not in lowering.bound
                 and sharing[lowering.root(slot)] == 1)
