"""A failed execution leaves no value in the buffers that it was to write, whatever ended it."""

import threading
import time

import numpy as np
import pytest

import nnfast
from nnfast import Fence, ModelBuilder, Request, RequestArgument, Role
from nnfast.errors import Error, GeneralFailure, InvalidArgument

FLOAT = "TENSOR_FLOAT32"
PATIENCE = 600
X = np.float32([1, 2, 3, 4])


@pytest.fixture(params=["local", "service"], scope="module")
def device(request):
    """This process's driver, and one in a process of its own."""
    if request.param == "local":
        yield nnfast.Device(1)
        return
    from nnfast.service.spawn import service_device

    yield service_device(num_threads=1)


@pytest.fixture
def prepared(device):
    b = ModelBuilder("add")
    x, z, y = b.input(FLOAT, (0,)), b.input(FLOAT, (0,)), b.output(FLOAT, (0,))
    return device.prepare(b.operation("ADD", [x, z, b.scalar(0)], [y]).build())


@pytest.fixture
def buffer(device, prepared):
    """A buffer for the output with a value."""
    buffer = device.allocate([Role(prepared, 0)], [Role(prepared, 0)], (4,))
    buffer.copy_from(X)
    return buffer


def has_value(buffer):
    target = np.zeros(4, np.float32)
    try:
        buffer.copy_to(target)
    except GeneralFailure as error:
        assert "has no value" in str(error)
        return False
    return True


def into(buffer, *inputs, dims=(), shape=(4,)):
    """A request that reads arrays or buffers and writes the buffer."""
    arguments = [RequestArgument(place, 0, value.nbytes, shape) if isinstance(value, np.ndarray)
                 else RequestArgument(place) for place, value in enumerate(inputs)]
    return Request(tuple(arguments), (RequestArgument(len(inputs), dims=dims),), (*inputs, buffer))


def execute(prepared, request, deadline=None):
    prepared.execute(request, deadline=deadline)


def launched(prepared, request, deadline=None):
    ended, outcome = threading.Event(), []

    def done(result, error):
        outcome.append(error)
        ended.set()

    prepared.submit_request(request, done, deadline=deadline)
    assert ended.wait(PATIENCE)
    if outcome[0] is not None:
        raise outcome[0]


def fenced(prepared, request, deadline=None):
    execution = prepared.execute_fenced(request, deadline=deadline)
    execution.fence.wait(PATIENCE)
    execution.info()


ways = pytest.mark.parametrize("way", (execute, launched, fenced), ids=lambda way: way.__name__)


@ways
def test_too_late_before_the_start(prepared, buffer, way):
    with pytest.raises(Error, match="deadline has passed before the start"):
        way(prepared, into(buffer, X, X, dims=(4,)), time.monotonic() - 1)
    assert not has_value(buffer)
    way(prepared, into(buffer, X, X, dims=(4,)))
    assert has_value(buffer)


@ways
def test_an_input_without_a_value(device, prepared, buffer, way):
    empty = device.allocate([Role(prepared, 1)], [], (4,))
    with pytest.raises(GeneralFailure, match="has no value yet"):
        way(prepared, into(buffer, X, empty, dims=(4,)))
    assert not has_value(buffer)


@ways
def test_a_result_that_does_not_fit(prepared, buffer, way):
    with pytest.raises(GeneralFailure, match=r"the result (has|is) \[5\]|was allocated for \[4\]"):
        way(prepared, into(buffer, *[np.ones(5, np.float32)] * 2, dims=(4,), shape=(5,)))
    assert not has_value(buffer)


def test_a_fence_in_error(prepared, buffer):
    fence = Fence()
    execution = prepared.execute_fenced(into(buffer, X, X, dims=(4,)), [fence])
    assert has_value(buffer)  # nothing has been written yet
    fence.fail()
    assert execution.fence.wait(PATIENCE) == "error"
    assert not has_value(buffer)


@ways
def test_what_is_invalid_is_no_execution(prepared, buffer, way):
    with pytest.raises(InvalidArgument):
        way(prepared, into(buffer, X, np.ones(4, np.int8), dims=(4,)))
    assert has_value(buffer)
