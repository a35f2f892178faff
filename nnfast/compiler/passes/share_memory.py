"""Places the output of an operation that only changes the shape into the memory of its input."""

WHY = "the output shares the memory of the input: nothing is copied"


def share(lowering, target, source):
    """Let two slots share memory; False if their sizes differ or both are bound from outside."""
    if lowering.sizes[target] != lowering.sizes[source]:
        return False
    joined, kept = lowering.root(target), lowering.root(source)
    if joined in lowering.bound and kept in lowering.bound:
        return False
    if joined in lowering.bound:
        joined, kept = kept, joined
    lowering.unite(joined, kept)
    return True
