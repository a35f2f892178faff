"""Soak: many mixed executions over every path of the driver, with random cancels and releases.

    python ci/soak.py [--executions 100000] [--seed 1] [--growth 24] [--hostile]

Fails when memory or descriptors grow after the first tenth, when a result is wrong, or when nothing ends for a minute.
With --hostile, clients in the same process that do harm (hostile/) work beside the others.
"""

import argparse
import faulthandler
import gc
import os
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
from hostile import LOCAL_KINDS

import nnfast
from nnfast import Fence, ModelBuilder, Request, RequestArgument, Role
from nnfast.errors import Error, MissedDeadlinePersistent, MissedDeadlineTransient

CLIENTS = 4
STALLED_SECONDS = 60
GROWTH = 24
"""MiB that memory may grow between the first tenth and the end: fragments, not leaks."""
SHAPE = (1, 6, 6, 4)
NBYTES = 4 * 6 * 6 * 4


def make_model(seed, open_batch=False):
    """A few float32 layers."""
    rng = np.random.default_rng(seed)
    shape = (0, *SHAPE[1:]) if open_batch else SHAPE
    b = ModelBuilder(f"soak{seed}")
    x = b.input("TENSOR_FLOAT32", shape)
    w = b.constant(rng.standard_normal((4, 3, 3, 4), np.float32))
    bias = b.constant(np.zeros(4, np.float32))
    middle, y = b.operand("TENSOR_FLOAT32", shape), b.output("TENSOR_FLOAT32", shape)
    one, none = b.scalar(1), b.scalar(0)
    b.operation("CONV_2D", [x, w, bias, one, one, one, none], [middle])
    b.operation("RELU6", [middle], [y])
    return b.build()


class Client:
    """One thread's worth of work on a shared device."""

    def __init__(self, device, seed, folder):
        self.device, self.random, self.folder = device, random.Random(seed), folder
        self.x = np.random.default_rng(seed).standard_normal(SHAPE, np.float32)
        self.done, self.models = 0, {}

    def prepared(self):
        """A model that lives for a while, with its right answer."""
        key = self.random.randrange(6)
        if key not in self.models or self.random.random() < 0.002:
            self.models.pop(key, None)
            options = {"priority": self.random.choice(("low", "medium", "high"))}
            if self.random.random() < 0.3:
                options["cache_dir"] = self.folder
            made = self.device.prepare(make_model(key, open_batch=key == 5), **options)
            self.models[key] = made, made.run([self.x])[0]
        return self.models[key]

    def request(self, pools=None):
        pools = pools or (self.x, np.empty(SHAPE, np.float32))
        return Request((RequestArgument(0, 0, NBYTES, SHAPE),), (RequestArgument(1, 0, NBYTES, SHAPE),), pools)

    def run(self, prepared):
        return prepared.run([self.x])[0]

    def stream(self, prepared):
        return prepared.stream().run([self.x])[0]

    def submit(self, prepared):
        future = prepared.submit([self.x])
        if self.random.random() < 0.3:
            future.cancel()
        try:
            return future.result(timeout=STALLED_SECONDS)[0]
        except CancelledError:
            return None

    def execute(self, prepared):
        request = self.request()
        deadline = time.monotonic() + self.random.choice((-1, 0.00002, 60)) if self.random.random() < 0.3 else None
        try:
            prepared.execute(request, measure_timing=True, deadline=deadline)
        except (MissedDeadlineTransient, MissedDeadlinePersistent):
            return None
        return request.pools[1]

    def fenced(self, prepared):
        gate, request = Fence(), self.request()
        first = prepared.execute_fenced(request, [gate])
        second_request = self.request()
        second = prepared.execute_fenced(second_request, [first.fence])
        broken = self.random.random() < 0.1
        (gate.fail if broken else gate.signal)()
        states = first.fence.wait(STALLED_SECONDS), second.fence.wait(STALLED_SECONDS)
        if states != (("error",) * 2 if broken else ("signaled",) * 2):
            raise SystemExit(f"soak: fences are {states}")
        return None if broken else second_request.pools[1]

    def buffers(self, prepared):
        x = self.device.allocate([Role(prepared, 0)], (), SHAPE)
        y = self.device.allocate((), [Role(prepared, 0)], SHAPE)
        x.copy_from(self.x)
        prepared.execute(Request((RequestArgument(0),), (RequestArgument(1),), (x, y)))
        result = np.empty(SHAPE, np.float32)
        y.copy_to(result)
        return result

    def bad(self, prepared):
        try:
            self.random.choice((lambda: prepared.run([self.x[..., :2]]), lambda: prepared.run([]),
                                lambda: prepared.execute(Request((), (), ())),
                                lambda: self.device.allocate()))()
        except Error:
            return None
        raise SystemExit("soak: a bad call was accepted")

    def work(self, count):
        kinds = (self.run, self.run, self.run, self.stream, self.submit, self.execute, self.fenced, self.buffers,
                 self.bad)
        for _ in range(count):
            prepared, wanted = self.prepared()
            result = self.random.choice(kinds)(prepared)
            if result is not None and not np.array_equal(result, wanted):
                raise SystemExit("soak: a wrong result")
            self.done += 1


