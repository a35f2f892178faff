"""Time of executions after a pause, when the workers of the team sleep."""

import os
import time

import numpy as np
import pytest

import nnfast
from nnfast._native import threads

X = np.zeros((1, 64, 64, 32), np.float32)


def chain(steps):
    """So many additions, one after the other: each is a step that both threads do, with a meeting behind it."""
    b = nnfast.ModelBuilder("chain")
    x, y = b.input("TENSOR_FLOAT32", X.shape), b.constant(np.ones(X.shape, np.float32))
    for place in range(steps):
        total = (b.output if place == steps - 1 else b.operand)("TENSOR_FLOAT32", X.shape)
        b.operation("ADD", [x, y, b.scalar(0)], [total])
        x = total
    return b.build()


def median_after_pauses(count):
    """Median seconds of a run on so many threads, 3 ms after the one before."""
    prepared = nnfast.Device(num_threads=count).prepare(chain(40))
    times = []
    for _ in range(40):
        time.sleep(0.003)
        began = time.perf_counter()
        prepared.run([X])
        times.append(time.perf_counter() - began)
    return sorted(times)[20]


def share_of_a_processor(seconds=0.2):
    """What this process gets of one."""
    began, end = time.process_time(), time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return (time.process_time() - began) / seconds


@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="times, which the gate takes without others beside")
@pytest.mark.skipif(threads.available() < 2, reason="this process has one processor")
def test_two_threads_after_a_pause_are_about_as_fast_as_one():
    """A worker that is woken where its caller runs would wait there while the caller spins."""
    if share_of_a_processor() < 0.9:
        pytest.skip("other processes use the processors, so that two threads seldom meet")
    for _ in range(5):
        one, two = median_after_pauses(1), median_after_pauses(2)
        if two < 3 * one:
            return
    raise AssertionError(f"one thread {one * 1e6:.0f} us, two threads {two * 1e6:.0f} us")
