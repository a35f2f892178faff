"""Results of a run over random graphs: counts by subject, and what is worth telling of single graphs."""

from collections import Counter
from dataclasses import dataclass, field

from ..judge import DIFFERS, SAME, UNSTABLE, WITHIN

NOT_APPLICABLE = "not_applicable"
VERDICTS = (SAME, WITHIN, UNSTABLE, DIFFERS, NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class GraphResult:
    """A graph on a subject that was unstable, or differs. file: the program that shows it, where one was dumped."""

    seed: int
    subject: str
    verdict: str
    reason: str = ""
    file: str = ""

    def to_json(self):
        """Plain dict."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class GraphResults:
    """counts: {subject: {verdict: graphs}}; notable: GraphResults by seed; graphs: drawn; seconds: of the whole run."""

    counts: dict = field(default_factory=dict)
    notable: list = field(default_factory=list)
    graphs: int = 0
    seconds: float = 0.0

    def add(self, result):
        self.counts.setdefault(result.subject, Counter())[result.verdict] += 1
        if result.verdict in (UNSTABLE, DIFFERS):
            self.notable.append(result)

    @property
    def failed(self):
        """Number of graphs that differ on a subject."""
        return sum(counts[DIFFERS] for counts in self.counts.values())

    @property
    def failures(self):
        return [result for result in self.notable if result.verdict == DIFFERS]

    def to_json(self):
        """The document that `nnfast randgraph --json` writes."""
        return {"graphs": self.graphs, "failed": self.failed, "seconds": round(self.seconds, 3),
                "subjects": {subject: {verdict: counts[verdict] for verdict in VERDICTS}
                             for subject, counts in self.counts.items()},
                "notable": [result.to_json() for result in self.notable]}
