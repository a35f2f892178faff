"""Marks of what runs when, `[NN_<layer>_<phase>]detail` as in systrace [NN 12.6], for Perfetto and Chrome.

    with nnfast.trace.record() as trace:
        prepared.run([x])
    trace.save("trace.json")                 # open in ui.perfetto.dev; `nnfast trace trace.json` sums up

Code marks a piece of work with `with trace.span("LD", "PC", "prepare"):`; off, that is one comparison. Layers: LA
application, LR runtime, LI connection, LD driver, LC CPU executor, LU utility. Phases: PO overall, PWU warm-up, PBM
benchmark, PI initialisation, PP preparation, PC compilation, PE execution, PT termination, PU unspecified; parts of an
execution: PIO inputs and outputs, PTR transformation, PCO computation, PR results.
"""

from __future__ import annotations

import os
import threading
from time import monotonic_ns
from typing import TYPE_CHECKING

from . import observe
from .checks import path as checked_path
from .errors import InvalidArgument
from .forks import importing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self, TypeAlias

    from . import typed

    Event: TypeAlias = tuple[str, int, int, int, int, Mapping[str, Any]]

recorder: Recorder | None = None
"""The Recorder that takes marks, or None."""


class Recorder:
    """Collects marks of all threads. events: (name, begin, end, process, thread, facts), times in nanoseconds."""

    events: list[Event]

    def __init__(self) -> None:
        self.events = []

    def add(self, name: str, begin: int, end: int, facts: Mapping[str, Any]) -> None:
        """One mark of this thread, which has ended. begin, end: time.monotonic_ns(); facts: {name: value}."""
        self.events.append((name, begin, end, os.getpid(), threading.get_native_id(), facts))

    def take(self) -> list[Event]:
        """The events so far; the recorder forgets them."""
        events, self.events = self.events, []
        return events

    def to_json(self) -> str:
        """All marks in the Trace Event Format (complete events, microseconds since the first)."""
        with importing:
            import json

        origin = min((event[1] for event in self.events), default=0)
        rows = [{"name": name, "cat": name.rpartition("[NN_")[2][:2], "ph": "X", "ts": (begin - origin) / 1000,
                 "dur": (end - begin) / 1000, "pid": pid, "tid": tid, "args": facts}
                for name, begin, end, pid, tid, facts in sorted(self.events, key=lambda e: (e[3], e[4], e[1], -e[2]))]
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": rows})

    def save(self, path: typed.FilePath) -> None:
        """Write the trace to a file at a path. Raises InvalidArgument where it cannot be written."""
        path = checked_path(path, "trace: path")
        try:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(self.to_json() + "\n")
        except OSError as error:
            raise InvalidArgument(f"trace: {path}: cannot be written: {error.strerror}") from None


class record:
    """`with record() as recorder:` takes the marks of everything that the process does in the block."""

    def __enter__(self) -> Recorder:
        global recorder
        self._outer, recorder = recorder, Recorder()
        observe.watch(1)
        return recorder

    def __exit__(self, *exc_info: object) -> None:
        global recorder
        recorder = self._outer
        observe.watch(-1)


class pause:
    """`with pause():` is not recorded, and runs at its usual speed."""

    def __enter__(self) -> None:
        global recorder
        self._held, recorder = recorder, None
        if self._held is not None:
            observe.watch(-1)

    def __exit__(self, *exc_info: object) -> None:
        global recorder
        recorder = self._held
        if self._held is not None:
            observe.watch(1)


def mark(layer: str, phase: str, detail: str = "", prefix: str = "") -> str:
    """Text of a mark: "[NN_<layer>_<phase>]<detail>", behind a prefix. layer, phase: codes of the list above."""
    return f"{prefix}[NN_{layer}_{phase}]{detail}"


def span(layer: str, phase: str, detail: str = "", **facts: Any) -> _Span | _Nothing:
    """A mark around the `with` block; what it gives has `switch` for the phases within.

    layer, phase: codes of the list above; detail: text behind them; facts: values that the trace shows with the mark.
    """
    return _NOTHING if recorder is None else _Span(recorder, mark(layer, phase, detail), facts)


class _Span:
    __slots__ = ("_recorder", "_name", "_facts", "_begin", "_part")

    def __init__(self, recorder: Recorder, name: str, facts: Mapping[str, Any]) -> None:
        self._recorder, self._name, self._facts, self._part = recorder, name, facts, None

    def __enter__(self) -> Self:
        self._begin = monotonic_ns()
        return self

    def switch(self, layer: str, phase: str, detail: str = "") -> None:
        """From here to the next switch, or to the end, the time is of another phase."""
        now = monotonic_ns()
        self._end_part(now)
        self._part = mark(layer, phase, detail, "[SW]"), now

    def _end_part(self, now):
        if self._part is not None:
            self._recorder.add(self._part[0], self._part[1], now, {})
            self._part = None

    def __exit__(self, *exc_info: object) -> None:
        end = monotonic_ns()
        self._end_part(end)
        self._recorder.add(self._name, self._begin, end, self._facts)


class _Nothing:
    """A span while nobody records."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def switch(self, layer: str, phase: str, detail: str = "") -> None:
        """Nothing."""

    def __exit__(self, *exc_info: object) -> None:
        """Nothing."""


_NOTHING = _Nothing()
