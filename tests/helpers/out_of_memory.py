"""Calls in which the n-th allocation fails, for every n: python -m helpers.out_of_memory NAME

failing_malloc.c, built as a library, is preloaded. PYTHONMALLOC=malloc makes every object of Python's an allocation of
its own. Prints a JSON object of what happened.
"""

import ctypes
import gc
import json
import logging
import os
import sys
import tempfile
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import nnfast
from helpers import models
from helpers.service import add_model, serving, until

X = np.random.default_rng(0).standard_normal((1, 5, 5, 2), np.float32)
PAIR = [np.arange(4, dtype=np.float32)] * 2


def same(found, wanted):
    assert [y.tobytes() for y in found] == [y.tobytes() for y in wanted]


@contextmanager
def prepare():
    device, model = nnfast.Device(num_threads=1), models.conv_model()
    wanted = device.prepare(model).run([X])
    yield lambda: device.prepare(model), lambda prepared: same(prepared.run([X]), wanted)


@contextmanager
def run():
    prepared = nnfast.Device(num_threads=1).prepare(models.conv_model())
    wanted = prepared.run([X])
    yield lambda: prepared.run([X]), lambda found: same(found, wanted)


@contextmanager
def run_in_pieces():
    """The long path: shapes that are known at execution."""
    prepared = nnfast.Device(num_threads=1).prepare(models.reshape_model())
    inputs = [np.arange(12, dtype=np.float32).reshape(2, 6), np.int32([3, 4])]
    wanted = prepared.run(inputs)
    yield lambda: prepared.run(inputs), lambda found: same(found, wanted)


@contextmanager
def burst():
    prepared = nnfast.Device(num_threads=1).prepare(models.conv_model())
    wanted = prepared.run([X])
    with prepared.burst() as controller:
        yield lambda: controller.run([X]), lambda found: same(found, wanted)


@contextmanager
def service():
    """Client and driver, in threads of this process: the allocation that fails may be of either.

    A driver that runs out of memory in the middle of a message closes the connection: the client connects again.
    """
    with serving(Path(tempfile.mkdtemp())) as (path, server):
        def connected():
            return nnfast.connect(path, patience=20).prepare(add_model())

        prepared = connected()
        wanted = prepared.run(PAIR)

        def again():
            nonlocal prepared
            prepared = connected()
            assert until(lambda: len(server.sessions()) == 1)  # the lost one has given its descriptors back

        yield lambda: prepared.run(PAIR), lambda found: same(found, wanted), again


SCENARIOS = {scenario.__name__: scenario for scenario in (prepare, run, run_in_pieces, burst, service)}


def fails_well(error):
    """A MemoryError, ours or Python's; at some places CPython and numpy forget to set one, which CPython reports."""
    return isinstance(error, MemoryError) or isinstance(error, SystemError) and "without exception set" in str(error)


class Sweep:
    """Calls whose n-th allocation fails, for n = 1, 2, ... until it is not reached any more."""

    def __init__(self, fail, call, check, again=None):
        self.tried = self.refused = self.lost = missed = 0
        self.wrong = []
        while missed < 3 and len(self.wrong) < 5:
            self.tried += 1
            error = result = None
            fail(self.tried)
            try:
                result = call()
            except BaseException as caught:
                error = caught
            missed += fail(0)
            if error is None:
                check(result)
            elif fails_well(error):
                self.refused += 1
            elif again is not None and isinstance(error, nnfast.DeadObject):
                self.lost += 1
            else:
                self.wrong.append(f"{self.tried}: {''.join(traceback.format_exception(error))}")
            error = result = None
            try:
                check(call())  # the same objects still work
            except nnfast.DeadObject:
                if again is None:
                    raise
                again()


def held(live):
    """(blocks, descriptors) that this process holds."""
    gc.collect()
    return live(), len(os.listdir("/proc/self/fd"))


def main(name):
    allocator = ctypes.CDLL(None)
    fail, live = allocator.nnf_fail_allocation, allocator.nnf_live_blocks
    live.restype = ctypes.c_long
    sys.unraisablehook = lambda unraisable: None
    threading.excepthook = lambda unhandled: None  # what a thread leaves undone shows in the calls that follow
    logging.disable()
    with SCENARIOS[name]() as scenario:
        for _ in range(20):
            scenario[1](scenario[0]())
        Sweep(fail, *scenario)  # fills the caches of Python and numpy
        before = held(live)
        sweep = Sweep(fail, *scenario)
        after = held(live)
        print(json.dumps({"tried": sweep.tried, "refused": sweep.refused, "lost": sweep.lost,
                          "wrong": sweep.wrong, "blocks": after[0] - before[0], "descriptors": after[1] - before[1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