class Hostile(threading.Thread):
    """A hostile client of one kind, until `end`; `problem` tells what went wrong with it."""

    def __init__(self, kind, seed):
        super().__init__(daemon=True)
        self.foe, self.problem, self._ended = kind(None, random.Random(seed)), None, threading.Event()

    def run(self):
        try:
            while not self._ended.is_set():
                self.foe.do_one()
        except BaseException as error:
            self.problem = f"{type(self.foe).__name__}: {type(error).__name__}: {error}"
            raise

    def end(self):
        """Problems as a list; the counts of what it did are printed."""
        self._ended.set()
        self.join(STALLED_SECONDS)
        print(f"hostile: {dict(self.foe.done)}, refused {dict(self.foe.refused)}")
        return [*filter(None, [self.problem, self.is_alive() and "a hostile client hangs"]), *self.foe.wrong]


def state():
    """(resident bytes, open descriptors) of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--growth", type=int, default=GROWTH, help="MiB that memory may grow")
    parser.add_argument("--hostile", action="store_true", help="let clients work beside them that do harm")
    a = parser.parse_args()
    device = nnfast.Device(num_threads=2)
    with tempfile.TemporaryDirectory() as folder:
        clients = [Client(device, a.seed * 100 + place, folder) for place in range(CLIENTS)]
        foes = [Hostile(kind, a.seed) for kind in LOCAL_KINDS] if a.hostile else []
        for foe in foes:
            foe.start()
        began, before, share = time.monotonic(), None, a.executions // CLIENTS // 10
        for part in range(10):
            threads = [threading.Thread(target=client.work, args=(share,)) for client in clients]
            faulthandler.dump_traceback_later(10 * STALLED_SECONDS, exit=True)
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            faulthandler.cancel_dump_traceback_later()
            if any(client.done != (part + 1) * share for client in clients):
                return 1
            for client in clients:
                client.models.clear()
            now = state()
            before = before or now
            print(f"{(part + 1) * 10:3d} %  {now[0] >> 20} MiB resident, {now[1]} descriptors, "
                  f"{threading.active_count()} threads, {time.monotonic() - began:.0f} s", flush=True)
        problems = list(dict.fromkeys(problem for foe in foes for problem in foe.end()))
        for problem in problems:
            print(f"soak: {problem}", file=sys.stderr)
        now, latest = state(), time.monotonic() + STALLED_SECONDS
        while now[1] > before[1] + 2 and time.monotonic() < latest:  # what the hostile ones launched has an end
            time.sleep(0.1)
            now = state()
        print(f"at the end {now[0] >> 20} MiB resident, {now[1]} descriptors, {threading.active_count()} threads")
        if problems or now[0] > before[0] + (a.growth << 20) or now[1] > before[1] + 2:
            print("soak: memory or descriptors grew", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
