"""A bound on the memory of a client's models: packed weights, arenas and buffers (hal.md 8.2)."""

import threading
import weakref

from .. import vlog
from ..errors import ResourceExhaustedPersistent, ResourceExhaustedTransient


class Budget:
    """At most `limit` bytes at a time. name: of the limit, in refusals."""

    def __init__(self, limit, name="the device's memory limit"):
        self.limit, self.name = limit, name
        self.used = 0
        self._lock = threading.Lock()

    def take(self, nbytes, owner, what):
        """Count `nbytes` until the object `owner` is no more.

        Raises ResourceExhaustedPersistent when the limit alone is too small for it, ResourceExhaustedTransient when
        others hold too much now.
        """
        if nbytes > self.limit:
            raise ResourceExhaustedPersistent(f"{what}: needs {nbytes} bytes, {self.name} is {self.limit}")
        with self._lock:
            if self.used + nbytes > self.limit:
                raise ResourceExhaustedTransient(f"{what}: needs {nbytes} bytes, {self.name} is {self.limit} and "
                                                 f"{self.limit - self.used} are free; release other models first")
            self.used += nbytes
        if vlog.mask & vlog.MEMORY:
            vlog.tell(vlog.MEMORY, "%s: %d bytes, %d of %d in use", what, nbytes, self.used, self.limit)
        weakref.finalize(owner, self._give_back, nbytes)

    def share(self, nbytes, owner, what):
        """As take, for memory that is counted for somebody else already and used here too."""
        self.take(nbytes, owner, what)

    def _give_back(self, nbytes):
        with self._lock:
            self.used -= nbytes
