"""What a client held goes with it at once, without the help of the garbage collector."""

import gc
import os
import weakref

import numpy as np
import pytest

from helpers.raw_client import Raw, prepared_by
from helpers.service import add_model, add_request, until
from nnfast import Fence, Memory
from nnfast.driver.background import Background
from nnfast.errors import Cancelled, MissedDeadlineTransient
from nnfast.service.wire import protocol
from nnfast.service.wire.records import Argument, Pool


@pytest.fixture(autouse=True)
def uncollected():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


class Foe(Raw):
    """Has told the driver of a memory of 64 bytes under the number 7."""

    def __init__(self, path):
        super().__init__(path)
        self.memory = Memory.create(64)
        self.add(7)

    def add(self, number):
        memory = self.memory
        self.calls.send(protocol.AddMemory(number, memory.kind, memory.size, memory.prot, memory.offset),
                        [memory.fileno()])

    def launch(self, fence):
        prepared = prepared_by(self, add_model())
        inputs = [Argument(0, 0, 16, (), False), Argument(0, 16, 16, (), False)]
        answer = self.call(protocol.Fenced(prepared, inputs, [Argument(0, 32, 16, (), False)], [Pool("memory", 7)]),
                           [fence.fileno()])
        assert isinstance(answer, protocol.FencedLaunched), answer


def left_by(path, deeds):
    """Descriptors that are still open soon after a client has done something and gone; `deeds(foe)` is done thrice."""
    before = descriptors()
    foe = Foe(path)
    for _ in range(3):
        deeds(foe)
    foe.close()
    del foe
    return [] if until(lambda: descriptors() <= before) else os.listdir("/proc/self/fd")


def test_fences_of_executions_that_never_started(server):
    never = Fence()
    left_by(server.path, lambda foe: foe.launch(never))  # the thread that waits for fences stays
    assert not left_by(server.path, lambda foe: foe.launch(never))


def test_a_fence_that_nobody_waits_for_any_more():
    fence, told = Fence(), []
    give_up = Background().when_signalled([fence], 0, told.append)
    give_up(Cancelled("enough"))
    gone = weakref.ref(fence)
    del fence
    assert until(lambda: gone() is None) and isinstance(told[0], Cancelled)


def test_an_execution_that_failed(local):
    prepared, x = local.prepare(add_model()), np.ones(4, np.float32)
    failed = prepared.execute_fenced(add_request(x, x, np.empty_like(x)), duration=1e-9)
    assert failed.fence.wait(600) == "error"
    for _ in range(2):
        with pytest.raises(MissedDeadlineTransient):
            failed.info()
    gone = weakref.ref(failed)
    del failed
    assert until(lambda: gone() is None)


def test_memories_of_a_connection_with_an_error_that_nobody_fetched(server):
    assert not left_by(server.path, lambda foe: foe.add(7))
