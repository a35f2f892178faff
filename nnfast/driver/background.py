"""Threads for what one client does in the background: executions, callbacks, waits for fences.

Every client has threads of its own, so that neither a long execution nor a callback that blocks can hold up anything of
another client. They are started on demand, and end when they have been idle for a while or their client has gone.
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
"""How long a thread that has nothing to do waits for more."""

MAX_CALLBACKS = 1024
"""Callbacks of one client that may be running, or be blocked, at once; further ones wait for one of them to return."""

_LOOK_SECONDS = 0.01
_pools = weakref.WeakSet()
log = logging.getLogger("nnfast.driver")


class Workers:
    """A queue, and at most `most` threads that work it off in order. Needs no closing.

    is_awaited: the end of the process waits until nothing runs or is queued any more.
    """

    def __init__(self, name, most, is_awaited=True):
        self.name, self.most, self.is_awaited = name, most, is_awaited
        self._reset()
        _pools.add(self)

    def _reset(self):
        """A forked child begins with no threads and nothing to do; what was queued is the parent's affair."""
        self._lock = renewed(threading.RLock())  # reentrant: a finalizer that the collector runs here may call `put`
        self._items = deque()
        self._sleepers = deque()  # a lock for each thread that sleeps; releasing it wakes the thread
        self._count = self._idle = 0
        self._is_over = False

    def put(self, work):
        """Run work() in one of the threads; False when it has to wait for one that is busy.

        Raises RuntimeError when there is no thread and none can be started.
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
                    return False  # another thread takes it, or has taken it
                self._items.remove(work)
            raise
        return True

    @property
    def is_busy(self):
        """True while something runs or is queued."""
        return self._count > self._idle or bool(self._items)

    def dismiss(self):
        """Nothing more will be put: threads end as soon as they are idle. For finalizers: it takes no lock."""
        self._is_over = True
        while self._wake():
            pass

    def _wake(self):
        """Wake a thread that sleeps; False when none does."""
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
            del work  # while idle, a thread keeps nothing alive

    def _next(self, lock):
        """The next item; None when this thread must end."""
        if lock is not self._lock:
            return None  # the work has forked, and this is the child's only thread
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
                    pass  # it has been woken at the same moment


class Background:
    """The threads of one client."""

    def __init__(self):
        self._executions, self._callbacks = {}, Workers("callback", MAX_CALLBACKS, is_awaited=False)
        self._waiter = FenceWaiter()

    def __del__(self):
        for workers in (*self._executions.values(), self._callbacks):
            workers.dismiss()

    def execute(self, priority, work, deadline_ns=0, late=None, what=""):
        """Run an execution or a preparation. Raises RuntimeError when no thread can be started.

        Where all threads are busy until the deadline (0: none), late(MissedDeadlineTransient) is called instead; what:
        the path of what waits. Each priority has threads of its own, so that none waits behind executions of a lower
        one; who runs then is settled at the device's gate.
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
            return  # nobody can watch the deadline: it is looked at when the execution starts
        if not claim:
            dismiss[0](None)

    def call(self, callback):
        """Run a callback of the client, which may block, call the driver, or wait for other callbacks."""
        self._callbacks.put(callback)

    def when_signalled(self, fences, deadline_ns, ready):
        """See FenceWaiter.add; ready(None) is called at once where nothing has to be waited for."""
        open_fences = [fence for fence in fences if fence.state != SIGNALED]
        if open_fences:
            return self._waiter.add(open_fences, deadline_ns, ready)
        ready(None)
        return lambda error: None


def _taken(claim):
    """The only item of a list, for the first who comes; None for others."""
    try:
        return claim.pop()
    except IndexError:
        return None


def _after_fork():
    for pool in list(_pools):
        pool._reset()


@atexit.register
def _drain():
    """What was launched is finished, as the threads of concurrent.futures would; a callback may be blocked for good."""
    while any(pool.is_busy for pool in list(_pools) if pool.is_awaited):
        time.sleep(_LOOK_SECONDS)


os.register_at_fork(after_in_child=_after_fork)
