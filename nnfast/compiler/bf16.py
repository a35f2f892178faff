"""Pass over native steps in bfloat16. No byte of a result changes.

What only pointwise convolutions read, which round it, is rounded where it is made: half as much goes through the
caches, and the products read it in place.

While a convolution runs, the weights of the next come into the cache. The weights of a net are more than a level 2
cache holds, and come from further away at a rate that only products that go on meanwhile can hide.
"""

from collections import Counter

from .._native.conv2d_bf16 import Conv2dBf16
from .._native.depthwise_conv2d import DepthwiseConv2DF32
from .ahead import remade

AHEAD = 1 << 20
"""Most bytes of weights to fetch for a later step: more would take the place of those that are in use."""


def refine(lowering):
    """Replace steps of the lowering by others that give the same bytes."""
    _round_early(lowering)
    _fetch_ahead(lowering)


def _round_early(lowering):
    """Let steps write bfloat16 where all that read it are convolutions that take it so."""
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
        lowering.replace(place, remade(step, step.slots, pixel=pixels.pop()))
        for i in others:
            reader = lowering.items[i]
            lowering.replace(i, remade(reader, reader.slots, rounded=True))


def _pixel_read(item, slot):
    """How many numbers a pixel of this slot must have for the item to read it as bfloat16; 0 where it cannot."""
    if not isinstance(item, Conv2dBf16) or item.slots[0] != slot or slot in item.slots[1:]:
        return 0
    return item.pixel


def _fetch_ahead(lowering):
    places = [i for i, step in enumerate(lowering.items) if isinstance(step, Conv2dBf16)]
    for place, next_place in zip(places, places[1:]):
        step, after = lowering.items[place], lowering.items[next_place]
        x, weights, y = step.slots
        slots = x, weights, after.slots[1], y
        lowering.replace(place, remade(step, slots, ahead=min(after.packed, AHEAD)))
