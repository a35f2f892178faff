"""Executions on memory pools: placement, shapes, refusals."""

import time

import numpy as np
import pytest

from helpers import models
from nnfast import Request, RequestArgument
from nnfast.errors import InvalidArgument, MissedDeadlinePersistent, MissedDeadlineTransient, OutputInsufficientSize


def request(*, inputs=((0, 0, 24), (0, 24, 24)), outputs=((1, 0, 24),), pools=None):
    pools = pools or (np.arange(12, dtype=np.float32), bytearray(32))
    return Request(tuple(RequestArgument(*a) for a in inputs), tuple(RequestArgument(*a) for a in outputs), pools)


@pytest.fixture
def prepared(device):
    return device.prepare(models.two_step_model())


def test_outputs_land_in_their_pool(prepared):
    r = request()
    result = prepared.execute(r, measure_timing=True)
    wanted = np.clip(np.arange(6) + np.arange(6, 12), 0, 6).astype(np.float32)
    assert np.array_equal(np.frombuffer(r.pools[1], np.float32)[:6], wanted.ravel())
    assert bytes(r.pools[1][24:]) == bytes(8)
    assert [(s.dims, s.is_sufficient) for s in result.shapes] == [((2, 3), True)]
    assert 0 <= result.timing.on_device_us <= result.timing.in_driver_us
    assert prepared.execute(request()).timing.on_device_us is None


def test_unaligned_places_work(prepared):
    pools = (bytearray(2) + np.arange(12, dtype=np.float32).tobytes(), bytearray(33))
    r = request(inputs=((0, 2, 24), (0, 26, 24)), outputs=((1, 3, 24),), pools=pools)
    prepared.execute(r)
    assert np.frombuffer(bytes(pools[1][3:27]), np.float32)[0] == 6.0


def test_output_over_an_input_is_computed_apart(prepared):
    pool = np.arange(12, dtype=np.float32)
    prepared.execute(request(outputs=((0, 4, 24),), pools=(pool,)))
    assert np.array_equal(pool[1:7], np.full(6, 6, np.float32))


def test_small_buffer_reports_shapes_and_writes_nothing(prepared):
    r = request(outputs=((1, 0, 23),))
    with pytest.raises(OutputInsufficientSize, match="the buffer has 23 bytes, the result needs 24") as error:
        prepared.execute(r)
    assert [(s.dims, s.is_sufficient) for s in error.value.shapes] == [((2, 3), False)]
    assert bytes(r.pools[1]) == bytes(32)
    prepared.execute(request())


@pytest.mark.parametrize(("change", "text"), [
    ({"inputs": ((0, 0, 24),)}, "request inputs: got 1, must be 2"),
    ({"outputs": ()}, "request outputs: got 0, must be 1"),
    ({"inputs": ((0, 0, 20), (0, 24, 24))}, "request input 0: length is 20, must be 24"),
    ({"inputs": ((2, 0, 24), (0, 24, 24))}, "request input 0: pool is 2, there are 2 pools"),
    ({"inputs": ((0, 30, 24), (0, 24, 24))}, "must lie in pool 0 of 48 bytes"),
    ({"inputs": ((0, -4, 24), (0, 24, 24))}, "must lie in pool 0"),
    ({"inputs": ((0, 0, 24, (3, 2)), (0, 24, 24))}, r"dimensions are [3, 2], the model has [2, 3]"),
    ({"inputs": ((0, 0, 24, (), True), (0, 24, 24))}, "has no value, so its location"),
    ({"outputs": ((0, 0, 0, (), True),)}, "request output 0: an output must have a place"),
    ({"pools": (np.arange(12, dtype=np.float32), bytes(32))}, "request output 0: pool 1 is read-only"),
    ({"pools": (7, bytearray(32))}, "request pool 0"),
])
def test_bad_requests(prepared, change, text):
    with pytest.raises(InvalidArgument) as error:
        prepared.execute(request(**change))
    assert text in str(error.value)
    prepared.execute(request())


def test_open_dimensions_come_from_the_request(device):
    prepared = device.prepare(models.conv_model(batch=0))
    x = np.ones((2, 5, 5, 2), np.float32)
    out = bytearray(2 * 100 * 4)
    with pytest.raises(InvalidArgument, match="the model leaves dimensions open"):
        prepared.execute(Request((RequestArgument(0, 0, 400),), (RequestArgument(1, 0, 800),), (x, out)))
    result = prepared.execute(Request((RequestArgument(0, 0, 400, (2, 5, 5, 2)),), (RequestArgument(1, 0, 800),),
                                      (x, out)))
    assert result.shapes[0].dims == (2, 5, 5, 4)
    assert np.array_equal(np.frombuffer(out, np.float32).reshape(2, 5, 5, 4), prepared.run([x])[0])


def test_deadlines(device):
    prepared = device.prepare(models.wide_model())
    x, out = np.zeros((1, 128, 128, 16), np.float32), bytearray(1 << 20)
    r = Request((RequestArgument(0, 0, 1 << 20),), (RequestArgument(1, 0, 1 << 20),), (x, out))
    with pytest.raises(MissedDeadlinePersistent, match="before the start"):
        prepared.execute(r, deadline=time.monotonic() - 1)

    def refusal():
        with pytest.raises((MissedDeadlineTransient, MissedDeadlinePersistent)) as caught:
            prepared.execute(r, deadline=time.monotonic() + 0.001)
        return str(caught.value)

    assert any("stopped at" in refusal() for _ in range(10))  # where a busy machine lets it begin in time
    prepared.execute(r, deadline=time.monotonic() + 600)
