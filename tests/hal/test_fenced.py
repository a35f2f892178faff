"""executeFenced and getExecutionInfo [NN 3.9]."""

import os
import threading
import time

import numpy as np
import pytest

from helpers.hal_clients import NO_TIME, Pools, add_model, prepare
from nnfast import Fence
from nnfast.errors import ErrorStatus as S
from nnfast.hal.types import Handle

NOTHING = (None, None)


@pytest.fixture
def prepared(device):
    return prepare(device)


def handle(fence):
    return Handle((fence.fileno(),))


def wait(sync_fence):
    return Fence.from_fd(sync_fence.fds[0]).wait(600)


def test_3_9_success_and_times(prepared):
    for measure in (0, 1):
        pools = Pools()
        status, sync_fence, callback = prepared.executeFenced(pools.request, [], measure, None, None, None)
        assert status == S.NONE and wait(sync_fence) == "signaled"
        status, launched, fenced = callback.getExecutionInfo()
        assert status == S.NONE and pools.output.view(np.float32).tolist() == [1, 2, 3, 4, 5, 6]
        if measure:
            assert launched.timeOnDevice == fenced.timeOnDevice <= fenced.timeInDriver <= launched.timeInDriver
        else:
            assert (launched, fenced) == (NO_TIME, NO_TIME)


def test_3_9_null_handles_and_what_is_no_fence(prepared):
    for wrong in ([None], [Handle()], [Handle((1, 2))], [Handle((98765,))], [7], None):
        answer = prepared.executeFenced(Pools().request, wrong, 0, None, None, None)
        assert answer == (S.INVALID_ARGUMENT, *NOTHING)
        assert prepared.last_error().startswith("waitFor")


def test_3_9_fence_in_error_at_the_call(prepared):
    fence = Fence()
    fence.fail()
    answer = prepared.executeFenced(Pools().request, [handle(fence)], 0, None, None, None)
    assert answer == (S.INVALID_ARGUMENT, *NOTHING)


def test_3_9_execution_starts_after_all_fences(prepared):
    fences, pools = [Fence(), Fence()], Pools()
    pools.input[:] = 0
    status, sync_fence, callback = prepared.executeFenced(pools.request, map_handles(fences), 1, None, None, None)
    assert status == S.NONE and callback.getExecutionInfo() == (S.GENERAL_FAILURE, NO_TIME, NO_TIME)
    fences[0].signal()
    assert Fence.from_fd(sync_fence.fds[0]).wait(0.05) == "active"
    pools.input.view(np.float32)[:] = 7
    fences[1].signal()
    assert wait(sync_fence) == "signaled" and (pools.output.view(np.float32) == 8).all()
    status, launched, fenced = callback.getExecutionInfo()
    assert status == S.NONE and launched.timeInDriver >= fenced.timeInDriver + 40_000


def map_handles(fences):
    return [handle(fence) for fence in fences]


def test_3_9_executions_can_be_chained(prepared):
    first = Fence()
    pools = [Pools() for _ in range(4)]
    waits, results = [handle(first)], []
    for one in pools:
        status, sync_fence, callback = prepared.executeFenced(one.request, waits, 0, None, None, None)
        assert status == S.NONE
        results.append(callback)
        waits = [sync_fence]
    first.signal()
    assert wait(waits[0]) == "signaled"
    assert all(callback.getExecutionInfo()[0] == S.NONE for callback in results)


def test_3_9_fence_that_fails_later(prepared):
    fence = Fence()
    _, sync_fence, callback = prepared.executeFenced(Pools().request, [handle(fence)], 1, None, None, None)
    fence.fail()
    assert wait(sync_fence) == "error"
    assert callback.getExecutionInfo() == (S.GENERAL_FAILURE, NO_TIME, NO_TIME)


def test_3_9_pipes_are_fences_too(prepared):
    read, write = os.pipe()
    status, sync_fence, _ = prepared.executeFenced(Pools().request, [Handle((read,))], 0, None, None, None)
    assert status == S.NONE
    threading.Timer(0.02, os.write, (write, b"x")).start()
    assert wait(sync_fence) == "signaled"
    os.close(read)
    os.close(write)


def test_3_9_unknown_outputs_and_short_buffers(device):
    prepared = prepare(device, add_model(declared=(0, 3)))
    for pools in (Pools(), Pools(out_bytes=23)):
        assert prepared.executeFenced(pools.request, [], 0, None, None, None) == (S.INVALID_ARGUMENT, *NOTHING)
    pools = Pools()
    pools.request.outputs[0].dimensions = [2, 3]
    assert prepared.executeFenced(pools.request, [], 0, None, None, None)[0] == S.NONE


def test_3_9_limits(prepared):
    answer = prepared.executeFenced(Pools().request, [], 0, time.monotonic_ns() - 1, None, None)
    assert answer == (S.MISSED_DEADLINE_PERSISTENT, *NOTHING)
    fence, status, ahead = Fence(), S.MISSED_DEADLINE_PERSISTENT, 20_000_000
    while status != S.NONE:  # the time may be up before the call on a busy machine
        assert status in (S.MISSED_DEADLINE_PERSISTENT, S.MISSED_DEADLINE_TRANSIENT)
        soon, ahead = time.monotonic_ns() + ahead, 2 * ahead
        status, sync_fence, callback = prepared.executeFenced(Pools().request, [handle(fence)], 0, soon, None, None)
    assert wait(sync_fence) == "error"
    assert callback.getExecutionInfo()[0] in (S.MISSED_DEADLINE_TRANSIENT, S.MISSED_DEADLINE_PERSISTENT)
    for wrong in (-1, 1 << 64, 0.5):
        assert prepared.executeFenced(Pools().request, [], 0, None, None, wrong)[0] == S.INVALID_ARGUMENT
