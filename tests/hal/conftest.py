"""Fixtures of the HAL tests."""

import pytest

from helpers.burst_clients import Client
from helpers.hal_clients import prepare
from nnfast import Device
from nnfast.hal import v1_0, v1_1, v1_2, v1_3

FACES = {"1.0": v1_0, "1.1": v1_1, "1.2": v1_2, "1.3": v1_3}


@pytest.fixture(scope="session")
def canonical():
    return Device(num_threads=1)


@pytest.fixture(params=FACES)
def face(request, canonical):
    """The device of each version."""
    return FACES[request.param].Device(canonical)


@pytest.fixture
def device(canonical):
    """A device of HAL 1.3."""
    return v1_3.Device(canonical)


@pytest.fixture(params=["1.2", "1.3"])
def prepared(request, canonical):
    """y = x + 1 of 2 x 3 floats."""
    return prepare(FACES[request.param].Device(canonical))


@pytest.fixture
def client(prepared):
    """A burst with memory 0 for the input and memory 1 for the output."""
    with Client(prepared) as client:
        yield client
