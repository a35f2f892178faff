"""What is large is freed in pieces, by a thread of its own."""

import subprocess
import sys
import threading
import weakref

import numpy as np

from helpers.raw_client import prepared_by
from helpers.service import FLOAT, until
from nnfast import ModelBuilder
from nnfast.service.server import sweeper as module
from nnfast.service.server.sweeper import LARGE, PIECE, Sweeper, lists_of
from nnfast.service.wire import protocol

GUARD = 120.0


class Thing:
    """Something that can be referred to weakly."""


def long_model(count):
    b = ModelBuilder("long")
    x, one, none = b.input(FLOAT, (1, 4)), b.constant(np.ones((1, 4), np.float32)), b.scalar(0)
    for place in range(count):
        y = b.output(FLOAT, (1, 4)) if place == count - 1 else b.operand(FLOAT, (1, 4))
        b.operation("ADD", [x, one, none], [y])
        x = y
    return b.build()


def test_lists_are_emptied():
    sweeper = Sweeper(lambda: True)
    sweeper.start()
    things = [Thing() for _ in range(LARGE + PIECE + 3)]
    seen = [weakref.ref(thing) for thing in things]
    sweeper.take([things, []])
    assert until(lambda: not things, GUARD) and not any(thing() for thing in seen)
    short = [1]
    sweeper.take([short])
    sweeper.stop()
    sweeper._thread.join(GUARD)
    assert not sweeper._thread.is_alive() and short == [1]


def test_memory_goes_back_to_the_system_when_nothing_runs(monkeypatch):
    trimmed, is_idle = [], threading.Event()
    monkeypatch.setattr(module, "trim", lambda: trimmed.append(is_idle.is_set()))
    monkeypatch.setattr(module, "TRIM_SECONDS", 0.001)
    looked = threading.Event()

    def look():
        looked.set()
        return is_idle.is_set()

    sweeper = Sweeper(look)
    sweeper.start()
    sweeper.trim()
    assert looked.wait(GUARD) and not trimmed
    is_idle.set()
    assert until(lambda: trimmed, GUARD)
    sweeper.stop()
    sweeper._thread.join(GUARD)
    assert trimmed == [True]


def test_a_large_model_is_freed_by_the_sweeper(raw, server, monkeypatch):
    taken = []
    monkeypatch.setattr(server.sweeper, "take", taken.extend)
    number = prepared_by(raw, long_model(LARGE))
    assert until(lambda: len(taken) == 2, GUARD), "the model that was read"
    taken.clear()
    session, = server.sessions()
    prepared = weakref.ref(session.get("prepared", number).prepared)
    assert len(lists_of(prepared())) >= 3
    raw.events.send(protocol.Release([("prepared", number)]))
    assert until(lambda: taken, GUARD) and prepared() is None
    assert all(len(part) >= LARGE for part in taken)


COLLECTING = """
import gc, threading, weakref
from nnfast.service.server import sweeper
sweeper.COLLECT_SECONDS = sweeper.LOOK_SECONDS = 0.001
sweeper.SOME, sweeper.MANY = {some}, {many}
class Thing: pass
def garbage(count):
    things = [Thing() for _ in range(count)]
    for thing in things: thing.self = thing
    gc.collect(1)
    gone = threading.Event()
    weakref.finalize(things[0], gone.set)
    return gone
before = garbage(100)
looked = threading.Semaphore(0)
idle = []
def is_idle():
    looked.release()
    return bool(idle)
ours = sweeper.Sweeper(is_idle)
ours.collect_garbage()
assert before.is_set() and gc.get_threshold()[2] == sweeper.NEVER
gone = garbage(2000)
ours.start()
"""


def collecting(then, some=1000, many=1 << 30):
    subprocess.run([sys.executable, "-c", COLLECTING.format(some=some, many=many) + then], check=True, timeout=GUARD)


def test_garbage_is_collected_when_nothing_runs():
    collecting("""
for _ in range(5): looked.acquire()
assert not gone.is_set()
idle.append(True)
gone.wait()
""")


def test_much_garbage_is_collected_though_calls_run():
    collecting("gone.wait()", many=1000)


def test_no_collection_without_a_reason():
    """One stops every thread for milliseconds: that some seconds have passed is none."""
    collecting("""
idle.append(True)
counts = []
gc.callbacks.append(lambda phase, info: counts.append(info["generation"]))
ours._queue.put(()), ours._queue.put(())
while not ours._queue.empty(): pass
ours.stop(); ours._thread.join()
assert 2 not in counts and not gone.is_set()
""", some=1 << 30)
