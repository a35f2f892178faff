"""Small compiled models that outlive their last user, as programs with a cache load them again when they start anew."""

import threading
import time
from collections import OrderedDict

from ...forks import renewed

MOST = 256
"""Models that are kept."""

MOST_BYTES = 1 << 22
"""Of all that is held for them, besides about 20 KiB a model for Python's objects; a single one must take less than
LARGEST."""

LARGEST = 1 << 16

PART_OF_LIMIT = 64
"""They take at most this part of the driver's memory limit, so that they never keep others from being prepared."""


IDLE_SECONDS = 30.0
"""Time without a use after which a model makes room for another one. So clients with more models than are kept find
some of them, and do not wait for others to be freed at every load."""


class RecentRoots:
    """Keeps roots (registry.Root). limit: the driver's memory limit, or None."""

    def __init__(self, limit):
        self._most_bytes = MOST_BYTES if limit is None else min(MOST_BYTES, limit // PART_OF_LIMIT)
        self._kept, self._bytes = OrderedDict(), 0
        self._lock = renewed(threading.Lock())

    def keep(self, root):
        """Keep a root that is used now, if it is small and there is room, or others that were not used for a while."""
        nbytes, dropped, now = root.held_bytes, [], time.monotonic()
        if nbytes >= LARGEST:
            return
        with self._lock:
            if root not in self._kept:
                while self._kept and not self._has_room(nbytes) and self._oldest() < now - IDLE_SECONDS:
                    old, (_, freed) = self._kept.popitem(last=False)
                    self._bytes -= freed
                    dropped.append(old)
                if not self._has_room(nbytes):
                    return
                self._bytes += nbytes
            self._kept[root] = now, nbytes
            self._kept.move_to_end(root)
        del dropped  # outside of the lock: this frees memory

    def _has_room(self, nbytes):
        return len(self._kept) < MOST and self._bytes + nbytes <= self._most_bytes

    def _oldest(self):
        return next(iter(self._kept.values()))[0]

    def clear(self):
        """Keep none."""
        with self._lock:
            kept, self._kept, self._bytes = self._kept, OrderedDict(), 0
        del kept

    def __iter__(self):
        """Those that are kept, the last used last."""
        with self._lock:
            return iter(list(self._kept))

    def __contains__(self, root):
        return root in self._kept

    def __len__(self):
        return len(self._kept)
