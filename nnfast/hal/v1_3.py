"""HAL 1.3: subgraphs, priorities, deadlines, loop timeouts, fences, memory domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..driver.buffers import Role
from ..driver.fence import Fence
from ..errors import ErrorStatus, InvalidArgument
from ..model.types import LifeTime as OperandLifeTime
from . import launch, requests, v1_2
from .pools import to_memory
from .types import (
    OPERAND_TYPES,
    OPERATION_TYPES,
    BufferDesc,
    BufferRole,
    Constant,
    DataLocation,
    DeviceStatus,
    DeviceType,
    ExecutionPreference,
    Extension,
    ExtensionNameAndPrefix,
    ExtensionTypeEncoding,
    Handle,
    LoopTimeoutDurationNs,
    MeasureTiming,
    Memory,
    MemoryPool,
    Operand,
    OperandPerformance,
    OperandTypeInformation,
    Operation,
    OutputShape,
    PerformanceInfo,
    Priority,
    Request,
    RequestArgument,
    Subgraph,
    SymmPerChannelQuantParams,
    Timing,
)
from .types import Capabilities1_3 as Capabilities
from .types import Model1_3 as Model
from .values import fail, member, record, uint32, vec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .. import typed
    from ..driver.memory import Memory as SharedMemory
    from ..model.types import OperandType, OperationType
    from .refusals import Refusals
else:
    OperandType, OperationType = OPERAND_TYPES["1.3"], OPERATION_TYPES["1.3"]

__all__ = [
    "Buffer", "BufferDesc", "BufferRole", "Capabilities", "Constant", "DataLocation", "Device", "DeviceStatus",
    "DeviceType", "ErrorStatus", "ExecutionPreference", "Extension", "ExtensionNameAndPrefix",
    "ExtensionTypeEncoding", "FencedExecutionCallback", "Handle", "LoopTimeoutDurationNs", "MeasureTiming", "Memory",
    "MemoryPool", "Model", "Operand", "OperandLifeTime", "OperandPerformance", "OperandType",
    "OperandTypeInformation", "Operation", "OperationType", "OutputShape", "PerformanceInfo", "PreparedModel",
    "Priority", "Request", "RequestArgument", "Subgraph", "SymmPerChannelQuantParams", "Timing",
]


class FencedExecutionCallback:
    """IFencedExecutionCallback 1.3, as executeFenced returns it: timing of a fenced execution after its end."""

    def __init__(self, execution: Any, refusals: Refusals) -> None:
        self._execution, self._refusals = execution, refusals

    def getExecutionInfo(self) -> tuple[ErrorStatus, Timing, Timing]:
        """(status, timing since the launch, timing since the fences): GENERAL_FAILURE before the end."""
        def ask():
            return tuple(map(requests.timing_of, self._execution.info()))

        return self._refusals.answer("1.3", ask, Timing(), Timing())


class Buffer:
    """IBuffer 1.3, as allocate returns it: memory of the driver; it lives as long as this object.

    dst, src: Memory or nnfast.Memory of exactly the value's size in bytes; dimensions: those of the value, [] where
    the buffer's own are known.
    """

    def __init__(self, buffer: typed.DeviceBuffer, refusals: Refusals) -> None:
        self._buffer, self._refusals = buffer, refusals

    def copyTo(self, dst: Memory | SharedMemory) -> ErrorStatus:
        """Copy the whole buffer into memory of exactly its size; the status."""
        def copy():
            self._buffer.copy_to(to_memory(dst, "1.3", "copyTo dst"))
            return ()

        return self._refusals.answer("1.3", copy)[0]

    def copyFrom(self, src: Memory | SharedMemory, dimensions: Sequence[int]) -> ErrorStatus:
        """Copy memory of exactly its size into the buffer; the status."""
        def copy():
            self._buffer.start_writing()  # a copy that fails, for whatever reason, leaves no value [NN 6.5]
            dims = [uint32(dim, "copyFrom dimensions") for dim in vec(dimensions, "copyFrom dimensions")]
            self._buffer.copy_from(to_memory(src, "1.3", "copyFrom src"), dims)
            return ()

        return self._refusals.answer("1.3", copy)[0]


class PreparedModel(v1_2.PreparedModel):
    """IPreparedModel 1.3; device, prepared, request, measure and callback as of 1.2.

    deadline: nanoseconds of CLOCK_MONOTONIC (time.monotonic_ns), loopTimeoutDuration: nanoseconds that each WHILE may
    take, by default 2e9, at most 15e9; None for either: none is given.
    """

    hal = "1.3"

    def execute_1_3(self, request: Request, measure: MeasureTiming, deadline: int | None,
                    loopTimeoutDuration: int | None, callback: Any) -> ErrorStatus:
        """Launch an execution; callback.notify_1_3(status, output shapes, timing)."""
        return launch.execute(self, "1.3", callback, request, measure, deadline, loopTimeoutDuration)

    def executeSynchronously_1_3(self, request: Request, measure: MeasureTiming, deadline: int | None,
                                 loopTimeoutDuration: int | None,
                                 ) -> tuple[ErrorStatus, list[OutputShape], Timing]:
        """(status, output shapes, timing): an OutputShape for each output, Timing in microseconds."""
        return launch.execute_synchronously(self, "1.3", request, measure, deadline, loopTimeoutDuration)

    def executeFenced(self, request: Request, waitFor: Sequence[Handle], measure: MeasureTiming, deadline: int | None,
                      loopTimeoutDuration: int | None, duration: int | None,
                      ) -> tuple[ErrorStatus, Handle | None, FencedExecutionCallback | None]:
        """(status, handle of the sync fence, FencedExecutionCallback).

        waitFor: Handles with one fence each, all of which must be signalled before it begins; duration: nanoseconds
        that it may take from then on, or None. Every output must be of a known size.
        """
        def start():
            launch.told("1.3", "executeFenced")
            canonical = requests.for_prepared(request, "1.3", self.prepared)
            timed = member(measure, MeasureTiming, "executeFenced measure") == MeasureTiming.YES
            execution = self.prepared.execute_fenced(
                canonical, [_fence(handle, place) for place, handle in enumerate(vec(waitFor, "waitFor"))], timed,
                launch.seconds(deadline, "executeFenced deadline"),
                launch.duration(loopTimeoutDuration, "executeFenced loopTimeoutDuration"),
                launch.duration(duration, "executeFenced duration"))
            handle = Handle((execution.fence.fileno(),), (), execution.fence)
            return handle, FencedExecutionCallback(execution, self.refusals)

        return self.refusals.answer("1.3", start, None, None)


class Device(v1_2.Device):
    """IDevice 1.3; device, model, preference, modelCache, dataCache, token and callback as of 1.2.

        device = nnfast.hal.v1_3.Device()
        status = device.prepareModel_1_3(model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, [], [],
                                         bytes(32), callback)    # callback.notify_1_3(status, prepared)

    priority: a Priority; deadline: nanoseconds of CLOCK_MONOTONIC (time.monotonic_ns), or None.
    """

    hal = "1.3"
    _prepared_model = PreparedModel

    def getCapabilities_1_3(self) -> tuple[ErrorStatus, Capabilities]:
        """(status, Capabilities of HAL 1.3)."""
        return self._capabilities("1.3")

    def getSupportedOperations_1_3(self, model: Model) -> tuple[ErrorStatus, list[bool]]:
        """(status, one bool per operation of the main graph of a 1.3 model)."""
        return self._supported("1.3", model)

    def prepareModel_1_3(self, model: Model, preference: ExecutionPreference, priority: Priority, deadline: int | None,
                         modelCache: Sequence[Handle], dataCache: Sequence[Handle], token: bytes,
                         callback: Any) -> ErrorStatus:
        """Launch the preparation of a 1.3 model; callback.notify_1_3(status, prepared model)."""
        return launch.prepare(self, "1.3", callback, model, preference, priority, deadline,
                              cache=(modelCache, dataCache, token))

    def prepareModelFromCache_1_3(self, deadline: int | None, modelCache: Sequence[Handle],
                                  dataCache: Sequence[Handle], token: bytes, callback: Any) -> ErrorStatus:
        """Launch a preparation from cache files, which are checked before the launch."""
        return launch.prepare_from_cache(self, "1.3", callback, modelCache, dataCache, token, deadline)

    def allocate(self, desc: BufferDesc, preparedModels: Sequence[PreparedModel], inputRoles: Sequence[BufferRole],
                 outputRoles: Sequence[BufferRole]) -> tuple[ErrorStatus, Buffer | None, int]:
        """(status, Buffer, token): memory of the driver for these roles.

        desc: BufferDesc of the shape, where the roles leave it open; inputRoles, outputRoles: lists of BufferRole,
        whose modelIndex counts in preparedModels. The token goes into a MemoryPool of a request.
        """
        def make():
            dims = [uint32(dim, "allocate desc") for dim in
                    vec(record(desc, BufferDesc, "allocate desc").dimensions, "allocate desc")]
            models = vec(preparedModels, "allocate preparedModels")
            buffer = self.device.allocate([_role(models, role, "inputRoles", place) for place, role in
                                           enumerate(vec(inputRoles, "allocate inputRoles"))],
                                          [_role(models, role, "outputRoles", place) for place, role in
                                           enumerate(vec(outputRoles, "allocate outputRoles"))], dims)
            return Buffer(buffer, self.refusals), buffer.token

        return self.refusals.answer("1.3", make, None, 0)


def _role(models, role, name, place):
    path = f"allocate {name}[{place}]"
    record(role, BufferRole, path)
    if uint32(role.modelIndex, f"{path} modelIndex") >= len(models):
        fail(path, f"modelIndex is {role.modelIndex}, there are {len(models)} prepared models")
    model = models[role.modelIndex]
    if not isinstance(model, PreparedModel):
        fail(path, f"preparedModels[{role.modelIndex}] is {type(model).__name__}, must be one of this device's")
    if not isinstance(role.frequency, float | int):
        fail(path, f"frequency is {role.frequency!r}, must be a number")
    return Role(model.prepared, uint32(role.ioIndex, f"{path} ioIndex"), role.frequency)


def _fence(handle, place):
    path = f"waitFor[{place}]"
    if handle is None:
        fail(path, "is a null handle")
    record(handle, Handle, path)
    fds = vec(handle.fds, f"{path} fds")
    if len(fds) != 1:
        fail(path, f"has {len(fds)} descriptors, must have 1")
    try:
        return Fence.from_fd(fds[0])
    except InvalidArgument as error:
        return fail(path, error)
