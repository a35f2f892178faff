"""Lets a convolution prefetch the first weights of the next one of its kind.

The weights of a network exceed the level 2 cache, and only concurrent arithmetic hides the latency of fetching them. A
convolution prefetches each panel while it uses the one before; its first panel must be prefetched by the preceding
convolution. Results do not change. Steps that can prefetch have `prefetch`, the most bytes that they can fetch.
"""

WHY = "the next convolution's first weights are in the cache when it begins"


def refine(lowering):
    """Replace steps by ones that prefetch what the next step reads first."""
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
