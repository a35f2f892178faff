"""The caller's end of a burst [NN 4.9]: packets, memory slots, and the fallback to normal executions."""

from __future__ import annotations

import threading
import weakref
from math import prod
from typing import TYPE_CHECKING, overload

from .. import config, errors, forks, trace, vlog
from .._native.rings import NO_TIME, BurstClient
from ..alignment import align
from ..checks import flag
from ..errors import ErrorStatus, GeneralFailure, InvalidArgument
from ..fmq import REQUEST_DATUM, RESULT_DATUM, MessageQueue
from ..forks import renewed
from .arguments import named, taken_input
from .burst import window
from .memory import Memory
from .request import ExecutionResult, OutputShape, Request, RequestArgument, Timing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from .. import typed

_CLASSES = {kind.status: kind for kind in (errors.DeviceUnavailable, errors.GeneralFailure,
                                           errors.OutputInsufficientSize, errors.InvalidArgument)}


class Slots:
    """Slot numbers of the memories in a burst's packets: an object keeps its number until it is freed.

    Freed numbers are reused, last freed first. Objects are held by weak references where they allow these. Thread-safe.
    """

    def __init__(self):
        self._lock = renewed(threading.Lock())
        self._numbers, self._objects = {}, {}  # id: slot; slot: function that returns the object
        self._free, self._next, self._gone = [], 0, []

    def bind(self, memory):
        """The slot of a memory."""
        key = id(memory)
        with self._lock:
            slot = self._numbers.get(key)
            if slot is not None and self._objects[slot]() is memory:
                return slot
            if self._free:
                slot = self._free.pop()
            else:
                slot, self._next = self._next, self._next + 1
            self._numbers[key] = slot
            try:
                self._objects[slot] = weakref.ref(memory, lambda _: self._gone.append((key, slot)))
            except TypeError:
                self._objects[slot] = lambda: memory
            return slot

    def find(self, slots):
        """The objects in these slots; raises InvalidArgument if a slot has none [NN 4.6]."""
        with self._lock:
            found = [self._objects.get(slot, lambda: None)() for slot in slots]
        missing = [slot for slot, memory in zip(slots, found) if memory is None]
        if missing:
            raise InvalidArgument(f"no memory was bound to slots {missing}")
        return found

    def unbind(self, memory):
        """Forget a memory; returns its slot, or None if it has none. The number is free only after `give_back`."""
        with self._lock:
            slot = self._numbers.get(id(memory))
            if slot is None or self._objects[slot]() is not memory:
                return None
            del self._numbers[id(memory)], self._objects[slot]
            return slot

    def unbind_gone(self):
        """Forget the memories that no longer live; returns their slots."""
        slots = []
        while self._gone:
            key, slot = self._gone.pop()
            with self._lock:
                if slot in self._objects and self._objects[slot]() is None:
                    del self._objects[slot]
                    if self._numbers.get(key) == slot:
                        del self._numbers[key]
                    slots.append(slot)
        return slots

    def give_back(self, slot):
        """Make the number of a slot free: the driver has forgotten it too."""
        with self._lock:
            self._free.append(slot)

    @property
    def has_gone(self):
        """True when `unbind_gone` has something to do."""
        return bool(self._gone)


