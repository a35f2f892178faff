import pytest
from service_models import serving

import nnfast


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
