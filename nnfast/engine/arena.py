"""Places temporaries in one block: lifetimes -> offsets."""

import numpy as np

from .._native.engine import Gaps
from ..alignment import align

SLICE = 256
"""Blocks that are placed between two looks at the limits of a preparation."""


def place(blocks, go_on=lambda: None):
    """Offsets for temporaries that share memory where their lifetimes do not meet.

    blocks: {key: (size in bytes, first step, last step)}, steps inclusive; go_on() is called now and then and may
    raise. Returns ({key: offset}, total bytes). Largest first, each at the lowest gap between those placed already that
    live at the same time.
    """
    order = sorted(blocks, key=lambda key: (-blocks[key][0], blocks[key][1], key))
    rows = np.array([(align(max(size, 1)), first, last) for size, first, last in map(blocks.get, order)],
                    np.int64).reshape(-1, 3)
    offsets = np.empty(len(order), np.int64)
    gaps = Gaps(int(rows[:, 2].max(initial=0)) + 1)
    for at in range(0, len(order), SLICE):
        go_on()
        gaps.place(rows[at:at + SLICE], offsets[at:at + SLICE])
    return dict(zip(order, offsets.tolist())), gaps.total
