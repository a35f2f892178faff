"""The device of `--via definitions`: no kernels, every operation is computed by its definition in numpy."""

from ..driver.device import Device


class DefinitionsDevice(Device):
    """A Device without native kernels, as nnapi-reference of the C library."""

    def __init__(self, num_threads=None):
        super().__init__(num_threads, without_passes=["native_kernels"])
