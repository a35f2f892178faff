"""The targets by name. Modules are loaded by the process that fuzzes them.

A target is a class. one(data): must end soon and raise nothing. seeds(): yields inputs to begin with, beside the files
of corpus/. mutate(data, size, random), where there is one, changes what lies behind lengths and digests; None asks for
a change of any bytes. tell, where there is one: a function that gets what a replay prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """place: "module:class"; what: that is fuzzed; most: bytes of an input, at most."""

    place: str
    what: str
    most: int


def load(place: str) -> Any:
    """An instance of the class at a place."""
    module, _, name = place.partition(":")
    return getattr(import_module(module, __package__), name)()


TARGETS = {
    "tflite": Target(".files:TfliteFile", "a .tflite file: read, prepared, run", 4096),
    "model": Target(".files:ServiceModel", "a model as clients of nnfast serve send it", 4096),
    "cache": Target(".files:CacheFile", "a compiled model behind a right signature", 1 << 18),
    "messages": Target(".calls:ControlMessages", "control messages of a client of nnfast serve", 4096),
    "packets": Target(".packets:BurstPackets", "request and result packets of bursts", 1 + 96 * 24),
    "session": Target(".sessions:Session", "a client's calls from preparation to release, results beside the "
                                           "definitions in numpy", 512),
}
