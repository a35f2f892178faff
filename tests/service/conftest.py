import numpy as np
import pytest

import nnfast
from helpers.raw_client import Raw
from helpers.service import add_model, serving


@pytest.fixture
def server(tmp_path):
    """A server in a thread of this process; `.path` is its socket."""
    with serving(tmp_path) as (path, server):
        server.path = path
        yield server


@pytest.fixture
def device(server):
    """A client of it."""
    device = nnfast.connect(server.path)
    yield device
    device.close()


@pytest.fixture
def local():
    """What the client must do the same as."""
    return nnfast.Device(num_threads=1)


@pytest.fixture
def raw(server):
    raw = Raw(server.path)
    yield raw
    raw.close()


@pytest.fixture
def other(device):
    """A well-behaved client whose results must stay right."""
    x = np.ones(4, np.float32)
    prepared = device.prepare(add_model())
    yield prepared
    assert (prepared.run([x, x])[0] == 2).all()
