"""How the clients of a test come to the driver."""

from dataclasses import dataclass

from .. import Device, connect
from ..conformance.ndk import NdkDevice

LOCAL, SERVICE, NDK = VIAS = "local", "service", "ndk"


@dataclass(frozen=True, slots=True)
class Way:
    """via: one of VIAS. socket: of the driver's process; None for "local", where it is in each client's own."""

    via: str = LOCAL
    socket: str | None = None

    @property
    def arithmetic(self):
        """That of models, as of nnfast.load: the C library has the standard's operations alone."""
        return "nnapi" if self.via == NDK else "litert"

    def open(self):
        """The device under stress."""
        if self.via == NDK:
            return NdkDevice(socket=self.socket)
        return Device() if self.socket is None else connect(self.socket)
