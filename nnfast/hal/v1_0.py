"""HAL 1.0: IDevice and IPreparedModel."""

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

OperandType, OperationType, ErrorStatus = OPERAND_TYPES["1.0"], OPERATION_TYPES["1.0"], ERROR_STATUSES["1.0"]

__all__ = [
    "Capabilities", "DataLocation", "Device", "DeviceStatus", "ErrorStatus", "Handle", "Memory", "Model", "Operand",
    "OperandLifeTime", "OperandType", "Operation", "OperationType", "PerformanceInfo", "PreparedModel", "Request",
    "RequestArgument",
]


class PreparedModel:
    """IPreparedModel 1.0; device: the face that prepared it, prepared: the canonical model."""

    hal = "1.0"

    def __init__(self, device, prepared):
        self.device, self.prepared, self.refusals = device, prepared, device.refusals

    def execute(self, request, callback):
        """Launch an execution; callback.notify(status)."""
        return launch.execute(self, "1.0", callback, request)

    def last_error(self):
        """Why the last call on this thread was refused, or ""."""
        return self.refusals.reason

    def __repr__(self):
        return f"<hal.v{self.hal.replace('.', '_')}.PreparedModel of {self.prepared!r}>"


class Device:
    """IDevice 1.0 over a canonical device, by default one of its own."""

    hal = "1.0"
    _prepared_model = PreparedModel

    def __init__(self, device=None):
        if device is None:
            with importing:
                from ..driver.device import Device as Canonical

            device = Canonical()
        self.device, self.refusals = device, Refusals()

    def prepared_model(self, prepared):
        """This version's face of a canonical prepared model."""
        return self._prepared_model(self, prepared)

    def last_error(self):
        """Why the last call on this thread was refused, or ""."""
        return self.refusals.reason

    def getCapabilities(self):
        """(status, Capabilities of HAL 1.0)."""
        return self._capabilities("1.0")

    def getSupportedOperations(self, model):
        """(status, one bool per operation of a 1.0 model)."""
        return self._supported("1.0", model)

    def prepareModel(self, model, callback):
        """Launch the preparation of a 1.0 model; callback.notify(status, prepared model)."""
        return launch.prepare(self, "1.0", callback, model)

    def getStatus(self):
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

    def __repr__(self):
        return f"<hal.v{self.hal.replace('.', '_')}.Device of {self.device!r}>"


def _info(performance):
    return PerformanceInfo(performance.time, performance.power)
