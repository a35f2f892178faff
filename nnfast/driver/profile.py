"""Per-operation times of the runs inside a `with nnfast.profile() as p:` block."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .. import observe
from .._native.threads import now_ns
from ..forks import importing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from ..model.types import Model

FACTS = ("index", "operation", "kernel", "output", "types", "work", "bytes", "packed_bytes", "joined",
         "multiply_adds", "bf16")
"""Keys that a row of a profile copies from its segment's row (nnfast/engine/rows.py)."""

_active = threading.local()


def active_profile() -> profile | None:
    """The profile that this thread's runs report to, or None."""
    return getattr(_active, "profile", None)


def row_times(segment: Any, times: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """(row, nanoseconds) of every operation, from the (step, nanoseconds) of one run of a segment."""
    position = 0
    for row in segment.rows:
        first, last = row["steps"]
        yield row, sum(ns for _, ns in times[position:position + last - first])
        position += last - first


def _json(value):
    with importing:
        import json

    return json.dumps(value)


class profile:
    """Collects per-operation times of the runs that this thread makes inside the block.

        with nnfast.profile() as p:
            prepared.run([x])
        print(p)

    rows: list of dicts with "model", the FACTS of the operation, "calls" and total "ns". copies: {input name: (calls,
    bytes, ns)} of inputs that were copied first because they were not C-contiguous. str() is a table: microseconds of a
    run on average, the share of all, and billions of arithmetic operations in a second (G/s); to_json() and
    chrome_trace() return JSON text. Runs of other threads, such as those of map and submit, are not in it.
    """

    copies: dict[str, tuple[int, int, int]]

    def __init__(self) -> None:
        self._rows, self.copies = {}, {}
        self._events = []
        self._outer = None

    def __enter__(self) -> Self:
        observe.watch(1)
        self._outer = active_profile()
        _active.profile = self
        return self

    def __exit__(self, *exc_info: object) -> None:
        _active.profile = self._outer
        observe.watch(-1)

    def add(self, model: Model, segment: Any, times: Any) -> None:
        """Add the [(step, nanoseconds)] of one run of a segment."""
        end = now_ns()
        start = end - sum(ns for _, ns in times)
        for row, ns in row_times(segment, times):
            key = (model.name, row["index"])
            if key not in self._rows:
                self._rows[key] = {"model": model.name, **{name: row[name] for name in FACTS}, "calls": 0, "ns": 0}
            entry = self._rows[key]
            entry["calls"] += 1
            entry["ns"] += ns
            self._events.append({"name": row["operation"], "ph": "X", "ts": start / 1000, "dur": ns / 1000, "pid": 0,
                                 "tid": threading.get_ident(),
                                 "args": {"kernel": row["kernel"], "index": row["index"]}})
            start += ns

    def copied(self, name: str, nbytes: int, ns: int) -> None:
        """Add the copy of an input."""
        calls, total, spent = self.copies.get(name, (0, 0, 0))
        self.copies[name] = calls + 1, total + nbytes, spent + ns

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each operation that ran: "model", the FACTS of the operation, "calls", and "ns" of all of them."""
        return list(self._rows.values())

    def to_json(self) -> str:
        """The rows as JSON text."""
        return _json(self.rows)

    def chrome_trace(self) -> str:
        """The runs as a Chrome / Perfetto trace (JSON text)."""
        return _json({"traceEvents": self._events})

    def __str__(self) -> str:
        total = sum(row["ns"] for row in self.rows) or 1
        lines = [f"{'op':>4}  {'operation':<24} {'kernel':<56} {'us':>10} {'%':>6} {'G/s':>8}"]
        for row in self.rows:
            each = row["ns"] / row["calls"]
            rate = 2 * row["work"] / each if each else 0
            kernel = row["kernel"] if row["joined"] is None else f"joined to {row['joined']}"
            lines.append(f"{row['index']:4d}  {row['operation']:<24} {kernel:<56} {each / 1000:10.2f} "
                         f"{100 * row['ns'] / total:6.1f} {rate:8.1f}")
        lines += [f"      input {name!r} is not C-contiguous: copied {calls} times, {nbytes // calls} bytes and "
                  f"{ns / calls / 1000:.2f} us each" for name, (calls, nbytes, ns) in self.copies.items()]
        return "\n".join(lines)
