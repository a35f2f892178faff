"""A stand-in for the driver, so that the commands' own work is tested alone."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nnfast

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))


def entry(name, shape, dtype="float32", scale=0.0, zero_point=0):
    return SimpleNamespace(name=name, shape=shape, dtype=np.dtype(dtype), scale=scale, zero_point=zero_point)


class FakeStream:
    def __init__(self):
        self.total = 0

    def run(self, arrays):
        self.total = self.total + arrays[0].sum()
        return [np.full((1, 2), self.total, np.float32)]


class FakePrepared:
    """Output: scores, by default the flat input; a stream sums up what it has seen."""

    def __init__(self, inputs, outputs, compute):
        self.inputs, self.outputs, self.compute, self.seen = inputs, outputs, compute, []

    def run(self, arrays, out=None):
        self.seen.append(arrays)
        return self.compute(arrays)

    def stream(self):
        return FakeStream()

    def explain(self):
        return SimpleNamespace(__str__=lambda: "steps", to_json=lambda: {"steps": []})


@pytest.fixture
def fake_model(monkeypatch):
    """Call it with inputs, outputs and a function: `nnfast.load` and `nnfast.Device` then serve this model."""
    def install(inputs, outputs, compute):
        prepared = FakePrepared(inputs, outputs, compute)

        class Device:
            def __init__(self, num_threads=None):
                prepared.threads = num_threads

            def prepare(self, model):
                return prepared

        monkeypatch.setattr(nnfast, "load", lambda path: path, raising=False)
        monkeypatch.setattr(nnfast, "Device", Device, raising=False)
        return prepared

    return install
