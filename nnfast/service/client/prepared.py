"""Prepared models in the driver's process, and their executions."""

from __future__ import annotations

import os
import weakref
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from ... import vlog
from ..._native.threads import now_ns
from ...checks import called, counted, flag, sequence
from ...driver.arguments import as_asked, check_output, in_list, in_order, named, taken_inputs
from ...driver.closing import Closed, Closing
from ...driver.controller import Controller
from ...driver.durations import check_times, duration_to_ns
from ...driver.explain import Explanation
from ...driver.fence import SIGNALED, Fence, check_fences
from ...driver.real import run_real
from ...driver.request import ExecutionResult, OutputShape, Timing
from ...driver.signature import signature_of
from ...driver.submit import Execution
from ...driver.tensors import TensorInfo
from ...errors import InvalidArgument, detached
from ...forks import importing
from ..wire import protocol
from .burst import RemoteBurst
from .connection import outcome_of
from .requests import Arrays, Outgoing, results_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal

    from ... import typed
    from ...driver.cache_files import CacheFiles
    from ...driver.controller import Controller
    from ...driver.explain import Explanation
    from ...driver.fence import Fence
    from ...driver.mapping import Results
    from ...driver.memory import Memory
    from ...driver.request import ExecutionResult, Request
    from ...driver.signature import SignatureRunner
    from ...driver.tensors import TensorInfo
    from ...errors import Error
    from ...model.types import Model

MAX_WAIT_FOR = 200


