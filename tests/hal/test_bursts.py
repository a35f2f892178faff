"""Bursts [NN 4, 11.12], through HAL 1.2 and 1.3."""

import gc
import os
import threading
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest

from helpers import burst_clients as packets
from helpers.hal_clients import Pools, prepare
from nnfast import Memory, ModelBuilder, fmq
from nnfast._native.rings import NO_TIME as NEVER
from nnfast._native.rings import build_request, parse_result
from nnfast.errors import ErrorStatus as S
from nnfast.hal import v1_2, v1_3
from nnfast.hal.burst import ExecutionBurstController
from nnfast.hal.layout import from_canonical

REFUSED = [], NEVER, NEVER


# -- [NN 4.1, 4.2]: a burst is made ------------------------------------------------------------------------------------
def test_4_1_null_callback(prepared):
    queues = packets.channels()
    for callback in (None, object(), 7):
        answer = prepared.configureExecutionBurst(callback, *(queue.descriptor for queue in queues))
        assert answer == (S.GENERAL_FAILURE, None) and "callback: is null" in prepared.last_error()


def test_4_1_channels_that_are_none(prepared):
    good, silent, other = packets.channels(), packets.channels(event_flag=False), fmq.MessageQueue.create(np.uint64, 8)
    cases = [(None, "not a Descriptor"), (7, "not a Descriptor"), (good, "not a Descriptor"),
             (silent[0].descriptor, "no event flag"),
             (other.descriptor, "quantum is 8")]
    for channel, words in cases:
        for pair in ((channel, good[1].descriptor), (good[0].descriptor, channel)):
            if words == "no event flag":
                pair = [silent[place].descriptor if one is channel else one for place, one in enumerate(pair)]
            assert prepared.configureExecutionBurst(packets.Callback({}), *pair) == (S.GENERAL_FAILURE, None)
            assert words in prepared.last_error()


def test_4_1_queues_in_place_of_their_descriptors(prepared):
    queues, memories = packets.channels(), {0: Memory.create(24), 1: Memory.create(24)}
    status, context = prepared.configureExecutionBurst(packets.Callback(memories), *queues)
    assert status == S.NONE and context.is_alive()
    packet = build_request([(False, 0, 0, 24, ())], [(False, 1, 0, 24, ())], [0, 1], False)
    assert queues[0].write(packet.reshape(-1).view(fmq.REQUEST_DATUM)) == "ok"
    assert queues[1].wait_readable(1, packets.PATIENCE) == "ok" and (memories[1].array().view(np.float32) == 1).all()


def test_4_1_statuses_are_those_of_1_2(canonical):
    """A loop that takes too long is MISSED_DEADLINE_* elsewhere; a burst knows no such status."""
    class Late:
        def __call__(self, *arguments):
            from nnfast.errors import MissedDeadlineTransient

            raise MissedDeadlineTransient("execution: too late")

    device = v1_3.Device(canonical)
    prepared = prepare(device)
    with packets.Client(prepared) as client:
        prepared.prepared.executor.perform_request = Late()
        client.burst._server.watched = True
        assert client.exchange() == (S.GENERAL_FAILURE, *REFUSED)
        assert client.context.last_error() == "execution: too late"


def test_4_5_example(canonical):
    """One input whose shape the request gives, one output of unknown shape, one pool, timing wanted."""
    b = ModelBuilder("open")
    x, w = b.input("TENSOR_FLOAT32", (1, 0)), b.constant(np.ones((1, 1), np.float32))
    y = b.output("TENSOR_FLOAT32", (0, 0))
    model = from_canonical(b.operation("ADD", [x, w, b.scalar(0)], [y]).build(), "1.2")
    memory = Memory.create(32)
    memory.array()[:16].view(np.float32)[:] = [1, 2, 3, 4]
    with packets.Client(prepare(v1_2.Device(canonical), model), memories={0: memory}) as client:
        client.send(build_request([(False, 0, 0, 16, (1, 4))], [(False, 0, 16, 16, ())], [0], True))
        rows = client.receive()
        assert rows[:, 0].tolist() == [0, 1, 2, 2, 3] and rows[0, 8:20].view(np.uint32).tolist() == [5, 0, 1]
        status, shapes, device_us, driver_us = parse_result(rows)
    assert (status, shapes) == (S.NONE, [((1, 4), True)]) and device_us <= driver_us < NEVER
    assert memory.array()[16:].view(np.float32).tolist() == [2, 3, 4, 5]


