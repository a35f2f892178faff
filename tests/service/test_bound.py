"""Executions that come again are learned once (service/server/bound.py), answered without the GIL, and stay right."""

import ctypes
import gc
import select
import struct
import threading

import numpy as np
import pytest

import nnfast
from helpers.raw_client import prepared_by, refused
from helpers.service import add_model, gather_model, until
from nnfast import Memory, Request, RequestArgument, trace
from nnfast.errors import ErrorStatus
from nnfast.service.wire import protocol

X, Y = np.float32([1, 2, 3, 4]), np.float32([10, 20, 30, 40])


def shared_request(shift=0):
    source, target = Memory.create(64), Memory.create(64)
    source.array()[shift:shift + 32] = np.concatenate([X, Y]).view(np.uint8)
    request = Request((RequestArgument(0, shift, 16), RequestArgument(0, shift + 16, 16)),
                      (RequestArgument(1, 0, 16),), (source, target))
    return source, target, request


def known_calls(server):
    return next(iter(server.sessions()[0].connections)).receiver.known_calls


def test_a_request_that_comes_again_is_bound_once(device, server):
    prepared, (source, target, request) = device.prepare(add_model()), shared_request()
    for k in range(6):
        source.array()[:4] = np.float32([k]).view(np.uint8)
        target.array()[:] = 0
        result = prepared.execute(request, measure_timing=k % 2 == 1)
        np.testing.assert_array_equal(target.array()[:16].view(np.float32), np.float32([k + 10, 22, 33, 44]))
        assert result.shapes[0].dims == (4,) and (result.timing.in_driver_us is not None) is (k % 2 == 1)
    assert known_calls(server) == 2  # with timing and without
    assert server.latency.total == 6


def test_what_was_bound_is_forgotten_with_its_memory(device, server):
    prepared, (source, target, request) = device.prepare(add_model()), shared_request()
    for _ in range(3):
        prepared.execute(request)
    assert known_calls(server)
    del source, target, request
    gc.collect()
    other = shared_request()
    prepared.execute(other[2])
    # The driver is told on a way of its own, which a call may overtake.
    assert until(lambda: server.sessions()[0].count("memory") == 2)
    np.testing.assert_array_equal(other[1].array()[:16].view(np.float32), X + Y)
    prepared.execute(other[2])
    assert until(lambda: known_calls(server) == 1)
    del prepared
    gc.collect()
    assert until(lambda: not server.sessions()[0].held())
    with pytest.raises(nnfast.InvalidArgument, match="no prepared model"):
        device._session.call(protocol.Execute(1, [], [], []))


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
    assert not known_calls(server)


@pytest.mark.parametrize("shift", [1, 2])
def test_unaligned_requests_are_not_bound(device, server, shift):
    prepared, (_, target, request) = device.prepare(add_model()), shared_request(shift)
    for _ in range(3):
        prepared.execute(request)
    np.testing.assert_array_equal(target.array()[:16].view(np.float32), X + Y)
    assert not known_calls(server)


def test_results_over_their_inputs_stay_right(device, server):
    prepared, (source, _, _) = device.prepare(add_model()), shared_request()
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(0, 0, 16),), (source,))
    for k in range(1, 5):
        prepared.execute(request)
        np.testing.assert_array_equal(source.array()[:16].view(np.float32), X + k * Y)
    assert not known_calls(server)


# -- runs --------------------------------------------------------------------------------------------------------------
@pytest.fixture
def arena(raw):
    """Shared memory of the raw client's connection for calls: x and y as in ADDED, then room for z."""
    memory = Memory.create(4096)
    raw.calls.send(protocol.Arena(4096), [memory.fileno()])
    memory.array()[:16], memory.array()[64:80] = X.view(np.uint8), Y.view(np.uint8)
    return memory


def added(number, call=0, **others):
    return protocol.Run(number, [protocol.Place(0, (4,)), protocol.Place(64, (4,))], [128], call=call, **others)


def check_sum(raw, arena, message):
    arena.array()[128:144] = 0
    answer = raw.call(message)
    assert isinstance(answer, protocol.Results) and answer.arrays == [protocol.Result(128, (4,))], answer
    np.testing.assert_array_equal(arena.array()[128:144].view(np.float32), X + Y)
    return answer


@pytest.mark.parametrize("calls", [[0, 0, 0], [1, 2, 3], [0, 127, 128, 255, 256, 65535, 65536, 2**32, 2**62]])
def test_a_run_that_comes_again_is_learned_once(raw, server, arena, calls):
    number = prepared_by(raw, add_model())
    for call in calls:
        check_sum(raw, arena, added(number, call))
    assert known_calls(server) == 1
    assert server.latency.total == len(calls) == server.sessions()[0].latency.total
    held = server.sessions()[0].get("prepared", number)
    assert held.runs.total == len(calls) and held.runs.best_ns > 0


