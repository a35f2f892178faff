"""Runs chains of steps with large tensors between them band by band, a few rows at a time (_native/engine/bands.pxi).

A convolution reads the rows of the preceding one while they are in the cache. Results are bit-identical.
"""

from ..._native import kernels
from ..._native.engine import MAX_STEPS, Bands

WHY = "chains run a few rows at a time: each convolution reads rows that are still in the cache"

SPREAD = 1.1
"""Most total work relative to one thread's, as threads compute the rows at the borders of their shares twice."""


def refine(lowering):
    """Replace chains of the lowering's steps by Bands, and update its rows."""
    private, sizes = lowering.private(), kernels.sizes()
    items, places = [], [0]
    first = 0
    while first < len(lowering.items):
        last = first
        while last + 1 < len(lowering.items) and last + 1 - first < MAX_STEPS:
            step, after = lowering.items[last:last + 2]
            if not _linked(step, after, sizes["bands_tensor"]) or after.slots[0] not in private:
                break
            longer = lowering.items[first:last + 2]
            if sum(s.packed for s in longer) > sizes["bands_weights"] or spread(longer, lowering.threads) > SPREAD:
                break
            last += 1
        places += [len(items)] * (last - first) + [len(items) + 1]
        chain = lowering.items[first:last + 1]
        items.append(Bands(chain, sizes["bands_buffers"]) if last > first else chain[0])
        first = last + 1
    if len(items) < len(lowering.items):
        lowering.join(items, places, __name__)


def _linked(step, after, large):
    """Whether two steps can and should run in bands together: they should where `large` bytes or more lie between, of
    more than one row."""
    if getattr(step, "window", None) is None or getattr(after, "window", None) is None:
        return False
    (_, rows, _, _), (read, _, _, _) = step.window, after.window
    return step.slots[-1] == after.slots[0] and rows == read > 1 and step.out_row == after.in_row \
        and rows * step.out_row >= large


def spread(chain, threads):
    """Total work of a chain on `threads` threads relative to one thread."""
    total, rows = 0.0, -(-chain[-1].window[1] // threads)
    for step in reversed(chain):
        read, made, stride, reach = step.window
        total += step.work * min(rows * threads / made, threads)
        rows = min(read, (rows - 1) * stride + reach)
    return total / sum(step.work for step in chain)
