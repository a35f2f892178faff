"""Measures the whole: one call of each shared model, warm, and the memory of a process that runs it."""

import nnfast

from . import common


class Models:
    params = (common.MODEL_NAMES, [1, 2])
    param_names = ("model", "threads")

    def setup(self, model, threads):
        path = common.model_path(model)
        self.inputs = [common.model_input(model)]
        self.prepared = nnfast.Device(num_threads=threads).prepare(nnfast.load(path))
        self.out = self.prepared.run(self.inputs)

    def time_run(self, model, threads):
        self.prepared.run(self.inputs, self.out)

    def peakmem_run(self, model, threads):
        self.prepared.run(self.inputs, self.out)
