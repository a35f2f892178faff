"""Executions and callbacks in the background: those of one client never hold up those of another."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import nnfast
from helpers import models
from nnfast import Request, RequestArgument
from nnfast.driver import background
from nnfast.driver.background import Background, Workers
from nnfast.errors import MissedDeadlineTransient

X = np.arange(12, dtype=np.float32)
PAIR = [X[:6].reshape(2, 3), X[6:].reshape(2, 3)]
WANTED = np.clip(PAIR[0] + PAIR[1], 0, 6)


def request():
    return Request((RequestArgument(0, 0, 24), RequestArgument(0, 24, 24)), (RequestArgument(1, 0, 24),),
                   (X, bytearray(24)))


@pytest.fixture
def released():
    """An event that whatever a test blocks waits for."""
    event = threading.Event()
    yield event
    event.set()


def until(condition):
    """Wait until a condition holds, which then goes on to hold; whether it does."""
    end = time.monotonic() + 600
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


class Told:
    """A callback that counts its calls."""

    def __init__(self, wait=None):
        self.calls, self.event, self.wait = [], threading.Event(), wait

    def __call__(self, *outcome):
        self.calls.append(outcome)
        self.event.set()
        if self.wait is not None:
            self.wait.wait()


@pytest.mark.parametrize("priority", ["low", "medium", "high"])
def test_executions_of_one_client_do_not_wait_for_those_of_another(released, priority):
    busy, other = nnfast.Device(num_threads=1), nnfast.Device(num_threads=1)
    for _ in range(200):
        busy.background.execute(priority, released.wait)
    prepared = other.prepare(models.two_step_model(), priority=priority)
    r, told = request(), Told()
    assert prepared.execute_fenced(r).fence.wait(600) == "signaled"
    assert np.array_equal(np.frombuffer(bytes(r.pools[1]), np.float32), WANTED.reshape(-1))
    assert np.array_equal(prepared.submit(PAIR).result(600)[0], WANTED)
    prepared.submit_request(request(), told)
    assert told.event.wait(600) and len(told.calls) == 1
    made = Told()
    other.submit_prepare(models.two_step_model(), made, priority=priority)
    assert made.event.wait(600) and made.calls[0][1] is None


def test_no_execution_waits_behind_those_of_lower_priority(device, released):
    for _ in range(200):
        device.background.execute("low", released.wait)
    assert device.prepare(models.two_step_model()).submit(PAIR).result(600)


def test_a_deadline_ends_the_wait_for_executions_of_the_same_client(device, released):
    prepared, before = device.prepare(models.two_step_model()), set(threading.enumerate())
    for _ in range(100):
        device.background.execute("medium", released.wait)
    fenced = prepared.execute_fenced(request(), deadline=time.monotonic() + 0.05)
    lasting = prepared.execute_fenced(request(), duration=0.05)
    future, told = prepared.submit(PAIR, timeout=0.05), Told()
    prepared.submit_request(request(), told, deadline=time.monotonic() + 0.05)
    later = prepared.submit(PAIR, timeout=3600)
    for execution in (fenced, lasting):
        assert execution.fence.wait(600) == "error"
        with pytest.raises(MissedDeadlineTransient, match="execute_fenced: the deadline passed while it wai"):
            execution.info()
    with pytest.raises(MissedDeadlineTransient, match="submit: the deadline passed while it waited for earlier exec"):
        future.result(600)
    assert told.event.wait(600) and isinstance(told.calls[0][1], MissedDeadlineTransient)
    released.set()
    assert np.array_equal(later.result(600)[0], WANTED)
    assert len(told.calls) == 1
    assert until(lambda: not any(t.name == "nnfast-fences" for t in set(threading.enumerate()) - before))


def test_blocked_callbacks_stop_only_those_of_their_client(released, monkeypatch):
    monkeypatch.setattr(background, "MAX_CALLBACKS", 4)
    busy, other = (nnfast.Device(num_threads=1).prepare(models.two_step_model()) for _ in range(2))
    entered, left = threading.Semaphore(0), threading.Semaphore(0)

    def block(result, error):
        entered.release()
        released.wait()
        left.release()

    for _ in range(6):
        busy.submit_request(request(), block)
    assert all(entered.acquire(timeout=600) for _ in range(4))
    told = Told()
    other.submit_request(request(), told)
    assert told.event.wait(600)
    busy.execute(request())  # executions go on
    assert not entered.acquire(blocking=False)  # the others wait for one of the four to return
    released.set()
    assert all(left.acquire(timeout=600) for _ in range(6))


def test_hundreds_of_callbacks_may_block(device, released):
    prepared = device.prepare(models.two_step_model())
    blocked = [Told(released) for _ in range(300)]
    for callback in blocked:
        prepared.submit_request(request(), callback)
    assert all(callback.event.wait(600) for callback in blocked)


def test_callbacks_may_use_the_driver_and_fail(device):
    prepared, told = device.prepare(models.two_step_model()), Told()

    def callback(result, error):
        prepared.execute(request())
        prepared.submit_request(request(), told)
        raise RuntimeError("a bug of the client's")

    for _ in range(10):
        prepared.submit_request(request(), callback)
    assert told.event.wait(600)
    assert device.prepare(models.two_step_model()).submit(PAIR).result(600)


def test_threads_are_started_on_demand_and_end_when_idle(monkeypatch):
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.01)
    workers, ended, threads = Workers("test", 3), threading.Barrier(4), set()

    def work():
        threads.add(threading.current_thread())
        ended.wait(600)

    for _ in range(3):
        workers.put(work)
    ended.wait(600)
    assert len(threads) == 3
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()
    done = threading.Event()
    workers.put(done.set)
    assert done.wait(600)


def test_threads_end_when_their_client_goes(monkeypatch):
    monkeypatch.setattr(background, "IDLE_SECONDS", 600)
    one, threads, ended = Background(), set(), threading.Barrier(4)

    def work():
        threads.add(threading.current_thread())
        ended.wait(600)

    one.execute("medium", work)
    one.execute("high", work)
    one.call(work)
    ended.wait(600)
    del one
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()


def test_what_no_thread_can_be_started_for_is_refused_or_waits(released, monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    workers, ran, began = Workers("test", 3), [], threading.Event()
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            workers.put(lambda: ran.append("refused"))

    def first():
        began.set()
        released.wait()

    done = threading.Event()
    workers.put(first)
    assert began.wait(600)
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", no_thread)
        workers.put(done.set)  # the thread that there is takes it
    released.set()
    assert done.wait(600) and not ran


def test_a_forked_child_has_threads_of_its_own(device, released):
    prepared = device.prepare(models.two_step_model())
    gate = nnfast.Fence()
    held = prepared.execute_fenced(request(), [gate])
    for _ in range(100):
        device.background.execute("medium", released.wait)
        device.background.call(released.wait)
    child = os.fork()
    if not child:
        status = 1
        try:
            told, own = Told(), nnfast.Fence()
            good = bool(np.array_equal(prepared.submit(PAIR).result(600)[0], WANTED))
            prepared.submit_request(request(), told)
            waiting = prepared.execute_fenced(request(), [own])
            own.signal()
            status = 0 if good and told.event.wait(600) and waiting.fence.wait(600) == "signaled" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    released.set()
    gate.signal()
    assert held.fence.wait(600) == "signaled"


def test_a_callback_may_fork(device):
    prepared, children = device.prepare(models.two_step_model()), []
    forked = threading.Event()

    def callback(result, error):
        child = os.fork()
        if not child:
            try:
                os._exit(0 if prepared.submit(PAIR).result(600) else 1)
            finally:
                os._exit(2)
        children.append(child)
        forked.set()

    prepared.submit_request(request(), callback)
    assert forked.wait(600)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


END = """
import threading, time
import numpy as np, nnfast
from nnfast.driver.background import Background
background = Background()
background.call(threading.Event().wait)
background.execute("medium", lambda: (time.sleep(0.2), print("finished", flush=True)))
"""


def test_the_end_of_the_process_waits_for_executions_and_not_for_callbacks():
    done = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "finished\n" and not done.stderr


def test_an_idle_background_keeps_nothing_alive():
    import weakref

    class Work:
        def __call__(self):
            pass

    work, done = Work(), threading.Event()
    gone, one = weakref.ref(work, lambda reference: done.set()), Background()
    one.execute("medium", work)
    del work
    assert done.wait(600) and gone() is None
