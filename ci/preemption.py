"""Preemption: the latency of a small model of high priority, alone and beside a job of low priority that never stops.

    python ci/preemption.py [--high MODEL] [--low MODEL] [--threads 1 2] [--seconds 3] [--json FILE]

Both are of one client, and take as many processors as they have threads. Times alone and beside the job are taken in
turns. Fails when the 99th percentile beside the job is above 1.3 times the median alone and the longest step of the job
[NN 8.1].
"""

import argparse
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy as np

import nnfast
from nnfast import config

TURN_SECONDS = 0.5
PAUSE_SECONDS = 0.002
"""Between two executions: the job of low priority is in the middle of its work when the next one comes."""
ALLOWED = 1.3
PROCESSORS = os.sched_getaffinity(0)


class Job:
    """Runs a prepared model again and again on a thread of its own, while it is told to."""

    def __init__(self, prepared):
        self._run = runner(prepared)
        self._wanted, self._ended, self.runs = threading.Event(), False, 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        while not self._ended:
            if self._wanted.wait(0.1):
                self._run()
                self.runs += 1

    def go_on(self):
        self._wanted.set()

    def pause(self):
        self._wanted.clear()

    def end(self):
        self._ended = True
        self._thread.join()


def runner(prepared):
    """run() of a prepared model on inputs of ones."""
    inputs = [np.ones(info.shape, info.dtype) for info in prepared.inputs]
    return lambda: prepared.run(inputs)


def longest_step_ms(prepared, runs=20):
    """The longest step of a model, each step at its median."""
    run, times = runner(prepared), {}
    for _ in range(runs):
        with nnfast.profile() as profile:
            run()
        for row in profile.rows:
            times.setdefault(row["index"], []).append(row["ns"])
    return max(map(statistics.median, times.values())) / 1e6


def latencies(run, seconds):
    """Milliseconds of runs with pauses between them."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - began))
    return times


def percentiles(times):
    return {"runs": len(times), "p50_ms": float(np.percentile(times, 50)), "p99_ms": float(np.percentile(times, 99))}


def measure(high_model, low_model, threads, seconds):
    """{"alone", "beside": percentiles, ...} of the model of high priority, and of what its times may be."""
    os.sched_setaffinity(0, sorted(PROCESSORS)[:threads])
    device = nnfast.Device(threads)
    low, high = device.prepare(low_model, priority="low"), device.prepare(high_model, priority="high")
    step_ms = longest_step_ms(low)
    run, job, alone, beside = runner(high), Job(low), [], []
    run()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        job.pause()
        time.sleep(0.05)
        alone += latencies(run, TURN_SECONDS)
        job.go_on()
        beside += latencies(run, TURN_SECONDS)
    job.end()
    alone, beside = percentiles(alone), percentiles(beside)
    bound = ALLOWED * alone["p50_ms"] + step_ms
    return {"threads": threads, "high": high_model.name, "low": low_model.name, "step_ms": step_ms, "alone": alone,
            "beside": beside, "low_runs": job.runs, "bound_ms": bound, "ok": beside["p99_ms"] <= bound}


def main():
    models = Path(config.get("NNFAST_SHARED")) / "models"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--high", default=models / "mobilenet_v1_0.25_128_f32.tflite")
    parser.add_argument("--low", default=models / "mobilenet_v2_1.0_224_f32.tflite")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json")
    a = parser.parse_args()
    high, low = nnfast.load(a.high), nnfast.load(a.low)
    rows = [measure(high, low, threads, a.seconds) for threads in a.threads]
    for row in rows:
        print(f"{row['threads']} threads: alone p50 {row['alone']['p50_ms']:.3f} p99 {row['alone']['p99_ms']:.3f} ms, "
              f"beside the job p50 {row['beside']['p50_ms']:.3f} p99 {row['beside']['p99_ms']:.3f} ms, longest step of "
              f"the job {row['step_ms']:.3f} ms, bound {row['bound_ms']:.3f} ms: {'ok' if row['ok'] else 'ABOVE'}")
    if a.json:
        Path(a.json).write_text(json.dumps(rows, indent=1))
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
