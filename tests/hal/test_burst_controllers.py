"""The caller's end of a burst, and how long either end polls [NN 4.6, 4.9, 4.10]."""

import gc
import threading
import time

import numpy as np
import pytest

from helpers import burst_clients as packets
from helpers.hal_clients import NO_TIME, Pools, add_model, prepare
from nnfast import Memory
from nnfast._native.rings import NO_TIME as NEVER
from nnfast._native.rings import build_result
from nnfast.errors import ErrorStatus as S
from nnfast.hal import v1_2, v1_3
from nnfast.hal.burst import ExecutionBurstController
from nnfast.hal.types import DataLocation, MemoryPool, Request, RequestArgument, Timing


@pytest.fixture(params=["1.2", "1.3"])
def prepared(request, canonical):
    """y = x + 1 of 2 x 3 floats."""
    return prepare({"1.2": v1_2, "1.3": v1_3}[request.param].Device(canonical))


@pytest.fixture
def client(prepared):
    """A burst with memory 0 for the input and memory 1 for the output."""
    with packets.Client(prepared) as client:
        yield client


# -- [NN 4.9]: the controller ------------------------------------------------------------------------------------------
@pytest.fixture
def controller(prepared):
    controller = ExecutionBurstController(prepared)
    yield controller
    controller.close()


def test_4_9_compute(prepared, controller):
    pools = Pools(hal=prepared.hal)
    for _ in range(3):
        assert controller.compute(pools.request, 0) == \
            (S.NONE, [v1_2.OutputShape([2, 3], True)], NO_TIME, False)
        status, _, timing, _ = controller.compute(pools.request, 1)
        assert status == S.NONE and timing.timeOnDevice <= timing.timeInDriver < NEVER
    assert pools.output.view(np.float32).tolist() == [1, 2, 3, 4, 5, 6]


def test_4_9_what_a_packet_cannot_say_falls_back(canonical):
    device = v1_3.Device(canonical)
    prepared = prepare(device)
    controller, pools = ExecutionBurstController(prepared), Pools()
    nothing = S.GENERAL_FAILURE, [], Timing(), True
    token = Request(pools.request.inputs, pools.request.outputs, [pools.request.pools[0], MemoryPool(token=5)])
    large = Request([RequestArgument(False, DataLocation(0, 0, 1 << 32), [])], pools.request.outputs,
                    pools.request.pools)
    long = Request([RequestArgument(False, DataLocation(0, 0, 24), [1] * 1100)], pools.request.outputs,
                   pools.request.pools)
    for request in (token, large, long, None, 7):
        assert controller.compute(request, 0) == nothing
    assert controller.compute(pools.request, 7) == nothing
    assert controller.compute(pools.request, 0)[0] == S.NONE
    controller.close()
    assert controller.compute(pools.request, 0) == nothing


def test_4_9_an_invalid_request_does_not_fall_back(prepared, controller):
    pools = Pools(hal=prepared.hal)
    pools.request.inputs.pop()
    assert controller.compute(pools.request, 1) == (S.INVALID_ARGUMENT, [], NO_TIME, False)
    assert "request inputs: got 0" in controller.last_error()


@pytest.mark.parametrize("answer", [
    np.zeros((2, 24), np.uint8), build_result(S.NONE, [])[:1], build_result(77, []),
    np.concatenate([build_result(S.NONE, []), build_result(S.NONE, [])])])
def test_4_9_an_answer_that_is_none(answer):
    driver = packets.Answering(answer)
    controller = ExecutionBurstController(driver)
    assert controller.compute(Pools().request, 0) == (S.GENERAL_FAILURE, [], NO_TIME, False)
    assert controller.compute(Pools().request, 0)[3]  # the burst is over: from now on the normal way


def test_4_9_an_answer_is_sanitised():
    shape = [((2, 3), True)]
    for status, shapes, timing in ((S.NONE, shape, (1, 2)), (S.OUTPUT_INSUFFICIENT_SIZE, shape, (NEVER, NEVER)),
                                   (S.GENERAL_FAILURE, [], (NEVER, NEVER)), (S.INVALID_ARGUMENT, [], (NEVER, NEVER))):
        controller = ExecutionBurstController(packets.Answering(build_result(status, shape, 1, 2)))
        assert controller.compute(Pools().request, 1) == \
            (status, [v1_2.OutputShape(list(dims), ok) for dims, ok in shapes], Timing(*timing), False)


