"""Soak of the driver process: clients with mixed models, for a while with hostile ones among them.

    python ci/service_soak.py [--seconds 600] [--calm 120] [--clients 8] [--hostile 5] [--pause-ms 5] [--seed 1]
                              [--small] [--json F]

Starts `nnfast serve`, lets the clients work alone for `calm` seconds and then beside `hostile` clients for `seconds`;
hostile client number i is of kind i of the package `hostile`. Fails when a result differs from the one computed in
process, when a client meets an error, when a 99th percentile of the latency grows to more than `worse` times of what it
was plus 10 ms, when a call takes longer than twice its calm 99th percentile plus `stall-ms`, or when the driver's
memory, descriptors or threads do not come back to where they were. Latencies are in microseconds.

Beside the clients two processes wake each other and compute, without the driver: what they meet is the machine's.
"""

import argparse
import gc
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from hostile import KINDS

import nnfast
from nnfast import config
from nnfast.stress.client import Caller, Subject
from nnfast.stress.driver import Driver

DATA = Path(nnfast.__file__).parent / "data"
MODELS = ("mobilenet_v1_0.25_128_int8", "mobilenet_v1_0.25_128_f32", "mobilenet_v1_0.25_128_uint8", "tts_like_f32",
          "mobilenet_v1_1.0_224_int8")
WARM_SECONDS = 10
ALLOWED_US = 10_000
"""What a call may take beyond a multiple of what it took in calm: one turn of somebody else."""

ENOUGH = 100
"""Calls that a 99th percentile takes."""

WITNESS, WITNESS_NS = "no driver: two processes", 1_300_000

CLIENT_MEMORY = 256 << 20
"""Quota of each client: enough for the models, not for those who want more and more."""


def model_paths(small):
    """The models that the product ships, and the shared ones where they are."""
    folder = Path(config.get("NNFAST_SHARED")) / "models"
    return [*sorted(DATA.glob("digits_*.tflite")), *(path for name in MODELS if not small and
                                                     (path := folder / f"{name}.tflite").exists())]


# -- clients -----------------------------------------------------------------------------------------------------------
class Client:
    """A well-behaved client: works until told to stop, and says what it saw."""

    def __init__(self, path, seed, small):
        self.path, self.random, rng = path, random.Random(seed), np.random.default_rng(seed)
        paths = model_paths(small)
        self.known = [Subject.of(name, rng) for name in self.random.sample(paths, min(3, len(paths)))]
        self.times = {}
        self.wrong = self.count = 0
        self.connect()

    def connect(self):
        """A new session; the old one goes as garbage does."""
        self.device = nnfast.connect(self.path)
        self.callers = [Caller(subject, self.device.prepare(nnfast.load(subject.path))) for subject in self.known]
        gc.collect()

    def work(self, pause):
        while not _stopped():
            caller = self.random.choice(self.callers)
            subject, way = caller.subject, self.random.choice(caller.subject.ways)
            began = time.perf_counter_ns()
            outputs = caller.call(way)
            spent = (time.perf_counter_ns() - began) / 1e3
            self.times.setdefault(f"{Path(subject.path).stem} {way}", []).append(spent)
            self.wrong += not subject.is_right(outputs)
            self.count += 1
            if self.count % 2000 == 0:
                self.connect()
            time.sleep(self.random.random() * 2 * pause)


_stop = False


def _stopped():
    return _stop


def _on_term(*_):
    global _stop
    _stop = True


def client_main(a):
    gc.disable()  # a full collection takes 40 to 60 ms of the client's own time: between calls, not in one
    client = Client(a.socket, a.seed, a.small)
    print("ready", flush=True)
    client.work(a.pause_ms / 1e3)
    print(json.dumps({"times": client.times, "wrong": client.wrong}), flush=True)


def hostile_main(a):
    os.nice(19)  # its harm is to be what it makes the driver do
    foe = KINDS[a.seed % len(KINDS)](a.socket, random.Random(a.seed))
    print("ready", flush=True)
    while not _stopped():
        foe.do_one()
    print(json.dumps({"done": foe.done, "refused": foe.refused, "wrong": foe.wrong}), flush=True)


def witness_main(a):
    """Two processes by turns, with as much work as a call of the largest model."""
    near, far = socket.socketpair()
    if not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        near.close()
        while far.recv(1):
            ends = time.thread_time_ns() + WITNESS_NS
            while time.thread_time_ns() < ends:
                pass
            far.send(b"y")
        os._exit(0)
    far.close()
    print("ready", flush=True)
    rng, times = random.Random(a.seed), []
    while not _stopped():
        began = time.perf_counter_ns()
        near.send(b"x")
        near.recv(1)
        times.append((time.perf_counter_ns() - began) / 1e3)
        time.sleep(rng.random() * 2 * a.pause_ms / 1e3)
    near.close()
    os.wait()
    print(json.dumps({"times": {WITNESS: times}, "wrong": 0}), flush=True)


# -- the whole ---------------------------------------------------------------------------------------------------------
def start(role, a, path, seed):
    command = [sys.executable, __file__, "--role", role, "--socket", path, "--seed", str(seed), "--pause-ms",
               str(a.pause_ms), *(["--small"] if a.small else [])]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def stop(process):
    """What a role had to say; None when it ended otherwise."""
    process.terminate()
    out, _ = process.communicate(timeout=120)
    return json.loads(out.splitlines()[-1]) if process.returncode == 0 and out.strip() else None


