"""Waits for the fences and deadlines of launched executions that cannot start yet: one thread per client."""

import os
import select
import threading
import weakref
from collections import deque
from heapq import heapify, heappop, heappush
from itertools import count

from .._native.threads import now_ns
from ..errors import GeneralFailure, MissedDeadlineTransient, ResourceExhaustedTransient
from ..forks import renewed
from .fence import SIGNALED, state_of

FOR_FENCES = "execute_fenced: the deadline passed while it waited for its fences"

MAX_FENCES = 4096
"""Fences that the executions of one client may wait for at once."""

IDLE_SECONDS = 1.0
"""Idle time after which the thread ends."""

_waiters = weakref.WeakSet()


class _Wait:
    """One waiting execution: Descriptors of the fences still pending, and the callback for the end of the wait."""

    __slots__ = ("fences", "deadline_ns", "what", "_ready")

    def __init__(self, fences, deadline_ns, ready, what):
        self.fences, self.deadline_ns, self.what, self._ready = list(fences), deadline_ns, what, [ready]

    def finish(self, error):
        try:
            ready = self._ready.pop()
        except IndexError:
            return  # finished already, by another thread
        ready(error)

    @property
    def is_over(self):
        return not self._ready


class FenceWaiter:
    """Watches the fences of one client. Its thread starts with the first of them, and ends when it has been idle."""

    def __init__(self):
        self._reset()
        _waiters.add(self)

    def _reset(self):
        self._lock, self._loop, self._count = renewed(threading.RLock()), None, 0

    def add(self, fences, deadline_ns, ready, what=FOR_FENCES):
        """Call ready(None) when all fences are signalled, ready(error) once one fails or the deadline (0: none) passes.

        Without fences there is only the deadline. what: start of the error message when it has passed. ready is called
        once, on the waiter's thread, so it must not block. Returns give_up(error), which calls ready(error) at once
        unless it was called before. Raises ResourceExhaustedTransient for too many fences, or without a descriptor or
        thread to wait with.
        """
        wait = _Wait([fence.descriptor for fence in fences], deadline_ns, ready, what)
        with self._lock:
            if self._count + len(wait.fences) > MAX_FENCES:
                raise ResourceExhaustedTransient(f"wait_for: {self._count} fences are waited for already, with these "
                                                 f"{len(wait.fences)} they would be more than {MAX_FENCES}; wait for "
                                                 f"some executions to start")
            if self._loop is None:
                self._loop = self._start()
            loop = self._loop
            self._count += len(wait.fences)
            loop.tell(loop.new, wait)

        def give_up(error):
            wait.finish(error)
            with self._lock:
                if self._loop is loop:
                    loop.tell(loop.over, wait)  # so that it releases the fences

        return give_up

    def _start(self):
        loop = _Loop(self)
        try:
            loop.open()
            threading.Thread(target=loop.serve, name="nnfast-fences", daemon=True).start()
        except (OSError, RuntimeError) as error:
            loop.close()
            raise ResourceExhaustedTransient(f"wait_for: there is no thread or descriptor to wait with: {error}"
                                             ) from None
        return loop

    def leave(self, loop):
        """True if an idle thread may end."""
        with self._lock:
            if loop.new:
                return False
            if self._loop is loop:
                self._loop = None
            return True

    def let_go(self, count):
        """Take `count` fences off the number waited for."""
        with self._lock:
            self._count -= count


