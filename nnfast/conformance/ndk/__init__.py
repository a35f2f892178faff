"""libneuralnetworks.so through its C functions, as a device for `--via ndk`."""

from .device import NdkDevice

__all__ = ["NdkDevice"]
