"""Fences and fenced executions [NN 3.9]."""

import os
import select
import signal
import socket
import struct
import threading
import time

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.open_files import open_files
from nnfast import Fence, Request, RequestArgument
from nnfast.driver import waiting
from nnfast.errors import (
    GeneralFailure,
    InvalidArgument,
    MissedDeadlinePersistent,
    MissedDeadlineTransient,
    ResourceExhaustedTransient,
)

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
    with pytest.raises(InvalidArgument, match="not an open file descriptor"):
        Fence.from_fd(read)


def test_closing_a_fence_leaves_no_descriptor():
    before = open_files()
    fences = [Fence() for _ in range(5)]
    assert len(open_files() - before) == 10
    del fences
    assert not open_files() - before


def test_an_execution_signals_its_fence(prepared):
    r = request()
    execution = prepared.execute_fenced(r, measure_timing=True)
    assert execution.fence.wait(600) == "signaled"
    assert np.array_equal(result(r), WANTED)
    launched, fenced = execution.info()
    assert launched.on_device_us <= fenced.in_driver_us <= launched.in_driver_us


def test_without_measuring_there_are_no_times(prepared):
    execution = prepared.execute_fenced(request())
    execution.fence.wait(600)
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
    assert last.fence.wait(600) == "signaled"
    assert np.array_equal(result(first), WANTED)
    assert np.array_equal(result(chained), np.clip(2 * WANTED, 0, 6))
    launched, fenced = execution.info()
    assert launched.in_driver_us - fenced.in_driver_us >= 50_000


def test_many_waiting_executions_need_no_threads(prepared):
    fence, before = Fence(), threading.active_count()
    executions = [prepared.execute_fenced(request(), [fence]) for _ in range(100)]
    assert threading.active_count() <= before + 1  # the one that waits for all of them
    # One more that does not wait runs at once, in front of all that do.
    assert prepared.execute_fenced(request()).fence.wait(600) == "signaled"
    fence.signal()
    assert [e.fence.wait(600) for e in executions] == ["signaled"] * 100


def test_a_fence_that_fails_fails_what_waits_for_it(prepared):
    good, bad = Fence(), Fence()
    execution = prepared.execute_fenced(request(), [good, bad])
    bad.fail()
    assert execution.fence.wait(600) == "error"
    with pytest.raises(GeneralFailure, match="a fence it waits for went to the state error"):
        execution.info()


def test_a_deadline_ends_the_wait(prepared):
    gate = Fence()
    execution = prepared.execute_fenced(request(), [gate], deadline=time.monotonic() + 0.05)
    assert execution.fence.wait(600) == "error"
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
    assert execution.fence.wait(600) == "error"
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


