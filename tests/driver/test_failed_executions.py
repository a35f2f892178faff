"""A failed execution leaves no value in the buffers that it was to write, whatever ended it."""

import gc
import threading
import time
import weakref

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


def test_a_launch_that_lacks_memory_holds_none_until_the_next_garbage_collection():
    """The error has a context, whose traceback counts too."""
    device, ended, told = nnfast.Device(1, memory_limit=40_000), threading.Event(), []
    b = ModelBuilder()
    x, y = b.input(FLOAT, (1, 100)), b.output(FLOAT, (1, 100))
    picked = b.add("GATHER", [x, b.scalar(1), b.constant(np.arange(100, dtype=np.int32))])  # is planned with a table
    model = b.operation("FULLY_CONNECTED", [picked, b.constant(np.ones((100, 100), np.float32)),
                                            b.constant(np.zeros(100, np.float32)), b.scalar(0)], [y]).build()

    def done(prepared, error):
        told.append(str(error))
        ended.set()

    gc.collect()
    gc.disable()
    try:
        device.submit_prepare(model, done)
        assert ended.wait(PATIENCE) and "memory limit" in told[0]
        until = time.monotonic() + PATIENCE
        while device.budget.used and time.monotonic() < until:
            time.sleep(0.001)  # the thread that has told it still holds it
        assert not device.budget.used
    finally:
        gc.enable()


def test_an_error_goes_with_its_last_user_and_not_with_the_next_garbage_collection(prepared):
    """So does what the frames of its traceback work with."""
    def submitted(kept):
        with pytest.raises(InvalidArgument) as caught:
            prepared.submit([X, X[:3]]).result(PATIENCE)
        kept.append(weakref.ref(caught.value))
        del caught

    def launched(kept):
        ended = threading.Event()

        def done(result, error):
            kept.append(weakref.ref(error))
            ended.set()

        prepared.submit_request(Request(
            (RequestArgument(0, 0, 16, (4,)), RequestArgument(1, 0, 12, (3,))), (RequestArgument(2, 0, 16, (4,)),),
            (X, X[:3].copy(), np.zeros(4, np.float32))), done)
        assert ended.wait(PATIENCE)

    for way in (submitted, launched):
        kept = []
        way(kept)
        gc.collect()
        gc.disable()
        try:
            kept.clear()
            way(kept)
            until = time.monotonic() + PATIENCE
            while kept[0]() is not None and time.monotonic() < until:
                time.sleep(0.001)  # the thread that has told it still holds it
            assert kept[0]() is None
        finally:
            gc.enable()