class Channel:
    """Queues, slots and context of one burst; exchanges one packet at a time.

    configure(slots, requests, results): makes the burst and returns its context, which has free_memory(slot),
    is_alive(), last_error(), death(), end(), which does not wait, and close(), which may wait for the burst's end.
    """

    def __init__(self, configure, capacity, spin_us):
        if spin_us is None:
            spin_us = config.get_int("NNFAST_BURST_CONTROLLER_WINDOW", 0)
        self.slots, self._lock, self._forks = Slots(), renewed(threading.Lock()), forks.count
        queues = MessageQueue.create(REQUEST_DATUM, capacity), MessageQueue.create(RESULT_DATUM, capacity)
        self.context = configure(self.slots, *(queue.descriptor for queue in queues))
        self._client = BurstClient(*(queue.ring for queue in queues), window(spin_us), self.context.is_alive)
        self._end = weakref.finalize(self, _end, self._forks, self._client, self.context, queues)

    def exchange(self, request, memories, measure):
        """The answer (packet.parse_result) to a canonical request whose pools are these memories.

        None if a packet cannot express the request or cannot be sent now: nothing was sent, so a normal execution is
        possible. Raises GeneralFailure if there is no answer or a malformed one.
        """
        if not self.is_open():
            return None
        with self._lock:
            client = self._client
            if not self._end.alive:
                return None
            if self.slots.has_gone:
                self._free_gone()
            try:
                if not client.holds(request) and not client.build(request, [self.slots.bind(m) for m in memories]):
                    return None
            except (TypeError, ValueError, OverflowError, AttributeError):
                return None  # values that are not numbers, or too large for a packet
            if not client.fits():
                return None
            try:
                return client.exchange(measure)
            except BaseException as error:
                death = self.context.death()
                self._end()  # the queue is out of step with the requests: unusable from now on
                if death is not None and isinstance(error, GeneralFailure):
                    raise death from None
                raise

    def free(self, memory):
        """Make the driver forget a memory; True if it knew it."""
        if self._forks != forks.count:
            return False
        with self._lock:
            self._client.forget()
            slot = self.slots.unbind(memory)
            if slot is not None:
                self._free([slot])
            return slot is not None

    def _free_gone(self):
        self._client.forget()
        self._free(self.slots.unbind_gone())

    def _free(self, slots):
        for slot in slots:
            if self.is_open():
                self.context.free_memory(slot)
            self.slots.give_back(slot)

    def is_open(self):
        """False after the end, and in a forked child, as queues and memories belong to the parent."""
        return self._end.alive and self._forks == forks.count

    def close(self):
        """End the burst; waits for its end if the context can."""
        self._end()
        if self._forks == forks.count:
            self.context.close()


def _end(origin, client, context, queues):
    """End the burst without waiting: the garbage collector may call this in any thread at any time."""
    if origin != forks.count:
        return  # a forked child does not end its parent's burst
    client.close()
    context.end()
    for queue in queues:
        queue.close()


