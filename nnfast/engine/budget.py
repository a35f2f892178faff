"""Limits on the memory held for a client: packed weights, working memory, buffers and so on."""

import weakref

from .. import vlog
from .._native.engine import UNLIMITED, Charge, Full, Tally
from ..errors import ResourceExhaustedPersistent, ResourceExhaustedTransient

_MOST = (1 << 63) - 1
"""More than any limit."""


class Budget:
    """At most `limit` bytes at a time. name: the limit's, in errors; above: a Budget that this one is part of.

    Lock-free, as owners may be garbage-collected at any time, even in the middle of a call.
    """

    def __init__(self, limit, name="the device's memory limit", above=None):
        self._tally, self._above = Tally(min(limit, UNLIMITED), name, None if above is None else above._tally), above

    @property
    def limit(self):
        """Most bytes that may be held."""
        return self._tally.limit

    @property
    def used(self):
        """Bytes held now."""
        return self._tally.used

    def smallest(self):
        """(bytes, name) of the smallest limit that applies."""
        above = None if self._above is None else self._above.smallest()
        return above if above is not None and above[0] < self.limit else (self.limit, self._tally.name)

    def charge(self, nbytes, what, only_here=False):
        """A Charge of `nbytes`, which count until it is released or collected. what: start of the error message.

        only_here: do not charge the Budget above, which counts them already. Raises ResourceExhaustedPersistent if a
        limit is too small in any case, ResourceExhaustedTransient if too much is held now.
        """
        try:
            charge = Charge(self._tally, min(nbytes, _MOST), only_here)
        except Full as full:
            tally = full.tally
            if nbytes > tally.limit:
                raise ResourceExhaustedPersistent(f"{what}: needs {nbytes} bytes, {tally.name} is {tally.limit}; "
                                                  f"use a smaller model or raise the limit") from None
            raise ResourceExhaustedTransient(f"{what}: needs {nbytes} bytes, {tally.name} is {tally.limit} and "
                                             f"{tally.limit - tally.used} are free; release other models first"
                                             ) from None
        if vlog.mask & vlog.MEMORY:
            vlog.log(vlog.MEMORY, "%s: %d bytes, %d of %d in use", what, nbytes, self.used, self.limit)
        return charge

    def take(self, nbytes, owner, what):
        """Count `nbytes` until the object `owner` is collected. Raises as `charge`."""
        weakref.finalize(owner, self.charge(nbytes, what).release).atexit = False

    def share(self, nbytes, what):
        """As charge, for memory that the Budget above counts already."""
        return self.charge(nbytes, what, only_here=True)
