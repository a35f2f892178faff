"""Places what only has another shape, or is a piece, into the memory of the operation's input."""

from ..._native.engine import ALIGNMENT

WHY = "the output shares the memory of the input: nothing is copied"


def share(lowering, target, source):
    """Let a slot that nothing has written yet share the memory of another.

    False if their sizes differ, both are bound from outside, or one is and the other has pieces.
    """
    if lowering.sizes[target] != lowering.sizes[source]:
        return False
    joined, kept = lowering.root(target), lowering.root(source)
    if joined in lowering.bound and kept in lowering.bound:
        return False
    if joined in lowering.bound:
        return _unite(lowering, kept, joined, 0)    # a piece never goes there
    return _unite(lowering, joined, kept, lowering.behind(source))


def share_part(lowering, target, source, offset):
    """Let such a slot have the memory of another from a byte on.

    False if one of them is bound from outside, or vectors may not begin there.
    """
    joined, kept = lowering.root(target), lowering.root(source)
    return joined not in lowering.bound and _unite(lowering, joined, kept, lowering.behind(source) + offset)


def _unite(lowering, joined, kept, offset):
    """Merge one group into another, from a byte of its memory on, if that may be.

    Whoever binds memory from outside binds all slots of a group to one address.
    """
    has_pieces = offset != 0 or lowering.sizes[joined] != lowering.sizes[kept] or joined in lowering.in_pieces
    if offset % ALIGNMENT or has_pieces and kept in lowering.bound:
        return False
    if has_pieces:
        lowering.in_pieces.add(kept)
    lowering.unite(joined, kept, offset)
    return True
