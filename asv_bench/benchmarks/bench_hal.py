"""Measures nnfast/hal, nnfast/driver/pools.py, nnfast/driver/memory.py: what a request costs beside the plan."""

import numpy as np

import nnfast
from nnfast.hal import v1_3
from nnfast.hal.layout import request_from_canonical

from . import common


class Requests(common.Operation):
    """One RELU through every way to execute."""

    params = ([16, 65536],)
    param_names = ("values",)

    def build(self, b, values):
        b.operation("RELU", [common.source(b, "f32", (1, values))], [common.target(b, "f32", 2)])

    def setup(self, values):
        super().setup(values)
        device = v1_3.Device(self.prepared.device)
        self.face = device.prepared_model(self.prepared)
        nbytes = 4 * values
        memories = nnfast.Memory.create(nbytes), nnfast.Memory.create(nbytes)
        memories[0].array().view(np.float32)[:] = 1
        places = (nnfast.RequestArgument(0, 0, nbytes),), (nnfast.RequestArgument(1, 0, nbytes),)
        self.canonical = nnfast.Request(*places, memories)
        self.copied = nnfast.Request(*places, tuple(bytearray(nbytes) for _ in memories))
        self.request = request_from_canonical(self.canonical, "1.3")

    def time_execute_on_bytearrays(self, values):
        self.prepared.execute(self.copied)

    def time_execute_on_memory(self, values):
        self.prepared.execute(self.canonical)

    def time_execute_synchronously(self, values):
        self.face.executeSynchronously_1_3(self.request, 0, None, None)
