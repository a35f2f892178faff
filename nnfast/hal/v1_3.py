"""HAL 1.3: subgraphs, priorities, deadlines, loop timeouts, fences, memory domains."""

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
    """IFencedExecutionCallback 1.3."""

    def __init__(self, execution, refusals):
        self._execution, self._refusals = execution, refusals

    def getExecutionInfo(self):
        """(status, timing since the launch, timing since the fences): GENERAL_FAILURE before the end."""
        def ask():
            return tuple(map(requests.timing_of, self._execution.info()))

        return self._refusals.answer("1.3", ask, Timing(), Timing())


class Buffer:
    """IBuffer 1.3: memory of the driver; it lives as long as this object."""

    def __init__(self, buffer, refusals):
        self._buffer, self._refusals = buffer, refusals

    def copyTo(self, dst):
        """Copy the whole buffer into memory of exactly its size; the status."""
        def copy():
            self._buffer.copy_to(to_memory(dst, "1.3", "copyTo dst"))
            return ()

        return self._refusals.answer("1.3", copy)[0]

    def copyFrom(self, src, dimensions):
        """Copy memory of exactly its size into the buffer; the status."""
        def copy():
            self._buffer.start_writing()  # a copy that fails, for whatever reason, leaves no value [NN 6.5]
            dims = [uint32(dim, "copyFrom dimensions") for dim in vec(dimensions, "copyFrom dimensions")]
            self._buffer.copy_from(to_memory(src, "1.3", "copyFrom src"), dims)
            return ()

        return self._refusals.answer("1.3", copy)[0]


class PreparedModel(v1_2.PreparedModel):
    """IPreparedModel 1.3."""

    hal = "1.3"

    def execute_1_3(self, request, measure, deadline, loopTimeoutDuration, callback):
        """Launch an execution; callback.notify_1_3(status, output shapes, timing)."""
        return launch.execute(self, "1.3", callback, request, measure, deadline, loopTimeoutDuration)

    def executeSynchronously_1_3(self, request, measure, deadline, loopTimeoutDuration):
        """(status, output shapes, timing)."""
        return launch.execute_synchronously(self, "1.3", request, measure, deadline, loopTimeoutDuration)

    def executeFenced(self, request, waitFor, measure, deadline, loopTimeoutDuration, duration):
        """(status, handle of the sync fence, FencedExecutionCallback)."""
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
    """IDevice 1.3."""

    hal = "1.3"
    _prepared_model = PreparedModel

    def getCapabilities_1_3(self):
        """(status, Capabilities of HAL 1.3)."""
        return self._capabilities("1.3")

    def getSupportedOperations_1_3(self, model):
        """(status, one bool per operation of the main graph of a 1.3 model)."""
        return self._supported("1.3", model)

    def prepareModel_1_3(self, model, preference, priority, deadline, modelCache, dataCache, token, callback):
        """Launch the preparation of a 1.3 model; callback.notify_1_3(status, prepared model)."""
        return launch.prepare(self, "1.3", callback, model, preference, priority, deadline,
                              cache=(modelCache, dataCache, token))

    def prepareModelFromCache_1_3(self, deadline, modelCache, dataCache, token, callback):
        """Launch a preparation from cache files, which are checked before the launch."""
        return launch.prepare_from_cache(self, "1.3", callback, modelCache, dataCache, token, deadline)

    def allocate(self, desc, preparedModels, inputRoles, outputRoles):
        """(status, Buffer, token): memory of the driver for these roles."""
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
