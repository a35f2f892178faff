"""HAL 1.0: IDevice and IPreparedModel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import trace, vlog
from ..forks import importing
from . import convert, launch, models
from .refusals import Refusals
from .types import (
    ERROR_STATUSES,
    OPERAND_TYPES,
    OPERATION_TYPES,
    Capabilities1_3,
    DataLocation,
    DeviceStatus,
    Handle,
    Memory,
    Operand,
    OperandPerformance,
    Operation,
    PerformanceInfo,
    Request,
    RequestArgument,
)
from .types import Capabilities1_0 as Capabilities
from .types import Model1_0 as Model
from .types import OperandLifeTime1_0 as OperandLifeTime

if TYPE_CHECKING:  # all members; at run time those of the version
    from typing import Any

    from .. import typed
    from ..errors import ErrorStatus
    from ..model.types import OperandType, OperationType
else:
    OperandType, OperationType, ErrorStatus = OPERAND_TYPES["1.0"], OPERATION_TYPES["1.0"], ERROR_STATUSES["1.0"]

__all__ = [
    "Capabilities", "DataLocation", "Device", "DeviceStatus", "ErrorStatus", "Handle", "Memory", "Model", "Operand",
    "OperandLifeTime", "OperandType", "Operation", "OperationType", "PerformanceInfo", "PreparedModel", "Request",
    "RequestArgument",
]


class PreparedModel:
    """IPreparedModel 1.0; device: the face that prepared it, prepared: the canonical model.

    request: a Request of this version, with the pools that hold its inputs and take its outputs; callback: any object
    with the notify method. Nothing raises for what is wrong with them: the status says so, `last_error` why.
    """

    hal = "1.0"
    device: Device
    prepared: typed.Prepared
    refusals: Refusals

    def __init__(self, device: Device, prepared: typed.Prepared) -> None:
        self.device, self.prepared, self.refusals = device, prepared, device.refusals

    def execute(self, request: Request, callback: Any) -> ErrorStatus:
        """Launch an execution; callback.notify(status). Returns the status of the launch."""
        return launch.execute(self, "1.0", callback, request)

    def last_error(self) -> str:
        """Why the last call on this thread was refused, or ""."""
        return self.refusals.reason

    def __repr__(self) -> str:
        return f"<hal.v{self.hal.replace('.', '_')}.PreparedModel of {self.prepared!r}>"


class Device:
    """IDevice 1.0 over a canonical device, by default one of its own.

        device = nnfast.hal.v1_0.Device()
        status, supported = device.getSupportedOperations(model)
        status = device.prepareModel(model, callback)        # callback.notify(status, prepared)

    device: an nnfast.Device, or that of nnfast.connect for one in another process. model: a Model of the version that
    a method has in its name; callback: any object with the notify method, which is called on a thread of its own.
    Nothing raises for what is wrong with them: the status says so, `last_error` why.
    """

    hal = "1.0"
    device: typed.Preparing
    refusals: Refusals
    _prepared_model = PreparedModel

    def __init__(self, device: typed.Preparing | None = None) -> None:
        if device is None:
            with importing:
                from ..driver.device import Device as Canonical

            device = Canonical()
        self.device, self.refusals = device, Refusals()

    def prepared_model(self, prepared: typed.Prepared) -> PreparedModel:
        """This version's face of a canonical prepared model."""
        return self._prepared_model(self, prepared)

    def last_error(self) -> str:
        """Why the last call on this thread was refused, or ""."""
        return self.refusals.reason

    def getCapabilities(self) -> tuple[ErrorStatus, Capabilities]:
        """(status, Capabilities of HAL 1.0)."""
        return self._capabilities("1.0")

    def getSupportedOperations(self, model: Model) -> tuple[ErrorStatus, list[bool]]:
        """(status, one bool per operation of a 1.0 model)."""
        return self._supported("1.0", model)

    def prepareModel(self, model: Model, callback: Any) -> ErrorStatus:
        """Launch the preparation of a 1.0 model; callback.notify(status, prepared model)."""
        return launch.prepare(self, "1.0", callback, model)

    def getStatus(self) -> DeviceStatus:
        """A CPU is always available; a driver's process may have gone."""
        return DeviceStatus.AVAILABLE if self.device.is_available else DeviceStatus.OFFLINE

    def _capabilities(self, hal):
        vlog.init()
        with trace.span("LD", "PI", "getCapabilities"):
            return self.refusals.answer(hal, lambda: (convert.convert_to(self._all_capabilities(), hal),),
                                        convert.convert_to(Capabilities1_3(), hal))

    def _all_capabilities(self):
        canonical = self.device.capabilities
        rows = [OperandPerformance(kind, _info(canonical.operands[kind])) for kind in sorted(canonical.operands)]
        return Capabilities1_3(_info(canonical.relaxed_scalar), _info(canonical.relaxed_tensor), rows,
                               _info(canonical.branch), _info(canonical.loop))

    def _supported(self, hal, model):
        def ask():
            if vlog.mask & vlog.DRIVER:
                vlog.log(vlog.DRIVER, "HAL %s: getSupportedOperations", hal)
            canonical = models.to_canonical(model, hal)
            self.device.check(canonical, hal)
            refused = self.device.unsupported_reasons(canonical)
            return [index not in refused for index in range(len(canonical.main.operations))],

        with trace.span("LD", "PC", "getSupportedOperations"):
            return self.refusals.answer(hal, ask, [])

    def __repr__(self) -> str:
        return f"<hal.v{self.hal.replace('.', '_')}.Device of {self.device!r}>"


def _info(performance):
    return PerformanceInfo(performance.time, performance.power)
