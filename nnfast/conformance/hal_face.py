"""The driver under test through a HIDL face, with the standard's rules on statuses, callbacks, shapes and times.

Every call is checked against [NN 3.1, 3.11, 3.14, 3.15] on the way; a broken rule is a Fail, an error that the
driver reports as it must is raised as the nnfast error of its status.
"""

import threading
from dataclasses import replace
from functools import partial
from importlib import import_module

from .. import errors
from ..driver.fence import Fence
from ..driver.memory import ASHMEM
from ..driver.memory import Memory as SharedMemory
from ..driver.request import ExecutionResult, OutputShape, Timing
from ..errors import ErrorStatus
from ..hal.burst import ExecutionBurstController
from ..hal.layout import Layout, request_from_canonical
from ..hal.pools import from_memory
from ..hal.types import HALS, MODELS, UINT64_MAX, BufferDesc, BufferRole
from .canonical_face import PATIENCE_SECONDS, shared
from .memory import Memory
from .mutations import Mutation, model_mutations
from .steps import BURST, FENCED
from .verdict import Fail

_PREFERENCE, _PRIORITY = 1, 1
_AT_LAUNCH = (ErrorStatus.INVALID_ARGUMENT, ErrorStatus.GENERAL_FAILURE, ErrorStatus.DEVICE_UNAVAILABLE)
_CLASSES = {kind.status: kind for kind in errors.Error.__subclasses__() if kind is not errors.Cancelled}
_NOT_AVAILABLE = (UINT64_MAX, UINT64_MAX)


class HalFace:
    """The calls of one HAL version under the names that the kinds use (see CanonicalFace)."""

    has_arrays = False
    priorities = (0, 2)

    def __init__(self, device, hal, bursts_only=False):
        self.hal, self.bursts_only = hal, bursts_only
        self.device = import_module(f"nnfast.hal.v{hal.replace('.', '_')}").Device(device)
        self.is_timed = HALS.index(hal) >= HALS.index("1.2")
        self.timings = (False, True) if self.is_timed else (False,)
        self.validates_bursts = self.is_timed
        self._suffix = "" if hal == "1.0" else "_" + hal.replace(".", "_")
        self._layout = None

    def supported_operations(self, model):
        status, flags = getattr(self.device, f"getSupportedOperations{self._suffix}")(self._hidl(model))
        if status != ErrorStatus.NONE:
            if flags:
                raise Fail(f"getSupportedOperations gave {ErrorStatus(status).name} and {len(flags)} flags, must give "
                           f"none")
            raise self._error(status)
        return flags

    def prepare(self, model, preference=_PREFERENCE, priority=_PRIORITY, deadline_ns=None):
        """Prepared model; the launch and its callback must agree [NN 3.1]."""
        callback = _Callback(self.device)
        arguments = {"1.0": (), "1.1": (preference,), "1.2": (preference, [], [], bytes(32)),
                     "1.3": (preference, priority, deadline_ns, [], [], bytes(32))}[self.hal]
        launched = getattr(self.device, f"prepareModel{self._suffix}")(self._hidl(model), *arguments, callback)
        status, prepared = callback.result("prepareModel", launched)
        if (prepared is None) != (status != ErrorStatus.NONE):
            raise Fail(f"prepareModel: the callback got {ErrorStatus(status).name} with "
                       f"{'no' if prepared is None else 'a'} prepared model")
        if status != ErrorStatus.NONE:
            raise self._error(status, callback.reason)
        return prepared

    def ways(self, prepared):
        way = _Way(self, prepared)
        if self.bursts_only:
            return {BURST: way.burst}
        ways = {"async": way.asynchronous}
        if self.is_timed:
            ways |= {"sync": way.synchronous, BURST: way.burst}
        return ways | {FENCED: way.fenced} if self.hal == "1.3" else ways

    def configure_burst(self, prepared, get_memories, requests, results):
        status, context = prepared.configureExecutionBurst(_BurstCallback(get_memories), requests, results)
        if status != ErrorStatus.NONE or context is None:
            raise Fail(f"configureExecutionBurst gave {ErrorStatus(status).name} and {context}")
        return _BurstContext(context)

    def memory(self, case, shorten=0, kind=ASHMEM):
        return Memory(case, shorten, shared(kind))

    def allocate(self, prepared, kind, place):
        roles = [BufferRole(0, place, 1.0)]
        status, buffer, token = self.device.allocate(BufferDesc(), [prepared], *((roles, []) if kind == "input" else
                                                                                 ([], roles)))
        if (status == ErrorStatus.NONE) != (buffer is not None) or (status == ErrorStatus.NONE) != (token > 0):
            raise Fail(f"allocate gave {ErrorStatus(status).name}, buffer {buffer}, token {token}")
        if status not in (ErrorStatus.NONE, ErrorStatus.GENERAL_FAILURE):
            raise self._error(status)
        return None if buffer is None else _Buffer(buffer, token)

    def mutations(self, model):
        """The canonical mutations as HIDL models, and those that only HIDL can have [NN 11.9 row 8, 11.16]."""
        layout = Layout(model, self.hal)
        for mutation in model_mutations(model, self.hal):
            yield replace(mutation, model=layout.model(mutation.model))
        yield from hidl_mutations(layout.model(), self.hal)

    def requests(self, prepared, request):
        if self.hal == "1.3" and not self.bursts_only:
            yield "null fence", "wait list of one null handle", \
                partial(_Way(self, prepared).fenced, request, wait_for=[None])

    def _hidl(self, model):
        """The model as this version takes it; the last one is kept, for query and preparation."""
        if isinstance(model, tuple(MODELS.values())):
            return model
        if self._layout is None or self._layout[0] is not model:
            self._layout = model, Layout(model, self.hal).model()
        return self._layout[1]

    def _error(self, status, reason=None):
        return make_error(status, self.device.last_error() if reason is None else reason)


