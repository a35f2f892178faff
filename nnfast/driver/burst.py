"""The driver's end of a burst: a thread that runs one client's requests on one prepared model [NN 4].

Requests that the plan can run as they are, on memories that are known, never come here: `_native.rings` answers them
without the GIL. The rest is done as any other request is.
"""

import threading
from numbers import Integral

from .. import config, forks, observe, trace, vlog
from .._native.rings import ENDED, ILL_FORMED, MAX_SLOTS, NO_TIME, BurstServer, build_result
from .._native.threads import Cancel, now_ns
from ..checks import shown
from ..errors import Error, ErrorStatus, GeneralFailure, InvalidArgument, OutputInsufficientSize
from ..fmq import REQUEST_DATUM, RESULT_DATUM, MessageQueue
from .execution import Limits
from .form import is_checked
from .memory import FileBytes, Memory
from .pools import bind_request
from .request import Request, RequestArgument

DRIVER_WINDOW_US = 50
"""How long the thread polls before it sleeps, where nobody says [NN 4.10]; not at all for low power."""

_MAX_WINDOW_US = 1_000_000_000
"""Longer is as good as for ever."""

_LAST_STATUS = ErrorStatus.INVALID_ARGUMENT


class Burst:
    """A session of one client: see PreparedModel.configure_burst. Ends with `close`; the model lives as long as it.

    The client sends the next request after the answer to the last; each gets exactly one.
    """

    def __init__(self, prepared, get_memories, requests, results, spin_us=None, memories=None):
        if not callable(get_memories):
            raise InvalidArgument(f"burst get_memories: is {shown(get_memories)}, must be a function")
        self.prepared, self._get_memories, self._forks = prepared, get_memories, forks.count
        self._memories, self._cancel, self._refused = {}, Cancel(), ("", 0)
        self._queues = attach(requests, REQUEST_DATUM, "request"), attach(results, RESULT_DATUM, "result")
        self._server = BurstServer(*(queue.ring for queue in self._queues), _window(prepared, spin_us))
        self._plan()
        if checked_memories(memories):
            self._keep(memories)
            if self._server.needs_frame:
                self._take_frame()  # so that the first request can run as later ones do
        observe.follow(self)
        prepared.executor.bursts.add(self)
        self._thread = threading.Thread(target=self._work, name="nnfast-burst", daemon=True)
        self._thread.start()

    def _plan(self):
        """Let the native loop run requests, where the fast path of PreparedModel.run can."""
        executor, form = self.prepared.executor, self.prepared.executor.form
        if executor.runner is None or not executor.is_plain or form.read_back:
            return
        shapes = [(form.results[operand], True) for operand, _ in form.outputs]
        self._server.plan(executor.runner, [is_checked(record) for _, record in form.inputs],
                          build_result(ErrorStatus.NONE, shapes))

    # -- for the client ----------------------------------------------------------------------------------------------
    def free_memory(self, slot):
        """Forget the memory of a slot, after a running execution; what is unknown or freed is ignored [NN 4.6]."""
        if self._forks != forks.count:
            return
        with self._server as server:
            if self._memories.pop(slot, None) is not None:
                server.set_memory(slot, None)

    def is_alive(self):
        """False when no request will be answered any more."""
        return self._forks == forks.count and self._thread.is_alive()

    def last_error(self):
        """Why the last request was refused, or ""."""
        reason, runs = self._refused
        return reason if runs == self._server.runs else ""

    def death(self):
        """The error of a driver that has died; this one lives as long as the caller."""
        return None

    def finish(self):
        """End the burst after the request that it is on, if any. Does not wait for that."""
        if self._forks == forks.count:
            self._server.finish()

    def end(self):
        """End the burst: a running execution is stopped at its next step and not answered [NN 4.12].

        Waits for nothing, so that the collector may call it: the thread ends when no call to get_memories holds it up.
        """
        if self._forks == forks.count:  # a forked child has not the thread, and must not disturb the parent's
            self._cancel.set()
            self._server.close()

    def close(self):
        """As `end`, and wait until the thread has ended."""
        self.end()
        if self._forks == forks.count and self._thread is not threading.current_thread():
            self._thread.join()

    # -- for the driver ----------------------------------------------------------------------------------------------
    @property
    def runs(self):
        """How many requests the native loop has answered."""
        return self._server.runs

    @property
    def durations(self):
        """How many requests took how long: counts by _native.rings.bucket_of."""
        return self._server.durations

    def release_idle(self):
        """Give the working memory back, unless a request is being executed; the next one takes it anew."""
        if self._server.try_lock():
            try:
                self._server.set_frame(None)
            finally:
                self._server.unlock()

    def observed(self, watchers):
        """Profiles, traces and log lines see executions only when Python does them."""
        self._server.watched = watchers > 0

    def _work(self):
        server = self._server
        try:
            while (outcome := server.serve()) != ENDED:
                if outcome == ILL_FORMED:
                    server.send(*self._refusal(GeneralFailure(server.reason())))
                    continue
                answer = self._answer()
                if server.is_closed:
                    continue
                if answer is None:
                    server.succeed()
                else:
                    server.send(*answer)
        finally:
            self._end()

    def _end(self):
        """Nothing is answered from now on; what the client gave is let go."""
        with self._server as server:
            server.close()
            server.set_frame(None)
            for slot in self._memories:
                server.set_memory(slot, None)
            self._memories.clear()
        for queue in self._queues:
            queue.close()

    def _answer(self):
        """(status, shapes, time on device, time in driver) of the request that lies in the server; None for a success
        that the server can tell itself, because the request lacked no more than a frame and memories.
        """
        executor, server = self.prepared.executor, self._server
        try:
            with server, trace.span("LD", "PE", "burst"):
                if server.needs_frame:
                    self._take_frame()
                inputs, outputs, slots, measure = server.values()
                self._fetch(sorted(set(slots).difference(self._memories)))
                if server.run():
                    return None
                request = Request(tuple(map(_argument, inputs)), tuple(map(_argument, outputs)),
                                  tuple(self._memories[slot] for slot in slots))
                result = executor.perform_request(bind_request(executor.form, request), Limits(self._cancel),
                                                  server.began, measure)
        except Exception as error:
            return self._refusal(error)
        self._refused = "", 0
        times = (NO_TIME if us is None else us for us in (result.timing.on_device_us, result.timing.in_driver_us))
        return ErrorStatus.NONE, [(shape.dims, True) for shape in result.shapes], *times

    def _refusal(self, error):
        """(status, shapes) of an error, whose reason is kept."""
        if not isinstance(error, Error):
            error = GeneralFailure(f"internal error: {type(error).__name__}: {error}")
        self._refused = str(error), self._server.runs  # which the native loop counts on, with each that succeeds
        vlog.log(vlog.EXECUTION, "burst: %s: %s", error.status.name, error)
        shapes = error.shapes if isinstance(error, OutputInsufficientSize) else ()
        status = error.status if error.status <= _LAST_STATUS else ErrorStatus.GENERAL_FAILURE  # of HAL 1.2
        return status, [([dim or 0 for dim in shape.dims], shape.is_sufficient) for shape in shapes]

    def _take_frame(self):
        try:
            self._server.set_frame(self.prepared.executor.segment.new_frame())
        except MemoryError:
            pass  # the execution says what was exhausted

    def _fetch(self, unknown):
        """Ask the client for the memories of slots, in one call. None is known after a failure [NN 4.6]."""
        if not unknown:
            return
        if len(self._memories) + len(unknown) > MAX_SLOTS:
            raise InvalidArgument(f"request pools: {len(self._memories) + len(unknown)} memories, a burst has at most "
                                  f"{MAX_SLOTS}; free some")
        began = now_ns()
        try:
            memories = list(self._get_memories(unknown))
            if len(memories) != len(unknown) or not all(isinstance(memory, Memory) for memory in memories):
                raise InvalidArgument(f"got {len(memories)} memories, must be {len(unknown)} nnfast.Memory")
            self._keep(dict(zip(unknown, memories)))
        except Exception as error:
            raise InvalidArgument(f"request pools: no memory for slots {unknown}: {error}") from None
        if vlog.mask & vlog.MEMORY:
            vlog.log(vlog.MEMORY, "burst: slots %s: %s, in %.1f us", unknown, memories, (now_ns() - began) / 1e3)

    def _keep(self, memories):
        """Know the memories of slots: all of them or, where one cannot be opened, none."""
        opened = [memory.open() for memory in memories.values()]
        for (slot, memory), array in zip(memories.items(), opened):
            self._memories[slot] = memory
            self._server.set_memory(slot, None if isinstance(array, FileBytes) else array)

    def __repr__(self):
        state = "alive" if self.is_alive() else "ended"
        return f"<Burst on {self.prepared!r}: {state}, {len(self._memories)} memories>"