def test_3_15_times_only_when_asked(client):
    for _ in range(3):
        assert client.exchange(client.packet(measure=False)) == (S.NONE, [((2, 3), True)], NEVER, NEVER)
        status, _, device_us, driver_us = client.exchange()
        assert status == S.NONE and device_us <= driver_us < NEVER
    assert client.result().tolist() == [1, 2, 3, 4, 5, 6] and client.burst.runs == 6


# -- [NN 4.6]: slots ---------------------------------------------------------------------------------------------------
def test_4_6_unknown_slots_are_asked_for_once_sorted_and_without_duplicates(client):
    client.memories |= {7: client.memories[0], 3: client.memories[1]}
    for _ in range(2):
        assert client.exchange(client.packet(slots=[7, 3, 7, 3]))[0] == S.NONE
    assert client.asked == [[3, 7]]
    assert client.exchange(client.packet(slots=[0, 3, 1]))[0] == S.NONE
    assert client.asked == [[3, 7], [0, 1]]


@pytest.mark.parametrize("trouble", ["status", "count", "none", "raises", "no memory", "too short", "no reply"])
def test_4_6_slots_that_cannot_be_had_stay_unknown(client, trouble):
    short = Memory.create(64)
    os_memory = v1_2.Memory("ashmem", v1_2.Handle((short.fileno(),)), 1 << 20)
    client.callback.answer = {
        "status": lambda slots: (S.GENERAL_FAILURE, []), "count": lambda slots: (S.NONE, [short] * 3),
        "none": lambda slots: (S.NONE, []), "raises": lambda slots: 1 // 0, "no memory": lambda slots: (S.NONE, [7, 8]),
        "too short": lambda slots: (S.NONE, [os_memory, os_memory]), "no reply": lambda slots: None}[trouble]
    assert client.exchange() == (S.INVALID_ARGUMENT, *REFUSED)
    assert client.context.last_error().startswith("request pools: no memory for slots [0, 1]: ")
    client.callback.answer = None
    assert client.exchange()[0] == S.NONE and client.asked == [[0, 1], [0, 1]]


def test_4_6_slots_that_were_never_bound(client):
    for slots in ([0, 2147483647], [-1, 1], [-2147483648, 5]):
        assert client.exchange(client.packet(slots=slots)) == (S.INVALID_ARGUMENT, *REFUSED)
    assert client.exchange()[0] == S.NONE


def test_4_6_a_freed_slot_may_name_another_memory(client):
    for _ in range(3):
        assert client.exchange()[0] == S.NONE
    client.context.freeMemory(1)
    first, other = client.memories[1].array().view(np.float32), Memory.create(24)
    client.memories[1] = other
    for _ in range(3):
        client.memories[0].array().view(np.float32)[:] += 10
        assert client.exchange()[0] == S.NONE and first.tolist() == [1, 2, 3, 4, 5, 6]
        assert (other.array().view(np.float32) == client.memories[0].array().view(np.float32) + 1).all()
    assert client.asked == [[0, 1], [1]]


def test_4_6_frees_of_what_is_unknown_or_freed(client):
    client.context.freeMemory(0)
    assert client.exchange()[0] == S.NONE
    for slot in (0, 0, 1, 1, 5, -1, 1 << 40, -(1 << 40), None, "x"):
        client.context.freeMemory(slot)
    assert client.exchange()[0] == S.NONE and client.asked == [[0, 1], [0, 1]]


def test_4_6_freeing_waits_for_a_running_execution(client):
    running, go_on, order = threading.Event(), threading.Event(), []

    def slow(slots):
        running.set()
        assert go_on.wait(600)
        order.append("executed")
        return S.NONE, [client.memories[slot] for slot in slots]

    client.callback.answer = slow
    client.send(client.packet())
    assert running.wait(600)
    freeing = threading.Thread(target=lambda: (client.context.freeMemory(0), order.append("freed")))
    freeing.start()
    freeing.join(0.1)
    assert freeing.is_alive()
    go_on.set()
    assert parse_result(client.receive())[0] == S.NONE
    freeing.join(600)
    assert order == ["executed", "freed"]


