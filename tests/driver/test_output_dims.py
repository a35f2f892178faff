"""Dimensions that a request gives for an output must be those of the result, however it is executed."""

import threading

import numpy as np
import pytest

import nnfast
from nnfast import Memory, ModelBuilder, Request, RequestArgument
from nnfast.errors import GeneralFailure, InvalidArgument

FLOAT = "TENSOR_FLOAT32"
PATIENCE = 600
KNOWN, AT_RUN = (2, 2), (0, 2)
"""Shape of the model's input: known when it is prepared, or only when it runs."""


def relu(shape):
    b = ModelBuilder("relu")
    return b.operation("RELU", [b.input(FLOAT, shape)], [b.output(FLOAT, (0, 0))]).build()


def execute(prepared, request):
    prepared.execute(request)


def launched(prepared, request):
    ended, outcome = threading.Event(), []

    def done(result, error):
        outcome.append(error)
        ended.set()

    prepared.submit_request(request, done)
    assert ended.wait(PATIENCE)
    if outcome[0] is not None:
        raise outcome[0]


def fenced(prepared, request):
    execution = prepared.execute_fenced(request)
    execution.fence.wait(PATIENCE)
    execution.info()


def burst(prepared, request):
    with prepared.burst() as controller:
        controller.execute(request)


WAYS = execute, launched, fenced, burst


@pytest.fixture(params=["local", "service"], scope="module")
def device(request):
    """This process's driver, and one in a process of its own."""
    if request.param == "local":
        yield nnfast.Device(1)
        return
    from nnfast.service.spawn import service_device

    yield service_device(num_threads=1)


def request_with(dims, memory):
    memory.array()[:16].view(np.float32)[:] = [1, -2, 3, -4]
    memory.array()[64:] = 0xA5
    return Request((RequestArgument(0, 0, 16, (2, 2)),), (RequestArgument(0, 64, 64, dims),), (memory,))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("dims", [(2, 3), (3, 2), (1, 2), (4, 4)], ids=str)
@pytest.mark.parametrize("shape, error", [(KNOWN, InvalidArgument), (AT_RUN, GeneralFailure)], ids=["known", "at run"])
def test_other_dimensions(device, shape, error, dims, way):
    prepared, memory = device.prepare(relu(shape)), Memory.create(128)
    request = request_with(dims, memory)
    with pytest.raises(error, match=r"request output 0: dimensions are \[\d, \d\], the result has \[2, 2\]; leave"):
        way(prepared, request)
    assert (memory.array()[64:] == 0xA5).all()
    way(prepared, request_with((2, 2), memory))  # it has not been harmed
    assert memory.array()[64:80].view(np.float32).tolist() == [1, 0, 3, 0]


@pytest.mark.parametrize("way", (execute, launched, burst), ids=lambda way: way.__name__)
@pytest.mark.parametrize("dims", [(), (2, 2), (0, 2), (2, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("shape", (KNOWN, AT_RUN), ids=["known", "at run"])
def test_the_same_dimensions_or_unknown_ones(device, shape, dims, way):
    memory = Memory.create(128)
    way(device.prepare(relu(shape)), request_with(dims, memory))
    assert memory.array()[64:80].view(np.float32).tolist() == [1, 0, 3, 0]
    assert (memory.array()[80:] == 0xA5).all()


def test_a_request_that_asks_for_more_than_an_empty_result():
    b = ModelBuilder("none")
    x, begin, size = b.input(FLOAT, (4,)), b.constant(np.int32([0])), b.input("TENSOR_INT32", (1,))
    prepared = nnfast.Device(1).prepare(b.operation("SLICE", [x, begin, size], [b.output(FLOAT, (0,))]).build())
    pool = np.zeros(256, np.uint8)
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 64, 4)), (RequestArgument(0, 128, 12, (3,)),),
                      (pool,))
    with pytest.raises(GeneralFailure, match=r"dimensions are \[3\], the result has \[0\]"):
        prepared.execute(request)


@pytest.mark.parametrize("shape", (KNOWN, AT_RUN), ids=["known", "at run"])
def test_arrays_of_other_shapes(shape):
    prepared = nnfast.Device(1).prepare(relu(shape))
    for call in (prepared.run, prepared.stream().run):
        with pytest.raises(InvalidArgument, match=r"run output 'output_0': shape is \[3, 2\], must be \[2, 2\]"):
            call([np.ones((2, 2), np.float32)], [np.ones((3, 2), np.float32)])