class RemotePreparedModel(Closing):
    """A model that was prepared in the driver's process, by RemoteDevice.prepare; methods as nnfast.PreparedModel.
    Thread-safe.

    inputs, outputs: tuples of TensorInfo. model: the Model that was prepared, None if it came from a cache.
    num_threads: threads per run, which the driver has chosen. priority: as prepared.

    It cannot be pickled. The driver frees it when it is closed or collected, and when this process ends.

    Every call raises DeadObject once the driver's process is gone; prepare it again then.
    """

    device: typed.Preparing
    num_threads: int
    priority: typed.Priority
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    model: Model | None
    is_plain: bool
    result_shapes: list[tuple[int, ...]] | None

    def __init__(self, device: Any, session: Any, answer: Any, model: Model | None) -> None:
        self.device, self.session, self.number, self.model = device, session, answer.number, model
        self.num_threads, self.priority = device.num_threads, answer.priority
        self.inputs, self.outputs = (tuple(map(_info, tensors)) for tensors in (answer.inputs, answer.outputs))
        self._memories = device._memories
        self._name, self._operations = answer.name, answer.operations
        self._dtypes = [info.dtype for info in self.outputs]
        self.is_plain = answer.is_plain
        self.result_shapes = answer.results
        self._known = None if answer.results is None else list(zip(answer.results, self._dtypes))
        self._fixed = None
        self._hold = _Hold()
        weakref.finalize(self._hold, session.drop, "prepared", self.number).atexit = False

    # -- arrays ------------------------------------------------------------------------------------------------------
    @overload
    def run(self, inputs: Sequence[typed.Tensor | None], out: Sequence[typed.Array] | None = None,
            quantize: bool = False, dequantize: bool = False) -> list[typed.Array]: ...

    @overload
    def run(self, inputs: dict[str, Any], out: dict[str, Any] | None = None, quantize: bool = False,
            dequantize: bool = False) -> dict[str, typed.Array]: ...

    def run(self, inputs: Sequence[typed.Tensor | None] | dict[str, Any],
            out: Sequence[typed.Array] | dict[str, Any] | None = None, quantize: bool = False,
            dequantize: bool = False) -> Any:
        """As PreparedModel.run."""
        if quantize is not False or dequantize is not False:
            return run_real(self.run, self, inputs, out, flag(quantize, "run quantize:"),
                            flag(dequantize, "run dequantize:"))
        if isinstance(inputs, dict):
            names = [info.name for info in self.outputs]
            out = None if out is None else named(out, self.outputs, "output")
            return dict(zip(names, self._run(named(inputs, self.inputs, "input"), out, 0)))
        return self._run(in_list(inputs, "run"), out, 0)

    @vlog.log_errors(vlog.EXECUTION, "run")
    def _run(self, inputs, out, stream):
        inputs = self._taken(inputs)
        arrays, message = self._arrays(inputs, out, stream)
        session = self.session
        connection = session.take()
        try:
            arrays.send_in(connection, inputs)
            answer, fds = connection.call_for_fds(message)
            try:
                return self._deliver(results_of(connection, answer, fds, self._dtypes, out), inputs, out)
            finally:
                for fd in fds:
                    os.close(fd)
        finally:
            session.give(connection)

    def _taken(self, inputs):
        """Inputs as arrays that can be sent."""
        if len(inputs) != len(self.inputs):
            raise InvalidArgument(f"run: got {counted(len(inputs), 'input')}, must be {len(self.inputs)}"
                                  f" ({', '.join(i.name for i in self.inputs)})")
        return taken_inputs(self.inputs, inputs)

    def _arrays(self, inputs, out, stream=0, call=0, deadline=None):
        """(Arrays, Run message) for checked inputs; made only once for models of fixed shapes."""
        if out is not None:
            out = in_list(out, "run", "out")
        if out is not None and len(out) != len(self.outputs):
            raise InvalidArgument(f"run: got {len(out)} output arrays, must be {len(self.outputs)}")
        if out is not None and self._known is not None:
            self._check_outputs(inputs, out, self._known)
        shapes = [None if array is None else array.shape for array in inputs]
        fixed = self._fixed
        if fixed is not None and fixed[0] == shapes and not (stream or call or deadline):
            return fixed[1:]
        known = self._known if None not in shapes else None
        arrays = Arrays(inputs, known)
        message = protocol.Run(self.number, arrays.places, arrays.offsets, stream, call, deadline)
        if not (stream or call or deadline):
            self._fixed = shapes, arrays, message
        return arrays, message

    def _check_outputs(self, inputs, out, known):
        for info, array, (shape, dtype) in zip(self.outputs, out, known):
            check_output(info, array, tuple(shape), dtype, [*inputs, *(o for o in out if o is not array)])

    def _deliver(self, results, inputs, out):
        """Copy results whose shapes were not known before into the caller's arrays."""
        if out is None or self._known is not None:
            return results
        self._check_outputs(inputs, out, [(result.shape, result.dtype) for result in results])
        for result, array in zip(results, out):
            array[...] = result
        return list(out)

    @vlog.log_errors(vlog.EXECUTION, "submit")
    def submit(self, inputs: Sequence[typed.Tensor | None] | dict[str, Any],
               timeout: float | None = None) -> RemoteExecution:
        """As PreparedModel.submit; errors of the inputs are raised by result(), as there."""
        timeout_ns = duration_to_ns(timeout, "submit timeout")
        deadline = (now_ns() + timeout_ns) / 1e9 if timeout_ns else None
        session, hold = self.session, self._hold
        future = RemoteExecution(session)
        future.set_running_or_notify_cancel()
        try:
            taken = self._taken(in_order(inputs, self.inputs, "submit"))
            arrays, message = self._arrays(taken, None, 0, future.call, deadline)
        except InvalidArgument as error:
            future.set_exception(detached(error))
            return future
        connection = session.take()
        try:
            arrays.send_in(connection, taken)
            connection.send(message)
            session.later(connection, partial(self._finish, session, hold, future, isinstance(inputs, dict)))
        except BaseException:
            session.give(connection)
            raise
        return future

    def _finish(self, session, hold, future, by_name, connection, error):
        """Take the result of a submitted execution. hold: keeps the model in the driver until here, even if closed."""
        fds = []

        def convert(answer):
            return results_of(connection, answer, fds, self._dtypes, None), answer.took_us

        outcome, error = outcome_of(connection, error, convert, fds)
        for fd in fds:
            os.close(fd)
        session.give(connection)
        if error is not None:
            future.set_exception(error)
        else:
            results, took_us = outcome
            future.timing = Timing(took_us, took_us)
            future.set_result(as_asked(results, by_name, self.outputs))

    def perform(self, arrays: list[typed.Array], limits: Any) -> list[typed.Array]:
        """As PreparedModel.perform; the driver does not hear of a Cancel flag."""
        return self._run(arrays, None, 0)

    def narrowed(self, num_threads: int) -> RemotePreparedModel:
        """The model itself: the driver decides how many threads run it."""
        return self

    @property
    def whole(self) -> Model | None:
        """As PreparedModel.whole."""
        return self.model

    def map(self, inputs: Iterable[Any] | Mapping[str, Any], batch: int = 1, clients: int | None = None,
            ahead: int | None = None, prepare: Callable[[Any], Any] | None = None,
            errors: Literal["raise", "return"] = "raise") -> Results:
        """As PreparedModel.map."""
        with importing:
            from ...driver.mapping import Results

        return Results(self, inputs, batch, clients, ahead, prepare, errors)

    def signature(self, key: str | None = None, stream: RemoteStream | None = None) -> SignatureRunner:
        """As PreparedModel.signature."""
        return signature_of(self, key, stream)

    def stream(self) -> RemoteStream:
        """As PreparedModel.stream."""
        return RemoteStream(self)

    # -- requests ----------------------------------------------------------------------------------------------------
    @vlog.log_errors(vlog.EXECUTION, "execute")
    def execute(self, request: Request, measure_timing: bool = False, deadline: float | None = None,
                loop_timeout: float | None = None) -> ExecutionResult:
        """As PreparedModel.execute."""
        measure_timing = flag(measure_timing, "execute measure_timing:")
        check_times("execute", deadline, loop_timeout)
        session = self.session
        outgoing = Outgoing(session, request, self._memories)
        connection, known = session.take(), False
        try:
            outgoing.send_in(connection)
            answer = connection.call(protocol.Execute(self.number, outgoing.inputs, outgoing.outputs, outgoing.pools,
                                                      measure_timing, deadline, loop_timeout))
            known = True
            return _executed(outgoing, connection, answer)
        finally:
            session.give(connection)
            outgoing.settle(session, known)

    def submit_request(self, request: Request, done: Callable[[ExecutionResult | None, Error | None], object],
                       measure_timing: bool = False, deadline: float | None = None,
                       loop_timeout: float | None = None) -> None:
        """As PreparedModel.submit_request."""
        measure_timing = flag(measure_timing, "execute measure_timing:")
        called(done, "done:")
        check_times("execute", deadline, loop_timeout)
        session = self.session
        outgoing = Outgoing(session, request, self._memories)
        connection, known = session.take(), False
        try:
            outgoing.send_in(connection)
            session.launch(connection, protocol.Execute(self.number, outgoing.inputs, outgoing.outputs, outgoing.pools,
                                                        measure_timing, deadline, loop_timeout, True), (),
                           partial(at_end, session, lambda answer: _executed(outgoing, connection, answer), done))
            known = True
        except BaseException:
            session.give(connection)
            raise
        finally:
            outgoing.settle(session, known)

    @vlog.log_errors(vlog.EXECUTION, "execute_fenced")
    def execute_fenced(self, request: Request, wait_for: Sequence[Fence] = (), measure_timing: bool = False,
                       deadline: float | None = None, loop_timeout: float | None = None,
                       duration: float | None = None) -> RemoteFencedExecution:
        """As PreparedModel.execute_fenced. Results in plain memory are copied there before the fence is signalled."""
        check_times("execute_fenced", deadline, loop_timeout, duration)
        session = self.session
        measure_timing = flag(measure_timing, "execute_fenced measure_timing:")
        wait_for = sequence(wait_for, "execute_fenced wait_for:", "a list of fences")
        if len(wait_for) > MAX_WAIT_FOR:
            raise InvalidArgument(f"wait_for: has {len(wait_for)} fences, a driver's process takes {MAX_WAIT_FOR}")
        check_fences(wait_for)
        outgoing = Outgoing(session, request, self._memories, lasting=True)
        connection, known, fds = session.take(), False, []
        try:
            outgoing.send_in(connection)
            answer, fds = connection.call_for_fds(
                protocol.Fenced(self.number, outgoing.inputs, outgoing.outputs, outgoing.pools, measure_timing,
                                deadline, loop_timeout, duration), [fence.fileno() for fence in wait_for])
            known = True
            return RemoteFencedExecution(session, answer, Fence.from_fd(fds[0]), outgoing)
        finally:
            for fd in fds:
                os.close(fd)
            session.give(connection)
            outgoing.settle(session, known)

    def store(self, files: CacheFiles, token: bytes) -> str:
        """driver.cache.save: store the model in cache files; "" or why nothing was stored."""
        return self.session.call(protocol.Store(self.number, token), [*files.model, *files.data]).text

    # -- bursts ------------------------------------------------------------------------------------------------------
    @vlog.log_errors(vlog.EXECUTION, "burst")
    def burst(self, capacity: int = 1024, spin_us: int | None = None) -> Controller:
        """As PreparedModel.burst; packets go through shared memory, without messages on the socket."""
        return Controller(self, capacity, spin_us)

    @vlog.log_errors(vlog.EXECUTION, "configure_burst")
    def configure_burst(self, get_memories: Callable[[list[int]], list[Memory]], requests: Any, results: Any,
                        memories: Mapping[int, Memory] | None = None) -> RemoteBurst:
        """As PreparedModel.configure_burst, without spin_us: the driver decides how long its thread polls."""
        return RemoteBurst(self, get_memories, requests, results, memories)

    def explain(self) -> Explanation:
        """As PreparedModel.explain."""
        answer = self.session.call(protocol.Explain(self.number))
        return Explanation.from_json(answer.text, answer.native)

    def close(self) -> None:
        """Release the model in the driver; later calls raise InvalidArgument. May be called more than once.

        Executions that were submitted before finish.
        """
        self.session, self._hold = Closed(), None

    def __repr__(self) -> str:
        return f"RemotePreparedModel({self._name or 'model'}: {counted(self._operations, 'operation')})"


