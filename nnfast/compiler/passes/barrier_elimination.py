"""Lets threads go on from step to step without a barrier, where each reads only what it made itself.

The tensors of such a round of steps are divided evenly: share t of n has the t-th n-th of each (nnf/step.h). Its first
step may read anything; each step writes its last slot alone. All tensors of a round are alive throughout, since a
thread may be several steps ahead of another. Results are bit-identical.
"""

from math import gcd

from ..._native import kernels

WHY = "threads go on to the next step without a barrier where each reads only what it made itself"


def refine(lowering):
    """Cut the lowering's steps into even shares where that saves barriers, and note its rounds."""
    if lowering.threads == 1:
        return
    most = kernels.sizes()["rounds_tensors"] * lowering.threads
    first = 0
    while first < len(lowering.items):
        last, pieces = _round(lowering, first, most)
        if last > first:
            lowering.rounds.append((first, last))
            for place in range(first, last + 1):
                lowering.items[place].cut(pieces, place > first)
                lowering.note_at(place, __name__)
        first = last + 1


def _round(lowering, first, most):
    """(last step, number of pieces) of the longest round from a step on, with tensors of `most` bytes."""
    items, last = lowering.items, first
    pieces = getattr(items[first], "grains", 0)
    if not _is_even(items[first], pieces, lowering.threads):
        return first, 0
    tensors = {lowering.root(slot) for slot in items[first].slots}
    room = most - _size(lowering, tensors)
    written = {lowering.extent(items[first].slots[-1])}
    while last + 1 < len(items) and getattr(items[last + 1], "pointwise", False):
        step = items[last + 1]
        common = gcd(pieces, step.grains)
        more = {lowering.root(slot) for slot in step.slots} - tensors
        room -= _size(lowering, more)
        if room < 0 or not _is_even(step, common, lowering.threads) or not _reads_its_own(lowering, step, written):
            break
        tensors |= more
        written.add(lowering.extent(step.slots[-1]))
        pieces, last = common, last + 1
    return last, pieces


def _is_even(step, pieces, threads):
    """Whether a step can have even shares, for so many threads, of so many pieces."""
    return pieces and pieces % threads == 0 and 0 < threads * step.least <= step.grains and step.reference is None


def _reads_its_own(lowering, step, written):
    """Whether even shares of a pointwise step read only pieces that shares of their number wrote: not so where it reads
    a part of what a round has written, or that and more."""
    memory = {root for root, _, _ in written}
    return all(lowering.root(slot) not in memory or lowering.extent(slot) in written for slot in step.slots[:-1])


def _size(lowering, slots):
    return sum(lowering.sizes[slot] for slot in slots if slot not in lowering.constants)