def test_4_6_frees_from_within_the_callback(client):
    def answer(slots):
        client.context.freeMemory(0)
        return S.NONE, [client.memories[slot] for slot in slots]

    client.callback.answer = answer
    assert client.exchange()[0] == S.NONE


def test_4_6_freed_memory_is_not_kept(client):
    def descriptors():
        """How many of this process name the files of the two memories."""
        files, count = {os.fstat(memory.fileno())[1:3] for memory in client.memories.values()}, 0
        for name in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # others close theirs meanwhile
                count += os.stat(f"/proc/self/fd/{name}")[1:3] in files
        return count

    assert client.exchange()[0] == S.NONE and client.exchange()[0] == S.NONE
    before = descriptors()
    client.context.freeMemory(0)
    client.context.freeMemory(1)
    gc.collect()
    assert descriptors() == before - 2  # a mapping has none of its own


def test_4_6_too_many_memories(client):
    memory = client.memories[0]
    client.memories |= dict.fromkeys(range(2, 500), memory)
    assert client.exchange(client.packet(slots=list(range(256))))[0] == S.NONE
    assert client.exchange(client.packet(slots=[0, 1, 300])) == (S.INVALID_ARGUMENT, *REFUSED)
    assert "a burst has at most 256" in client.context.last_error()
    client.context.freeMemory(255)
    assert client.exchange(client.packet(slots=[0, 1, 300]))[0] == S.NONE


# -- [NN 4.8, 4.11]: queues --------------------------------------------------------------------------------------------
def test_4_8_a_result_that_does_not_fit(prepared):
    with packets.Client(prepared, result_capacity=4) as client:
        for _ in range(3):
            assert client.exchange() == (S.GENERAL_FAILURE, *REFUSED)  # it needs 5
        assert client.result().tolist() == [1, 2, 3, 4, 5, 6]


def test_4_8_not_even_a_failure_fits(prepared):
    with packets.Client(prepared, result_capacity=1) as client:
        for _ in range(3):
            client.send(client.packet())
            assert client.results.wait_readable(1, 0.05) == "timeout"
        assert client.context.is_alive()


def test_4_8_results_that_nobody_reads(prepared):
    """The short answer when the queue is nearly full; then the driver waits, and can still be ended."""
    with packets.Client(prepared, result_capacity=8) as client:
        for elements in (5, 7):
            client.send(client.packet())
            deadline = time.monotonic() + 600
            while client.results.readable() < elements and time.monotonic() < deadline:
                time.sleep(0.001)
            assert client.results.readable() == elements
        client.send(client.packet())
        time.sleep(0.02)
        assert client.context.is_alive() and client.results.readable() == 7


def test_4_11_a_packet_as_long_as_the_queue(prepared):
    with packets.Client(prepared) as client:
        slots = [0, 1] * 510
        assert len(client.packet(slots=slots)) == 1024
        assert client.exchange(client.packet(slots=slots))[0] == S.NONE


def test_4_7_more_elements_than_are_looked_at(prepared):
    with packets.Client(prepared, request_capacity=70_000) as client:
        for count in (65_536, 65_537, 70_000):
            assert client.exchange(np.zeros((count, 24), np.uint8)) == (S.GENERAL_FAILURE, *REFUSED)
        assert "more than 65536 elements" in client.context.last_error()
        assert client.exchange()[0] == S.NONE


@pytest.mark.parametrize("counter", [0, 1])
def test_4_14_counters_that_are_nonsense_end_the_burst(client, counter):
    assert client.exchange()[0] == S.NONE
    offset = client.requests.descriptor.grantors[counter].offset
    os.pwrite(client.requests.descriptor.fds[0], (1 << 63 | 5).to_bytes(8, "little"), offset)
    client.requests.wake(fmq.NOT_EMPTY)
    client.wait_for_end()