class _Hold:
    """Has the driver keep a prepared model: it is released there when nothing refers to this object any more."""


def _info(tensor):
    return TensorInfo(tensor.name, tensor.shape, np.dtype(tensor.dtype), tensor.type, tensor.scale, tensor.zero_point,
                      tensor.channel_axis, tensor.operand, tensor.channel_scales)


def _executed(outgoing, connection, answer):
    outgoing.copy_out(connection.arena.bytes, answer.sizes)
    return ExecutionResult(tuple(OutputShape(tuple(shape.dims), shape.is_sufficient) for shape in answer.shapes),
                           Timing(*answer.timing))


def at_end(session, convert, done, connection, error):
    """Report the end of a launched call: done(result, error), once the connection is free for the next call."""
    outcome = outcome_of(connection, error, convert)
    session.give(connection)
    done(*outcome)


class RemoteExecution(Execution):
    """A submitted execution in the driver's process; `cancel` stops it at its next step."""

    def __init__(self, session):
        super().__init__()
        self._session, self.call = session, next(session.numbers)

    def cancel(self) -> bool:
        """Cancel; True if the execution will not deliver a result."""
        if self.done():
            return self.cancelled()
        self._session.tell(protocol.Cancel(self.call))
        return True


class RemoteFencedExecution:
    """A launched execution: `fence` signals its end, or that the driver has died; `info()` tells how it went."""

    fence: Fence

    def __init__(self, session, answer, fence, outgoing):
        self._session, self._number, self.fence = session, answer.number, fence
        weakref.finalize(self, session.drop, "fenced", answer.number).atexit = False
        if not outgoing.is_copied:
            return  # the kernel puts it into the error state if the driver dies
        ours = self.fence = Fence()

        def deliver(state):
            if state == SIGNALED:
                outgoing.copy_out(None, answer.sizes)
                ours.signal()
            else:
                ours.fail()

        session.watch(fence, deliver)

    def info(self) -> Any:
        """As FencedExecution.info."""
        answer = self._session.call(protocol.GetFencedInfo(self._number))
        return tuple(Timing(*timing) for timing in answer.timings)


class RemoteStream:
    """A stream whose state is in the driver's process, made by RemotePreparedModel.stream; methods as Stream.

    Its `state` cannot be read or set from here.
    """

    def __init__(self, prepared):
        self._prepared = prepared
        session = prepared.session
        self._number = session.call(protocol.OpenStream(prepared.number)).number
        weakref.finalize(self, session.drop, "stream", self._number).atexit = False

    def reset(self) -> None:
        """Return to the initial state."""
        self._prepared.session.call(protocol.ResetStream(self._number))

    def run(self, inputs: Sequence[typed.Tensor | None], out: Sequence[typed.Array] | None = None) -> list[typed.Array]:
        """As Stream.run."""
        return self._prepared._run(in_list(inputs, "stream.run"), out, self._number)
