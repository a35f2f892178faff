"""A waiter that spins: it stops where that is of no use, and never stands in the way of others."""

import os
import subprocess
import sys
import threading
import time
from statistics import median

from helpers.fmq_items import ITEM, items
from nnfast.fmq import MessageQueue

NEIGHBOURS = 6
TRIPS = 60
VAIN = 200


def test_waits_in_vain_spin_ever_more_seldom():
    """Processor time, which no neighbour stretches: 200 windows of 2 ms would be 0.4 s."""
    with MessageQueue.create(ITEM, 4) as queue:
        before = time.thread_time()
        for _ in range(VAIN):
            assert queue.read(1, timeout=0.003, spin_us=2000) == ("timeout", None)
        assert time.thread_time() - before < 0.2


def median_trip(spin_us):
    """Median seconds of a message there and back, where the echoing thread spins for so long."""
    with MessageQueue.create(ITEM, 4) as there, MessageQueue.create(ITEM, 4) as back:
        def echo():
            for _ in range(TRIPS):
                assert there.read(1, timeout=600, spin_us=spin_us)[0] == "ok"
                assert back.write(items(1), timeout=600) == "ok"

        thread = threading.Thread(target=echo)
        thread.start()
        times = []
        for _ in range(TRIPS):
            time.sleep(0.001)
            began = time.perf_counter()
            assert there.write(items(1), timeout=600) == "ok" and back.read(1, timeout=600)[0] == "ok"
            times.append(time.perf_counter() - began)
        thread.join()
        return median(times)


def test_spinning_beside_busy_neighbours_costs_no_time_slices():
    """A waiter that yields its processor waits for a time slice of each neighbour: a thousand times as long."""
    spinner = "import os\nprint(flush=True)\nwhile os.getppid() != 1: pass"
    neighbours = [subprocess.Popen([sys.executable, "-S", "-c", spinner], stdout=subprocess.PIPE)
                  for _ in range(NEIGHBOURS)]
    try:
        for process in neighbours:
            process.stdout.readline()
        tries = []
        while len(tries) < 5:
            sleeping, spinning = median_trip(0), median_trip(50)
            if spinning < 2 * sleeping + 100e-6:
                return
            tries.append((sleeping, spinning))
        raise AssertionError(f"seconds without and with a window, on {os.cpu_count()} processors: {tries}")
    finally:
        for process in neighbours:
            process.kill()
            process.communicate()
