"""A client's connections: in turn, within its patience, and closed under whoever waits."""

import os
import signal
import socket
import threading
import time

import numpy as np
import pytest

import nnfast
from helpers.service import add_model, reach, until
from nnfast.service.client.connections import Connections
from nnfast.service.spawn import start

GUARD = 120.0
X = np.ones(4, np.float32)


class Opened:
    """A connection, as far as Connections looks at it."""

    def __init__(self):
        ours, self.theirs = socket.socketpair()
        self.channel = self
        self.socket = ours


def alive():
    """The session is not dead."""


def taking(connections, name, order, check=alive):
    """A thread that takes a connection, notes it, and gives it back."""
    def work():
        try:
            connection = connections.take(check)
        except nnfast.DeadObject:
            order.append((name, "dead"))
            return
        order.append((name, connection))
        if connection is None:
            connections.lose()
        else:
            connections.give(connection)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def waiting(connections, count, order, check=alive):
    """Threads that wait for a connection, in the order of their names."""
    threads = []
    for name in range(count):
        threads.append(taking(connections, name, order, check))
        assert until(lambda: len(connections._waiters) == name + 1, GUARD)  # noqa: B023  (it is called at once)
    return threads


def joined(threads):
    for thread in threads:
        thread.join(GUARD)
        assert not thread.is_alive()


def test_connections_go_to_those_who_wait_in_their_order():
    connections, order = Connections(1), []
    assert connections.take(alive) is None
    one = Opened()
    connections.add(one, alive)
    threads = waiting(connections, 5, order)
    connections.give(one)
    joined(threads)
    assert order == [(name, one) for name in range(5)]
    assert connections.take(alive) is one


def test_the_right_to_open_one_goes_on_when_one_is_lost():
    connections, order = Connections(1), []
    assert connections.take(alive) is None
    threads = waiting(connections, 3, order)
    connections.lose()
    joined(threads)
    assert order == [(name, None) for name in range(3)]
    assert connections.take(alive) is None


def test_the_end_wakes_everybody():
    connections, order, dead = Connections(1), [], []
    assert connections.take(alive) is None
    one = Opened()
    connections.add(one, alive)

    def check():
        if dead:
            raise nnfast.DeadObject("it is dead")

    threads = waiting(connections, 4, order, check)
    dead.append(True)
    assert connections.end() == []
    joined(threads)
    assert sorted(order) == [(name, "dead") for name in range(4)]
    assert one.theirs.recv(1) == b"", "the call that waits for an answer sees the end of the stream"
    with pytest.raises(nnfast.DeadObject):
        connections.add(Opened(), check)


def test_more_threads_than_connections(server):
    server.quotas = nnfast.service.server.quotas.Quotas(connections=2)
    device = nnfast.connect(server.path)
    prepared = device.prepare(add_model())
    counts = [0] * 8

    def work(k):
        for _ in range(20):
            prepared.run([X, X]) if k % 2 else prepared.submit([X, X]).result(GUARD)
            counts[k] += 1

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(8)]
    for thread in threads:
        thread.start()
    joined(threads)
    assert counts == [20] * 8
    device.close()


# -- a driver that does not answer -------------------------------------------------------------------------------------
@pytest.fixture
def mute(tmp_path):
    """A socket at which nobody accepts."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "mute"))
    listener.listen(0)
    yield str(tmp_path / "mute")
    listener.close()


def test_patience_is_a_bound(mute):
    ended = threading.Event()

    def connect():
        for _ in range(3):  # the second and third one wait until there is room for them to be accepted
            with pytest.raises(nnfast.DeadObject, match="has not answered within"):
                nnfast.connect(mute, patience=0.2)
        ended.set()

    kept = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept.connect(mute)
    threading.Thread(target=connect, daemon=True).start()
    assert ended.wait(GUARD)
    kept.close()


def test_closing_a_device_wakes_calls_in_flight(tmp_path):
    path = str(tmp_path / "nnfast.sock")
    process = start(path, "--threads", "1")
    try:
        device = reach(path)
        prepared = device.prepare(add_model())
        prepared.run([X, X])
        burst = prepared.burst()
        burst.run([X, X])
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # it has stopped
        told = []

        def wait_for(call):
            try:
                call()
            except BaseException as error:
                told.append(f"{type(error).__name__}: {error}")
            else:
                told.append("it was answered")

        calls = [lambda: prepared.run([X, X]), lambda: prepared.run([X, X]), lambda: burst.run([X, X]),
                 lambda: prepared.submit([X, X]).result(), lambda: device.check(add_model()), device.stats]
        threads = [threading.Thread(target=wait_for, args=(call,), daemon=True) for call in calls]
        for thread in threads:
            thread.start()
        time.sleep(0.2)  # so that most of them wait for an answer; those that come later find the device closed
        device.close()
        joined(threads)
        assert len(told) == len(calls) and all("DeadObject: " in text for text in told), told
    finally:
        process.kill()
        process.wait()
