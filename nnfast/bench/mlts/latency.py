"""What is kept of a list of times."""

from dataclasses import dataclass

import numpy as np

BUCKETS = 32
PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Latency:
    """Milliseconds of executions or compilations, in the order in which they were made."""

    times_ms: np.ndarray

    @classmethod
    def of(cls, seconds):
        """Latency of a list of seconds."""
        return cls(1e3 * np.asarray(seconds, np.float64))

    @property
    def count(self):
        return len(self.times_ms)

    @property
    def mean(self):
        return float(self.times_ms.mean())

    def percentile(self, percent):
        return float(np.percentile(self.times_ms, percent))

    def histogram(self):
        """(start, step, counts): counts[i] of BUCKETS is how many times lie i to i + 1 steps above the start; the step
        is a 31st of the range, so that the last bucket holds the longest only."""
        low, high = float(self.times_ms.min()), float(self.times_ms.max())
        step = (high - low) / (BUCKETS - 1)
        places = ((self.times_ms - low) / step).astype(int) if step else np.zeros(self.count, int)
        return low, step, np.bincount(np.minimum(places, BUCKETS - 1), minlength=BUCKETS).tolist()

    def summary(self, times=False):
        """Plain values in milliseconds; the deviation divides by the count. times: with all of them."""
        low, step, counts = self.histogram()
        found = {"count": self.count, "total_ms": float(self.times_ms.sum()), "mean_ms": self.mean,
                 "std_dev_ms": float(self.times_ms.std()), "min_ms": low, "max_ms": float(self.times_ms.max()),
                 **{f"p{p}_ms": self.percentile(p) for p in PERCENTILES},
                 "histogram": {"start_ms": low, "step_ms": step, "counts": counts}}
        if times:
            found["times_ms"] = [round(value, 5) for value in self.times_ms.tolist()]
        return found

    def __str__(self):
        return (f"n={self.count}, mean {self.mean:.3f} ms, deviation {float(self.times_ms.std()):.3f} ms, "
                f"p50 {self.percentile(50):.3f}, p90 {self.percentile(90):.3f}, p99 {self.percentile(99):.3f}")
