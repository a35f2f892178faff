"""Measures csrc/base/team.c, csrc/base/team_openmp.c: threads beside the work, after pauses too."""

import statistics
import time

import numpy as np

import nnfast
from nnfast.driver.team import teams

CALLS = 200
PAUSE = 0.005
"""Seconds in which a program does something else."""

STEPS, SIZE = 8, 48


class Teams:
    params = (teams(), [1, 2])
    param_names = ("team", "threads")
    timeout = 120

    def setup(self, team, threads):
        """A chain of small convolutions, each of which both threads have a part in."""
        rng = np.random.default_rng(0)
        b = nnfast.ModelBuilder("chain")
        x = b.input("TENSOR_FLOAT32", (1, SIZE, SIZE, 16))
        w = b.constant(rng.standard_normal((16, 1, 1, 16), np.float32))
        bias = b.constant(np.zeros(16, np.float32))
        one, none = b.scalar(1), b.scalar(0)
        for step in range(STEPS):
            last = step == STEPS - 1
            y = (b.output if last else b.operand)("TENSOR_FLOAT32", (1, SIZE, SIZE, 16))
            b.operation("CONV_2D", [x, w, bias, one, one, one, none], [y])
            x = y
        self.prepared = nnfast.Device(num_threads=threads, team=team, without_passes=["row_fusion"]).prepare(b.build())
        self.inputs = [rng.standard_normal((1, SIZE, SIZE, 16), np.float32)]
        self.prepared.run(self.inputs)

    def track_back_to_back_us(self, team, threads):
        return statistics.median(self._call() for _ in range(CALLS))

    def track_after_a_pause_us(self, team, threads):
        return statistics.median(self._call_after_a_pause() for _ in range(CALLS))

    def track_processor_time_with_pauses_us(self, team, threads):
        """Of a call, the process's threads together, waiting included."""
        began = time.process_time()
        for _ in range(CALLS):
            self._call_after_a_pause()
        return (time.process_time() - began) / CALLS * 1e6

    def _call(self):
        began = time.perf_counter()
        self.prepared.run(self.inputs)
        return (time.perf_counter() - began) * 1e6

    def _call_after_a_pause(self):
        time.sleep(PAUSE)
        return self._call()
