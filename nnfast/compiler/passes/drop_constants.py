"""Large constants that no step reads once a model is planned are not kept."""

from ..check import has_open_form

WHY = "constants that only packing has read are not kept: kernels read the packed form"

WORTH = 1 << 12
"""Bytes of a constant from which on it is worth leaving out."""


def spare(model, resolved, segment, kept=()):
    """Numbers of the large constants of the main graph that a complete plan does without, beside those of `kept`.

    None where other plans may follow, which need the whole model: for requests that omit an input, in subgraphs, and
    where vendor extensions read constants their own way.
    """
    graph = model.main
    if segment is None or model.extensions or model.referenced or has_open_form(resolved):
        return None
    if not set(graph.inputs).issubset(place for operation in graph.operations for place in operation.inputs):
        return None
    needed = segment.packing.read.union(kept)
    return frozenset(place for place, o in enumerate(graph.operands)
                     if o.is_constant and place not in needed and o.nbytes >= WORTH)
