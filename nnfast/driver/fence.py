"""Sync fences (hal.md 3.9): what a fenced execution waits for and signals.

A fence is an eventfd, so that any process can poll it: readable means that the work has ended. Its counter tells how:
1 for success; the largest value an eventfd holds for an error, which a poll sees as readable but not writable.
"""

import errno
import os
import select
import threading
from heapq import heappop, heappush
from itertools import count

from .._native.threads import now_ns
from ..errors import GeneralFailure, InvalidArgument, MissedDeadlineTransient
from .durations import is_number

ACTIVE, SIGNALED, ERROR, UNKNOWN = "active", "signaled", "error", "unknown"
_FAILED = 0xFFFFFFFFFFFFFFFE
_LONGEST_MS = 60_000


class Fence:
    """A fence that starts active and is signalled once, with success or with an error."""

    __slots__ = ("_fd", "_own", "__weakref__")

    def __init__(self):
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._own = True

    @classmethod
    def from_fd(cls, fd):
        """A fence over a copy of somebody else's descriptor: an eventfd, or anything that polls readable when done.

        Raises InvalidArgument when it is no open descriptor.
        """
        self = cls.__new__(cls)
        try:
            self._fd = os.dup(fd)
        except (OSError, TypeError) as error:
            if getattr(error, "errno", errno.EBADF) != errno.EBADF:
                raise GeneralFailure(f"fence: descriptor {fd} cannot be copied: {error.strerror}") from None
            raise InvalidArgument(f"fence: {fd!r} is no open file descriptor: {error}") from None
        self._own = os.readlink(f"/proc/self/fd/{self._fd}").startswith("anon_inode:[eventfd]")
        return self

    def fileno(self):
        """The descriptor, for select and poll; it stays the fence's."""
        return self._fd

    @property
    def state(self):
        """"active", "signaled", "error" or "unknown" (not a descriptor that can be polled)."""
        return self._poll(0)

    def wait(self, timeout=None):
        """Wait at most `timeout` seconds, without end when None; the state then."""
        if timeout is not None and not is_number(timeout):
            raise InvalidArgument(f"fence: timeout is {timeout!r}, must be seconds or None")
        return self._poll(None if timeout is None else max(0.0, timeout) * 1e3)

    def signal(self):
        """The work has ended well. A fence that was signalled before stays as it is."""
        self._end(1)

    def fail(self):
        """The work has failed."""
        self._end(_FAILED)

    def _end(self, value):
        if self.state == ACTIVE:
            try:
                os.eventfd_write(self._fd, value)
            except BlockingIOError:
                pass  # another process has ended it at the same time

    def _poll(self, milliseconds):
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        return self._state(poller.poll(milliseconds))

    def _state(self, events):
        if not events:
            return ACTIVE
        got = events[0][1]
        if got & select.POLLNVAL:
            return UNKNOWN
        if got & select.POLLERR or not got & select.POLLIN:
            return ERROR
        if self._own:
            poller = select.poll()
            poller.register(self._fd, select.POLLOUT)
            if not poller.poll(0):
                return ERROR
        return SIGNALED

    def __del__(self):
        try:
            os.close(self._fd)
        except (AttributeError, OSError):
            pass  # it was never opened

    def __repr__(self):
        return f"<Fence {self._fd} {self.state}>"


def check_fences(fences):
    """Refuse what is no fence, and fences that are in error already (hal.md 3.9)."""
    for place, fence in enumerate(fences):
        if not isinstance(fence, Fence):
            raise InvalidArgument(f"wait_for[{place}]: is {type(fence).__name__}, must be a nnfast.Fence")
        if fence.state in (ERROR, UNKNOWN):
            raise InvalidArgument(f"wait_for[{place}]: the fence is in the state {fence.state}; nothing will signal "
                                  f"it")


class _Waiter:
    """One thread that waits for the fences of all executions that were launched and cannot start yet."""

    def __init__(self):
        self._lock = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._new, self._owner = [], os.getpid()
        self._numbers = count()
        self._thread = threading.Thread(target=self._work, name="nnfast-fences", daemon=True)
        self._thread.start()

    def add(self, fences, deadline_ns, ready):
        entry = [len(fences), ready]
        with self._lock:
            self._new.append((list(fences), deadline_ns, entry))
        os.eventfd_write(self._wake, 1)

        def give_up(error):
            _finish(entry, error)
            os.eventfd_write(self._wake, 1)  # it lets go of the fences then

        return give_up

    def _work(self):
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        waiting, deadlines = {}, []  # descriptor: [(fence, entry)], and a heap of (deadline, number, entry)
        while True:
            poller.poll(self._patience(deadlines))
            self._take_new(poller, waiting, deadlines)
            for descriptor in list(waiting):
                self._look(poller, waiting, descriptor)
            while deadlines and deadlines[0][0] <= now_ns():
                _finish(heappop(deadlines)[2], MissedDeadlineTransient(
                    "execute_fenced: the deadline passed while it waited for its fences; allow more time"))

    def _take_new(self, poller, waiting, deadlines):
        """Wait for what was added, too. A function of its own: no name outlives it that would keep a fence open."""
        with self._lock:
            new, self._new = self._new, []
            try:
                os.eventfd_read(self._wake)
            except BlockingIOError:
                pass  # a fence or a deadline woke us
        for fences, deadline_ns, entry in new:
            for fence in fences:
                waiting.setdefault(fence.fileno(), []).append((fence, entry))
                poller.register(fence.fileno(), select.POLLIN)
            if deadline_ns:
                heappush(deadlines, (deadline_ns, next(self._numbers), entry))

    @staticmethod
    def _patience(deadlines):
        if not deadlines:
            return None
        return min(_LONGEST_MS, max(0.0, (deadlines[0][0] - now_ns()) / 1e6) + 1)

    @staticmethod
    def _look(poller, waiting, descriptor):
        """Take a descriptor that has ended off the list, and start what waited for it alone."""
        state = waiting[descriptor][0][0].state
        if state == ACTIVE and any(entry[1] for _, entry in waiting[descriptor]):
            return
        poller.unregister(descriptor)
        for fence, entry in waiting.pop(descriptor):
            if state == SIGNALED:
                entry[0] -= 1
                if entry[0] == 0:
                    _finish(entry, None)
            else:
                _finish(entry, GeneralFailure(f"execute_fenced: a fence it waits for went to the state {fence.state}"))


def _finish(entry, error):
    ready, entry[1] = entry[1], None
    if ready is not None:
        ready(error)


_waiter = None
_guard = threading.Lock()


def when_signalled(fences, deadline_ns, ready):
    """Call ready(None) when all fences are signalled, ready(error) once one fails or the deadline (0: none) passes.

    It is called once, at once where nothing has to be waited for, else on the waiter's thread: it must not block.
    Returns give_up(error), which calls ready(error) now where it has not been called yet.
    """
    global _waiter
    open_fences = [fence for fence in fences if fence.state != SIGNALED]
    if not open_fences:
        ready(None)
        return lambda error: None
    with _guard:
        if _waiter is None or _waiter._owner != os.getpid():
            _waiter = _Waiter()
    return _waiter.add(open_fences, deadline_ns, ready)
