"""Forked children inherit no lock that is held, no import under way, no execution; the collector joins no thread."""

import faulthandler
import os
import signal
import sys
import threading
import traceback
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.processes import fresh
from nnfast import Device, forks
from nnfast._native import threads

ROOT = Path(__file__).resolve().parents[2]
X = np.ones((2, 3), np.float32)
HANG_SECONDS = 60
CHILDREN = 10


def in_child(call):
    """Whether call() ends well in a forked child."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.register(signal.SIGALRM, file=sys.__stderr__, chain=True)  # says where it is, and ends it
            signal.alarm(HANG_SECONDS)
            call()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


class Busy:
    """Calls something again and again on other threads while the context lasts; it has been called once before."""

    def __init__(self, call, count=3):
        call()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(call,)) for _ in range(count)]

    def _work(self, call):
        while not self._stop.is_set():
            call()

    def __enter__(self):
        for thread in self._threads:
            thread.start()

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def prepared():
    return Device(num_threads=1).prepare(models.two_step_model())


def test_a_renewed_lock_is_free_in_a_child():
    lock, condition = forks.renewed(threading.Lock()), forks.renewed(threading.Condition())
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock, condition:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def take():
        with lock, condition:
            pass

    assert in_child(take) and lock.locked()
    done.set()
    thread.join()


def test_nothing_forks_during_an_import(monkeypatch):
    """The fork waits for the import; after a long time it goes on, and the child can import all the same."""
    under_way, done, order = threading.Event(), threading.Event(), []

    def slow():
        with forks.importing:
            under_way.set()
            done.wait()
            order.append("imported")

    def fork():
        assert in_child(lambda: forks.importing.acquire())
        order.append("forked")

    importer, forker = threading.Thread(target=slow), threading.Thread(target=fork)
    importer.start()
    under_way.wait()
    forker.start()
    forker.join(0.2)
    done.set()
    importer.join()
    forker.join()
    assert order == ["imported", "forked"]

    under_way.clear(), done.clear()
    monkeypatch.setattr(forks, "PATIENCE_SECONDS", 0.01)
    importer = threading.Thread(target=slow)
    importer.start()
    under_way.wait()
    fork()
    done.set()
    importer.join()
    assert order[2:] == ["forked", "imported"]


def test_a_thread_that_imports_may_fork():
    with forks.importing:
        assert in_child(lambda: forks.importing.release())
        assert in_child(lambda: forks.importing.acquire())


def test_a_fork_whose_wait_for_an_import_a_signal_ends_renews_it(monkeypatch):
    """What the handler raises cannot leave os.fork: Python reports it, and forks."""
    under_way, done, reported = threading.Event(), threading.Event(), []

    def slow():
        with forks.importing:
            under_way.set()
            done.wait()

    def interrupt(_, frame):
        if frame.f_code.co_filename == forks.__file__:  # else the fork has not begun
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    assert in_child(lambda: None)  # this fork had the lock, which says nothing of the next one
    monkeypatch.setattr("sys.unraisablehook", lambda report: reported.append(report.exc_type))
    before = signal.signal(signal.SIGALRM, interrupt)
    importer = threading.Thread(target=slow)
    importer.start()
    under_way.wait()
    monkeypatch.setattr(forks, "PATIENCE_SECONDS", 600)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        assert in_child(lambda: forks.importing.acquire())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        done.set()
        importer.join()
    assert reported == [KeyboardInterrupt]
    assert forks.importing.acquire(blocking=False)
    forks.importing.release()


def test_children_beside_plans_at_execution():
    prepared = Device(num_threads=1).prepare(models.reshape_model())
    inputs = [np.ones((2, 6), np.float32), np.int32([3, 4])]
    with Busy(lambda: prepared.run(inputs)):
        assert all(in_child(lambda: prepared.run(inputs)) for _ in range(CHILDREN))


def test_children_beside_profiles_and_submissions(prepared):
    def profiled():
        with nnfast.profile() as profile:
            prepared.run([X, X])
        assert profile.rows

    def submitted():
        prepared.submit([X, X]).result()

    for call in (profiled, submitted):
        with Busy(call):
            assert all(in_child(call) for _ in range(CHILDREN))


def test_children_beside_calls_on_a_burst(prepared):
    """A child takes the normal path, and does not touch the arrays that it shares with its parent."""
    wanted, = prepared.run([X, X])
    with prepared.burst() as burst:
        def call():
            assert np.array_equal(burst.run([X, X])[0], wanted)

        def call_in_child():
            assert not burst.is_alive()
            assert np.array_equal(burst.run([X * 0, X * 0])[0], X * 0)
            burst.close()

        with Busy(call, 2):
            assert all(in_child(call_in_child) for _ in range(CHILDREN))
        assert burst.is_alive()


def test_a_pending_execution_is_its_parents(prepared):
    slow = Device(num_threads=1).prepare(models.wide_model(steps=400))
    big = np.ones(slow.inputs[0].shape, np.float32)
    done = prepared.submit([X, X])
    done.result()
    pending = slow.submit([big])

    def look():
        assert np.array_equal(done.result()[0], prepared.run([X, X])[0])
        with pytest.raises(nnfast.Error, match="belongs to the parent process"):
            pending.result()

    try:
        assert in_child(look)
    finally:
        pending.cancel()
        try:
            pending.result()
        except CancelledError:
            pass


def test_a_child_leaves_no_execution_that_it_did_not_enter():
    """A numpy step of a vendor may fork: the child goes on behind it."""
    fair, gate = threads.Fair(2), threads.Gate(2)
    gate.join(fair)
    turn = threads.Turn(gate, 1)
    with turn.use():
        child = os.fork()
    if child == 0:
        with turn.use():
            os._exit(fair.running != 1)
    assert os.waitpid(child, 0)[1] == 0 and fair.running == 0


def test_a_dropped_burst_joins_no_thread():
    """The collector may come while this thread holds what the burst's thread needs to end: here a lock of Python's."""
    code = """
import faulthandler, threading
faulthandler.dump_traceback_later(60, exit=True)
import numpy as np, nnfast
from helpers import models
prepared = nnfast.Device(1).prepare(models.two_step_model())
controller = prepared.burst()
controller.run([np.ones((2, 3), np.float32)] * 2)
with threading._active_limbo_lock:
    del controller
print("dropped")
"""
    assert fresh(code) == "dropped"
