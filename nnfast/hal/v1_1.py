"""HAL 1.1: relaxed float32 and the preference of a preparation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import launch, v1_0
from .types import OPERATION_TYPES, ExecutionPreference
from .types import Capabilities1_1 as Capabilities
from .types import Model1_1 as Model
from .v1_0 import (
    DataLocation,
    DeviceStatus,
    ErrorStatus,
    Handle,
    Memory,
    Operand,
    OperandLifeTime,
    OperandType,
    Operation,
    PerformanceInfo,
    Request,
    RequestArgument,
)

if TYPE_CHECKING:  # all members; at run time those of the version
    from typing import Any

    from ..model.types import OperationType
else:
    OperationType = OPERATION_TYPES["1.1"]

__all__ = [
    "Capabilities", "DataLocation", "Device", "DeviceStatus", "ErrorStatus", "ExecutionPreference", "Handle", "Memory",
    "Model", "Operand", "OperandLifeTime", "OperandType", "Operation", "OperationType", "PerformanceInfo",
    "PreparedModel", "Request", "RequestArgument",
]


class PreparedModel(v1_0.PreparedModel):
    """HAL 1.1 has the IPreparedModel of 1.0; device, prepared, request and callback as there."""

    hal = "1.1"


class Device(v1_0.Device):
    """IDevice 1.1; device, model and callback as of 1.0. preference: an ExecutionPreference."""

    hal = "1.1"
    _prepared_model = PreparedModel

    def getCapabilities_1_1(self) -> tuple[ErrorStatus, Capabilities]:
        """(status, Capabilities of HAL 1.1)."""
        return self._capabilities("1.1")

    def getSupportedOperations_1_1(self, model: Model) -> tuple[ErrorStatus, list[bool]]:
        """(status, one bool per operation of a 1.1 model)."""
        return self._supported("1.1", model)

    def prepareModel_1_1(self, model: Model, preference: ExecutionPreference, callback: Any) -> ErrorStatus:
        """Launch the preparation of a 1.1 model; callback.notify(status, prepared model)."""
        return launch.prepare(self, "1.1", callback, model, preference)
