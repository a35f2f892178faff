"""What a prepared model runs, as text, rows and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .. import pace
from .._native import conv, kernels
from ..compiler import passes

if TYPE_CHECKING:
    from typing import Any

_REFERENCES = {"nnapi": "the NNAPI standard", "litert": "LiteRT's reference kernels"}

MOST_LISTED = 12
"""Operations that the line of a pass names at most."""


class Explanation:
    """What runs each operation of a prepared model; made by PreparedModel.explain. str() is a table.

    rows: one dict per operation: kernel, output shape, packed bytes, or why numpy runs it, and under "passes" the
    compiler passes that changed it. arena_bytes, packed_bytes: totals. precision: the device's, None for exact;
    reduced: how many operations run in it. arithmetic: "nnapi" or "litert", whose integer results the model has.
    passes: {name: reason} of the passes that changed something. without_passes: names of the passes that the device
    leaves out.
    """

    name: str
    threads: int
    arithmetic: str
    precision: str | None
    reduced: int
    passes: dict[str, str]
    without_passes: list[str]
    dynamic: bool
    rows: list[dict[str, Any]]
    arena_bytes: int
    packed_bytes: int
    native: bool

    def __init__(self, prepared: Any) -> None:
        segment = prepared.executor.segment
        self.name = prepared.model.name
        self.threads, self.arithmetic = prepared.num_threads, prepared.model.arithmetic
        self.precision, self.reduced = prepared.device.precision, 0
        self.passes, self.without_passes = {}, sorted(prepared.device.without_passes)
        self.dynamic = segment is None
        if segment is None:
            self.rows, self.arena_bytes, self.packed_bytes, self.native = [], 0, 0, False
            return
        self.rows = [{key: value for key, value in row.items() if key != "steps"} for row in segment.rows]
        self.arena_bytes = segment.arena_bytes
        self.packed_bytes = sum(row["packed_bytes"] for row in self.rows)
        self.native = segment.native
        applied = {name for row in self.rows for name in row["passes"]}
        if prepared.spare:
            applied.add("drop_constants")
        self.passes = {name: passes.why(name) for name in passes.NAMES if name in applied}
        self.reduced = sum(row["bf16"] for row in self.rows)

    @classmethod
    def from_json(cls, text: str, native: bool) -> Explanation:
        """The Explanation from its to_json text. native: whether all operations are native."""
        made, fields = cls.__new__(cls), json.loads(text)
        for name in ("name", "threads", "arithmetic", "precision", "reduced", "dynamic", "rows", "arena_bytes",
                     "packed_bytes", "passes", "without_passes"):
            setattr(made, name, fields["model" if name == "name" else name])
        made.native = native
        return made

    def to_json(self) -> str:
        """The same as JSON text."""
        head = json.dumps({"model": self.name, "threads": self.threads, "dynamic": self.dynamic,
                           "arithmetic": self.arithmetic, "precision": self.precision, "reduced": self.reduced,
                           "arena_bytes": self.arena_bytes, "packed_bytes": self.packed_bytes,
                           "passes": self.passes, "without_passes": self.without_passes})
        rows = []
        for row in self.rows:
            rows.append(json.dumps(row))
            pace.step()
        return f'{head[:-1]}, "rows": [{", ".join(rows)}]}}'

    def __str__(self) -> str:
        if self.dynamic:
            return f"{self.name or 'model'}: shapes or values are known only at execution; planned at the first run"
        lines = []
        for row in self.rows:
            shape = "x".join(map(str, row["output"][-1])) if row["output"] else ""
            note = row["reason"] if row["kernel"] == "numpy" else \
                f"packed {row['packed_bytes']:,} B" if row["packed_bytes"] else ""
            if row["joined"] is not None:
                note = f"{note}, joined to {row['joined']}".removeprefix(", ")
            lines.append(f"{row['index']:4d}  {row['operation']:<24} {row['kernel']:<56} {shape:<16} {note}".rstrip())
        lines.append(f"arena {self.arena_bytes:,} B, packed parameters {self.packed_bytes:,} B, "
                     f"{sum(row['kernel'] == 'numpy' for row in self.rows)} of {len(self.rows)} operations in numpy")
        lines.append(f"arithmetic {self.arithmetic}: integers of {_REFERENCES[self.arithmetic]}")
        for name, why in self.passes.items():
            places = [str(row["index"]) for row in self.rows if name in row["passes"]]
            lines.append(f"pass {name}: {why}{_listed(places)}")
        if self.without_passes:
            lines.append(f"passes left out: {', '.join(self.without_passes)}")
        if self.precision:
            lines.append(self._about_precision())
        return "\n".join(lines)

    def _about_precision(self):
        said = f"precision {self.precision} asked for: {self.reduced} of {len(self.rows)} operations multiply in it"
        if self.reduced == 0 and not conv.bf16_available():
            return f"{said}, level {kernels.level()} has no kernels for it"
        return f"{said}, with sums in float32" if self.reduced else said


def _listed(places):
    """The end of a pass's line: the first operations that it changed, and their number."""
    if not places:
        return ""
    more = f" ... {len(places)} in all" if len(places) > MOST_LISTED else ""
    return f" (operation {' '.join(places[:MOST_LISTED])}{more})"
