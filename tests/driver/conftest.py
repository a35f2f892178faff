"""Fixtures of the driver tests."""


import pytest

import nnfast
from helpers.shared import MODELS
from helpers.vendor_extensions import MONEY, NAME
from nnfast import extensions


@pytest.fixture
def device():
    return nnfast.Device(num_threads=2)


@pytest.fixture
def registered():
    """The extension of vendor_extensions.py, known to every device of a test."""
    extensions.register(MONEY)
    yield MONEY
    extensions.unregister(NAME)


@pytest.fixture
def shared_models():
    """Paths of the shared benchmark models, one of each kind of network."""
    names = ("mobilenet_v1_0.25_128_f32", "mobilenet_v1_0.25_128_int8", "ssd_mobilenet_v1_0.5_300_int8", "asr_like_f32",
             "tts_seq32_f32")
    paths = [MODELS / f"{name}.tflite" for name in names]
    if not all(path.exists() for path in paths):
        pytest.skip(f"no benchmark models in {MODELS}")
    return paths
