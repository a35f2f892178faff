"""Counts of durations in buckets of a quarter of an octave, from 1 us up."""

BUCKETS = 128


class Histogram:
    """Durations in microseconds; `counts[b]` are those of bucket b (limits: `upper_us`)."""

    __slots__ = ("counts", "total")

    def __init__(self):
        self.counts, self.total = [0] * BUCKETS, 0

    def add(self, us):
        """Count a duration. Safe enough between threads: a count may be lost, nothing worse."""
        self.counts[bucket_of(us)] += 1
        self.total += 1

    def merge(self, counts):
        """Count many durations, given by bucket."""
        for bucket, count in enumerate(counts):
            if count:
                self.counts[bucket] += count
                self.total += count

    def percentile(self, share):
        """Upper limit in microseconds of the bucket in which this share (0..1) of the durations ends; 0 for none."""
        return percentile(self.counts, share)


def bucket_of(us):
    """Bucket of a duration: four per power of two."""
    us = int(us)
    if us < 4:
        return max(us, 0)
    octave = us.bit_length() - 1
    return min(BUCKETS - 1, 4 * (octave - 1) + (us >> (octave - 2) & 3))


def upper_us(bucket):
    """Where a bucket ends."""
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
