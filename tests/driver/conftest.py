"""Fixtures of the driver tests."""

from pathlib import Path

import pytest
from vendor_extensions import MONEY, NAME

import nnfast
from nnfast import config, extensions


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
    folder = Path(config.get("NNFAST_SHARED")) / "models"
    names = ("mobilenet_v1_0.25_128_f32", "mobilenet_v1_0.25_128_int8", "ssd_mobilenet_v1_0.5_300_int8", "asr_like_f32",
             "tts_seq32_f32")
    paths = [folder / f"{name}.tflite" for name in names]
    if not all(path.exists() for path in paths):
        pytest.skip(f"no benchmark models in {folder}")
    return paths
