"""Writes outputs in bfloat16 if only pointwise bfloat16 convolutions read them, which would round them anyway.

This halves cache traffic, and the products read them in place. Results do not change by a bit.
"""

from collections import Counter

from ..._native.conv import Conv2dBf16, DepthwiseConv2DF32

WHY = "outputs that only bfloat16 products read are written in bfloat16: half the bytes"


def refine(lowering):
    """Let steps write bfloat16 if all readers are convolutions that accept it."""
    readers = {}
    for place, item in enumerate(lowering.items):
        for slot in item.slots:
            readers.setdefault(slot, []).append(place)
    sharing = Counter(lowering.root(slot) for slot in range(lowering.slots))
    for place, step in enumerate(lowering.items):
        if not isinstance(step, DepthwiseConv2DF32):
            continue
        slot = step.slots[-1]
        others = [i for i in readers[slot] if i != place]
        pixels = {_pixel_read(lowering.items[i], slot) for i in others}
        if slot in lowering.bound or sharing[lowering.root(slot)] > 1 or len(pixels) != 1 or 0 in pixels:
            continue
        lowering.remake(place, __name__, pixel=pixels.pop())
        for i in others:
            lowering.remake(i, __name__, rounded=True)


def _pixel_read(item, slot):
    """Elements that a pixel of this slot must have for the item to read it as bfloat16; 0 if it cannot."""
    if not isinstance(item, Conv2dBf16) or item.slots[0] != slot or slot in item.slots[1:]:
        return 0
    return item.pixel
