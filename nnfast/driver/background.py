"""Background threads of one client: for executions, callbacks and fences.

Each client has its own threads, so that a long execution or a callback that blocks delays no other client. Threads are
started on demand and end after some idle time, or when their client is gone.
"""

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque

from .._native.threads import available
from ..errors import ResourceExhaustedTransient
from ..forks import renewed
from .fence import SIGNALED
from .waiting import FenceWaiter

IDLE_SECONDS = 10.0
"""Idle time after which a thread ends."""

MAX_CALLBACKS = 1024
"""Callbacks of one client that may run (or block) at once; further ones wait until one returns."""

_LOOK_SECONDS = 0.01
_pools = weakref.WeakSet()
log = logging.getLogger("nnfast.driver")


class Workers:
    """A FIFO queue served by at most `most` threads. Needs no closing.

    is_awaited: process exit waits until the queue is empty and nothing runs.
    """

    def __init__(self, name, most, is_awaited=True):
        self.name, self.most, self.is_awaited = name, most, is_awaited
        self._reset()
        _pools.add(self)

    def _reset(self):
        """Start with no threads and an empty queue, also in a forked child: queued work stays with the parent."""
        self._lock = renewed(threading.RLock())  # reentrant: a finalizer that the collector runs here may call `put`
        self._items = deque()
        self._sleepers = deque()  # one lock per sleeping thread; releasing it wakes the thread
        self._count = self._idle = 0
        self._is_over = False

    def put(self, work):
        """Queue work() for one of the threads; False if all are busy and it has to wait.

        Raises RuntimeError if there is no thread and none can be started.
        """
        with self._lock:
            self._items.append(work)
            if self._idle >= len(self._items):
                self._wake()
                return True
            if self._count >= self.most:
                return False
            self._count += 1
        try:
            threading.Thread(target=self._serve, args=(self._lock,), name=f"nnfast-{self.name}", daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._count -= 1
                if self._count or work not in self._items:
                    return False  # another thread takes it, or already has
                self._items.remove(work)
            raise
        return True

    @property
    def is_busy(self):
        """True while work runs or is queued."""
        return self._count > self._idle or bool(self._items)

    def dismiss(self):
        """Let threads end as soon as they are idle; no more work will be put. Takes no lock, so finalizers may call."""
        self._is_over = True
        while self._wake():
            pass

    def _wake(self):
        """Wake a sleeping thread; False if there is none."""
        try:
            self._sleepers.pop().release()
        except IndexError:
            return False
        return True

    def _serve(self, lock):
        while (work := self._next(lock)) is not None:
            try:
                work()
            except BaseException:
                log.exception("a callback of the client failed")
            del work  # an idle thread must keep nothing alive

    def _next(self, lock):
        """The next item; None if this thread must end."""
        if lock is not self._lock:
            return None  # the work has forked; this is the only thread of the child
        with lock:
            self._idle += 1
        is_late = False
        while True:
            with lock:
                if self._items:
                    self._idle -= 1
                    return self._items.popleft()
                if is_late or self._is_over:
                    self._idle -= 1
                    self._count -= 1
                    return None
                sleeper = renewed(threading.Lock())
                sleeper.acquire()
                self._sleepers.append(sleeper)
            is_late = not sleeper.acquire(timeout=IDLE_SECONDS)
            if is_late:
                try:
                    self._sleepers.remove(sleeper)
                except ValueError:
                    pass  # woken at the same moment


class Background:
    """All background threads of one client."""

    def __init__(self):
        self._executions, self._callbacks = {}, Workers("callback", MAX_CALLBACKS, is_awaited=False)
        self._waiter = FenceWaiter()

    def __del__(self):
        for workers in (*self._executions.values(), self._callbacks):
            workers.dismiss()

    def execute(self, priority, work, deadline_ns=0, late=None, what=""):
        """Run an execution or a preparation. Raises RuntimeError if no thread can be started.

        If all threads stay busy until the deadline (0: none), late(MissedDeadlineTransient) is called instead; what:
        start of that error's message. Each priority has its own threads, so that no work queues behind a lower
        priority; the device's gate decides which of them runs.
        """
        workers = self._executions.get(priority)
        if workers is None:
            workers = self._executions.setdefault(priority, Workers(priority, max(2, available())))
        if not deadline_ns:
            workers.put(work)
            return
        claim, dismiss = [work], []

        def run():
            if (work := _taken(claim)) is not None:
                if dismiss:
                    dismiss[0](None)
                work()

        def expired(error):
            if _taken(claim) is not None:
                late(error)

        if workers.put(run):
            return
        try:
            dismiss.append(self._waiter.add((), deadline_ns, expired, f"{what}: the deadline passed while it waited "
                                                                      f"for earlier executions of the same client"))
        except ResourceExhaustedTransient:
            return  # no thread to watch the deadline: it is checked when the execution starts
        if not claim:
            dismiss[0](None)

    def call(self, callback):
        """Run a client's callback, which may block, call the driver, or wait for other callbacks."""
        self._callbacks.put(callback)

    def when_signalled(self, fences, deadline_ns, ready):
        """As FenceWaiter.add, but ready(None) is called at once if there is nothing to wait for."""
        open_fences = [fence for fence in fences if fence.state != SIGNALED]
        if open_fences:
            return self._waiter.add(open_fences, deadline_ns, ready)
        ready(None)
        return lambda error: None


def _taken(claim):
    """The only item of a list for the first caller, None for later ones."""
    try:
        return claim.pop()
    except IndexError:
        return None


def _after_fork():
    for pool in list(_pools):
        pool._reset()


@atexit.register
def _drain():
    """Finish launched executions at exit, as concurrent.futures does; callbacks are not awaited, as they may block."""
    while any(pool.is_busy for pool in list(_pools) if pool.is_awaited):
        time.sleep(_LOOK_SECONDS)


os.register_at_fork(after_in_child=_after_fork)
