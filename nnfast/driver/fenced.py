"""Fenced executions: launched now, started once all their fences are signalled, ended by a fence [NN 3.9]."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from .. import trace, vlog
from .._native.threads import now_ns
from ..checks import flag, sequence
from ..errors import Cancelled, Error, GeneralFailure, InvalidArgument, OutputInsufficientSize, detached
from .execution import Limits
from .fence import Fence, check_fences
from .pools import bind_request, lose_results
from .request import Timing

if TYPE_CHECKING:
    from typing import Any

    from .request import Request


class FencedExecution:
    """A launched execution, from PreparedModel.execute_fenced. fence: Fence that signals its end."""

    fence: Fence

    def __init__(self, request: Request, control: Any = None) -> None:
        self.fence = Fence()
        self._request, self._outcome, self._control, self._give_up = request, None, control, None

    def info(self) -> Any:
        """(Timing since the launch, Timing since all fences were signalled).

        Raises GeneralFailure while the execution runs, and its own error if it failed.
        """
        if self._outcome is None:
            raise GeneralFailure("fenced execution: has not ended yet; wait for its fence first")
        if isinstance(self._outcome, Error):
            raise copy(self._outcome)  # a traceback on the stored one would keep frames alive
        return self._outcome

    def abandon(self) -> None:
        """Cancel it at its next step, or while it waits for fences. For executions that have a control."""
        control = self._control
        if control is not None:
            control.cancel.set()
            self._give_up(Cancelled("execute_fenced: the client has gone"))

    def _end(self, outcome):
        self._outcome = detached(outcome) if isinstance(outcome, Error) else outcome
        if self._control is not None:
            control, self._control = self._control, None
            control.ended()
        request, self._request = self._request, None
        if isinstance(outcome, Error):
            lose_results(request)
            self.fence.fail()
        else:
            self.fence.signal()


def execute_fenced(prepared, request, wait_for, measure_timing, deadline_ns, loop_timeout_ns, duration_ns,
                   control=None):
    """See PreparedModel.execute_fenced; times in nanoseconds, 0 = no limit.

    control: object with `cancel`, a flag, and `ended()`, called once at the end, for callers that track executions.
    """
    launched = now_ns()
    measure_timing = flag(measure_timing, "execute_fenced measure_timing:")
    wait_for = sequence(wait_for, "execute_fenced wait_for:", "a list of fences")
    check_fences(wait_for)
    try:
        arguments = bind_request(prepared.executor.form, request, started=not wait_for)
    except OutputInsufficientSize as error:
        raise InvalidArgument(str(error)) from None
    _check_outputs(prepared, request)
    execution, background, has_waited = FencedExecution(request, control), prepared.device.background, bool(wait_for)
    cancel = None if control is None else control.cancel

    def work(began, limit):
        try:
            # Bind again: the memory may have changed while the fences were pending.
            bound = bind_request(prepared.executor.form, request) if has_waited else arguments
            limits = Limits(cancel, limit, loop_timeout_ns, limit and limit - launched)
            with trace.span("LD", "PE", "execute_fenced"):
                timing = prepared.executor.perform_request(bound, limits, began, measure_timing).timing
        except Error as error:
            fail(error)
        except BaseException as error:
            execution._end(GeneralFailure(f"fenced execution: {type(error).__name__}: {error}"))
        else:
            since_launch = Timing(timing.on_device_us, (now_ns() - launched) // 1000) if measure_timing else timing
            execution._end((since_launch, timing))

    def fail(error):
        vlog.log(vlog.EXECUTION, "execute_fenced: %s: %s", error.status.name, error)
        execution._end(error)

    def ready(error):
        if error is not None:
            fail(error)
            return
        began = now_ns()
        limit = min(filter(None, (deadline_ns, began + duration_ns if duration_ns else 0)), default=0)
        try:
            background.execute(prepared.priority, partial(work, began, limit), limit, fail, "execute_fenced")
        except RuntimeError as refusal:
            execution._end(GeneralFailure(f"fenced execution: could not be started: {refusal}"))

    execution._give_up = background.when_signalled(wait_for, deadline_ns, ready)
    return execution


def _check_outputs(prepared, request):
    """Raise InvalidArgument unless every output has a known, non-zero size."""
    graph = prepared.model.main
    for place, (argument, operand) in enumerate(zip(request.outputs, graph.outputs)):
        record = graph.operands[operand]
        shape = tuple(argument.dims) or record.shape
        if shape is None or not all(shape):
            raise InvalidArgument(f"request output {place}: dimensions are not fully known, which a fenced execution "
                                  f"needs; give them in the request")