def test_learned_calls_need_no_gil(raw, server, arena):
    number = prepared_by(raw, add_model())
    for _ in range(2):  # the second one is answered where the next one will be
        check_sum(raw, arena, added(number))
    poll = ctypes.PyDLL(None).poll  # keeps the GIL while it waits
    waiting = ctypes.create_string_buffer(struct.pack("ihh", raw.calls.fileno(), select.POLLIN, 0))
    raw.calls.send(added(number))
    assert poll(waiting, 1, 60_000) == 1
    assert isinstance(raw.answer(raw.calls), protocol.Results)


def test_runs_with_deadlines_are_not_learned(raw, server, arena):
    number = prepared_by(raw, add_model())
    for _ in range(2):
        check_sum(raw, arena, added(number, deadline=2.0**62))
    assert known_calls(server) == 0


def test_a_learned_call_that_is_cancelled_does_not_run(raw, server, arena):
    number = prepared_by(raw, add_model())
    check_sum(raw, arena, added(number, 1))
    raw.calls.send(protocol.Cancel(7))
    arena.array()[128:144] = 0
    answer = raw.call(added(number, 7))
    assert isinstance(answer, protocol.Failure) and answer.cancelled
    assert not arena.array()[128:144].any()
    check_sum(raw, arena, added(number, 8))
    assert known_calls(server) == 1


def test_what_a_learned_call_names_may_go(raw, server, arena):
    number, other = prepared_by(raw, add_model()), prepared_by(raw, add_model())
    for one in (number, other):
        check_sum(raw, arena, added(one))
    assert known_calls(server) == 2
    raw.calls.send(protocol.Release([("prepared", number)]))
    refused(raw.call(added(number)), f"no prepared model {number}")
    check_sum(raw, arena, added(other))
    new = Memory.create(4096)
    raw.calls.send(protocol.Arena(4096), [new.fileno()])
    arena.array()[128:144] = 0
    assert isinstance(raw.call(added(other)), protocol.Results)
    assert not arena.array()[128:144].any() and known_calls(server) == 1


def test_an_error_that_is_owed_comes_before_a_learned_answer(raw, server, arena):
    number = prepared_by(raw, add_model())
    check_sum(raw, arena, added(number))
    raw.calls.send(protocol.Arena(4096))
    refused(raw.call(added(number)), "one descriptor")
    check_sum(raw, arena, added(number))


def test_watchers_see_learned_calls(raw, server, arena):
    number = prepared_by(raw, add_model())
    check_sum(raw, arena, added(number))
    with trace.record() as recorder:
        check_sum(raw, arena, added(number))
    assert "[NN_LI_PE]Run" in {event[0] for event in recorder.events}
    assert known_calls(server) == 1


def test_more_messages_than_are_kept(raw, server, arena):
    number = prepared_by(raw, add_model())
    for _ in range(2):
        for k in range(40):
            target = 128 + 64 * k
            run = protocol.Run(number, [protocol.Place(0, (4,)), protocol.Place(64, (4,))], [target])
            arena.array()[target:target + 16] = 0
            raw.call(run)
            np.testing.assert_array_equal(arena.array()[target:target + 16].view(np.float32), X + Y)
    assert known_calls(server) == 16


def test_a_full_quota_of_executions_is_told(raw, server, arena):
    number = prepared_by(raw, add_model())
    check_sum(raw, arena, added(number))
    executions = server.sessions()[0].client.executions
    free = executions.limit - executions.used
    assert executions.take(free) is None
    refused(raw.call(added(number)), "executions", status=ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT)
    executions.give_back(free)
    check_sum(raw, arena, added(number))


def test_idle_memory_may_go_between_learned_calls(raw, server, arena):
    number = prepared_by(raw, add_model())
    for _ in range(3):
        check_sum(raw, arena, added(number))
        server.sessions()[0].get("prepared", number).prepared.release_idle()
    assert server.latency.total == 3 and known_calls(server) == 1


def test_releases_beside_learned_calls(device, server):
    """Threads that run beside one that makes and drops models and memory all the time."""
    prepared, failures = [device.prepare(add_model(size)) for size in (4, 64, 4096)], []

    def work(model):
        x = np.arange(model.inputs[0].shape[0], dtype=np.float32)
        try:
            for k in range(150):
                np.testing.assert_array_equal(model.run([x, x + k])[0], 2 * x + k)
                np.testing.assert_array_equal(model.submit([x, x]).result()[0], 2 * x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(model,)) for model in prepared]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        passing, (_, target, request) = device.prepare(add_model(8)), shared_request()
        del passing
        prepared[0].execute(request)
        np.testing.assert_array_equal(target.array()[:16].view(np.float32), X + Y)
    assert not failures
