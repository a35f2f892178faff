"""Memory planning: offsets of temporaries in one block from their lifetimes."""

import numpy as np

from .._native.engine import LARGE, PAGE, Gaps, phase
from ..alignment import LINE, align

SLICE = 256
"""Blocks placed between two checks of a preparation's limits."""


def place(blocks, go_on=lambda: None):
    """Offsets for temporaries, which share memory if their lifetimes do not overlap.

    blocks: {key: (size in bytes, first step, last step)}, steps inclusive; go_on() is called at intervals and may
    raise.
    Returns ({key: offset}, total bytes). Greedy by size: the largest first, each in the lowest sufficient gap between
    placed blocks that are live at the same time. Large ones begin at the `phase` behind that of their first step.
    """
    order = sorted(blocks, key=lambda key: (-blocks[key][0], blocks[key][1], key))
    rows = np.array([(align(max(size, 1)) + (PAGE - LINE if size >= LARGE else 0), first, last)
                     for size, first, last in map(blocks.get, order)], np.int64).reshape(-1, 3)
    offsets = np.empty(len(order), np.int64)
    gaps = Gaps(int(rows[:, 2].max(initial=0)) + 1)
    for at in range(0, len(order), SLICE):
        go_on()
        gaps.place(rows[at:at + SLICE], offsets[at:at + SLICE])
    for at, key in enumerate(order):
        if blocks[key][0] >= LARGE:
            offsets[at] += (phase(blocks[key][1] + 1) - offsets[at]) % PAGE
    return dict(zip(order, offsets.tolist())), gaps.total
