"""Fences and fenced executions (hal.md 3.9)."""

import os
import select
import threading
import time

import driver_models as models
import numpy as np
import pytest

from nnfast import Fence, Request, RequestArgument
from nnfast.errors import GeneralFailure, InvalidArgument, MissedDeadlinePersistent, MissedDeadlineTransient

X = np.arange(12, dtype=np.float32)
WANTED = np.clip(X[:6] + X[6:], 0, 6)


def request(x=X):
    pools = x, bytearray(24)
    return Request((RequestArgument(0, 0, 24), RequestArgument(0, 24, 24)), (RequestArgument(1, 0, 24),), pools)


def result(r):
    return np.frombuffer(bytes(r.pools[1]), np.float32)


@pytest.fixture
def prepared(device):
    return device.prepare(models.two_step_model())


def test_a_timeout_is_a_number():
    with pytest.raises(InvalidArgument, match="fence: timeout is 'long', must be seconds or None"):
        Fence().wait("long")


def test_a_fence_is_signalled_once():
    fence = Fence()
    assert fence.state == "active" and fence.wait(0.01) == "active"
    fence.signal()
    fence.fail()
    assert fence.state == fence.wait() == "signaled"
    assert select.select([fence], [], [], 0)[0] == [fence]


def test_an_error_shows_to_every_holder():
    fence = Fence()
    other = Fence.from_fd(fence.fileno())
    fence.fail()
    assert fence.state == other.state == "error"
    assert select.select([other], [], [], 0)[0] == [other]


def test_foreign_descriptors_work_as_fences():
    read, write = os.pipe()
    fence = Fence.from_fd(read)
    assert fence.state == "active"
    os.write(write, b"x")
    assert fence.state == "signaled"
    closed = Fence.from_fd(read)
    os.read(read, 1)
    os.close(write)
    assert closed.state == "error"
    os.close(read)
    with pytest.raises(InvalidArgument, match="no open file descriptor"):
        Fence.from_fd(read)


def test_closing_a_fence_leaves_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))
    fences = [Fence() for _ in range(5)]
    assert len(os.listdir("/proc/self/fd")) == before + 5
    del fences
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_execution_signals_its_fence(prepared):
    r = request()
    execution = prepared.execute_fenced(r, measure_timing=True)
    assert execution.fence.wait(10) == "signaled"
    assert np.array_equal(result(r), WANTED)
    launched, fenced = execution.info()
    assert launched.on_device_us <= fenced.in_driver_us <= launched.in_driver_us


def test_without_measuring_there_are_no_times(prepared):
    execution = prepared.execute_fenced(request())
    execution.fence.wait(10)
    assert [t.in_driver_us for t in execution.info()] == [None, None]


def test_executions_wait_for_their_fences_and_see_what_came_before(prepared):
    fences, x = [Fence(), Fence()], np.zeros(12, np.float32)
    first = request(x)
    execution = prepared.execute_fenced(first, fences, measure_timing=True)
    # The second starts after the first, and reads what that wrote.
    chained = Request((RequestArgument(0, 0, 24), RequestArgument(0, 0, 24)), (RequestArgument(1, 0, 24),),
                      (first.pools[1], bytearray(24)))
    last = prepared.execute_fenced(chained, [execution.fence])
    fences[0].signal()
    assert execution.fence.wait(0.05) == "active"
    with pytest.raises(GeneralFailure, match="has not ended yet"):
        execution.info()
    x[:] = X
    fences[1].signal()
    assert last.fence.wait(10) == "signaled"
    assert np.array_equal(result(first), WANTED)
    assert np.array_equal(result(chained), np.clip(2 * WANTED, 0, 6))
    launched, fenced = execution.info()
    assert launched.in_driver_us - fenced.in_driver_us >= 50_000


def test_many_waiting_executions_need_no_threads(prepared):
    fence, before = Fence(), threading.active_count()
    executions = [prepared.execute_fenced(request(), [fence]) for _ in range(100)]
    assert threading.active_count() <= before + 1  # the one that waits for all of them
    # One more that does not wait runs at once, in front of all that do.
    assert prepared.execute_fenced(request()).fence.wait(10) == "signaled"
    fence.signal()
    assert [e.fence.wait(10) for e in executions] == ["signaled"] * 100


def test_a_fence_that_fails_fails_what_waits_for_it(prepared):
    good, bad = Fence(), Fence()
    execution = prepared.execute_fenced(request(), [good, bad])
    bad.fail()
    assert execution.fence.wait(10) == "error"
    with pytest.raises(GeneralFailure, match="a fence it waits for went to the state error"):
        execution.info()


def test_a_deadline_ends_the_wait(prepared):
    execution = prepared.execute_fenced(request(), [Fence()], deadline=time.monotonic() + 0.05)
    assert execution.fence.wait(10) == "error"
    with pytest.raises(MissedDeadlineTransient, match="waited for its fences"):
        execution.info()


def test_the_duration_counts_from_the_fences(device):
    prepared = device.prepare(models.wide_model())
    r = Request((RequestArgument(0, 0, 1 << 20),), (RequestArgument(1, 0, 1 << 20),),
                (np.zeros((1, 128, 128, 16), np.float32), bytearray(1 << 20)))
    fence = Fence()
    execution = prepared.execute_fenced(r, [fence], duration=0.001)
    time.sleep(0.02)
    assert execution.fence.state == "active"
    fence.signal()
    assert execution.fence.wait(10) == "error"
    with pytest.raises(MissedDeadlineTransient, match="stopped at|are left"):
        execution.info()


def test_launch_errors(prepared, device):
    failed = Fence()
    failed.fail()
    for wait_for, text in (([None], r"wait_for\[0\]: is NoneType"),
                           ([Fence(), failed], r"wait_for\[1\]: the fence is in the state error")):
        with pytest.raises(InvalidArgument, match=text):
            prepared.execute_fenced(request(), wait_for)
    with pytest.raises(MissedDeadlinePersistent):
        prepared.execute_fenced(request(), deadline=time.monotonic() - 1)
    with pytest.raises(InvalidArgument, match="duration"):
        prepared.execute_fenced(request(), duration=0)
    short = Request(request().inputs, (RequestArgument(1, 0, 23),), request().pools)
    with pytest.raises(InvalidArgument, match="the buffer has 23 bytes"):
        prepared.execute_fenced(short)
    open_model = device.prepare(models.conv_model(batch=0))
    r = Request((RequestArgument(0, 0, 400, (2, 5, 5, 2)),), (RequestArgument(1, 0, 800),),
                (np.ones((2, 5, 5, 2), np.float32), bytearray(800)))
    with pytest.raises(InvalidArgument, match="not fully known, which a fenced execution needs"):
        open_model.execute_fenced(r)
