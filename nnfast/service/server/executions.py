"""Handlers of calls that execute: on arrays in the arena, on pools, behind fences."""

from math import prod

import numpy as np

from ..._native.threads import now_ns
from ...alignment import align
from ...checks import counted
from ...driver.durations import deadline_to_ns, duration_to_ns, loop_timeout_to_ns
from ...driver.execution import Limits, limits_of
from ...driver.fence import Fence
from ...driver.fenced import execute_fenced
from ...driver.form import is_checked
from ...driver.pools import bind_request, failed
from ...driver.request import Request
from ...errors import Cancelled, Error, InvalidArgument
from ..wire import protocol
from ..wire.channel import sealed_memfd
from ..wire.records import ATTACHED, INLINE
from .bound import learn_request, learn_run

INLINE_BYTES = 1 << 15


# -- run ---------------------------------------------------------------------------------------------------------------
class _Received(Request):
    """A Request from a message, whose records have the fields and types of RequestArgument."""

    __slots__ = ()

    def __post_init__(self):
        """Nothing to check: decoding did."""


def run(connection, message, fds):
    session, generation = connection.session, connection.session.generation
    held = session.get("prepared", message.prepared)
    prepared, arena = held.prepared, connection.arena
    if len(message.inputs) != len(prepared.inputs):
        raise InvalidArgument(f"run: got {counted(len(message.inputs), 'input')}, must be {len(prepared.inputs)}")
    inputs = [None if place is None else _input(arena, info, place)
              for info, place in zip(prepared.inputs, message.inputs)]
    out = None
    if message.outputs is not None and held.results is not None and len(message.outputs) == len(prepared.outputs):
        out = [arena.array("run output", protocol.Place(offset, shape), info.dtype)
               for info, offset, shape in zip(prepared.outputs, message.outputs, held.results)]
    deadline_ns = deadline_to_ns(message.deadline, now_ns(), "run")
    stream = session.get("stream", message.stream) if message.stream else None
    flag, charges = session.begin(message.call), []

    def room(nbytes):
        charges.clear()
        charges.extend(session.client.hold("results", memory=nbytes))

    try:
        if flag.is_set:
            raise Cancelled("run: cancelled before it began")
        began = now_ns()
        results = (prepared.executor if stream is None else stream).perform(inputs, out,
                                                                            Limits(flag, deadline_ns, room=room))
        ended = now_ns()
    finally:
        session.end(flag)
    session.ended(began, ended, held)
    took_us = (ended - began) // 1000
    if out is not None:
        learn_run(connection, held, message, generation, inputs, out)
        return protocol.Results([protocol.Result(offset, array.shape)
                                 for offset, array in zip(message.outputs, results)], took_us)
    charges.clear()  # from here on, the answer's charges count
    return _results(connection, results, took_us)


def _input(arena, info, place):
    array = arena.array(f"run input {info.name!r}", place, info.dtype)
    # Indexes, sizes and flags are copied, so that the client cannot change them between check and use.
    return array.copy() if is_checked(info) else array


def _results(connection, arrays, took_us):
    """Results whose shapes the client could not know: in the message, or in their own memfd."""
    arrays = [np.ascontiguousarray(array).reshape(array.shape) for array in arrays]
    if sum(array.nbytes for array in arrays) <= INLINE_BYTES:
        return protocol.Results([protocol.Result(INLINE, array.shape, array.tobytes()) for array in arrays],
                                took_us)
    connection.hold_results(sum(align(array.nbytes) for array in arrays))
    places, chunks, at = [], [], 0
    for array in arrays:
        places.append(protocol.Result(ATTACHED - at, array.shape))
        chunks += (array.reshape(-1).view(np.uint8), bytes(align(array.nbytes) - array.nbytes))
        at += align(array.nbytes)
    return protocol.Results(places, took_us), [sealed_memfd(chunks)]


