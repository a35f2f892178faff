"""Measures nnfast/driver/prepared.py, csrc/base/team.c: two clients of one thread each, at once, against one alone.

On a busy machine the figures say nothing: every window in which other processes took a share of it is left out.
"""

import os
import statistics
import subprocess
import sys
import threading
import time

import nnfast

from . import common

WINDOW = 0.1
"""Seconds of a measurement."""

WINDOWS = 10
"""Measurements of each kind, in turns."""

BUSY = 0.1
"""Processors that others may keep busy in a window that counts."""


def _load(model):
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(common.model_path(model)))
    return prepared, [common.model_input(model)]


def _calls(prepared, inputs, seconds):
    """Calls that one client makes in so many seconds."""
    out, count, end = prepared.run(inputs), 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        prepared.run(inputs, out)
        count += 1
    return count


CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
from benchmarks import bench_clients
client = bench_clients._load(sys.argv[2])
print(0, flush=True)
for line in sys.stdin:
    print(bench_clients._calls(*client, float(line)), flush=True)
"""
"""A client process: seconds in, calls out, line by line."""


def _busy():
    """Seconds of processor time that the whole system has used."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def _ratio(calls):
    """calls(clients, seconds) of two clients over those of one; None if no window was quiet."""
    found = {1: [], 2: []}
    for _ in range(WINDOWS):
        for clients in (1, 2):
            before, start = _busy(), time.perf_counter()
            count = calls(clients, WINDOW)
            others = (_busy() - before) / (time.perf_counter() - start) - clients
            if others < BUSY:
                found[clients].append(count)
    if not all(found.values()):
        return None
    return statistics.median(found[2]) / statistics.median(found[1])


class Clients:
    params = (["mobilenet_v1_0.25_128_int8", "mobilenet_v2_1.0_224_int8", "resnet18_half_224_int8"],)
    param_names = ("model",)
    unit = "calls of two over calls of one"

    def track_threads_of_one_prepared_model(self, model):
        client = _load(model)

        def calls(clients, seconds):
            counts = [0] * clients

            def run(k):
                counts[k] = _calls(*client, seconds)

            threads = [threading.Thread(target=run, args=(k,)) for k in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return sum(counts)

        return _ratio(calls)

    def track_processes(self, model):
        command = [sys.executable, "-c", CLIENT, str(common.HERE.parent), model]
        servers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                   for _ in range(2)]

        def calls(clients, seconds):
            for server in servers[:clients]:
                print(seconds, file=server.stdin, flush=True)
            return sum(int(server.stdout.readline()) for server in servers[:clients])

        try:
            for server in servers:
                server.stdout.readline()
            return _ratio(calls)
        finally:
            for server in servers:
                server.communicate()
