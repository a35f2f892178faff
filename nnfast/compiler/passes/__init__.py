"""Compiler passes: rewrites of a plan, one file each. A pass has the name of its file, and its reason is its WHY.

Integers are the same with and without a pass; floats stay within the bound of the operation [NN 15].
`Device(without_passes=...)` leaves passes out by name; explain() tells which of them changed something, where and why.

A pass of FORMS has `lower(node, b)`, which emits an operation in another form if its own has no native kernel; one of
JOINED emits it together with what writes its input, before its own form is tried, and has `postpone(node, b)`: whether
the steps of a node wait for that. A pass of STEPS has
`refine(lowering)`, which replaces steps of a whole segment; they run in this order. The others have one caller each:
share_memory `Lowering.alias`, drop_constants `PreparedModel`, native_kernels `Lowering.native`; the last is what nearly
every plan does, so explain() tells of it only where it is left out.
"""

from functools import cache
from importlib import import_module

from ...forks import importing

FORMS = ("nchw_to_nhwc", "widen_float16")
JOINED = ("pad_fusion",)
STEPS = ("transpose_fusion", "bf16_activations", "silu_fusion", "lookup_fusion", "layer_norm_fusion",
         "elementwise_fusion", "prefetch_weights", "row_fusion", "barrier_elimination")
NAMES = tuple(sorted((*FORMS, *JOINED, *STEPS, "drop_constants", "native_kernels", "share_memory")))

_ONLY_FOR = {"bf16_activations": "bf16"}
"""Pass -> the precision that it requires."""

ABOUT = {"transpose_fusion": "StridedCopy", "silu_fusion": "UnaryF32", "layer_norm_fusion": "ReduceF32"}
"""Pass of STEPS -> class of the steps without which it has nothing to do: its module is not even loaded then."""


@cache
def find(name):
    """The module of a pass."""
    with importing:
        return import_module(f".{name}", __package__)


def why(name):
    """The reason for a pass, in one line."""
    return find(name).WHY


def chosen(names, without_passes, precision=None):
    """[(name, module)] of the passes that are not left out and apply to a precision."""
    return [(name, find(name)) for name in names
            if name not in without_passes and _ONLY_FOR.get(name, precision) == precision]


def refining(lowering, without_passes, precision):
    """The same of STEPS, for the steps of a lowering."""
    kinds = {type(item).__name__ for item in lowering.items}
    return chosen([name for name in STEPS if ABOUT.get(name) in (None, *kinds)], without_passes, precision)
