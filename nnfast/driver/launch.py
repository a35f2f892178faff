"""The door to background work: preparations and executions that are launched now and report when they end."""

from .. import trace
from .._native.threads import now_ns
from ..errors import Error, GeneralFailure, InvalidArgument
from .execution import limits_of
from .pools import bind_request
from .submit import CALLBACKS, workers


def submit_request(prepared, request, done, measure_timing=False, deadline=None, loop_timeout=None):
    """Launch an execution; done(result, error) is called exactly once, in the background, with one of them None.

    The arguments are those of PreparedModel.execute. What is wrong with the request itself is an InvalidArgument here,
    GeneralFailure that nothing can be started; `done` is not called then.
    """
    began = now_ns()
    try:
        arguments, failure = bind_request(prepared, request), None
        limits = limits_of(deadline, loop_timeout, began)
    except InvalidArgument:
        raise
    except Error as error:
        arguments, limits, failure = None, None, error

    def work():
        if failure is not None:
            raise failure
        with trace.span("LD", "PE", "execute"):
            return prepared.execute_arguments(arguments, limits, began, measure_timing)

    _start(work, done, prepared.priority)


def submit_prepare(device, model, done, priority="medium", **options):
    """Launch device.prepare(model, ...) with the same arguments; done(prepared, error) as in submit_request."""
    def work():
        return device.prepare(model, priority=priority, **options)

    _start(work, done, priority)


def submit_load(load, done, deadline):
    """Launch what Device.cached has checked; done(prepared, error) as in submit_request."""
    _start(lambda: load(deadline), done, "medium")


def _start(work, done, priority):
    def run():
        try:
            outcome = work(), None
        except Error as error:
            outcome = None, error
        except MemoryError as error:
            outcome = None, GeneralFailure(f"out of memory: {error}")
        except BaseException as error:  # the caller waits for an answer, whatever went wrong
            outcome = None, GeneralFailure(f"internal error: {type(error).__name__}: {error}")
        try:
            workers(CALLBACKS).submit(done, *outcome)
        except RuntimeError:  # no thread can be started any more; the caller must be told all the same
            done(*outcome)

    try:
        workers(priority).submit(run)
    except RuntimeError as error:
        raise GeneralFailure(f"no thread can be started: {error}") from None
