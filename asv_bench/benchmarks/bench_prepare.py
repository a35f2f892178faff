"""Measures nnfast/tflite, nnfast/compiler, nnfast/driver/cache.py: from files to a model and its first result."""

import tempfile

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
        self.opened = [tempfile.TemporaryFile() for _ in range(2)]
        self.files = nnfast.CacheFiles(*((file.fileno(),) for file in self.opened))
        self.device.prepare(self.model, cache=self.files, token=bytes(32))

    def time_load(self, model):
        nnfast.load(self.path)

    def time_prepare(self, model):
        self.device.prepare(self.model)

    def time_prepare_from_cache(self, model):
        self.device.prepare_from_cache(self.files, bytes(32))

    def time_first_result(self, model):
        self.device.prepare(nnfast.load(self.path)).run(self.inputs)

    def peakmem_prepare(self, model):
        self.device.prepare(self.model)