# -- requests ----------------------------------------------------------------------------------------------------------
def request_of(connection, message):
    """The nnfast.Request of a message; raises InvalidArgument for pools that this client does not have."""
    pools = tuple(connection.pool(f"request pool {place}", pool) for place, pool in enumerate(message.pools))
    return _Received(message.inputs, message.outputs, pools)


def execute(connection, message, fds):
    session, generation, seen = connection.session, connection.session.generation, now_ns()
    held = session.get("prepared", message.prepared)
    prepared, executor = held.prepared, held.prepared.executor
    request = request_of(connection, message)
    try:
        if message.launch:
            # As submit_request: errors of the request answer the launch, all others come later.
            try:
                arguments, limits = bind_request(executor.form, request), None
            except InvalidArgument:
                raise
            except Error:
                connection.channel.send(protocol.Launched())
                raise
            connection.channel.send(protocol.Launched())
        else:
            arguments = bind_request(executor.form, request)
        flag = session.begin()
        try:
            limits = limits_of(message.deadline, message.loop_timeout, seen, flag)
            began = now_ns()
            result = executor.perform_request(arguments, limits, seen, message.measure_timing)
            ended = now_ns()
        finally:
            session.end(flag)
    except Error as error:
        failed(request, error)
        raise
    session.ended(began, ended, held)
    answer = protocol.Executed([protocol.Shape(shape.dims, shape.is_sufficient) for shape in result.shapes],
                               (result.timing.on_device_us, result.timing.in_driver_us),
                               _sizes(prepared, [shape.dims for shape in result.shapes]))
    learn_request(connection, held, message, generation, request, arguments, answer)
    return answer


def _sizes(prepared, shapes):
    """Bytes of the outputs of a request."""
    operands = prepared.model.main.operands
    return [prod(shape) * operands[operand].dtype.itemsize
            for operand, shape in zip(prepared.model.main.outputs, shapes)]


class Control:
    """The `control` of a fenced execution (driver.fenced), held by the session that launched it."""

    def __init__(self, session, fences):
        self._held = session.client.hold("a fenced execution", descriptors=1 + fences)
        self._session = session
        self.cancel, self._execution, self._is_over = session.begin(), None, False
        session.launched(self)

    def hold(self, execution):
        """The launched execution, None after its end: a reference cycle would keep its fence open for a while."""
        self._execution = execution
        if self._is_over:
            self._execution = None

    def ended(self):
        self._session.end(self.cancel)
        self._session.landed(self)
        self._is_over, self._held = True, ()
        self._execution = None

    def abandon(self):
        """Abandon the execution: the client is gone."""
        execution = self._execution
        if execution is not None:
            execution.abandon()


def fenced(connection, message, fds):
    session = connection.session
    held = session.get("prepared", message.prepared)
    request = request_of(connection, message)
    loop_timeout_ns = loop_timeout_to_ns(message.loop_timeout)
    duration_ns = duration_to_ns(message.duration, "execute_fenced duration")
    try:
        deadline_ns = deadline_to_ns(message.deadline, now_ns(), "execute_fenced")
        control = Control(session, len(fds))
        try:
            execution = execute_fenced(held.prepared, request, [Fence.from_fd(fd) for fd in fds],
                                       message.measure_timing, deadline_ns, loop_timeout_ns, duration_ns, control)
        except BaseException:
            control.ended()
            raise
    except Error as error:
        failed(request, error)
        raise
    control.hold(execution)
    try:
        # Raises if the client is gone meanwhile.
        number = session.add("fenced", execution, held=session.client.hold("a fence", descriptors=1))
    except Error:
        execution.abandon()
        raise
    operands = held.prepared.model.main.operands
    sizes = _sizes(held.prepared, [argument.dims or operands[operand].shape for operand, argument in
                                   zip(held.prepared.model.main.outputs, request.outputs)])
    return protocol.FencedLaunched(number, sizes), [execution.fence.hand_over()]


def get_fenced_info(connection, message, fds):
    timings = connection.session.get("fenced", message.number).info()
    return protocol.FencedInfo([(timing.on_device_us, timing.in_driver_us) for timing in timings])
