"""Bytes as decisions: numbers to choose by, and a generator of random numbers whose single draws they are."""

import numpy as np


class Source:
    """Bytes that are used up one after the other; zeros after their end."""

    def __init__(self, data):
        self._data, self._at = data, 0

    @property
    def is_used_up(self):
        return self._at >= len(self._data)

    def take(self, count):
        """The next `count` bytes."""
        taken = self._data[self._at:self._at + count]
        self._at += count
        return taken.ljust(count, b"\0")

    def byte(self):
        return self.take(1)[0]

    def below(self, limit):
        """A number from 0 to limit - 1; limit: 256 at most."""
        return self.byte() % limit

    def pick(self, items):
        return items[self.below(len(items))]


class Draws(np.random.Generator):
    """A generator whose single draws are made by bytes as long as there are any. A change of a byte changes one
    decision, so what is drawn from mutated bytes is much like what was drawn before.

    Arrays, and what is drawn after the last byte, come from a generator that `seed` begins.
    """

    def __init__(self, data, seed):
        super().__init__(np.random.PCG64(seed))
        self._source = Source(data)

    def random(self, size=None, **options):
        if size is not None or options or self._source.is_used_up:
            return super().random(size, **options)
        return self._source.byte() / 256

    def uniform(self, low=0.0, high=1.0, size=None):
        if size is not None or self._source.is_used_up:
            return super().uniform(low, high, size)
        return low + (high - low) * (self._source.byte() / 256)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        if size is not None or not np.isscalar(low) or not (high is None or np.isscalar(high)) or \
                self._source.is_used_up:
            return super().integers(low, high, size, dtype, endpoint)
        low, high = (0, low) if high is None else (low, high)
        count = int(high) - int(low) + bool(endpoint)
        if count < 1:
            raise ValueError(f"low {low} is not below high {high}")
        width = max(1, (count - 1).bit_length() + 7 >> 3)
        return np.dtype(dtype).type(int(low) + int.from_bytes(self._source.take(width), "little") % count)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        if size is not None or p is not None or self._source.is_used_up:
            return super().choice(a, size, replace, p, axis, shuffle)
        items = np.arange(a) if np.isscalar(a) else np.asarray(a)
        return items[int(self.integers(len(items)))]
