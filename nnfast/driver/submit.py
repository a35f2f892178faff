"""Background executions in the style of concurrent.futures."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

from .. import forks
from .._native.threads import Cancel, now_ns
from ..checks import is_number, shown
from ..errors import Cancelled, GeneralFailure, InvalidArgument, detached
from ..forks import renewed
from .arguments import as_asked, in_order
from .durations import duration_to_ns
from .execution import Limits
from .request import Timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import typed


class Execution(Future[Any]):
    """A Future of PreparedModel.submit. `cancel` also stops a running execution, at its next step. timing: Timing."""

    timing: Timing

    def __init__(self) -> None:
        super().__init__()
        self._flag, self._forks = Cancel(), forks.count
        renewed(self._condition)
        self.timing = Timing()

    def cancel(self) -> bool:
        """Cancel; True if the execution will not deliver a result."""
        if super().cancel():
            return True
        self._flag.set()
        return not self.done() or self.cancelled()

    def result(self, timeout: float | None = None) -> Any:
        """Outputs of the run. Raises the run's error, CancelledError if it was cancelled, TimeoutError after `timeout`
        seconds, GeneralFailure in a child that was forked before it ended."""
        timeout = _patience(timeout)
        if self._forks != forks.count and not self.done():
            raise GeneralFailure("submit: the execution belongs to the parent process; submit again in the child")
        try:
            return super().result(timeout)
        except Cancelled as error:
            raise CancelledError(str(error)) from None
        finally:
            del self  # the error keeps this frame

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error of the run, or None. Raises CancelledError, and TimeoutError after `timeout` seconds."""
        return super().exception(_patience(timeout))


def _patience(timeout):
    """A caller's timeout in seconds, clamped to what a thread can wait. Raises InvalidArgument."""
    if timeout is not None and (not is_number(timeout) or timeout != timeout):
        raise InvalidArgument(f"result timeout: is {shown(timeout)}, must be seconds or None")
    return None if timeout is None else float(max(0, min(timeout, threading.TIMEOUT_MAX)))


def submit(prepared: Any, inputs: Sequence[typed.Tensor | None] | dict[str, Any],
           timeout: float | None = None) -> Execution:
    """Queue prepared.run(inputs); see PreparedModel.submit."""
    timeout_ns = duration_to_ns(timeout, "submit timeout")
    deadline_ns = timeout_ns and now_ns() + timeout_ns
    future = Execution()

    def work():
        if not future.set_running_or_notify_cancel():
            return
        began = time.perf_counter_ns()
        try:
            arrays = in_order(inputs, prepared.inputs, "submit")
            results = prepared.executor.perform(arrays, None, Limits(future._flag, deadline_ns))
        except BaseException as error:
            future.set_exception(detached(error))
        else:
            spent = (time.perf_counter_ns() - began) // 1000
            future.timing = Timing(spent, spent)
            future.set_result(as_asked(results, isinstance(inputs, dict), prepared.outputs))

    def late(error):
        if future.set_running_or_notify_cancel():
            future.set_exception(error)

    prepared.device.background.execute(prepared.priority, work, deadline_ns, late, "submit")
    return future