# -- what holders can do -----------------------------------------------------------------------------------------------
def seen_by_a_poller(fd):
    """What poll reports of a descriptor, waiting for POLLIN as a sync file's holders do."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return next((events for _, events in poller.poll(0)), 0)


def test_a_poller_that_knows_sync_files_only_tells_success_from_error():
    good, bad = Fence(), Fence()
    holders = [os.dup(fence.fileno()) for fence in (good, bad)]
    assert [seen_by_a_poller(fd) for fd in holders] == [0, 0]
    good.signal()
    bad.fail()
    assert seen_by_a_poller(holders[0]) == select.POLLIN
    assert seen_by_a_poller(holders[1]) & select.POLLERR
    del good, bad
    assert seen_by_a_poller(holders[0]) & (select.POLLIN | select.POLLERR) == select.POLLIN
    assert seen_by_a_poller(holders[1]) & select.POLLERR
    for fd in holders:
        os.close(fd)


def spoil_flags(holder):
    holder.setblocking(True)


def spoil_buffers(holder):
    holder.setblocking(True)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        holder.setsockopt(socket.SOL_SOCKET, option, 1)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))


def spoil_by_writing(holder):
    holder.setblocking(True)
    with pytest.raises(BrokenPipeError):
        holder.send(b"x")
    with pytest.raises(BrokenPipeError):  # also no descriptors, which would be closed with the fence
        socket.send_fds(holder, [b"x"], [holder.fileno()])


def spoil_by_shutting_down(holder):
    holder.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("spoil", [spoil_flags, spoil_buffers, spoil_by_writing, spoil_by_shutting_down])
@pytest.mark.parametrize("end", [Fence.signal, Fence.fail])
def test_no_holder_can_block_or_break_the_signaller(spoil, end):
    fence = Fence()
    with socket.socket(fileno=os.dup(fence.fileno())) as holder:
        spoil(holder)
        done = threading.Thread(target=end, args=(fence,), daemon=True)
        done.start()
        done.join(600)
        assert not done.is_alive()
        assert fence.state != "active"
    again = Fence()
    again.signal()
    assert again.state == "signaled"


def test_a_fence_that_its_maker_drops_fails():
    fence = Fence()
    other = Fence.from_fd(fence.fileno())
    del fence
    assert other.wait(600) == "error"


def test_a_fence_fails_when_the_process_of_its_maker_dies():
    ours, theirs = socket.socketpair()
    child = os.fork()
    if not child:
        fence = Fence()
        socket.send_fds(theirs, [b"!"], [fence.fileno()])
        os.kill(os.getpid(), signal.SIGKILL)
    fds = socket.recv_fds(ours, 1, 1)[1]
    assert Fence.from_fd(fds[0]).wait(600) == "error"
    os.waitpid(child, 0)
    os.close(fds[0])
    ours.close()
    theirs.close()


def test_a_forked_child_neither_signals_nor_keeps_up_the_fences_of_its_parent():
    fence, read, write = Fence(), *os.pipe()
    other = Fence.from_fd(fence.fileno())
    child = os.fork()
    if not child:
        outcome = b"signalled"
        try:
            fence.signal()
        except InvalidArgument:
            outcome = b"refused"
        os.write(write, outcome)
        other.wait(600)  # lives as long as the fence is active
        os._exit(0)
    assert os.read(read, 10) == b"refused" and other.state == "active"
    fence.fail()
    assert other.wait(600) == "error"
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)


def test_only_its_maker_signals_a_fence():
    fence = Fence()
    other = Fence.from_fd(fence.fileno())
    for end in (other.signal, other.fail):
        with pytest.raises(InvalidArgument, match="was made elsewhere; only its maker can signal it"):
            end()
    fence.signal()
    other.fail()  # it has ended
    assert fence.state == "signaled"


def test_what_may_run_code_of_others_when_it_is_polled_is_no_fence(tmp_path):
    memfd, epoll, folder = os.memfd_create("x"), select.epoll(), os.open(tmp_path, os.O_RDONLY)
    (tmp_path / "file").write_bytes(b"")
    file = os.open(tmp_path / "file", os.O_RDONLY)
    before = open_files()
    for fd in (memfd, epoll.fileno(), folder, file):
        with pytest.raises(InvalidArgument, match=f"fence: descriptor {fd} is .*, must be a fence, sync file, eventfd"):
            Fence.from_fd(fd)
    assert not open_files() - before
    for fd in (memfd, folder, file):
        os.close(fd)


# -- waiting -----------------------------------------------------------------------------------------------------------
def test_every_device_waits_for_its_own_fences(prepared, monkeypatch):
    monkeypatch.setattr(waiting, "MAX_FENCES", 3)
    other, gate = nnfast.Device(num_threads=1).prepare(models.two_step_model()), Fence()
    held = [prepared.execute_fenced(request(), [gate]) for _ in range(3)]
    with pytest.raises(ResourceExhaustedTransient, match="wait_for: 3 fences are waited for already"):
        prepared.execute_fenced(request(), [Fence()])
    assert prepared.execute_fenced(request()).fence.wait(600) == "signaled"
    last = other.execute_fenced(request(), [gate])
    gate.signal()
    assert [execution.fence.wait(600) for execution in (*held, last)] == ["signaled"] * 4
    again = Fence()
    execution = prepared.execute_fenced(request(), [again])  # there is room again
    again.signal()
    assert execution.fence.wait(600) == "signaled"


def test_one_fence_for_many_executions_and_twice_for_one(prepared):
    gate, never = Fence(), Fence()
    twice = [prepared.execute_fenced(request(), [gate, gate]) for _ in range(5)]
    held = prepared.execute_fenced(request(), [gate, never])
    gate.signal()
    assert [execution.fence.wait(600) for execution in twice] == ["signaled"] * 5
    assert held.fence.state == "active"
    never.fail()
    assert held.fence.wait(600) == "error"


def test_a_fence_that_comes_and_goes_is_signalled_once(prepared):
    """An eventfd that its holder keeps writing and reading."""
    flapping, going = os.eventfd(0, os.EFD_NONBLOCK), threading.Event()

    def flap():
        while not going.is_set():
            os.eventfd_write(flapping, 1)
            os.eventfd_read(flapping)

    thread = threading.Thread(target=flap)
    thread.start()
    held, gate = prepared.execute_fenced(request(), [Fence.from_fd(flapping)]), Fence()
    other = prepared.execute_fenced(request(), [gate])
    gate.signal()
    assert other.fence.wait(600) == "signaled"
    going.set()
    thread.join()
    os.eventfd_write(flapping, 1)
    assert held.fence.wait(600) == "signaled"
    os.close(flapping)


def test_what_waits_for_a_fence_does_not_keep_it(prepared):
    """Its maker drops it while an execution waits for it: nobody can signal it any more, so both fail."""
    gate = nnfast.Fence()
    waiting = prepared.execute_fenced(request(), [gate])
    assert waiting.fence.state == "active"
    del gate
    assert waiting.fence.wait(600) == "error"
    with pytest.raises(GeneralFailure, match="went to the state error"):
        waiting.info()
