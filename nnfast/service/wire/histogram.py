"""Counts of durations in buckets of a quarter of an octave, from 1 us up."""

from ..._native.rings import Durations, bucket_of  # noqa: F401  (bucket_of: for whoever reads counts)

BUCKETS = 128


class Histogram(Durations):
    """Durations in microseconds; `counts[b]`: number in bucket b (upper limit: `upper_us`). Thread-safe."""

    __slots__ = ()

    def percentile(self, share):
        """Upper limit in microseconds of the bucket of this quantile (0..1); 0 without durations."""
        return percentile(self.counts, share)


def upper_us(bucket):
    """Upper limit of a bucket in microseconds."""
    if bucket < 4:
        return bucket + 1
    octave, quarter = bucket // 4 + 1, bucket % 4
    return (5 + quarter) << (octave - 2)


def percentile(counts, share):
    """As Histogram.percentile, of a list of counts."""
    left = share * sum(counts)
    if not left:
        return 0
    for bucket, number in enumerate(counts):
        left -= number
        if left <= 0:
            return upper_us(bucket)
    return upper_us(BUCKETS - 1)
