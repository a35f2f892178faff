"""kill -9 of clients at every step of their calls, and of the driver under its clients.

    python ci/service_kills.py [--kills 1000] [--driver-kills 20] [--seed 1] [--json FILE]

A client is killed at a random moment of one step: connect, prepare, run, execute, submit, fenced (waiting, and with
nothing to wait for), allocate, burst. The time that the step takes is measured first, and the moment drawn from it and
a little more. After each kill the driver must soon know of nobody but the client that stays, whose results must be
right; in the end its memory, descriptors and threads must be back. When the driver is killed, every pending call of its
clients must raise DeadObject promptly, every later one at once, fences must fail, and `reconnect` must work with the
next driver.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np

import nnfast
from nnfast import DeadObject, Fence, Memory, Request, RequestArgument, Role
from nnfast.errors import Error
from nnfast.stress.driver import Driver

MODEL = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"
GONE_SECONDS = 5
"""Until the driver must have forgotten a client that was killed."""

PROMPT_SECONDS = 2
"""Until a pending call must have failed when the driver is killed: it is the machine's time that counts here."""

CALLERS = 4
MEASURED = 5
SPARE_SHARE = 1.2


class Victim:
    """Does a step over and over in a process of its own."""

    def __init__(self, path):
        self.path = path

    def prepare_for(self, step):
        """What comes before the step."""
        if step == "connect":
            return
        self.device, self.model = nnfast.connect(self.path), nnfast.load(MODEL)
        if step == "prepare":
            return
        self.prepared = self.device.prepare(self.model)
        self.inputs = [np.zeros(info.shape, info.dtype) for info in self.prepared.inputs]
        outputs = self.prepared.run(self.inputs)
        sizes = self.inputs[0].nbytes, outputs[0].nbytes
        self.request = Request((RequestArgument(0, 0, sizes[0]),), (RequestArgument(1, 0, sizes[1]),),
                               tuple(map(Memory.create, sizes)))
        self.never, self.opened = Fence(), None

    def connect(self):
        nnfast.connect(self.path)

    def prepare(self):
        self.device.prepare(self.model)

    def run(self):
        self.prepared.run(self.inputs)

    def execute(self):
        self.prepared.execute(self.request)

    def submit(self):
        self.prepared.submit(self.inputs).result(30)

    def fenced(self):
        self.prepared.execute_fenced(self.request).fence.wait(30)

    def fenced_waiting(self):
        self.prepared.execute_fenced(self.request, [self.never])

    def allocate(self):
        buffer = self.device.allocate(input_roles=[Role(self.prepared, 0, 1.0)])
        buffer.copy_from(self.inputs[0])

    def open_burst(self):
        with self.prepared.burst() as burst:
            burst.run(self.inputs)

    def burst(self):
        if self.opened is None:
            self.opened = self.prepared.burst()
        self.opened.run(self.inputs)


STEPS = ("connect", "prepare", "run", "execute", "submit", "fenced", "fenced_waiting", "allocate", "open_burst",
         "burst")


def duration(path, step):
    """Seconds that a step takes, as the median of a few."""
    victim, times = Victim(path), []
    victim.prepare_for(step)
    for _ in range(MEASURED):
        began = time.perf_counter()
        getattr(victim, step)()
        times.append(time.perf_counter() - began)
    if step != "connect":
        victim.device.close()
    return sorted(times)[MEASURED // 2]


def kill_client(path, step, delay):
    """Kill a client in a step, `delay` seconds after it has begun; whether it was still alive then."""
    told, ours = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            victim = Victim(path)
            victim.prepare_for(step)
            os.write(ours, b"x")
            while True:
                getattr(victim, step)()
        except Error:
            signal.pause()  # a quota: it holds much then, and waits to be killed
        finally:
            os._exit(1)
    os.close(ours)
    fine = os.read(told, 1) == b"x"
    os.close(told)
    until = time.perf_counter() + delay
    while (left := until - time.perf_counter()) > 0:
        if left > 0.0005:
            time.sleep(left - 0.0003)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL and fine


class Watch:
    """A client that stays: asks the driver who is there, and compares results."""

    def __init__(self, path):
        self.device = nnfast.connect(path)
        prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(MODEL))
        rng = np.random.default_rng(1)
        self.inputs = [rng.integers(-99, 99, info.shape).astype(info.dtype) for info in prepared.inputs]
        self.wanted, self.prepared = prepared.run(self.inputs), self.device.prepare(nnfast.load(MODEL))

    def is_alone_soon(self):
        """Seconds until the driver knew of nobody else; None when it did not."""
        began = time.monotonic()
        while time.monotonic() < began + GONE_SECONDS:
            if len(self.device.stats()["clients"]) == 1:
                return time.monotonic() - began
            time.sleep(0.0005)
        return None

    def is_right(self):
        return all(map(np.array_equal, self.prepared.run(self.inputs), self.wanted))


