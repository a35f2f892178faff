"""Measures nnfast/driver/mapping.py, nnfast/driver/batches.py: an item of map beside a run, alone and in batches."""

import nnfast

from . import common

ITEMS = 256


class Map(common.Operation):
    """RELU of four numbers: next to nothing but overhead."""

    params = ([1, 8, 32], [1, 2])
    param_names = ("batch", "clients")

    def build(self, b, batch, clients):
        b.operation("RELU", [common.source(b, "f32", (1, 4))], [common.target(b, "f32", 2)])

    def time_256_items(self, batch, clients):
        for _ in self.prepared.map([self.inputs] * ITEMS, batch=batch, clients=clients):
            pass


class MapModels:
    params = (["mobilenet_v1_0.25_128_int8", "mobilenet_v1_0.25_128_f32", "tts_like_f32"], [1, 8], [1, 2])
    param_names = ("model", "batch", "clients")

    def setup(self, model, batch, clients):
        self.model = nnfast.load(common.model_path(model))
        self.prepared = nnfast.Device(num_threads=2).prepare(self.model)
        self.items = [common.model_input(model)] * ITEMS

    def time_256_items(self, model, batch, clients):
        for _ in self.prepared.map(self.items, batch=batch, clients=clients):
            pass
