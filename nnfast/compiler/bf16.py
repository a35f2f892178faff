"""Pass over native steps in bfloat16: while a convolution runs, the weights of the next come into the cache.

The weights of a net are more than a level 2 cache holds, and come from further away at a rate that only products that
go on meanwhile can hide.
"""

from .._native.conv2d_bf16 import Conv2dBf16

AHEAD = 1 << 20
"""Most bytes of weights to fetch for a later step: more would take the place of those that are in use."""


def refine(lowering):
    """Replace convolutions among the lowering's steps by others that give the same bytes."""
    places = [i for i, step in enumerate(lowering.items) if isinstance(step, Conv2dBf16)]
    for place, next_place in zip(places, places[1:]):
        step, after = lowering.items[place], lowering.items[next_place]
        x, weights, y = step.slots
        lowering.items[place] = remade(step, (x, weights, after.slots[1], y), ahead=min(after.packed, AHEAD))


def remade(step, slots, **options):
    """A step like another, on other slots and with other options."""
    (_, *arguments), named = step.made_with
    return type(step)(slots, *arguments, **named, **options)
