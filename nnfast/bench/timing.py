"""Times of contestants that take turns, so that what slows the machine for a while slows all of them."""

import statistics
import time
from dataclasses import dataclass, field

TURN_SECONDS = 0.05
"""A contestant runs this long, at least once, before the next one has its turn."""
SETTLE_SECONDS = 0.002
"""Pause before a turn: the threads of the one before stop spinning."""


@dataclass(eq=False)
class Contestant:
    """Something that can be run: name, `run()` that does the work once, milliseconds of the counted runs, their sum."""

    name: str
    run: object
    times_ms: list = field(default_factory=list)
    spent_ms: float = 0.0

    def counted_run(self):
        """Run once and note the time; returns when it ended."""
        before = time.perf_counter()
        self.run()
        now = time.perf_counter()
        self.times_ms.append(1e3 * (now - before))
        self.spent_ms += self.times_ms[-1]
        return now

    def summary(self):
        """{"runs", "min_ms", "median_ms", "spread_percent"}: spread is the middle half of the times over the median."""
        times = sorted(self.times_ms)
        median = statistics.median(times)
        low, _, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else (times * 3)
        return {"runs": len(times), "min_ms": times[0], "median_ms": median,
                "spread_percent": 100 * (high - low) / median}


def take_turns(contestants, runs=None, seconds=2.0, at_least=5, progress=None):
    """Fill in `times_ms` of all contestants.

    runs: of each; None runs each for about `seconds`, but at_least so often. progress(done, total): called after each
    turn, in thousandths. A turn starts with a run that does not count: the caches belong to somebody else.
    """
    while waiting := [c for c in contestants if _share(c, runs, seconds, at_least) < 1]:
        for contestant in waiting:
            time.sleep(SETTLE_SECONDS)
            contestant.run()
            start = time.perf_counter()
            while True:
                now = contestant.counted_run()
                if now - start >= TURN_SECONDS or _share(contestant, runs, seconds, at_least) >= 1:
                    break
            if progress is not None:
                share = sum(min(1, _share(c, runs, seconds, at_least)) for c in contestants) / len(contestants)
                progress(int(1000 * share), 1000)


def _share(contestant, runs, seconds, at_least):
    """How much of its runs a contestant has had."""
    count = len(contestant.times_ms)
    if runs is not None:
        return count / runs
    return min(count / at_least, contestant.spent_ms / (1e3 * seconds))