def make_error(status, reason):
    """The nnfast error of a status."""
    if status not in _CLASSES:
        raise Fail(f"status {status!r} is not an ErrorStatus")
    return _CLASSES[status](reason)


def hidl_mutations(model, hal):
    """Mutations of what the canonical model does not have: consumers [NN 11.9 row 8] and locations [NN 11.16]."""
    main = model.main if hal == "1.3" else model

    def changed(place, **fields):
        operands = list(main.operands)
        operands[place] = replace(operands[place], **fields)
        return replace(model, main=replace(main, operands=operands)) if hal == "1.3" else \
            replace(model, operands=operands)

    for place, operand in enumerate(main.operands):
        where, count, at = f"main.operand[{place}]", operand.numberOfConsumers, operand.location
        for number in (count + 1, count - 1) if count else (1,):
            yield Mutation("number of consumers", f"{where} {number}", changed(place, numberOfConsumers=number))
        for name in ("poolIndex", "offset", "length"):
            wrong = 0xFFFFFFFF if name != "length" else at.length + 1
            yield Mutation("operand location", f"{where} {name} {wrong}",
                           changed(place, location=replace(at, **{name: wrong})))


class _Way:
    """The ways to execute on one prepared model, as function(request, measure_timing=, loop_timeout=)."""

    def __init__(self, face, prepared):
        self.face, self.prepared, self.hal, self._controller = face, prepared, face.hal, None

    def burst(self, request, measure_timing=False):
        self._controller = self._controller or ExecutionBurstController(self.prepared, 0)
        status, shapes, timing, fallback = self._controller.compute(request_from_canonical(request, self.hal),
                                                                    int(measure_timing))
        if fallback:
            raise Fail("the burst was not used")
        return self._outcome(status, shapes, timing, self._controller.last_error())

    def asynchronous(self, request, measure_timing=False, loop_timeout=None, deadline_ns=None):
        callback = _Callback(self.prepared)
        execute = getattr(self.prepared, f"execute{self.face._suffix if self.face.is_timed else ''}")
        arguments = [request_from_canonical(request, self.hal)]
        if self.face.is_timed:
            arguments.append(int(measure_timing))
        if self.hal == "1.3":
            arguments += [deadline_ns, _nanoseconds(loop_timeout)]
        launched = execute(*arguments, callback)
        status, *results = callback.result("execute", launched)
        shapes, timing = results if self.face.is_timed else ([], None)
        return self._outcome(status, shapes, timing, callback.reason)

    def synchronous(self, request, measure_timing=False, loop_timeout=None, deadline_ns=None):
        arguments = [request_from_canonical(request, self.hal), int(measure_timing)]
        if self.hal == "1.3":
            status, shapes, timing = self.prepared.executeSynchronously_1_3(*arguments, deadline_ns,
                                                                            _nanoseconds(loop_timeout))
        else:
            status, shapes, timing = self.prepared.executeSynchronously(*arguments)
        return self._outcome(status, shapes, timing, self.prepared.last_error())

    def fenced(self, request, measure_timing=False, loop_timeout=None, wait_for=(), again=False):
        """again: a second execution waits for the fence of the first."""
        status, handle, info = self.prepared.executeFenced(
            request_from_canonical(request, self.hal), list(wait_for), int(measure_timing), None,
            _nanoseconds(loop_timeout), None)
        if status != ErrorStatus.NONE:
            if handle is not None or info is not None:
                raise Fail(f"executeFenced gave {ErrorStatus(status).name} with a fence or a callback")
            raise make_error(status, self.prepared.last_error())
        if info is None:
            raise Fail("executeFenced gave NONE without a callback")
        result = None
        if again and handle is not None:
            result = self.fenced(request, measure_timing, loop_timeout, wait_for=[handle])
        if handle is not None:
            state = Fence.from_fd(handle.fds[0]).wait(PATIENCE_SECONDS)
            if state not in ("signaled", "error"):
                raise Fail(f"executeFenced: after {PATIENCE_SECONDS:.0f} s the fence is {state}")
        status, launched, fenced = info.getExecutionInfo()
        self._outcome(status, [], fenced, self.prepared.last_error())
        return result or self._outcome(status, [], launched, self.prepared.last_error())

    def _outcome(self, status, shapes, timing, reason):
        """ExecutionResult of a success; raises the Error of a failure."""
        times = _NOT_AVAILABLE if timing is None else (timing.timeOnDevice, timing.timeInDriver)
        shapes = tuple(OutputShape(tuple(shape.dimensions), shape.isSufficient) for shape in shapes)
        if status == ErrorStatus.NONE:
            return ExecutionResult(shapes, Timing(*(None if us == UINT64_MAX else us for us in times)))
        if times != _NOT_AVAILABLE:
            raise Fail(f"times {times} are reported with {ErrorStatus(status).name}")
        error = make_error(status, reason)
        if status == ErrorStatus.OUTPUT_INSUFFICIENT_SIZE:
            error.shapes = list(shapes)
        elif shapes:
            raise Fail(f"{len(shapes)} output shapes are reported with {ErrorStatus(status).name}")
        raise error


