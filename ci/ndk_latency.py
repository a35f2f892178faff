"""Runs of a model through the C library beside runs in this process, in turns.

    python ci/ndk_latency.py MODEL.tflite... [--threads 1 2] [--turns N] [--json F]

Prints, for each model and number of threads: microseconds of a run in this process and of Execution_burstCompute of
one reusable execution (medians, and the middle half of them), their difference, and how many times as long the second
takes. This process and the driver's have as many threads. The machine should be idle.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import nnfast  # noqa: E402
from nnfast.cli.output import positive  # noqa: E402
from nnfast.conformance.ndk.device import NdkDevice  # noqa: E402
from nnfast.conformance.ndk.prepared import NdkBurst  # noqa: E402

TURN_SECONDS = 0.02
"""Of one side, before the other one has its turn."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--turns", type=positive, default=100)
    parser.add_argument("--json", type=Path, metavar="F")
    args = parser.parse_args()
    rows = []
    for threads in args.threads:
        # The library looks for its driver once in a process: each number of threads has a process of its own.
        rows += (_in_child if len(args.threads) > 1 else measured)(args, threads)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


def _in_child(args, threads):
    with tempfile.TemporaryDirectory() as name:
        found = Path(name) / "rows.json"
        done = subprocess.run([sys.executable, __file__, *map(str, args.models), "--threads", str(threads), "--turns",
                               str(args.turns), "--json", str(found)])
        if done.returncode:
            sys.exit(done.returncode)
        return json.loads(found.read_text())


def measured(args, threads):
    """A row for each model."""
    device, driver, rows = nnfast.Device(num_threads=threads), NdkDevice(num_threads=threads), []
    try:
        for path in args.models:
            model = nnfast.load(path, arithmetic="nnapi")
            here, there = device.prepare(model), driver.prepare(model)
            if any(info.shape is None or None in info.shape for info in here.inputs):
                sys.exit(f"{path.name}: has inputs of unknown shape, must have known ones")
            rng = np.random.default_rng(0)
            inputs = [rng.standard_normal(i.shape).astype(i.dtype) if i.dtype.kind == "f"
                      else rng.integers(0, 100, i.shape).astype(i.dtype) for i in here.inputs]
            outputs = here.run(inputs)
            through_burst, rooms = bound(there, inputs)
            if [room.tobytes() for room in rooms] != [y.tobytes() for y in outputs]:
                sys.exit(f"{path.name}: the library's outputs are others")
            took = in_turns([partial(here.run, inputs, outputs), through_burst], args.turns)
            own, through = ([statistics.quantiles(times, n=4)[k] for k in (1, 0, 2)] for times in took)
            rows.append({"model": path.stem, "threads": threads, "in_process_us": own, "burst_us": through,
                         "ratio": through[0] / own[0]})
            print(f"{path.stem}, {threads} threads: in process {own[0]:.1f} us ({own[1]:.1f} to {own[2]:.1f}), "
                  f"burst {through[0]:.1f} ({through[1]:.1f} to {through[2]:.1f}), {through[0] - own[0]:+.1f}, "
                  f"{through[0] / own[0]:.3f}", flush=True)
    finally:
        driver.close()
    return rows


def in_turns(sides, turns):
    """Microseconds of every call of each side."""
    took = tuple([] for _ in sides)
    for _ in range(turns):
        for times, run in zip(took, sides):
            ends = time.perf_counter() + TURN_SECONDS
            while (began := time.perf_counter()) < ends:
                run()
                times.append(1e6 * (time.perf_counter() - began))
    return took


def bound(prepared, inputs):
    """(function that runs a reusable execution on these arrays by a burst, arrays of its outputs), once run."""
    execution = prepared._start(False, None, None)
    prepared.device.call("Execution_setReusable", execution.pointer, True)
    rooms = prepared._rooms()
    prepared._set_all(execution, inputs, rooms)
    burst = NdkBurst(prepared)

    def run():
        prepared.device.check("Execution_burstCompute", burst._compute(execution))

    run()
    return run, rooms


if __name__ == "__main__":
    try:
        main()
    except nnfast.Error as error:
        sys.exit(str(error))