def test_4_9_the_driver_is_gone():
    driver = packets.Answering(None)
    controller = ExecutionBurstController(driver)
    threading.Timer(0.05, lambda: setattr(driver.context, "alive", False)).start()
    began = time.monotonic()
    assert controller.compute(Pools().request, 0) == (S.GENERAL_FAILURE, [], NO_TIME, False)
    assert time.monotonic() - began < 60 and controller.compute(Pools().request, 0)[3]


def test_4_9_no_burst_is_made(prepared):
    class Refusing:
        def configureExecutionBurst(self, *arguments):
            return S.GENERAL_FAILURE, None

        def last_error(self):
            return "no bursts here"

    from nnfast.errors import GeneralFailure

    with pytest.raises(GeneralFailure, match="no bursts here"):
        ExecutionBurstController(Refusing())


def test_4_6_the_same_memory_keeps_its_slot_and_freed_ones_are_used_again_last_first():
    driver = packets.Answering(build_result(S.NONE, []))
    controller, memories = ExecutionBurstController(driver), [Memory.create(8) for _ in range(6)]

    def slots(*which):
        assert controller.compute(Request([], [], [memories[i] for i in which]), 0)[0] == S.NONE
        return driver.slots[-1]

    assert slots(0, 1, 2) == [0, 1, 2] and slots(2, 0, 0) == [2, 0, 0]
    assert controller.freeMemory(memories[0]) and controller.freeMemory(memories[2])
    assert not controller.freeMemory(memories[0]) and not controller.freeMemory(Memory.create(8))
    assert driver.context.freed == [0, 2]
    assert slots(3, 1, 4, 5, 0) == [2, 1, 0, 3, 4]
    assert driver.callback.getMemories([2, 9]) == (S.INVALID_ARGUMENT, [])
    assert driver.callback.getMemories([-1]) == (S.INVALID_ARGUMENT, [])
    status, found = driver.callback.getMemories([2, 1])
    assert status == S.NONE and [memory.handle.owner for memory in found] == [memories[3], memories[1]]


def test_4_6_memories_that_are_gone_are_freed():
    driver = packets.Answering(build_result(S.NONE, []))
    controller = ExecutionBurstController(driver)
    kept = Memory.create(8)
    for _ in range(5):
        assert controller.compute(Request([], [], [kept, Memory.create(8)]), 0)[0] == S.NONE
        gc.collect()
    assert driver.slots == [[0, 1]] * 5 and driver.context.freed == [1] * 4


def test_4_9_concurrent_calls_go_one_after_the_other(prepared, controller):
    pools, failures = [Pools(hal=prepared.hal) for _ in range(8)], []

    def work(own):
        for _ in range(50):
            own.output[:] = 0
            status, *_ = controller.compute(own.request, 0)
            if status != S.NONE or own.output.view(np.float32).tolist() != [1, 2, 3, 4, 5, 6]:
                failures.append(status)

    threads = [threading.Thread(target=work, args=(own,)) for own in pools]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert not failures


# -- [NN 4.10]: windows ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("preference", "variables", "window"), [
    (1, {}, 50), (0, {}, 0), (0, {"NNFAST_BURST_DRIVER_WINDOW": "7"}, 7), (1, {"NNFAST_BURST_DRIVER_WINDOW": "0"}, 0),
    (1, {"debug.nn.sample-driver-burst-polling-window": "9"}, 9),
    (1, {"debug.nn.burst-server-polling-window": "8", "debug.nn.sample-driver-burst-polling-window": "9"}, 9),
    (1, {"debug.nn.burst-server-polling-window": "8", "NNFAST_BURST_DRIVER_WINDOW": "3"}, 3)])
def test_4_10_window_of_the_driver(canonical, monkeypatch, preference, variables, window):
    from nnfast.driver import burst

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    callback = packets.Prepared()
    assert v1_2.Device(canonical).prepareModel_1_2(add_model(hal="1.2"), preference, [], [], bytes(32), callback) == 0
    assert burst._window(callback.wait().prepared, None) == window


def test_4_10_windows_that_are_none(prepared, monkeypatch):
    monkeypatch.setenv("NNFAST_BURST_DRIVER_WINDOW", "-1")
    queues = packets.channels()
    assert prepared.configureExecutionBurst(packets.Callback({}), *(q.descriptor for q in queues)) == \
        (S.GENERAL_FAILURE, None)
    assert "NNFAST_BURST_DRIVER_WINDOW" in prepared.last_error()


def test_4_10_an_idle_burst_uses_no_processor(client):
    assert client.exchange()[0] == S.NONE

    def idle():
        time.sleep(0.01)
        before = time.process_time()
        time.sleep(0.3)
        return time.process_time() - before < 0.1

    assert any(idle() for _ in range(10))
