"""Who runs next where more executions wait than there are cores: the client that has used the least time.

Inside a client the higher priority goes first, then the earlier one. Nobody is stopped for another client, but one
whose executions all wait may start one after GRACE_SECONDS in any case, so that a client with long executions cannot
keep the cores: the system then divides them.
"""

import threading
from heapq import heappop, heappush
from itertools import count

from .._native.threads import now_ns
from ..errors import Cancelled

GRACE_SECONDS = 0.01


class Share:
    """One client's part of the time. used_ns: what its executions took, raised to the others' when it was idle."""

    def __init__(self):
        self.used_ns, self.spent_ns, self.running, self.closed = 0, 0, 0, False
        self._waiting = []

    @property
    def waiting(self):
        """How many of its executions wait."""
        return len(self._waiting)


class Scheduler:
    """slots: executions that may run at once."""

    def __init__(self, slots):
        self.slots, self.running = slots, 0
        self._lock = threading.Lock()
        self._shares = set()  # those with executions that wait
        self._floor_ns = 0
        self._numbers = count()

    def turn(self, share, priority):
        """A context for one execution of a client. priority: 0 to 2. Raises Cancelled when the client goes."""
        return _Turn(self, share, priority)

    def close(self, share):
        """The client has gone: what waits for it is refused."""
        with self._lock:
            share.closed = True
            self._shares.discard(share)
            for _, _, entry in share._waiting:
                entry.go.release()
            share._waiting.clear()

    def _enter(self, share, priority):
        with self._lock:
            if share.closed:
                raise Cancelled("service: the client has gone")
            if not share.running and not share._waiting:
                share.used_ns = max(share.used_ns, self._floor_ns)
            if self.running < self.slots and not self._shares:
                self._start(share)
                return
            entry = _Entry()
            heappush(share._waiting, (-priority, next(self._numbers), entry))
            self._shares.add(share)
        while not entry.go.acquire(timeout=GRACE_SECONDS):
            with self._lock:
                if not entry.started and not share.closed and not share.running:
                    self._pop(share)  # one of its own, the most urgent: perhaps not this one
        if not entry.started:
            raise Cancelled("service: the client has gone")

    def _leave(self, share, spent_ns):
        with self._lock:
            self.running -= 1
            share.running -= 1
            share.used_ns += spent_ns
            share.spent_ns += spent_ns
            while self.running < self.slots and self._shares:
                self._pop(min(self._shares, key=_used))

    def _pop(self, share):
        """Start what is first in a client's line."""
        entry = heappop(share._waiting)[2]
        if not share._waiting:
            self._shares.discard(share)
        self._start(share)
        entry.started = True
        entry.go.release()

    def _start(self, share):
        self.running += 1
        share.running += 1
        self._floor_ns = max(self._floor_ns, share.used_ns)


def _used(share):
    return share.used_ns


class _Entry:
    """One execution in line."""

    __slots__ = ("go", "started")

    def __init__(self):
        self.go, self.started = threading.Lock(), False
        self.go.acquire()


class _Turn:
    __slots__ = ("_scheduler", "_share", "_priority", "_began")

    def __init__(self, scheduler, share, priority):
        self._scheduler, self._share, self._priority = scheduler, share, priority

    def __enter__(self):
        self._scheduler._enter(self._share, self._priority)
        self._began = now_ns()
        return self

    def __exit__(self, *error):
        self._scheduler._leave(self._share, now_ns() - self._began)
        return False
