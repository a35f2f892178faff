"""Bursts on models in the driver's process [NN 4]: queues and memories cross over, packets need no message."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import nnfast
from helpers.processes import environment
from helpers.service import add_model, core_ns, endless_model, reach, reshape_model, serving, until
from nnfast import Memory, Request, RequestArgument, fmq
from nnfast._native.rings import build_request, parse_result
from nnfast.conformance import bursts
from nnfast.errors import DeadObject, GeneralFailure, InvalidArgument, ResourceExhaustedTransient
from nnfast.errors import ErrorStatus as S
from nnfast.hal import v1_3
from nnfast.hal.burst import ExecutionBurstController
from nnfast.hal.layout import request_from_canonical
from nnfast.service.client import burst as client_end
from nnfast.service.server.quotas import Quotas
from nnfast.service.spawn import start
from nnfast.service.wire import protocol

X, Y = np.arange(4, dtype=np.float32), np.full(4, 10, np.float32)
ADDED = (X + Y).tolist()


def request():
    """x, y and then z of add_model, in one memory."""
    memory = Memory.create(192)
    memory.array()[:16], memory.array()[64:80] = X.view(np.uint8), Y.view(np.uint8)
    return Request((RequestArgument(0, 0, 16), RequestArgument(0, 64, 16)), (RequestArgument(0, 128, 16),), (memory,))


def result(r):
    return r.pools[0].array()[128:144].view(np.float32).tolist()


def served(server):
    """The bursts that a server holds."""
    return [held.burst for session in server.sessions() for held in session._tables["burst"].values()]


@pytest.fixture
def prepared(device):
    return device.prepare(add_model())


# -- as in one process -------------------------------------------------------------------------------------------------
def test_requests_and_arrays(server, prepared):
    with prepared.burst() as burst:
        for _ in range(3):
            r = request()
            assert [(s.dims, s.is_sufficient) for s in burst.execute(r).shapes] == [((4,), True)]
            timing = burst.execute(r, measure_timing=True).timing
            assert result(r) == ADDED and timing.on_device_us <= timing.in_driver_us
            assert burst.run([X, Y])[0].tolist() == ADDED
        assert burst.fallbacks == 0 and served(server)[0].runs >= 5
        r = request()
        with pytest.raises(InvalidArgument, match="^request inputs: got 1, must be 2$"):
            burst.execute(Request(r.inputs[:1], r.outputs, r.pools))


def test_plain_arrays_and_open_shapes(device, prepared):
    with prepared.burst() as burst:
        pool = np.zeros(48, np.uint8)
        burst.execute(Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(0, 32, 16),),
                              (pool,)))
        assert burst.fallbacks == 1
    open_model = device.prepare(reshape_model())
    with open_model.burst() as burst:
        x = np.arange(12, dtype=np.float32).reshape(2, 6)
        assert burst.run([x, np.array([3, 4], np.int32)])[0].shape == (3, 4)


def test_hidl_face(server):
    face = v1_3.Device(nnfast.connect(server.path))
    prepared = face.prepared_model(face.device.prepare(add_model()))
    controller, r = ExecutionBurstController(prepared), request()
    for _ in range(3):
        status, shapes, _, fallback = controller.compute(request_from_canonical(r, "1.3"), 1)
        assert (status, shapes, fallback) == (S.NONE, [v1_3.OutputShape([4], True)], False) and result(r) == ADDED
    assert controller.freeMemory(r.pools[0]) and not served(server)[0]._memories
    controller.close()
    assert prepared.configureExecutionBurst(None, None, None) == (S.GENERAL_FAILURE, None)


def test_11_12_mutated_packets(server, prepared):
    r = request()
    packet = bursts.packet_of(r, [0])
    with bursts.RawBurst(prepared.configure_burst, {0: r.pools[0]}) as burst:
        assert burst.exchange(packet)[0] == S.NONE
        for _, _, wrong in bursts.mutated(packet):
            bursts.must_fail(burst.exchange(wrong))
        assert burst.exchange(packet)[0] == S.NONE and result(r) == ADDED
        assert burst.asked[0] == [0] and [2147483647] in burst.asked
    assert until(lambda: not served(server))


def test_freed_slots_name_other_memories(prepared):
    first, second = request(), request()
    with bursts.RawBurst(prepared.configure_burst, {0: first.pools[0]}) as burst:
        packet = bursts.packet_of(first, [0])
        assert burst.exchange(packet)[0] == S.NONE
        burst.context.free_memory(0)
        for slot in (0, 77, -1, 1 << 40):
            burst.context.free_memory(slot)
        burst.memories[0] = second.pools[0]
        assert burst.exchange(packet)[0] == S.NONE and result(second) == ADDED and burst.asked == [[0], [0]]


def test_the_first_run_asks_for_no_memory(server, prepared):
    with prepared.burst() as burst:
        assert burst.run([X, Y])[0].tolist() == ADDED
        assert served(server)[0].runs == 1


def test_memory_that_is_dropped_is_let_go_in_the_driver(server, prepared):
    with prepared.burst() as burst:
        for _ in range(300):
            burst.execute(request())
        assert len(served(server)[0]._memories) <= 3  # with that of `run`


# -- ends --------------------------------------------------------------------------------------------------------------
def test_closed_and_dropped_bursts_end_in_the_driver(server, prepared):
    threads = threading.active_count()
    for _ in range(5):
        burst = prepared.burst()
        burst.execute(request())
        burst.close()
        prepared.burst().execute(request())
    del burst
    assert until(lambda: not served(server) and threading.active_count() <= threads + 1)


def test_the_client_goes_with_a_burst_open(server):
    device = nnfast.connect(server.path)
    burst = device.prepare(add_model()).burst()
    burst.execute(request())
    ended = served(server)[0]
    device.close()
    assert until(lambda: not server.sessions() and not ended.is_alive())
    with pytest.raises(DeadObject):
        burst.execute(request())


def test_a_running_execution_ends_with_its_client(server):
    def seconds_to_close():
        device = nnfast.connect(server.path)
        burst, memory = device.prepare(endless_model()).burst(), Memory.create(64)
        outcome = []

        def work():
            with pytest.raises(nnfast.Error):
                burst.execute(Request((RequestArgument(0, 0, 4),), (RequestArgument(0, 32, 4),), (memory,)))
            outcome.append(time.monotonic())

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.1)
        ended, began = served(server)[0], time.monotonic()
        device.close()
        thread.join(600)
        assert outcome and until(lambda: not ended.is_alive() and not server.sessions())
        return time.monotonic() - began

    assert any(seconds_to_close() < 1.5 for _ in range(10))  # the loop goes on for two seconds


def test_the_driver_is_killed_under_a_burst(tmp_path):
    path = str(tmp_path / "nnfast.sock")
    process = start(path, "--threads", "1")
    try:
        device = reach(path)
        burst, memory = device.prepare(endless_model()).burst(), Memory.create(64)
        idle, caught = device.prepare(add_model()).burst(), []
        idle.execute(request())

        def work():
            with pytest.raises(DeadObject) as error:
                burst.execute(Request((RequestArgument(0, 0, 4),), (RequestArgument(0, 32, 4),), (memory,)))
            caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.2)
        process.kill()
        thread.join(600)
        assert caught and not idle.is_alive()
        for call in (lambda: idle.execute(request()), lambda: idle.run([X, Y]), lambda: burst.free(memory)):
            try:
                call()
            except DeadObject:
                pass
        with pytest.raises(DeadObject):
            idle.execute(request())
    finally:
        process.kill()
        process.wait()


_KILLED = """
import sys
import numpy as np, nnfast
from nnfast import Memory, Request, RequestArgument
from helpers.service import add_model
prepared = nnfast.connect(sys.argv[1]).prepare(add_model())
burst = prepared.burst(spin_us=int(sys.argv[2]))
print("ready", flush=True)
while True:
    memory = Memory.create(192)
    burst.execute(Request((RequestArgument(0, 0, 16), RequestArgument(0, 64, 16)), (RequestArgument(0, 128, 16),),
                          (memory,)))