@dataclass
class Phase:
    """What clients saw: microseconds by what was done, results compared and wrong, clients that failed; what each
    hostile client did, None for one that failed itself.
    """

    times: dict
    count: int = 0
    wrong: int = 0
    failed: int = 0
    foes: list = field(default_factory=list)


def phase(a, driver, seconds, hostile):
    """Let all work for a while."""
    clients = [start("client", a, driver.path, a.seed * 100 + place) for place in range(a.clients)]
    clients.append(start("witness", a, driver.path, a.seed))
    for client in clients:
        client.stdout.readline()
    first = a.seed * 1000 * len(KINDS)
    foes = [start("hostile", a, driver.path, first + place) for place in range(a.hostile)] if hostile else []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and driver.is_running():
        time.sleep(min(10, max(0, ends - time.monotonic())))
        print(f"  {'hostile' if hostile else 'calm'}: {driver.state()}", flush=True)
    found = Phase({}, foes=[stop(foe) for foe in foes])
    for told in map(stop, clients):
        if told is None:
            found.failed += 1
            continue
        for key, values in told["times"].items():
            found.times.setdefault(key, []).extend(values)
            found.count += len(values) if key != WITNESS else 0
        found.wrong += told["wrong"]
    return found


def stalls(times, calm, allowed_us):
    """[(what, microseconds)] of calls that took more than twice the 99th percentile in calm and `allowed_us`."""
    limits = {key: 2 * np.percentile(values, 99) + allowed_us for key, values in calm.items()}
    return [(key, value) for key, values in times.items() if key in limits for value in values if value > limits[key]]


def report(a, before, after, calm, busy, code, said):
    """Print the table; 1 when something is not as it must be."""
    print(f"{'what':44} {'runs':>8} {'p50 calm':>9} {'p50':>8} {'p99 calm':>9} {'p99':>8} {'max':>8} {'ratio':>6}")
    rows, problems = {}, [*after.problems(before), *said[:5]]
    for key in sorted(busy.times.keys() & calm.times.keys()):
        quiet, loud = calm.times[key], busy.times[key]
        row = rows[key] = [len(loud), *(float(np.percentile(values, share)) for share in (50, 99)
                                        for values in (quiet, loud)), max(loud)]
        print(f"{key:44} {row[0]:8} {row[1]:9.0f} {row[2]:8.0f} {row[3]:9.0f} {row[4]:8.0f} {row[5]:8.0f} "
              f"{row[4] / row[3]:6.2f}")
        if key != WITNESS and len(loud) >= ENOUGH and len(quiet) >= ENOUGH and row[4] > a.worse * row[3] + ALLOWED_US:
            problems.append(f"{key}: the 99th percentile grew from {row[3]:.0f} to {row[4]:.0f} us, allowed are "
                            f"{a.worse:g} times as much and {ALLOWED_US} us")
    late = stalls(busy.times, calm.times, a.stall_ms * 1000)
    alone, late = [row for row in late if row[0] == WITNESS], [row for row in late if row[0] != WITNESS]
    print(f"calls that took longer than twice their calm 99th percentile and {a.stall_ms:g} ms: {len(late)}"
          f"{''.join(f'; {key} {took / 1e3:.0f} ms' for key, took in sorted(late, key=lambda item: -item[1])[:5])}")
    print(f"without the driver, in {len(busy.times.get(WITNESS, ()))} rounds of two processes: {len(alone)}")
    if late and not np.isinf(a.stall_ms):
        problems.append(f"{len(late)} calls stalled")
    print(f"{calm.count + busy.count} results compared, {calm.wrong + busy.wrong} wrong; clients that failed "
          f"{calm.failed + busy.failed}")
    for place, foe in enumerate(busy.foes):
        print(f"hostile client {place}: {foe}")
    print(f"driver before: {before}; after: {after}; exit code {code}")
    problems += [text for foe in busy.foes if foe is not None for text in foe["wrong"][:5]]
    problems += [text for text, wrong in (
        ("wrong results", calm.wrong + busy.wrong), ("a client failed", calm.failed + busy.failed),
        ("a hostile client failed itself", None in busy.foes), ("nothing was compared", not busy.count),
        ("the driver did not end as it should", code != 0)) if wrong]
    if a.json:
        Path(a.json).write_text(json.dumps({"rows": rows, "stalls": late, "before": asdict(before),
                                            "after": asdict(after), "hostile": busy.foes, "problems": problems}))
    for problem in problems:
        print(f"service_soak: {problem}", file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--calm", type=float, default=120)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--pause-ms", type=float, default=5, help="that a client waits between two calls, on average")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="only the models that the product ships")
    parser.add_argument("--hostile", type=int, default=len(KINDS), help="hostile clients, of one kind after the other")
    parser.add_argument("--worse", type=float, default=2, help="how much a 99th percentile may grow, beside 10 ms")
    parser.add_argument("--stall-ms", type=float, default=50, help="most that a call may take beyond twice its calm "
                        "99th percentile")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--role", choices=("client", "witness", "hostile"), help=argparse.SUPPRESS)
    parser.add_argument("--socket", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.role:
        signal.signal(signal.SIGTERM, _on_term)
        return {"client": client_main, "witness": witness_main, "hostile": hostile_main}[a.role](a)
    with Driver("--client-memory", CLIENT_MEMORY) as driver:
        phase(a, driver, min(WARM_SECONDS, a.calm), False)  # what stays after a first use is no leak
        before = driver.settled()
        calm = phase(a, driver, a.calm, False)
        busy = phase(a, driver, a.seconds, True)
        after = driver.settled(before)
        return report(a, before, after, calm, busy, driver.end(), driver.said())


if __name__ == "__main__":
    sys.exit(main())
