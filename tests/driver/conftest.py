"""Fixtures of the driver tests."""

import pytest

import nnfast


@pytest.fixture
def device():
    return nnfast.Device(num_threads=2)