"""


def test_killed_clients_leave_nothing_and_harm_nobody(server, prepared):
    with prepared.burst() as burst:
        for attempt in range(6):
            client = subprocess.Popen([sys.executable, "-c", _KILLED, server.path, str(50 * (attempt % 2))],
                                      stdout=subprocess.PIPE, env=environment())
            assert client.stdout.readline() == b"ready\n"
            time.sleep(0.01 * attempt)
            client.send_signal(signal.SIGKILL)
            client.wait()
            client.stdout.close()
            r = request()
            burst.execute(r)
            assert result(r) == ADDED
        assert until(lambda: len(server.sessions()) == 1 and len(served(server)) == 1)
        assert burst.fallbacks == 0


# -- what a client may not ---------------------------------------------------------------------------------------------
def test_queues_that_are_none(prepared):
    good = [fmq.MessageQueue.create(dtype, 64) for dtype in (fmq.REQUEST_DATUM, fmq.RESULT_DATUM)]
    silent = fmq.MessageQueue.create(fmq.REQUEST_DATUM, 64, event_flag=False)
    for pair in ((None, good[1].descriptor), (good[0].descriptor, 7), (silent.descriptor, good[1].descriptor)):
        with pytest.raises(InvalidArgument, match="burst (request|result) channel: "):
            prepared.configure_burst(list, *pair)
    with pytest.raises(InvalidArgument, match="get_memories"):
        prepared.configure_burst(None, good[0].descriptor, good[1].descriptor)


def test_queues_that_only_the_driver_sees_are_none(server, device, prepared):
    """What the client's own checks would have refused: the driver does not rely on them."""
    good = [fmq.MessageQueue.create(dtype, 64) for dtype in (fmq.REQUEST_DATUM, fmq.RESULT_DATUM)]
    queues = [client_end._queue(queue.descriptor) for queue in good]
    fds = [fd for queue in good for fd in queue.descriptor.fds]
    loose = os.memfd_create("loose", os.MFD_ALLOW_SEALING)
    os.ftruncate(loose, 1 << 16)
    far = protocol.Queue([(0, 0, 0, 8), (0, 0, 128, 8), (0, 0, 1 << 31, 1 << 40), (0, 0, 256, 4)], 1, 24, 1)
    for number, first, files in ((prepared.number, queues[0], fds[:1]), (prepared.number, queues[0], [*fds, fds[0]]),
                                 (prepared.number, queues[0], [loose, fds[1]]), (prepared.number, far, fds),
                                 (prepared.number + 99, queues[0], fds)):
        with pytest.raises(InvalidArgument):
            device._session.call(protocol.OpenBurst(number, first, queues[1], [], []), files)
    os.close(loose)
    memory = Memory.create(64)
    record = protocol.SharedMemory("ashmem", 64, 3, 0)
    for slots, records, files in (([0], [], []), ([], [record], [memory]), ([0], [record], []), ([0, 0], [record] * 2,
                                  [memory] * 2), ([-1], [record], [memory]), ([1 << 40], [record], [memory])):
        message = protocol.OpenBurst(prepared.number, *queues, slots, records)
        with pytest.raises(InvalidArgument):
            device._session.call(message, [*fds, *(file.fileno() for file in files)])
    assert not served(server) and prepared.run([X, Y])[0].tolist() == ADDED


