"""Traces read back: parsed, checked for nesting, and summed up by layer and phase [NN 12.6].

Every thread's marks form trees. A layer's time in a phase is that of its outermost marks; marks of the same layer
inside are detail (R3), but for parts of an execution, which are counted beside it (R5); `[SW]` moves time from the
enclosing phase to its own (R4), `[SUB]` and initialisation inside of something else are taken out of all that encloses
them (R6, R7); PU has the phase of its parent (R8). The CPU executor's marks inside of a driver's are the driver's (R9).
Utility marks are not counted.
"""

import json
import math
import re
from dataclasses import dataclass, field

from ..errors import InvalidArgument

LAYERS = {"LA": "application", "LR": "runtime", "LI": "connection", "LD": "driver", "LC": "CPU executor",
          "LO": "other", "LU": "utility"}
PHASES = {"PO": "overall", "PWU": "warm-up", "PBM": "benchmark", "PI": "initialisation", "PP": "preparation",
          "PC": "compilation", "PE": "execution", "PT": "termination", "PU": "unspecified",
          "PIO": "inputs, outputs", "PTR": "transformation", "PCO": "computation", "PR": "results"}
PARTS = frozenset(("PIO", "PTR", "PCO", "PR"))
"""Parts of an execution."""

_FRAMES = frozenset(("PO", "PWU", "PBM"))
_ORDER = {"LA": 0, "LR": 1, "LI": 2, "LD": 3, "LC": 4}
_MARK = re.compile(r"(\[SW\]|\[SUB\]|)\[NN_(L[A-Z])_(P[A-Z]+)\](.*)", re.DOTALL)
_SLACK_US = 0.002
"""Times are rounded to nanoseconds."""


@dataclass(slots=True)
class Mark:
    """One mark and those within it. prefix: "", "[SW]" or "[SUB]"; times in microseconds."""

    prefix: str
    layer: str
    phase: str
    detail: str
    begin: float
    end: float
    where: str
    inner: list = field(default_factory=list)

    @property
    def duration(self):
        return self.end - self.begin


def read(path):
    """Trees of marks of a trace file, thread after thread. Raises InvalidArgument for anything else."""
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path}: is not a trace: {error}") from None
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise InvalidArgument(f"{path}: is not a trace: traceEvents is missing")
    try:
        return nested(events)
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error}") from None


def nested(events):
    """The roots of all marks of the trace events; InvalidArgument when a mark is none, or is not nested in the others.
    """
    threads, roots = {}, []
    for place, event in enumerate(events):
        mark = _mark(place, event)
        threads.setdefault((event.get("pid"), event.get("tid")), []).append(mark)
    for marks in threads.values():
        open_marks = []
        for mark in sorted(marks, key=lambda m: (m.begin, -m.end)):
            while open_marks and mark.begin >= open_marks[-1].end - _SLACK_US and mark.end > open_marks[-1].end:
                open_marks.pop()
            if open_marks:
                _check_inside(mark, open_marks[-1])
                open_marks[-1].inner.append(mark)
            else:
                roots.append(mark)
            open_marks.append(mark)
    return roots


def _mark(place, event):
    where = f"traceEvents[{place}]"
    if not isinstance(event, dict) or event.get("ph") != "X":
        raise InvalidArgument(f"{where}: is not a complete event (ph X)")
    name, times = event.get("name"), [event.get("ts"), event.get("dur")]
    if any(isinstance(t, bool) or not isinstance(t, int | float) or not math.isfinite(t) or t < 0 for t in times):
        raise InvalidArgument(f"{where}: ts and dur are {times}, must be microseconds")
    found = _MARK.fullmatch(name) if isinstance(name, str) else None
    if found is None or found[2] not in LAYERS or found[3] not in PHASES:
        raise InvalidArgument(f"{where}: name is {name!r}, must be [NN_<layer>_<phase>]detail")
    return Mark(*found.groups(), times[0], times[0] + times[1], where)


def _check_inside(mark, outer):
    if mark.end > outer.end + _SLACK_US:
        raise InvalidArgument(f"{mark.where}: {mark.layer}_{mark.phase} {mark.detail!r} ends after {outer.layer}_"
                              f"{outer.phase} {outer.detail!r}, in which it began")
    if _ORDER.get(mark.layer, 9) < _ORDER.get(outer.layer, -1):
        raise InvalidArgument(f"{mark.where}: layer {mark.layer} lies inside of layer {outer.layer}")


def totals(roots):
    """{(layer, phase): [microseconds, marks that were counted]}."""
    cells = {}
    for root in roots:
        _count(root, (), cells)
    return cells


def _count(mark, above, cells):
    """Add a mark to the cells. above: (layer, phase) of everything counted that encloses it, outermost first."""
    layer, phase = mark.layer, mark.phase
    if layer == "LC" and any(outer == "LD" for outer, _ in above):
        layer = "LD"
    if phase == "PU" and above:
        phase = above[-1][1]
    own = [p for outer, p in above if outer == layer and p not in _FRAMES]
    taken_out = mark.prefix == "[SUB]" or (phase == "PI" and above and own[-1:] != ["PI"])
    moved = mark.prefix == "[SW]" and own and own[-1] not in (phase, *PARTS) and phase not in PARTS
    is_part = phase in PARTS and phase not in own
    if layer != "LU" and (taken_out or moved or is_part or not own):
        _add(cells, layer, phase, mark.duration)
        if is_part and "PE" not in own:
            _add(cells, layer, "PE", mark.duration)
        if taken_out:
            for outer in above:
                cells[outer][0] -= mark.duration
        elif moved:
            cells[layer, own[-1]][0] -= mark.duration
        above = (*(() if taken_out else above), *([(layer, "PE")] if is_part and "PE" not in own else ()),
                 (layer, phase))
    for inner in mark.inner:
        _count(inner, above, cells)


def _add(cells, layer, phase, duration):
    cell = cells.setdefault((layer, phase), [0.0, 0])
    cell[0] += duration
    cell[1] += 1


def details(roots):
    """{(layer, phase, detail): [microseconds, marks]} of all marks, for where the time goes within the phases."""
    found, waiting = {}, list(roots)
    while waiting:
        mark = waiting.pop()
        cell = found.setdefault((mark.layer, mark.phase, mark.detail), [0.0, 0])
        cell[0] += mark.duration
        cell[1] += 1
        waiting += mark.inner
    return found