def kill_clients(a, random, problems):
    """Kill so many clients; what is told of it."""
    killed, late = Counter(), 0.0
    with Driver("--client-memory", 64 << 20) as driver:
        spans = {step: duration(driver.path, step) for step in STEPS}
        for step in STEPS:
            kill_client(driver.path, step, spans[step])  # what stays after a first use is no leak
        before = driver.settled()
        watch = Watch(driver.path)
        for number in range(a.kills):
            step = STEPS[number % len(STEPS)]
            if not kill_client(driver.path, step, random.random() * spans[step] * SPARE_SHARE):
                problems.append(f"{step}: the client had failed before it was killed")
                continue
            killed[step] += 1
            gone = watch.is_alone_soon()
            if gone is None:
                problems.append(f"{step}: the driver still knew the client {GONE_SECONDS} s after its death")
                break
            late = max(late, gone)
            if not watch.is_right():
                problems.append(f"{step}: the other client's results are wrong")
        watch.device.close()
        after = driver.settled(before)
        problems += [*after.problems(before), *driver.said()[:5]]
        if driver.end():
            problems.append("the driver did not end as it should")
    print(f"{sum(killed.values())} clients killed: {dict(killed)}; steps take "
          f"{', '.join(f'{step} {1e3 * span:.1f}' for step, span in spans.items())} ms")
    print(f"forgotten after at most {1e3 * late:.1f} ms; driver before: {before}; after: {after}")
    return {"killed": dict(killed), "slowest_ms": 1e3 * late}


class Caller(threading.Thread):
    """Calls until something fails; remembers what it was, and when."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self._call, self.error, self.at = call, None, None
        self.start()

    def run(self):
        try:
            while True:
                self._call()
        except BaseException as error:
            self.error, self.at = error, time.monotonic()


def kill_driver(driver, random, problems):
    """Kill the driver under clients that call it; milliseconds until the last call had failed."""
    driver.start()
    victim = Victim(driver.path)
    victim.prepare_for("run")
    burst = victim.prepared.burst()
    waiting = victim.prepared.execute_fenced(victim.request, [victim.never])
    callers = {name: Caller(call) for name, call in (
        ("run", victim.run), ("execute", victim.execute), ("submit", victim.submit), ("prepare", victim.prepare),
        ("fenced", victim.fenced), ("burst", lambda: burst.run(victim.inputs)))}
    time.sleep(random.random() * 0.2)
    driver.kill()
    killed = time.monotonic()
    for name, caller in callers.items():
        caller.join(max(0.0, killed + PROMPT_SECONDS - time.monotonic()))
        if caller.is_alive():
            problems.append(f"driver killed: {name} had not ended after {PROMPT_SECONDS} s")
        elif not isinstance(caller.error, DeadObject):
            problems.append(f"driver killed: {name} raised {type(caller.error).__name__}: {caller.error}")
    if waiting.fence.wait(PROMPT_SECONDS) != "error":
        problems.append(f"driver killed: the fence of a waiting execution is {waiting.fence.state}")
    for name in ("run", "execute", "prepare", "allocate"):
        began = time.monotonic()
        try:
            getattr(victim, name)()
            problems.append(f"driver killed: a later {name} worked")
        except DeadObject:
            if time.monotonic() - began > PROMPT_SECONDS:
                problems.append(f"driver killed: a later {name} took long to fail")
    ended = [caller.at - killed for caller in callers.values() if caller.at is not None]
    driver.start()
    victim.device.reconnect()
    victim.prepared = victim.device.prepare(victim.model)
    victim.run()
    victim.device.close()
    driver.kill()
    return 1e3 * max(ended, default=0.0)


def kill_drivers(a, random, problems):
    """Kill so many drivers."""
    if not a.driver_kills:
        return {}
    with Driver() as driver:
        driver.kill()
        slowest = [kill_driver(driver, random, problems) for _ in range(a.driver_kills)]
    print(f"{len(slowest)} drivers killed; the last pending call failed after {np.median(slowest):.1f} ms (median), "
          f"{max(slowest):.1f} ms (most)")
    return {"drivers": len(slowest), "slowest_ms": max(slowest)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--driver-kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    a = parser.parse_args()
    problems, random = [], Random(a.seed)
    found = {"clients": kill_clients(a, random, problems), "drivers": kill_drivers(a, random, problems)}
    if a.json:
        Path(a.json).write_text(json.dumps({**found, "problems": problems}))
    for problem in problems:
        print(f"service_kills: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