def test_nobody_names_another_client_s_burst(server, device, prepared):
    burst = prepared.burst()
    burst.execute(request())
    number = burst._channel.context._number
    other = nnfast.connect(server.path)
    for message in (protocol.FreeMemory(number, 0), protocol.GetBurstError(number)):
        with pytest.raises(InvalidArgument, match="this client has no burst"):
            other._session.call(message)
    other._session.drop("burst", number)
    other._session.tell(protocol.Memories(1, "", []))
    other.prepare(add_model())
    assert burst.execute(request()).shapes and burst.fallbacks == 0
    other.close()


def test_too_many_bursts(tmp_path):
    with serving(tmp_path, quotas=Quotas(bursts=3)) as (path, _):
        prepared = nnfast.connect(path).prepare(add_model())
        kept = [prepared.burst() for _ in range(3)]
        with pytest.raises(ResourceExhaustedTransient, match="bursts is 3"):
            prepared.burst()
        kept.pop().close()
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            try:
                assert prepared.burst().execute(request()).shapes
                break
            except ResourceExhaustedTransient:
                time.sleep(0.05)
        else:
            pytest.fail("a burst that has ended still counts")


@pytest.mark.parametrize("answer", ["nothing", "too few", "no memory", "noise"])
def test_memories_that_do_not_come(server, device, prepared, monkeypatch, answer):
    monkeypatch.setattr("nnfast.service.server.burst.ANSWER_SECONDS", 0.2)
    session, memory = device._session, Memory.create(192)

    def reply(_, message):
        if answer == "too few":
            session.tell(protocol.Memories(message.call, "", [protocol.SharedMemory("ashmem", 192, 3, 0)] * 3),
                         [memory.fileno()])
        elif answer == "no memory":
            session.tell(protocol.Memories(message.call, "", [protocol.SharedMemory("ashmem", 1 << 40, 3, 0)]),
                         [memory.fileno()])
        elif answer == "noise":
            for call in (0, message.call + 1, -5, 1 << 60):
                session.tell(protocol.Memories(call, "", []))

    monkeypatch.setattr("nnfast.service.client.session.answer_later", reply)
    other = nnfast.connect(server.path)
    with prepared.burst() as burst:
        with pytest.raises(InvalidArgument, match="request pools: no memory for slots"):
            burst.execute(request())
        monkeypatch.setattr("nnfast.service.client.session.answer_later", client_end.answer_later)
        assert other.prepare(add_model()).burst().execute(request()).shapes
        r = request()
        assert burst.execute(r).shapes and result(r) == ADDED
    other.close()


