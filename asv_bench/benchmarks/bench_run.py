"""Measures _native/engine/runner.pxi, _native/engine/plan.pxi, nnfast/driver/stream.py: what a call and a step cost."""

from . import common


class Chain(common.Operation):
    """RELU of four numbers, many times: next to nothing but overhead."""

    params = ([1, 10, 100],)
    param_names = ("steps",)

    def build(self, b, steps):
        x = common.source(b, "f32", (1, 4))
        for _ in range(steps - 1):
            x = b.add("RELU", [x])
        b.operation("RELU", [x], [common.target(b, "f32", 2)])

    def setup(self, steps):
        super().setup(steps)
        self.stream = self.prepared.stream()

    def time_run_fresh_outputs(self, steps):
        self.prepared.run(self.inputs)

    def time_stream(self, steps):
        self.stream.run(self.inputs, self.out)
