"""A stand-in for the driver."""

import pytest

import nnfast
from helpers.fake_models import FakePrepared
from nnfast.cli import shapes


@pytest.fixture
def fake_model(monkeypatch):
    """Call it with inputs, outputs and a function: `nnfast.load` and `nnfast.Device` then serve this model."""
    def install(inputs, outputs, compute, loaded=None):
        prepared = FakePrepared(inputs, outputs, compute)

        class Device:
            def __init__(self, num_threads=None, precision=None, without_passes=()):
                prepared.threads = num_threads

            def prepare(self, model, input_shapes=None):
                return prepared

        monkeypatch.setattr(nnfast, "load", lambda path, relaxed=False: loaded, raising=False)
        monkeypatch.setattr(shapes, "load", lambda path, given, relaxed=False: (loaded, None, None))
        monkeypatch.setattr(nnfast, "Device", Device, raising=False)
        return prepared

    return install