class _Loop:
    """The thread of a FenceWaiter and its poll set. new, over: queues of waits that begin, and that were given up."""

    def __init__(self, waiter):
        self._waiter, self.new, self.over = waiter, deque(), deque()
        self._waits = {}  # descriptor: [_Wait]
        self._deadlines, self._numbers, self._kept = [], count(), 0  # a heap of (deadline, number, _Wait)
        self._wake, self._poller = -1, None

    def open(self):
        """Open the descriptors that the thread needs."""
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poller = select.epoll()
        self._poller.register(self._wake, select.EPOLLIN)

    def close(self):
        """Close the descriptors; `tell` must not be called any more."""
        wake, self._wake = self._wake, -1
        if wake >= 0:
            os.close(wake)
        if self._poller is not None:
            self._poller.close()

    def tell(self, queue, wait):
        """Pass a wait to the thread. Call with the waiter's lock held."""
        queue.append(wait)
        os.eventfd_write(self._wake, 1)

    def serve(self):
        """Main loop of the thread."""
        while self._look() or not self._waiter.leave(self):
            pass
        self.close()

    def _look(self):
        """Sleep until an event and handle it; False if there was nothing to wait for."""
        events = self._poller.poll(self._patience())
        for descriptor, mask in events:
            if descriptor == self._wake:
                os.eventfd_read(descriptor)
            elif descriptor in self._waits:  # else dropped together with another one of this round
                self._ended(descriptor, state_of(mask))
        while self.new:
            self._begin(self.new.popleft())
        while self.over:
            self._drop(self.over.popleft())
        self._look_at_deadlines(is_idle=not events and not self._waits)
        return bool(events or self._waits or self._deadlines)

    def _patience(self):
        """Seconds to sleep; None: forever."""
        longest = None if self._waits else IDLE_SECONDS
        if not self._deadlines:
            return longest
        left = max(0, self._deadlines[0][0] - now_ns()) / 1e9
        return left if longest is None else min(left, longest)

    def _begin(self, wait):
        if wait.deadline_ns:
            heappush(self._deadlines, (wait.deadline_ns, next(self._numbers), wait))
        for fence in list(wait.fences):
            descriptor = fence.fileno()
            if descriptor not in self._waits:
                try:
                    self._poller.register(descriptor, select.EPOLLIN)
                except OSError as error:
                    wait.finish(GeneralFailure(f"execute_fenced: a fence cannot be waited for: {error.strerror}"))
                    break
                self._waits[descriptor] = []
            self._waits[descriptor].append(wait)
        if wait.is_over:
            self._drop(wait)

    def _ended(self, descriptor, state):
        """Handle a fence that was signalled or failed: start, or fail, what waits for it."""
        self._poller.unregister(descriptor)
        for wait in self._waits.pop(descriptor):
            before = len(wait.fences)
            wait.fences[:] = [fence for fence in wait.fences if fence.fileno() != descriptor]
            self._waiter.let_go(before - len(wait.fences))
            if state != SIGNALED:
                wait.finish(GeneralFailure(f"execute_fenced: a fence it waits for went to the state {state}"))
                self._drop(wait)
            elif not wait.fences:
                wait.finish(None)

    def _drop(self, wait):
        """Release the fences of a finished wait."""
        for fence in wait.fences:
            waits = self._waits.get(fence.fileno())
            if waits is not None and wait in waits:
                waits.remove(wait)
                if not waits:
                    del self._waits[fence.fileno()]
                    self._poller.unregister(fence.fileno())
        self._waiter.let_go(len(wait.fences))
        wait.fences.clear()

    def _look_at_deadlines(self, is_idle):
        while self._deadlines and (self._deadlines[0][2].is_over or self._deadlines[0][0] <= now_ns()):
            wait = heappop(self._deadlines)[2]
            wait.finish(MissedDeadlineTransient(f"{wait.what}; allow more time"))
            self._drop(wait)
        if is_idle or len(self._deadlines) > 2 * self._kept + 64:  # most entries are of waits that ended early
            self._deadlines = [entry for entry in self._deadlines if not entry[2].is_over]
            heapify(self._deadlines)
            self._kept = len(self._deadlines)


def _after_fork():
    for waiter in list(_waiters):
        loop = waiter._loop
        waiter._reset()
        if loop is not None:
            loop.close()


os.register_at_fork(after_in_child=_after_fork)
