"""HAL 1.2: synchronous executions, timing, output shapes, caching, bursts, extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..forks import importing
from . import launch, v1_1
from .types import (
    OPERAND_TYPES,
    OPERATION_TYPES,
    Constant,
    DeviceType,
    ExecutionPreference,
    Extension,
    ExtensionNameAndPrefix,
    ExtensionTypeEncoding,
    MeasureTiming,
    OperandPerformance,
    OperandTypeInformation,
    OutputShape,
    SymmPerChannelQuantParams,
    Timing,
)
from .types import Capabilities1_2 as Capabilities
from .types import Model1_2 as Model
from .v1_0 import (
    DataLocation,
    DeviceStatus,
    ErrorStatus,
    Handle,
    Memory,
    Operand,
    OperandLifeTime,
    Operation,
    PerformanceInfo,
    Request,
    RequestArgument,
)

if TYPE_CHECKING:  # all members; at run time those of the version
    from collections.abc import Sequence
    from typing import Any

    from .. import fmq
    from ..model.types import OperandType, OperationType
    from .burst import BurstContext
else:
    OperandType, OperationType = OPERAND_TYPES["1.2"], OPERATION_TYPES["1.2"]

__all__ = [
    "Capabilities", "Constant", "DataLocation", "Device", "DeviceStatus", "DeviceType", "ErrorStatus",
    "ExecutionPreference", "Extension", "ExtensionNameAndPrefix", "ExtensionTypeEncoding", "Handle", "MeasureTiming",
    "Memory", "Model", "Operand", "OperandLifeTime", "OperandPerformance", "OperandType", "OperandTypeInformation",
    "Operation", "OperationType", "OutputShape", "PerformanceInfo", "PreparedModel", "Request", "RequestArgument",
    "SymmPerChannelQuantParams", "Timing",
]


class PreparedModel(v1_1.PreparedModel):
    """IPreparedModel 1.2; device, prepared, request and callback as of 1.0. measure: a MeasureTiming."""

    hal = "1.2"

    def execute_1_2(self, request: Request, measure: MeasureTiming, callback: Any) -> ErrorStatus:
        """Launch an execution; callback.notify_1_2(status, output shapes, timing)."""
        return launch.execute(self, "1.2", callback, request, measure)

    def executeSynchronously(self, request: Request,
                             measure: MeasureTiming) -> tuple[ErrorStatus, list[OutputShape], Timing]:
        """(status, output shapes, timing): an OutputShape for each output, Timing in microseconds."""
        return launch.execute_synchronously(self, "1.2", request, measure)

    def configureExecutionBurst(self, callback: Any, requestChannel: fmq.Descriptor | fmq.MessageQueue,
                                resultChannel: fmq.Descriptor | fmq.MessageQueue,
                                ) -> tuple[ErrorStatus, BurstContext | None]:
        """(status, BurstContext) of a burst that lasts as long as the context [NN 4].

        callback.getMemories(slots) gives (status, memories). requestChannel, resultChannel: fmq.Descriptor of queues of
        fmq.REQUEST_DATUM and fmq.RESULT_DATUM, or the queues.
        """
        with importing:
            from .burst import configure

        return configure(self, callback, requestChannel, resultChannel)


class Device(v1_1.Device):
    """IDevice 1.2; device, model, preference and callback as of 1.1.

    modelCache, dataCache: lists of Handle, each with one open file, as many as getNumberOfCacheFilesNeeded says, or
    empty ones for no cache; token: the 32 bytes that the files are known by.
    """

    hal = "1.2"
    _prepared_model = PreparedModel

    def getCapabilities_1_2(self) -> tuple[ErrorStatus, Capabilities]:
        """(status, Capabilities of HAL 1.2)."""
        return self._capabilities("1.2")

    def getVersionString(self) -> tuple[ErrorStatus, str]:
        """(status, version of this driver)."""
        return ErrorStatus.NONE, self.device.version

    def getType(self) -> tuple[ErrorStatus, DeviceType]:
        """(status, DeviceType.CPU)."""
        return ErrorStatus.NONE, DeviceType.CPU

    def getSupportedExtensions(self) -> tuple[ErrorStatus, list[Extension]]:
        """(status, list of Extension): those that the device was made with."""
        return ErrorStatus.NONE, [
            Extension(extension.name, [OperandTypeInformation(kind.id, kind.is_tensor, kind.dtype.itemsize)
                                       for _, kind in sorted(extension.types.items())])
            for _, extension in sorted(self.device.extensions.items())]

    def getNumberOfCacheFilesNeeded(self) -> tuple[ErrorStatus, int, int]:
        """(status, model cache files, data cache files)."""
        with importing:
            from ..driver.cache_files import DATA_FILES, MODEL_FILES

        return ErrorStatus.NONE, MODEL_FILES, DATA_FILES

    def getSupportedOperations_1_2(self, model: Model) -> tuple[ErrorStatus, list[bool]]:
        """(status, one bool per operation of a 1.2 model)."""
        return self._supported("1.2", model)

    def prepareModel_1_2(self, model: Model, preference: ExecutionPreference, modelCache: Sequence[Handle],
                         dataCache: Sequence[Handle], token: bytes, callback: Any) -> ErrorStatus:
        """Launch the preparation of a 1.2 model. What is wrong with the cache never fails it [NN 7.2]."""
        return launch.prepare(self, "1.2", callback, model, preference, cache=(modelCache, dataCache, token))

    def prepareModelFromCache(self, modelCache: Sequence[Handle], dataCache: Sequence[Handle], token: bytes,
                              callback: Any) -> ErrorStatus:
        """Launch a preparation from cache files, which are checked before the launch."""
        return launch.prepare_from_cache(self, "1.2", callback, modelCache, dataCache, token)
