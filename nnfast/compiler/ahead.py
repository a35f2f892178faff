"""Pass over float32 convolutions with large weights: under the last panel of one comes the first of the next.

The weights of a net are more than a level 2 cache holds. Inside a convolution each panel is fetched while the one
before is in use; the first had nobody to fetch it. No byte of a result changes.
"""

FIRST = 1 << 17
"""Bytes to fetch: a panel of 1024 inputs, or several smaller ones."""


def fetch(lowering):
    """Replace steps of the lowering by others that fetch what the next will read first."""
    places = [i for i, step in enumerate(lowering.items) if hasattr(step, "streamed")]
    for place, next_place in zip(places, places[1:]):
        step, after = lowering.items[place], lowering.items[next_place]
        x, weights, y = step.slots
        if step.streamed and after.slots[1] in lowering.constants:
            lowering.replace(place, remade(step, (x, weights, after.slots[1], y), ahead=min(after.packed, FIRST)))


def remade(step, slots, **options):
    """A step like another, on other slots and with other options."""
    (_, *arguments), named = step.made_with
    return type(step)(slots, *arguments, **{**named, **options})
