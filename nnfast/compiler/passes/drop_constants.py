"""Large constants that no step reads once a model is planned are not kept."""

from ...model import own
from ...model.types import is_raw
from ..check import has_open_form

WHY = "constants that only packing has read are not kept: kernels read the packed form"

WORTH = 1 << 12
"""Bytes of a constant from which on it is worth leaving out."""


def spare(model, resolved, segment, kept=(), is_stored=False):
    """Numbers of the large constants of the main graph that a complete plan does without, beside those of `kept`.

    What a stored plan does without, it was stored without. None where other plans may follow, which need the whole
    model: for requests that omit an input, in subgraphs, and where extensions read constants their own way. is_stored:
    the plan is to be kept with the model, so that nnfast's own extension never reads them again.
    """
    graph = model.main
    if segment is not None and segment.packing.spare is not None:
        return segment.packing.spare
    if segment is None or model.referenced or has_open_form(resolved):
        return None
    if any(not is_stored or name != own.NAME for name, _ in model.extensions):
        return None
    if not set(graph.inputs).issubset(place for operation in graph.operations for place in operation.inputs):
        return None
    needed = segment.packing.read.union(kept)
    return frozenset(place for place, o in enumerate(graph.operands)
                     if o.is_constant and place not in needed and not is_raw(o.type) and o.nbytes >= WORTH)
