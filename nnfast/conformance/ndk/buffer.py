"""Memories of the device."""

from ...driver.memory import Memory
from .library import memory_of


class NdkBuffer:
    """A memory of the device."""

    def __init__(self, device, memory):
        self._device, self.memory = device, memory

    def copy_from(self, array, shape):
        """As Buffer.copy_from."""
        shared = Memory.create(array.nbytes)
        shared.array()[:] = array
        source = memory_of(self._device, shared)
        self._device.call("Memory_copy", source.pointer, self.memory.pointer)

    def copy_to(self, array):
        """As Buffer.copy_to."""
        shared = Memory.create(array.nbytes)
        target = memory_of(self._device, shared)
        self._device.call("Memory_copy", self.memory.pointer, target.pointer)
        array[:] = shared.array()


