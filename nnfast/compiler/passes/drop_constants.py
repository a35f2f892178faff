"""Frees large constants that no step reads after planning."""

from ...model import own
from ...model.types import is_raw
from ..check import has_open_form

WHY = "constants that only packing has read are not kept: kernels read the packed form"

WORTH = 1 << 12
"""Bytes from which a constant is worth dropping."""


def spare(model, resolved, segment, kept=(), is_stored=False):
    """Operand indexes of the main graph's large constants that a complete plan does not need, except those in `kept`.

    For a stored plan, these are the constants that were not stored. None if later plans may need the whole model: for
    requests that omit an input, in subgraphs, and for extensions, which read constants in their own ways. is_stored:
    the plan is stored with the model, so nnfast's own extension will not read them again.
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
