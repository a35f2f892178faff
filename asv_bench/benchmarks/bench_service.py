"""Measures nnfast/service/server/connection.py, nnfast/service/client/session.py: calls of a driver's process."""

import os
import secrets
import tempfile

import nnfast
from nnfast.service.spawn import reach, start

from . import common


class Calls(common.Operation):
    """One RELU of a client in another process than the driver: by a call, through rings; and what comes before."""

    params = ([1, 65536],)
    param_names = ("values",)
    timeout = 120

    def build(self, b, values):
        b.operation("RELU", [common.source(b, "f32", (1, values))], [common.target(b, "f32", 2)])

    def setup(self, values):
        super().setup(values)
        self.path = os.path.join(tempfile.gettempdir(), f"nnfast-{secrets.token_hex(8)}.sock")
        self.process = start(self.path, "--threads", "1")
        self.device = reach(self.path, self.process)
        self.model = self.prepared.model
        self.there = self.device.prepare(self.model)
        self.burst = self.there.burst(spin_us=50)

    def teardown(self, values):
        self.burst.close()
        self.device.close()
        self.process.terminate()
        self.process.wait()

    def time_run(self, values):
        self.there.run(self.inputs)

    def time_burst_run(self, values):
        self.burst.run(self.inputs)

    def time_prepare_what_others_have(self, values):
        self.device.prepare(self.model)

    def time_connect(self, values):
        nnfast.connect(self.path).close()
