"""Requests on shared memory that come again are bound once (service/bound.py), and stay right."""

import gc

import numpy as np
import pytest

import nnfast
from helpers.service import add_model, gather_model, until
from nnfast import Memory, Request, RequestArgument

X, Y = np.float32([1, 2, 3, 4]), np.float32([10, 20, 30, 40])


def shared_request(shift=0):
    source, target = Memory.create(64), Memory.create(64)
    source.array()[shift:shift + 32] = np.concatenate([X, Y]).view(np.uint8)
    request = Request((RequestArgument(0, shift, 16), RequestArgument(0, shift + 16, 16)),
                      (RequestArgument(1, 0, 16),), (source, target))
    return source, target, request


def connection_of(server):
    return next(iter(server.sessions()[0].connections))


def test_a_request_that_comes_again_is_bound_once(device, server):
    prepared, (source, target, request) = device.prepare(add_model()), shared_request()
    for k in range(6):
        source.array()[:4] = np.float32([k]).view(np.uint8)
        target.array()[:] = 0
        result = prepared.execute(request, measure_timing=k % 2 == 1)
        np.testing.assert_array_equal(target.array()[:16].view(np.float32), np.float32([k + 10, 22, 33, 44]))
        assert result.shapes[0].dims == (4,) and (result.timing.in_driver_us is not None) is (k % 2 == 1)
    assert len(connection_of(server).bound._kept) == 2  # with timing and without
    assert server.latency.total == 6


def test_what_was_bound_is_forgotten_with_its_memory(device, server):
    prepared, (source, target, request) = device.prepare(add_model()), shared_request()
    for _ in range(3):
        prepared.execute(request)
    assert connection_of(server).bound._kept
    del source, target, request
    gc.collect()
    other = shared_request()
    prepared.execute(other[2])
    # The driver is told on a way of its own, which a call may overtake.
    assert until(lambda: server.sessions()[0].count("memory") == 2)
    np.testing.assert_array_equal(other[1].array()[:16].view(np.float32), X + Y)
    prepared.execute(other[2])
    assert until(lambda: len(connection_of(server).bound._kept) == 1)
    del prepared
    gc.collect()
    assert until(lambda: not server.sessions()[0].held())
    with pytest.raises(nnfast.InvalidArgument, match="no prepared model"):
        device._session.call(nnfast.service.protocol.Execute(1, [], [], []))


def test_values_that_are_checked_are_read_anew_each_time(device, server):
    prepared = device.prepare(gather_model())
    source, target = Memory.create(24), Memory.create(8)
    source.array()[:16] = X.view(np.uint8)
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 8)), (RequestArgument(1, 0, 8),),
                      (source, target))
    for at in ([0, 1], [3, 2], [1, 1], [2, 0]):
        source.array()[16:] = np.int32(at).view(np.uint8)
        prepared.execute(request)
        np.testing.assert_array_equal(target.array().view(np.float32), X[at])
    source.array()[16:] = np.int32([0, 9]).view(np.uint8)
    with pytest.raises(nnfast.errors.GeneralFailure):
        prepared.execute(request)
    assert not connection_of(server).bound._kept


@pytest.mark.parametrize("shift", [1, 2])
def test_unaligned_requests_are_not_bound(device, server, shift):
    prepared, (_, target, request) = device.prepare(add_model()), shared_request(shift)
    for _ in range(3):
        prepared.execute(request)
    np.testing.assert_array_equal(target.array()[:16].view(np.float32), X + Y)
    assert not connection_of(server).bound._kept


def test_results_over_their_inputs_stay_right(device, server):
    prepared, (source, _, _) = device.prepare(add_model()), shared_request()
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(0, 0, 16),), (source,))
    for k in range(1, 5):
        prepared.execute(request)
        np.testing.assert_array_equal(source.array()[:16].view(np.float32), X + k * Y)
    assert not connection_of(server).bound._kept
