"""Measures nnfast/tflite, nnfast/compiler: from a file to a prepared model, and to the first result."""

import nnfast

from . import common


class Prepare:
    params = (common.MODEL_NAMES,)
    param_names = ("model",)

    def setup(self, model):
        self.path = common.model_path(model)
        self.inputs = [common.model_input(model)]
        self.device = nnfast.Device(num_threads=1)
        self.model = nnfast.load(self.path)

    def time_load(self, model):
        nnfast.load(self.path)

    def time_prepare(self, model):
        self.device.prepare(self.model)

    def time_first_result(self, model):
        self.device.prepare(nnfast.load(self.path)).run(self.inputs)

    def peakmem_prepare(self, model):
        self.device.prepare(self.model)