def test_counters_that_are_nonsense_end_this_burst_only(server, device, prepared):
    with prepared.burst() as other:
        other.execute(request())
        with bursts.RawBurst(prepared.configure_burst, {}) as burst:
            broken, = (one for one in served(server) if one.runs == 0 and not one._memories)
            grantor = burst.requests.descriptor.grantors[1]
            os.pwrite(burst.requests.descriptor.fds[0], (1 << 62 | 7).to_bytes(8, "little"), grantor.offset)
            burst.requests.wake(fmq.NOT_EMPTY)
            assert until(lambda: not broken.is_alive())
        assert other.execute(request()).shapes and other.fallbacks == 0


def test_a_client_that_never_reads_its_answers(server, device, prepared):
    r = request()
    with prepared.burst() as other, bursts.RawBurst(prepared.configure_burst, {0: r.pools[0]}, 8) as burst:
        for _ in range(4):
            burst.send(bursts.packet_of(r, [0]))
            time.sleep(0.02)
        assert other.execute(request()).shapes and other.fallbacks == 0
    assert until(lambda: not served(server))


def test_packets_are_what_they_are_in_one_process(prepared):
    """The bytes of an answer across processes, padding and all."""
    r = request()
    packet = build_request([(False, 0, 0, 16, ()), (False, 0, 64, 16, ())], [(False, 0, 128, 16, ())], [5], False)
    with bursts.RawBurst(prepared.configure_burst, {5: r.pools[0]}) as burst:
        for _ in range(2):
            burst.send(packet)
            rows = burst.receive()
            assert parse_result(rows)[:2] == (S.NONE, [((4,), True)]) and not rows[:, 1:8].any()


def test_no_answer_is_a_failure(prepared, server):
    with prepared.burst() as burst:
        burst.execute(request())
        served(server)[0].close()
        threading.Timer(0.3, lambda: burst._channel._client.close()).start()
        with pytest.raises(GeneralFailure, match="there is no answer"):
            burst.execute(request())
        assert burst.execute(request()).shapes and burst.fallbacks == 1


def test_statistics_count_the_requests_of_bursts(device, server, prepared):
    before = device.stats()["executions"]
    with prepared.burst() as burst:
        for _ in range(20):
            burst.execute(request())
        client, = device.stats()["clients"]
        assert client["bursts"] == 1 and client["executions"] == client["models"][0]["executions"] == 20
        assert device.stats()["executions"] == before + 20 == device.stats()["executions"]
        with pytest.raises(InvalidArgument):
            burst.execute(Request((), (), ()))
        burst.execute(request())
    assert until(lambda: device.stats()["executions"] == before + 21)
    assert device.stats()["clients"][0]["bursts"] == 0


def test_a_server_that_stops_finishes_the_request_it_is_on(tmp_path):
    with serving(tmp_path, drain_seconds=15.0) as (path, server):
        device = nnfast.connect(path)
        idle, burst, memory = device.prepare(add_model()).burst(), device.prepare(endless_model()).burst(), \
            Memory.create(64)
        idle.execute(request())
        outcome, before = [], core_ns(server)

        def work():
            with pytest.raises(nnfast.Error) as error:
                burst.execute(Request((RequestArgument(0, 0, 4),), (RequestArgument(0, 32, 4),), (memory,)))
            outcome.append(error.value)

        thread = threading.Thread(target=work)
        thread.start()
        assert until(lambda: core_ns(server) > before)
        server.stop()
        thread.join(600)
        with pytest.raises(DeadObject):
            idle.execute(request())
    # The loop ran until its own time was up, two seconds, and the client was told so.
    assert len(outcome) == 1 and type(outcome[0]) is GeneralFailure and "answered GENERAL_FAILURE" in str(outcome[0])