# -- [NN 4.12]: teardown -----------------------------------------------------------------------------------------------
def test_4_12_dropping_the_context_ends_the_burst(prepared):
    client = packets.Client(prepared)
    assert client.exchange()[0] == S.NONE
    thread = client.burst._thread
    client.context = None
    gc.collect()
    thread.join(600)
    assert not thread.is_alive()
    client.send(client.packet())
    assert client.results.wait_readable(1, 0.05) == "timeout"  # and nothing was answered on the way


def test_4_12_the_model_lives_as_long_as_the_burst(canonical):
    prepared = prepare(v1_3.Device(canonical))
    client, model = packets.Client(prepared), weakref.ref(prepared.prepared)
    del prepared
    gc.collect()
    with client:
        assert client.exchange()[0] == S.NONE and model() is not None
        client.prepared = None
    burst, client.burst = client.burst, None
    assert not burst.is_alive()
    del burst, client
    gc.collect()
    assert model() is None


def test_4_12_a_running_execution_is_stopped(canonical):
    """A burst ends at once, though a loop of two seconds is running; a busy machine may take its time now and then."""
    prepared = prepare(v1_3.Device(canonical), packets.endless_model())

    def seconds_to_close():
        client = packets.Client(prepared, memories={0: Memory.create(64)})
        client.send(build_request([(False, 0, 0, 4, ())], [(False, 0, 32, 4, ())], [0], False))
        time.sleep(0.05)
        began = time.monotonic()
        client.close()
        spent = time.monotonic() - began
        assert spent >= 1.5 or not client.results.readable()
        return spent

    assert any(seconds_to_close() < 1.5 for _ in range(10))


def test_4_12_many_bursts_come_and_go(prepared):
    gc.collect()
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        with packets.Client(prepared) as client:
            assert client.exchange()[0] == S.NONE
    del client
    gc.collect()
    assert threading.active_count() <= threads and len(os.listdir("/proc/self/fd")) <= files


def test_a_forked_child_leaves_the_burst_alone(prepared):
    controller = ExecutionBurstController(prepared)
    pools = Pools(hal=prepared.hal)
    assert controller.compute(pools.request, 0)[0] == S.NONE
    child = os.fork()
    if child == 0:
        try:
            status, _, _, fallback = controller.compute(pools.request, 0)
            controller.close()
            del controller
            gc.collect()
            again = packets.Client(prepared)  # the child's own bursts work
            os._exit(0 if fallback and again.exchange()[0] == S.NONE else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert controller.compute(pools.request, 0)[0] == S.NONE


# -- under load --------------------------------------------------------------------------------------------------------
def test_many_random_packets_one_answer_each(client):
    """Elements exchanged, doubled, dropped and filled with noise, thousands of times on one burst."""
    chance, good = np.random.default_rng(4), client.packet()
    valid = 0
    for _ in range(3000):
        rows = good[chance.integers(0, len(good), chance.integers(0, 9))] if chance.random() < 0.3 else good.copy()
        for _ in range(chance.integers(0, 3) if len(rows) else 0):
            rows[chance.integers(len(rows)), chance.integers(24)] = chance.choice([0, 1, 2, 5, 24, 127, 255])
        if not len(rows):
            continue
        answer = client.exchange(rows)
        assert not client.results.readable()
        if answer[0] == S.NONE:
            valid += 1
        elif answer[0] != S.OUTPUT_INSUFFICIENT_SIZE:
            assert answer[1:] == tuple(REFUSED)
    assert valid > 100 and client.exchange()[0] == S.NONE


def test_memories_are_freed_while_executions_run(client):
    """The driver never uses a mapping that is gone, and asks anew."""
    stop, failures = threading.Event(), []

    def free():
        while not stop.is_set():
            for slot in (0, 1):
                client.context.freeMemory(slot)

    threads = [threading.Thread(target=free) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        if client.exchange()[0] != S.NONE:
            failures.append(client.context.last_error())
    stop.set()
    for thread in threads:
        thread.join(600)
    assert not failures and client.result().tolist() == [1, 2, 3, 4, 5, 6] and len(client.asked) > 1
