"""Bursts under the names of HAL 1.2: IBurstContext, IBurstCallback and a client's controller [NN 4]."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING

from ..driver.controller import Channel
from ..driver.memory import Memory as SharedMemory
from ..errors import DeviceUnavailable, ErrorStatus, GeneralFailure, InvalidArgument
from . import convert, requests
from .pools import from_memory, to_memory
from .types import MeasureTiming, MemoryPool, OutputShape, Timing
from .values import fail, is_integer, member, vec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .types import Memory, Request


class BurstContext:
    """IBurstContext 1.2: the burst lasts as long as this object."""

    def __init__(self, burst: Any) -> None:
        self._burst = burst
        self._end = weakref.finalize(self, burst.end)

    def freeMemory(self, slot: int) -> None:
        """Forget the memory of a slot, after a running execution; unknown and freed slots are ignored."""
        if is_integer(slot):
            self._burst.free_memory(int(slot))

    def is_alive(self) -> bool:
        """False when no request will be answered any more."""
        return self._burst.is_alive()

    def last_error(self) -> str:
        """Why the last request was refused, or ""."""
        return self._burst.last_error()

    def death(self) -> Exception | None:
        """The error of a driver's process that has gone, or None."""
        return self._burst.death()


class BurstCallback:
    """IBurstCallback 1.2 over a controller's slots."""

    def __init__(self, slots: Any) -> None:
        self._slots = slots

    def getMemories(self, slots: Sequence[int]) -> tuple[ErrorStatus, list[Memory]]:
        """(status, memory of each slot): INVALID_ARGUMENT and none when one of them is not bound."""
        try:
            found = self._slots.find(vec(slots, "getMemories slots"))
        except InvalidArgument:
            return ErrorStatus.INVALID_ARGUMENT, []
        return ErrorStatus.NONE, [from_memory(m) if isinstance(m, SharedMemory) else m for m in found]


def configure(face: Any, callback: Any, requests: Any, results: Any) -> tuple[ErrorStatus, BurstContext | None]:
    """configureExecutionBurst of a prepared model: (status, BurstContext); GENERAL_FAILURE for whatever is wrong."""
    def start():
        if not callable(getattr(callback, "getMemories", None)):
            raise GeneralFailure("configureExecutionBurst callback: is null, or has no method getMemories")
        try:
            burst = face.prepared.configure_burst(partial(_memories, callback), requests, results)
        except InvalidArgument as error:
            raise GeneralFailure(f"configureExecutionBurst: {error}") from None
        return BurstContext(burst),

    return face.refusals.answer("1.2", start, None)


def _memories(callback, slots):
    status, memories = callback.getMemories(slots)
    if status != ErrorStatus.NONE:
        raise InvalidArgument(f"getMemories gave {ErrorStatus(status).name}")
    return [to_memory(memory, "1.2", f"slot {slot}") for slot, memory in zip(slots, vec(memories, "getMemories"),
                                                                             strict=True)]


class ExecutionBurstController:
    """A client's end of a burst on an IPreparedModel 1.2 or 1.3. Concurrent calls go one after the other.

        controller = ExecutionBurstController(prepared)
        status, shapes, timing, fallback = controller.compute(request, MeasureTiming.NO)

    preparedModel: of HAL 1.2 or 1.3, of any driver; capacity: elements of the queues. pollingTimeWindow: microseconds
    for which a call polls before it sleeps; None takes NNFAST_BURST_CONTROLLER_WINDOW. Raises GeneralFailure when the
    driver makes no burst.
    """

    def __init__(self, preparedModel: Any, pollingTimeWindow: int | None = None,
                 capacity: int = 1024) -> None:
        self._prepared = preparedModel
        self._channel = Channel(self._configure, capacity, pollingTimeWindow)

    def _configure(self, slots, request_channel, result_channel):
        status, context = self._prepared.configureExecutionBurst(BurstCallback(slots), request_channel, result_channel)
        if status != ErrorStatus.NONE or context is None:
            raise GeneralFailure(f"configureExecutionBurst gave {ErrorStatus(status).name}: "
                                 f"{self._prepared.last_error()}")
        return _Context(context)

    def compute(self, request: Request,
                measure: MeasureTiming) -> tuple[ErrorStatus, list[OutputShape], Timing, bool]:
        """(status, output shapes, timing, fallback) of a request of HAL 1.2 or 1.3.

        fallback: nothing was sent, because a packet cannot say the request or there is no room for it; it is for the
        caller to execute it the normal way. Memories are known to the driver by object, until `freeMemory`.
        """
        try:
            memories = [_client_memory(pool) for pool in vec(request.pools, "request pools")]
            canonical = requests.to_packet(request)
            timed = member(measure, MeasureTiming, "compute measure") == MeasureTiming.YES
        except (InvalidArgument, AttributeError):
            return ErrorStatus.GENERAL_FAILURE, [], Timing(), True
        try:
            answer = self._channel.exchange(canonical, memories, timed)
        except (GeneralFailure, DeviceUnavailable):
            return ErrorStatus.GENERAL_FAILURE, [], Timing(), False
        if answer is None:
            return ErrorStatus.GENERAL_FAILURE, [], Timing(), True
        status, shapes, *times = answer
        status = convert.status(ErrorStatus(status), "1.2")
        if status not in (ErrorStatus.NONE, ErrorStatus.OUTPUT_INSUFFICIENT_SIZE):
            shapes = []
        return status, [OutputShape(list(dims), sufficient) for dims, sufficient in shapes], \
            Timing(*times) if status == ErrorStatus.NONE else Timing(), False

    def freeMemory(self, memory: Memory | SharedMemory) -> bool:
        """Have the driver forget a memory of earlier requests; True when it knew it."""
        return self._channel.free(memory)

    def last_error(self) -> str:
        """Why the driver refused the last request, or "". Only a driver of nnfast's tells."""
        return self._channel.context.last_error()

    def close(self) -> None:
        """End the burst."""
        self._channel.close()


class _Context:
    """What a Channel asks of a context, over an IBurstContext that may be anybody's."""

    def __init__(self, context):
        self._context = context

    def free_memory(self, slot):
        self._context.freeMemory(slot)

    def is_alive(self):
        return getattr(self._context, "is_alive", lambda: True)()

    def last_error(self):
        return getattr(self._context, "last_error", lambda: "")()

    def death(self):
        return getattr(self._context, "death", lambda: None)()

    def end(self):
        self._context = None

    close = end


def _client_memory(pool):
    """The memory of a pool, as the object whose life is the memory's; a token has none: no packet can say it."""
    if isinstance(pool, MemoryPool):
        pool = pool.hidlMemory
    if pool is None:
        fail("request pool", "is not memory of the client")
    owner = getattr(getattr(pool, "handle", None), "owner", None)
    return owner if isinstance(owner, SharedMemory) else pool
