"""Background executions in the style of concurrent.futures."""

import os
import threading
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor

from .._native.plan import Cancel
from .._native.threads import available, now_ns
from ..errors import Cancelled
from .arguments import in_list
from .durations import duration_to_ns
from .request import Timing

_lock = threading.Lock()
_executors = {}
_owner = None


class Execution(Future):
    """A running or waiting execution; `cancel` also stops one that runs, at its next step."""

    def __init__(self):
        super().__init__()
        self._flag = Cancel()
        self.timing = Timing()

    def cancel(self):
        """Cancel; True when the execution will not deliver a result."""
        if super().cancel():
            return True
        self._flag.set()
        return not self.done() or self.cancelled()

    def result(self, timeout=None):
        """Outputs of the run; raises CancelledError when it was cancelled."""
        try:
            return super().result(timeout)
        except Cancelled as error:
            raise CancelledError(str(error)) from None
        finally:
            del self  # the error keeps this frame


CALLBACKS = "callbacks"
MAX_CALLBACKS = 256
"""Callbacks of clients that may be running, or be blocked, at once."""


def workers(priority):
    """The process's pool of client threads for executions of one priority; a forked child makes its own.

    Each priority has threads of its own, so that none waits behind executions of a lower one; who runs then is settled
    at the device's gate. CALLBACKS has threads for what clients do in their callbacks: those may block, even wait for
    other callbacks, and must not keep executions from running.
    """
    global _owner
    with _lock:
        if _owner != os.getpid():
            _executors.clear()
            _owner = os.getpid()
        if priority not in _executors:
            count = MAX_CALLBACKS if priority == CALLBACKS else max(2, available())
            _executors[priority] = ThreadPoolExecutor(count, thread_name_prefix=f"nnfast-{priority}")
        return _executors[priority]


def submit(prepared, inputs, timeout=None):
    """Queue prepared.run(inputs); see PreparedModel.submit."""
    timeout_ns = duration_to_ns(timeout, "submit timeout")
    deadline_ns = timeout_ns and now_ns() + timeout_ns
    future = Execution()

    def work():
        if not future.set_running_or_notify_cancel():
            return
        began = time.perf_counter_ns()
        try:
            results = prepared._run(in_list(inputs, "submit"), None, dict(prepared._initial), future._flag, deadline_ns)
        except BaseException as error:
            future.set_exception(error)
        else:
            spent = (time.perf_counter_ns() - began) // 1000
            future.timing = Timing(spent, spent)
            future.set_result(results)

    workers(prepared.priority).submit(work)
    return future
