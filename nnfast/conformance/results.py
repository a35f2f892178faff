"""Results of a conformance run: one record per test and kind, their counts, and the worst errors seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

OUTCOMES = ("passed", "failed", "skipped", "not_applicable")
MUTATION_COUNTS = ("tried", "refused", "accepted", "crashed")


@dataclass(slots=True)
class TestResult:
    """One test of one kind.

    name: of the test; kind: one of `nnfast vts --kind`; hal, via: the face and the way that it took; source: the file
    it is from; outcome: "passed", "failed", "skipped" or "not_applicable"; reason: why, one line, "" where it passed.
    max_error: largest |actual - expected| over the compared outputs, None when nothing was compared.
    errors: operand type name -> (largest error, largest share of the tolerance used).
    parts: outcome of each form of the kind (dynamic: unspecified, insufficient); empty when it has one form.
    tally: of kind validation, rule -> [tried, refused, accepted, crashed] mutations of the model.
    """

    __test__ = False  # not a test class of pytest

    name: str
    kind: str
    hal: str
    via: str
    source: str
    outcome: str
    reason: str = ""
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    tally: dict[str, list[int]] = field(default_factory=dict)

    @property
    def max_error(self) -> float | None:
        """The largest error over all operand types, None when nothing was compared."""
        return max((error for error, _ in self.errors.values()), default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain dict; an error that is not finite becomes null, the reason tells about it."""
        row = {"name": self.name, "kind": self.kind, "hal": self.hal, "via": self.via, "outcome": self.outcome,
               "reason": self.reason, "max_error": _finite(self.max_error), "source": self.source}
        if self.parts:
            row["parts"] = self.parts
        if self.tally:
            row["tally"] = self.tally
        return row


@dataclass(slots=True)
class Results:
    """All results of a run: tests, a TestResult for each in the order of the files, and the seconds that they took.

    Counts are properties: passed, failed, skipped, not_applicable.
    """

    tests: list[TestResult] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, outcome: str, kind: str | None = None) -> int:
        """Tests that ended so: "passed", "failed", "skipped" or "not_applicable". kind: of one kind, None for all."""
        return sum(test.outcome == outcome and kind in (None, test.kind) for test in self.tests)

    @property
    def passed(self) -> int:
        """Tests whose every result was right."""
        return self.count("passed")

    @property
    def failed(self) -> int:
        """Tests with a result, or a status, that is not right."""
        return self.count("failed")

    @property
    def skipped(self) -> int:
        """Tests that could not be run here; `reason` of each says why."""
        return self.count("skipped")

    @property
    def not_applicable(self) -> int:
        """Tests that this version or way of the driver does not have."""
        return self.count("not_applicable")

    def by_kind(self) -> dict[str, dict[str, int]]:
        """Kind, or "kind: form", -> {outcome: count}, in order of appearance."""
        table = {}
        for test in self.tests:
            rows = [(test.kind, test.outcome)] + [(f"{test.kind}: {form}", o) for form, o in test.parts.items()]
            for row, outcome in rows:
                table.setdefault(row, dict.fromkeys(OUTCOMES, 0))[outcome] += 1
        return table

    def worst(self) -> dict[str, tuple[float, float, str]]:
        """Operand type name -> (largest error, share of the tolerance used at most, test with that share)."""
        table = {}
        for test in self.tests:
            for name, (error, share) in test.errors.items():
                old = table.get(name, (0.0, -1.0, ""))
                table[name] = (max(old[0], error), *((share, test.name) if share > old[1] else old[1:]))
        return dict(sorted(table.items()))

    def mutations(self) -> dict[str, dict[str, int]]:
        """Rule -> {tried, refused, accepted, crashed: number of mutations}, over all tests of kind validation."""
        table = {}
        for test in self.tests:
            for rule, counts in test.tally.items():
                row = table.setdefault(rule, dict.fromkeys(MUTATION_COUNTS, 0))
                for name, count in zip(MUTATION_COUNTS, counts):
                    row[name] += count
        return table

    def to_json(self) -> dict[str, Any]:
        """The document that `nnfast vts --json` writes (design: counts, then one entry per test)."""
        worst = {name: {"max_error": _finite(error), "tolerance_used": _finite(share), "test": test}
                 for name, (error, share, test) in self.worst().items()}
        return {**{outcome: self.count(outcome) for outcome in OUTCOMES}, "seconds": round(self.seconds, 3),
                "kinds": self.by_kind(), "mutations": self.mutations(), "worst": worst,
                "tests": [test.to_json() for test in self.tests]}


def _finite(value):
    return value if value is not None and math.isfinite(value) else None
