"""libneuralnetworks.so through its C functions, as a device for `--via ndk`."""

from .device import NdkDevice
from .library import check_standard

__all__ = ["NdkDevice", "check_standard"]
