"""Fixtures of the driver tests."""

import sys
from pathlib import Path

import pytest

import nnfast

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def device():
    return nnfast.Device(num_threads=2)
