"""kill -9 of the workers of an `nnfast batch`, one every --seconds, and of the whole run, which is given again.

    python ci/batch_kills.py model.tflite photos/ --copies 50 --seconds 2

The output must be that of one process without kills, byte for byte, with every item once. Needs nnfast[distributed].
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from batch_scaling import by_hand, copied

COMPLETE = 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("photos", type=Path, help="folder of pictures")
    parser.add_argument("--copies", type=int, default=50, help="of each picture")
    parser.add_argument("--processes", type=int, default=2, help="workers")
    parser.add_argument("--seconds", type=float, default=2.0, help="between kills of workers")
    parser.add_argument("--whole", type=float, default=8.0, metavar="SECONDS", help="between kills of the whole run")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        count = copied(a.photos, folder / "items", a.copies)
        expected = folder / "expected.npy"
        begin(a.model, folder, expected).wait()
        with by_hand(folder, a.processes) as options:
            report("workers", *workers_killed(a, folder, options), folder, expected, count)
        report("whole runs", *runs_killed(a, folder), folder, expected, count)


def begin(model, folder, output, *options):
    """Start `nnfast batch`, in a session of its own."""
    return subprocess.Popen([sys.executable, "-m", "nnfast", "batch", model, folder / "items", "--output", output,
                             "--chunk", "16", *map(str, options)], stdout=subprocess.DEVNULL, start_new_session=True)


def workers_killed(a, folder, options):
    """(output, kills): one worker process every a.seconds, as long as the command runs."""
    import distributed

    output, kills = folder / "workers.npy", 0
    with distributed.Client(scheduler_file=str(folder / "scheduler.json")) as client:
        command = begin(a.model, folder, output, *options)
        while True:
            try:
                code = command.wait(a.seconds)
            except subprocess.TimeoutExpired:
                for pid in client.run(os.getpid, on_error="ignore").values():
                    with suppress(ProcessLookupError, TypeError):  # of workers that could not answer
                        os.kill(pid, signal.SIGKILL)
                        kills += 1
                        break
                continue
            if code != COMPLETE:
                raise SystemExit(f"the command ended with {code} after {kills} kills")
            return output, kills


def runs_killed(a, folder):
    """(output, kills): the command with its workers every a.whole seconds, and once more until it is complete."""
    output, kills, kept = folder / "whole.npy", 0, 0
    while True:
        command = begin(a.model, folder, output, "--workers", a.processes, "--threads", a.processes)
        try:
            code = command.wait(a.whole)
        except subprocess.TimeoutExpired:
            os.killpg(command.pid, signal.SIGKILL)
            command.wait()
            kills += 1
            found = len(list(folder.glob("whole.npy.parts/part-*.npz")))
            if found < kept:
                raise SystemExit(f"{kept - found} finished chunks are lost") from None
            kept = found
            continue
        if code != COMPLETE:
            raise SystemExit(f"the command ended with {code} after {kills} kills")
        return output, kills


def report(what, output, kills, folder, expected, count):
    document = json.loads(Path(f"{output}.json").read_text())
    for end in ("", ".items.csv"):
        if Path(f"{output}{end}").read_bytes() != Path(f"{expected}{end}").read_bytes():
            raise SystemExit(f"{what}: {output.name}{end} is not that of a run without kills")
    if (document["items"], document["written"]) != (count, count):
        raise SystemExit(f"{what}: {document['written']} of {count} items")
    print(f"{what}: {kills} kills, {count} items, equal bytes", flush=True)


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s")
