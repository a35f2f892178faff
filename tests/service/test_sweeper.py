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


def test_garbage_is_collected_when_nothing_runs():
    script = """
import gc, weakref
from nnfast.service.server import sweeper
sweeper.COLLECT_SECONDS = 0.01
class Thing: pass
one = Thing(); one.self = one; seen = weakref.ref(one)
idle = []
ours = sweeper.Sweeper(lambda: bool(idle))
ours.collect_garbage(); del one
made = [Thing()]; made[0].self = made[0]; later = weakref.ref(made.pop())
assert gc.get_threshold()[2] == sweeper.NEVER
ours.start(); idle.append(True)
while later() is not None: pass
ours.stop()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=GUARD)
