"""What a burst costs beside PreparedModel.run on the same model, in turns in one run.

    python ci/burst_latency.py [FILE.tflite ...] [--rounds 8] [--calls 300] [--json F]

The models: an ADD of one number, and the files. The ways: `run` in this process; a burst in this process, and one
between two processes, each with both ends polling and with both asleep between calls. `futex` is a bare ping-pong of
two words between two processes, with nothing around it. The caller has the first processor, the burst the last. Medians
of all calls, in microseconds, and the tenth that took least, which says more while others use the processors too.
"""

import argparse
import ctypes
import json
import mmap
import os
import platform
import statistics
import time

import numpy as np

import nnfast
from nnfast import ModelBuilder
from nnfast.driver.controller import Controller, _Arrays

POLL_US = 1_000_000
WARM = 20
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}[platform.machine()]
WAIT, WAKE = 0, 1
_PROCESSORS = sorted(os.sched_getaffinity(0))
HERE, THERE = {_PROCESSORS[0]}, {_PROCESSORS[-1]}


def one_addition():
    """y = x + 1 for a single number."""
    b = ModelBuilder("ADD of one number")
    x, y = b.input("TENSOR_FLOAT32", (1,)), b.output("TENSOR_FLOAT32", (1,))
    return b.operation("ADD", [x, b.constant(np.ones(1, np.float32)), b.scalar(0)], [y]).build()


class Forked:
    """Context of a burst that a forked process serves, until the pipe to it ends."""

    def __init__(self, configure):
        end, self._pipe = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._pipe)
            os.sched_setaffinity(0, THERE)
            burst = configure()
            os.read(end, 1)
            burst.close()
            os._exit(0)
        os.close(end)

    def free_memory(self, slot):
        """The memory lives as long as the process."""

    def is_alive(self):
        """It ends when it is told to."""
        return True

    def last_error(self):
        """Is not told across."""
        return ""

    def death(self):
        """It does not die."""

    def end(self):
        """Have the process end."""
        os.close(self._pipe)

    def close(self):
        """Wait until it has."""
        os.waitpid(self._process, 0)


class Place:
    """A prepared model, as a Controller sees it, whose bursts are served here or in a forked process.

    The memory of the requests is there before the fork, so that the child has it too.
    """

    is_plain, result_shapes = False, None  # for a Controller without arrays of its own

    def __init__(self, prepared, memory, forks, spin_us):
        self.prepared, self.memory, self.forks, self.spin_us = prepared, memory, forks, spin_us

    def configure_burst(self, get_memories, requests, results, memories=None):
        """As PreparedModel.configure_burst."""
        def configure():
            return self.prepared.configure_burst(lambda slots: [self.memory] * len(slots), requests, results,
                                                 self.spin_us, memories)

        if self.forks:
            return Forked(configure)
        os.sched_setaffinity(0, THERE)  # which the burst's thread inherits
        try:
            return configure()
        finally:
            os.sched_setaffinity(0, HERE)


def through_run(prepared, inputs, _):
    """(call, what ends it) of the plain way."""
    out = prepared.run(inputs)
    return lambda: prepared.run(inputs, out), lambda: None


def through_burst(forks, spin_us):
    """The same through a burst."""
    def make(prepared, inputs, wanted):
        arrays = _Arrays.of(prepared)
        for view, array in zip(arrays.inputs, inputs):
            view[...] = array
        controller = Controller(Place(prepared, arrays.request.pools[0], forks, spin_us), spin_us=spin_us)
        controller.execute(arrays.request)
        if not all(map(np.array_equal, arrays.outputs, wanted)):
            raise AssertionError("the burst computes something else")
        return lambda: controller.execute(arrays.request), controller.close

    return make


WAYS = {"run": through_run,
        **{f"burst, {place}, {kind}": through_burst(forks, spin_us)
           for place, forks in (("one process", False), ("two processes", True))
           for kind, spin_us in (("polling", POLL_US), ("asleep", 0))}}


def measure(prepared, rounds, calls):
    """{way: nanoseconds of each call} on random inputs."""
    rng = np.random.default_rng(0)
    inputs = [(rng.standard_normal(i.shape) * 50).astype(i.dtype) for i in prepared.inputs]
    wanted, times = prepared.run(inputs), {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, make in WAYS.items():
            call, end = make(prepared, inputs, wanted)
            for _ in range(WARM):
                call()
            for _ in range(calls):
                began = time.perf_counter_ns()
                call()
                times[name].append(time.perf_counter_ns() - began)
            end()
    return times


def futex_round_trips(calls):
    """Nanoseconds of each round trip between two processes that each sleep on a word of their own."""
    libc = ctypes.CDLL(None)
    words = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int32)
    places = 0, 32
    addresses = [ctypes.c_void_p(words.ctypes.data + 4 * place) for place in places]

    def post(which, number):
        words[places[which]] = number
        libc.syscall(SYS_FUTEX, addresses[which], WAKE, 1, None, None, 0)

    def wait(which, number):
        while words[places[which]] != number:
            libc.syscall(SYS_FUTEX, addresses[which], WAIT, number - 1, None, None, 0)

    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, THERE)
        for number in range(1, calls + 1):
            wait(0, number)
            post(1, number)
        os._exit(0)
    times = []
    for number in range(1, calls + 1):
        began = time.perf_counter_ns()
        post(0, number)
        wait(1, number)
        times.append(time.perf_counter_ns() - began)
    os.waitpid(child, 0)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="FILE.tflite")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--json", metavar="F")
    args = parser.parse_args()
    os.sched_setaffinity(0, HERE)
    device, report = nnfast.Device(num_threads=1), {}
    futex = statistics.median(futex_round_trips(args.calls)) / 1e3
    for model in (one_addition(), *map(nnfast.load, args.models)):
        found = {name: {"median": statistics.median(times) / 1e3, "tenth": float(np.percentile(times, 10)) / 1e3}
                 for name, times in measure(device.prepare(model), args.rounds, args.calls).items()}
        report[model.name] = found
        print(model.name)
        for name, row in found.items():
            print(f"  {name:<32}", "  |  ".join(f"{kind} {us:9.2f} us {us - found['run'][kind]:+9.2f} us "
                                                f"{us / found['run'][kind]:6.2f} x" for kind, us in row.items()))
    print(f"bare futex round trip {futex:.2f} us")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"futex": futex, "models": report}, stream, indent=1)


if __name__ == "__main__":
    main()
