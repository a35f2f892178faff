"""Queues between processes: elements with a checksum, a writer that is killed, a forked child."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from helpers import fmq_peer
from helpers.fmq_items import ITEM, items, numbers
from helpers.processes import environment
from nnfast import fmq

COUNT = 60_000


def peer(queue, what, *rest):
    """Another Python that attaches to the queue."""
    fd = queue.descriptor.fds[0]
    return subprocess.Popen([sys.executable, "-m", "helpers.fmq_peer", what, queue.descriptor.table().hex(), str(fd),
                             *map(str, rest)], pass_fds=(fd,), stdout=subprocess.PIPE, text=True,
                            env=environment())


@pytest.mark.parametrize("capacity", [31, 1024])
def test_another_process_writes(capacity):
    with fmq.MessageQueue.create(ITEM, capacity) as queue, peer(queue, "write", COUNT, capacity) as process:
        found = fmq_peer.read(queue, COUNT, capacity)
        assert process.wait(600) == 0
        assert found == fmq_peer.checksum(COUNT, capacity)
        assert queue.readable() == 0


def test_another_process_reads():
    with fmq.MessageQueue.create(ITEM, 64) as queue, peer(queue, "read", COUNT, 3) as process:
        fmq_peer.write(queue, COUNT, 3)
        assert int(process.communicate(timeout=600)[0]) == fmq_peer.checksum(COUNT, 3)


def test_a_killed_writer_leaves_whole_elements():
    """At any moment: what was published is all there, the rest is not, and the reader's wait ends."""
    for delay in (0.003, 0.01, 0.02):
        with fmq.MessageQueue.create(ITEM, 32) as queue, peer(queue, "write forever", 0, 5) as process:
            assert process.stdout.readline() == "ready\n"
            end, got = time.monotonic() + delay, b""
            while time.monotonic() < end:
                reason, elements = queue.read(1, timeout=5)
                assert reason == "ok"
                got += elements.tobytes()
            process.kill()
            process.wait(600)
            while queue.readable() > 0:
                got += queue.read(1)[1].tobytes()
            expected = b"".join(chunk.tobytes() for chunk in fmq_peer.chunks(1000, 5))
            whole = len(got) // len(expected) + 1
            assert got == (expected * whole)[:len(got)] and len(got) % ITEM.itemsize == 0
            assert queue.read(1, timeout=0.02) == ("timeout", None)


def test_a_forked_child_shares_the_queue(make):
    writer, reader = make(8)
    writer.write(items(1, 2))
    assert numbers(reader.read(1)[1]) == [1]
    child = os.fork()
    if child == 0:
        try:
            good = numbers(reader.read(1)[1]) == [2]
            good = good and all(numbers(reader.read(1, timeout=10)[1]) == [n] for n in range(3, 40))
        except BaseException:
            good = False
        os._exit(0 if good else 1)
    for n in range(3, 40):
        assert writer.write(items(n), timeout=10) == "ok"
    assert os.waitpid(child, 0)[1] == 0
    assert reader.readable() == 0
    # This side's reader knows nothing of what the child has read, and finds out.
    writer.write(items(40))
    assert numbers(reader.read(1)[1]) == [40]


def test_threads_of_one_process_share_an_object():
    queue = fmq.MessageQueue.create(ITEM, 31)
    thread = threading.Thread(target=fmq_peer.write, args=(queue, 20_000, 9))
    thread.start()
    assert fmq_peer.read(queue, 20_000, 9) == fmq_peer.checksum(20_000, 9)
    thread.join()
    queue.close()


def test_round_trips_through_two_queues():
    request, result = (fmq.MessageQueue.create(np.uint64, 4) for _ in range(2))

    def serve():
        while True:
            reason, value = request.read(1, timeout=None)
            if reason != "ok":
                return
            result.write(value * value, timeout=None)

    thread = threading.Thread(target=serve)
    thread.start()
    for n in range(300):
        request.write(np.array([n], np.uint64), timeout=None)
        reason, value = result.read(1, timeout=10)
        assert reason == "ok" and value[0] == n * n
    request.close()
    thread.join(600)
    assert not thread.is_alive()