class _Callback:
    """A client's callback object, of any version: keeps what it was told."""

    def __init__(self, face):
        self._calls, self._told, self._face, self.reason = [], threading.Event(), face, ""

    def notify(self, *results):
        self._calls.append(results)
        self.reason = self._face.last_error()  # the reason is kept per thread: this is the one that met the error
        self._told.set()

    notify_1_2 = notify_1_3 = notify

    def result(self, call, launched):
        """What the callback was told, once; it must agree with the status of the launch."""
        if launched != ErrorStatus.NONE:
            if len(self._calls) != 1:
                raise Fail(f"{call}: the launch gave {ErrorStatus(launched).name} after {len(self._calls)} callbacks, "
                           f"must be 1")
            if self._calls[0][0] != launched:
                raise Fail(f"{call}: the launch gave {ErrorStatus(launched).name}, the callback "
                           f"{ErrorStatus(self._calls[0][0]).name}")
            if launched not in _AT_LAUNCH:
                raise Fail(f"{call}: the launch gave {ErrorStatus(launched).name}, which only the callback may")
            return self._calls[0]
        if not self._told.wait(PATIENCE_SECONDS):
            raise Fail(f"{call}: no callback within {PATIENCE_SECONDS:.0f} s")
        if len(self._calls) != 1:
            raise Fail(f"{call}: the callback was called {len(self._calls)} times")
        return self._calls[0]


class _BurstCallback:
    """IBurstCallback over get_memories(slots)."""

    def __init__(self, get_memories):
        self._get = get_memories

    def getMemories(self, slots):
        try:
            return ErrorStatus.NONE, [from_memory(memory) for memory in self._get(slots)]
        except errors.InvalidArgument:
            return ErrorStatus.INVALID_ARGUMENT, []


class _BurstContext:
    """An IBurstContext under the names of the canonical burst."""

    def __init__(self, context):
        self._context = context

    def free_memory(self, slot):
        self._context.freeMemory(slot)

    def close(self):
        self._context = None  # the burst lasts as long as the context


class _Buffer:
    """An IBuffer with its token, copied to and from through shared memory."""

    def __init__(self, buffer, token):
        self._buffer, self.token = buffer, token

    def copy_from(self, raw, dims):
        memory = SharedMemory.create(raw.nbytes)
        memory.array()[:] = raw
        self._check("copyFrom", self._buffer.copyFrom(memory, list(dims)))

    def copy_to(self, raw):
        memory = SharedMemory.create(raw.nbytes)
        self._check("copyTo", self._buffer.copyTo(memory))
        raw[:] = memory.array()

    @staticmethod
    def _check(call, status):
        if status != ErrorStatus.NONE:
            raise Fail(f"{call} gave {ErrorStatus(status).name}, must be NONE")


def _nanoseconds(seconds):
    return None if seconds is None else int(seconds * 1e9)
