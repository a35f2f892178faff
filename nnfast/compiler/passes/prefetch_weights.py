"""A convolution prefetches the first weights of the next one of its kind.

The weights of a net are more than a level 2 cache holds, and only arithmetic that goes on meanwhile hides the time that
they take from further away. A convolution fetches each panel while it uses the one before; its first panel has to be
fetched by the convolution before it. No byte of a result changes. Steps that can prefetch have a `prefetch`: the most
bytes of it.
"""

WHY = "the next convolution's first weights are in the cache when it begins"


def refine(lowering):
    """Replace steps by others that fetch what the next will read first."""
    kinds = {}
    for place, item in enumerate(lowering.items):
        if hasattr(item, "prefetch"):
            kinds.setdefault(type(item), []).append(place)
    for places in kinds.values():
        for place, next_place in zip(places, places[1:]):
            step, after = lowering.items[place], lowering.items[next_place]
            x, weights, y = step.slots
            if step.prefetch and after.slots[1] in lowering.constants:
                slots = x, weights, after.slots[1], y
                lowering.remake(place, __name__, slots, prefetch_bytes=min(after.packed, step.prefetch))