class Controller:
    """Executions on one prepared model through a burst of its own; made by PreparedModel.burst.

    Any thread may call it; calls run one at a time. As a context manager it ends the burst. fallbacks: how many calls
    of `execute` and `run` ran as normal executions.

        with prepared.burst(spin_us=50) as burst:
            y, = burst.run([x])

    capacity, spin_us: as of PreparedModel.burst.
    """

    fallbacks: int

    prepared: typed.Prepared

    def __init__(self, prepared: typed.Prepared, capacity: int = 1024, spin_us: int | None = None) -> None:
        def configure(slots, requests, results):
            known = {slots.bind(memory): _copy(memory) for memory in self._arrays.request.pools} if self._arrays else {}
            return prepared.configure_burst(lambda wanted: list(map(_copy, slots.find(wanted))), requests, results,
                                            memories=known)

        self.prepared, self._arrays = prepared, _Arrays.of(prepared)
        self._channel = Channel(configure, capacity, spin_us)
        self._last = None, None
        self.fallbacks = 0

    @vlog.log_errors(vlog.EXECUTION, "burst execute")
    def execute(self, request: Request, measure_timing: bool = False) -> ExecutionResult:
        """As PreparedModel.execute, which takes over what a packet cannot express: pools that are not Memory objects.

        The driver keeps the memories of a request mapped until they are collected or passed to `free`. Raises the
        driver's errors; GeneralFailure if there is no answer.
        """
        answer = None
        if measure_timing is not False:
            measure_timing = flag(measure_timing, "execute measure_timing:")
        if isinstance(request, Request) and all(type(pool) is Memory for pool in request.pools):
            with trace.span("LI", "PE", "burst"):
                answer = self._channel.exchange(request, request.pools, measure_timing)
        if answer is None:
            self.fallbacks += 1
            return self.prepared.execute(request, measure_timing)
        before, result = self._last
        if answer is not before:
            result = result_of(answer, self._channel.context)
            self._last = answer, result
        return result

    @overload
    def run(self, inputs: Sequence[typed.Tensor]) -> list[typed.Array]: ...

    @overload
    def run(self, inputs: dict[str, Any]) -> dict[str, typed.Array]: ...

    def run(self, inputs: Sequence[typed.Tensor] | dict[str, Any]) -> Any:
        """As PreparedModel.run on a list or dict of arrays, copied to shared memory and back.

        Falls back to PreparedModel.run for models with unknown shapes or states, for omitted inputs, and after the end
        of the burst.
        """
        arrays = self._arrays
        if isinstance(inputs, dict) and arrays and self._channel.is_open():
            results = self.run(named(inputs, self.prepared.inputs, "input"))
            return dict(zip((info.name for info in self.prepared.outputs), results))
        if not self._channel.is_open() or not arrays or not isinstance(inputs, list | tuple) or \
                len(inputs) != len(arrays.inputs) or any(array is None for array in inputs):
            self.fallbacks += 1
            return self.prepared.run(inputs)
        with arrays.lock:
            for info, array, view in zip(self.prepared.inputs, inputs, arrays.inputs):
                view[...] = taken_input(info, array)
            self.execute(arrays.request)
            return [view.copy() for view in arrays.outputs]

    def free(self, memory: Memory) -> None:
        """Make the driver forget a memory that was among the pools of a request; True if it knew it."""
        return self._channel.free(memory)

    def is_alive(self) -> bool:
        """False if all further calls will be normal executions."""
        return self._channel.is_open() and self._channel.context.is_alive()

    def close(self) -> None:
        """End the burst; later calls are normal executions."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Arrays:
    """One memory for all inputs and outputs, each given as [(shape, dtype)], and the request that uses it."""

    def __init__(self, inputs, outputs):
        ends, arguments = 0, []
        for shape, dtype in (*inputs, *outputs):
            arguments.append(RequestArgument(0, ends, prod(shape) * dtype.itemsize))
            ends += align(arguments[-1].length)
        memory = Memory.create(ends)
        views = [memory.array()[a.offset:a.offset + a.length].view(dtype).reshape(shape)
                 for a, (shape, dtype) in zip(arguments, (*inputs, *outputs))]
        self.inputs, self.outputs = views[:len(inputs)], views[len(inputs):]
        self.request = Request(tuple(arguments[:len(inputs)]), tuple(arguments[len(inputs):]), (memory,))
        self.lock = renewed(threading.Lock())

    @classmethod
    def of(cls, prepared):
        """The arrays of a model, or False if requests have other arguments too, or sizes are unknown."""
        shapes = prepared.result_shapes
        if not prepared.is_plain or shapes is None or any(0 in shape for shape in shapes):
            return False
        return cls([(info.shape, info.dtype) for info in prepared.inputs],
                   [(shape, info.dtype) for shape, info in zip(shapes, prepared.outputs)])


def result_of(answer, context):
    """ExecutionResult of an answer; raises the error of any status but NONE."""
    status, shapes, *times = answer
    shapes = tuple(OutputShape(dims, sufficient) for dims, sufficient in shapes)
    if status == ErrorStatus.NONE:
        return ExecutionResult(shapes, Timing(*(None if us == NO_TIME else us for us in times)))
    error = _CLASSES[status](context.last_error() or f"burst: the driver answered {ErrorStatus(status).name}")
    if status == ErrorStatus.OUTPUT_INSUFFICIENT_SIZE:
        error.shapes = list(shapes)
    raise error


def _copy(memory):
    """Another Memory over the same bytes, so that the driver's does not keep the caller's alive."""
    return Memory(memory.kind, memory.fileno(), memory.size, memory.prot, memory.offset)
