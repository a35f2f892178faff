"""Launches preparations and executions in the background, with a callback at their end."""

from functools import partial

from .. import trace
from .._native.threads import now_ns
from ..checks import called, chosen_from, flag
from ..errors import Error, GeneralFailure, InvalidArgument, detached
from .execution import PRIORITIES, limits_of
from .pools import bind_request, failed


def submit_request(prepared, request, done, measure_timing=False, deadline=None, loop_timeout=None):
    """Launch an execution; done(result, error) is called exactly once, in the background, with one of them None.

    Arguments as PreparedModel.execute. Raises InvalidArgument for a bad request, GeneralFailure if no thread can be
    started; `done` is not called then.
    """
    measure_timing = flag(measure_timing, "execute measure_timing:")
    called(done, "done:")
    began = now_ns()
    try:
        arguments, failure = bind_request(prepared.executor.form, request), None
        limits = limits_of(deadline, loop_timeout, began)
    except InvalidArgument:
        raise
    except Error as error:
        arguments, limits, failure = None, None, detached(error)

    def work():
        try:
            if failure is not None:
                raise failure
            with trace.span("LD", "PE", "execute"):
                return prepared.executor.perform_request(arguments, limits, began, measure_timing)
        except Error as error:
            failed(request, error)
            raise

    _start(prepared.device.background, work, done, prepared.priority, limits.deadline_ns if limits else 0)


def submit_prepare(device, model, done, priority="medium", **options):
    """Launch device.prepare(model, ...) with the same arguments; done(prepared, error) as in submit_request."""
    chosen_from(priority, "prepare priority:", PRIORITIES)
    called(done, "done:")

    def work():
        return device.prepare(model, priority=priority, **options)

    _start(device.background, work, done, priority)


def submit_load(device, load, done, deadline):
    """Launch load(deadline), as returned by Device.cached; done(prepared, error) as in submit_request."""
    called(load, "load:")
    called(done, "done:")
    _start(device.background, lambda: load(deadline), done, "medium")


def _start(background, work, done, priority, deadline_ns=0):
    def run():
        try:
            outcome = work(), None
        except Error as error:
            outcome = None, detached(error)
        except MemoryError as error:
            outcome = None, GeneralFailure(f"out of memory: {error}")
        except BaseException as error:  # the caller must get an answer, whatever went wrong
            outcome = None, GeneralFailure(f"internal error: {type(error).__name__}: {error}")
        tell(*outcome)

    def tell(result, error):
        try:
            background.call(partial(done, result, error))
        except RuntimeError:  # no thread can be started; the caller must get its answer all the same
            done(result, error)

    try:
        background.execute(priority, run, deadline_ns, partial(tell, None), "execute")
    except RuntimeError as error:
        raise GeneralFailure(f"no thread can be started: {error}") from None