def checked_channel(channel, dtype, name):
    """The descriptor of a channel, a queue or its descriptor, if `attach` takes it; else InvalidArgument."""
    attach(channel, dtype, name).close()
    return _descriptor(channel)


def checked_memories(memories):
    """{slot: Memory} that a burst begins with; {} for None. Raises InvalidArgument."""
    if memories is None:
        return {}
    if not isinstance(memories, dict) or len(memories) > MAX_SLOTS:
        raise InvalidArgument(f"burst memories: is {shown(memories)}, must be a dict of at most {MAX_SLOTS} memories")
    for slot, memory in memories.items():
        if type(slot) is not int or not 0 <= slot < 1 << 31 or not isinstance(memory, Memory):
            raise InvalidArgument(f"burst memories: has {shown(slot)}: {shown(memory)}, must be slots from 0 on, below "
                                  "2**31, with a nnfast.Memory each")
    return memories


def attach(channel, dtype, name):
    """A client's queue, or that of its descriptor, which must be one that can be waited for. Raises InvalidArgument."""
    try:
        queue = MessageQueue.attach(_descriptor(channel), dtype)
    except Error as error:
        raise InvalidArgument(f"burst {name} channel: {error}") from None
    if not queue.has_event_flag:
        queue.close()
        raise InvalidArgument(f"burst {name} channel: has no event flag, so that nobody can wait")
    return queue


def window(spin_us):
    """Microseconds to poll, as the rings take them. Raises InvalidArgument."""
    if isinstance(spin_us, bool) or not isinstance(spin_us, Integral) or spin_us < 0:
        raise InvalidArgument(f"burst spin_us: is {shown(spin_us)}, must be microseconds or None")
    return min(int(spin_us), _MAX_WINDOW_US)


def _descriptor(channel):
    return channel.descriptor if isinstance(channel, MessageQueue) else channel


def _argument(values):
    no_value, pool, offset, length, dims = values
    return RequestArgument(pool, offset, length, dims, no_value)


def _window(prepared, spin_us):
    if spin_us is None:
        spin_us = config.get_int("NNFAST_BURST_DRIVER_WINDOW", 0)
    if spin_us is None:
        spin_us = 0 if prepared.preference == "low_power" else DRIVER_WINDOW_US
    return window(spin_us)
