"""Measures nnfast/_native/rings/burst.pxi, nnfast/_native/rings/burst_client.pxi, nnfast/driver/burst.py,
nnfast/driver/controller.py: a request through a burst."""

import os

import numpy as np

import nnfast

from . import common

POLL_US = 1_000_000


class Bursts(common.Operation):
    """One RELU through a burst whose ends both poll; bench_hal has the other ways."""

    params = ([1, 65536],)
    param_names = ("values",)

    def build(self, b, values):
        b.operation("RELU", [common.source(b, "f32", (1, values))], [common.target(b, "f32", 2)])

    def setup(self, values):
        super().setup(values)
        os.environ["NNFAST_BURST_DRIVER_WINDOW"] = str(POLL_US)
        self.burst = self.prepared.burst(spin_us=POLL_US)
        nbytes = 4 * values
        memory = nnfast.Memory.create(2 * nbytes)
        memory.array()[:nbytes].view(np.float32)[:] = 1
        self.request = nnfast.Request((nnfast.RequestArgument(0, 0, nbytes),),
                                      (nnfast.RequestArgument(0, nbytes, nbytes),), (memory,))
        self.burst.execute(self.request)

    def teardown(self, values):
        self.burst.close()

    def time_burst_execute(self, values):
        self.burst.execute(self.request)

    def time_burst_run(self, values):
        self.burst.run(self.inputs)
