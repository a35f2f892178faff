"""Measures `nnfast batch` on this machine: in one process, with --workers, and with Dask processes started by hand.

    python ci/batch_scaling.py model.tflite photos/ --copies 50 --processes 2 --json scaling.json

Every way computes a fifth of the items, then all, in turns; the difference is free of what starting takes. The bytes of
all outputs must be equal. An item costs processor time, of the command and of all Dask processes together, which other
programs on the machine disturb little, and time by the clock, which counts in turns only in which they took no more
than --quiet percent of the processors. Needs nnfast[distributed].
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

PAGE = Path(__file__).resolve().parents[1] / "docs" / "batch.md"
TICK = os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("photos", nargs="?", type=Path, help="folder of pictures")
    parser.add_argument("--copies", type=int, default=50, help="of each picture")
    parser.add_argument("--processes", type=int, default=2, help="workers, and threads of the one process")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--quiet", type=float, default=5.0, metavar="PERCENT",
                        help="of all processors, for other programs")
    parser.add_argument("--chunks", type=int, default=1000, help="of one small item each, for the cost of a chunk")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, metavar="JSON", help="measure nothing: write the table and the figure of "
                        "docs/batch.md from a file of --json")
    a = parser.parse_args()
    if a.page:
        found = json.loads(a.page.read_text())
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(r"(<!-- scaling -->\n).*?(\n<!-- end -->)",
                               lambda part: part[1] + table(found) + part[2], text, flags=re.S), encoding="utf-8")
        plot(found, PAGE.with_name("batch_scaling.png"))
        return
    if a.model is None or a.photos is None:
        parser.error("needs MODEL and PHOTOS, or --page")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        count = copied(a.photos, folder / "items", a.copies)
        copied(a.photos, folder / "fifth", max(1, a.copies // 5))
        found = {"items": count, "processes": a.processes, "ways": ways(a, folder), "chunks": chunk_costs(a, folder)}
    if a.json:
        a.json.write_text(json.dumps(found, indent=1))


def copied(photos, folder, copies):
    """Fill a folder with so many copies of each picture; returns their number."""
    folder.mkdir()
    files = [path for path in photos.iterdir() if path.suffix.lower() in (".jpeg", ".jpg", ".png")]
    for path in files:
        for k in range(copies):
            shutil.copyfile(path, folder / f"{path.stem}-{k:03d}{path.suffix}")
    return copies * len(files)


def ways(a, folder):
    """{way: {"cpu_ms": of an item, "rate": items per second in quiet turns or None, "start_cpu_s", "start_s", "others":
    percent of the machine, "turns"}}."""
    threads = str(a.processes)
    options = {"one process, 1 thread": ["--threads", "1"], f"one process, {threads} threads": ["--threads", threads],
               f"--workers {threads}": ["--threads", threads, "--workers", threads],
               f"dask scheduler and {threads} dask worker": None}
    rows = {name: [] for name in options}
    digests = set()
    for _turn in range(a.turns):
        for name, flags in options.items():
            with by_hand(folder, a.processes) if flags is None else given(flags) as found:
                few, all_ = (one_run(a.model, folder, part, found) for part in ("fifth", "items"))
            digests.add(all_.digest)
            rows[name].append(row := compared(few, all_))
            print(f"{name}: {row}", flush=True)
    if len(digests) != 1:
        raise SystemExit("the outputs are not equal")
    return {name: median_of(found, a.quiet) for name, found in rows.items()}


class Turn(NamedTuple):
    """One command: items, seconds by the clock, processor seconds, percent that others took, digest of the output."""

    items: int
    seconds: float
    cpu: float
    others: float
    digest: str


def one_run(model, folder, part, options):
    output = folder / "out.npy"
    own, others, began = *ticks(), time.perf_counter()
    run("batch", model, folder / part, "--output", output, "--overwrite", *options)
    spent, (own_then, others_then) = time.perf_counter() - began, ticks()
    return Turn(len(os.listdir(folder / part)), spent, (own_then - own) / TICK,
                100 * (others_then - others) / TICK / spent / os.cpu_count(),
                hashlib.sha256(output.read_bytes()).hexdigest())


def compared(few, all_):
    """Costs of an item and of the start, from two runs."""
    items = all_.items - few.items
    seconds, cpu = (all_.seconds - few.seconds) / items, (all_.cpu - few.cpu) / items
    return {"cpu_ms": 1e3 * cpu, "rate": 1 / seconds, "start_cpu_s": few.cpu - few.items * cpu,
            "start_s": few.seconds - few.items * seconds, "others": max(few.others, all_.others)}


def median_of(rows, quiet):
    calm = [row for row in rows if row["others"] <= quiet]
    found = {key: statistics.median(row[key] for row in rows) for key in ("cpu_ms", "start_cpu_s", "others")}
    found |= {key: statistics.median(row[key] for row in calm) if calm else None for key in ("rate", "start_s")}
    return {**found, "turns": len(rows), "quiet turns": len(calm)}


def run(*arguments):
    subprocess.run([sys.executable, "-m", "nnfast", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def given(flags):
    yield flags


@contextmanager
def by_hand(folder, workers):
    """Options for a scheduler and workers in processes of their own, of one thread each."""
    import distributed

    address_file = folder / "scheduler.json"
    address_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "dask"]
    processes = []

    def start(name, *options):
        processes.append(subprocess.Popen([*command, name, "--scheduler-file", address_file, "--no-dashboard",
                                           *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        start("scheduler", "--port", "0", "--host", "127.0.0.1")
        for _ in range(workers):
            start("worker", "--nthreads", "1")
        with distributed.Client(scheduler_file=str(address_file), timeout=120) as client:
            client.wait_for_workers(workers, timeout=120)
        yield ["--scheduler", json.loads(address_file.read_text())["address"]]
    finally:
        for process in processes[::-1]:
            process.terminate()
            process.wait()


def ticks():
    """Processor time of this process with all that descend from it, and of all others, in ticks; of children that have
    ended too."""
    rows = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        rows[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while grown := {pid for pid, (parent, _) in rows.items() if parent in own} - own:
        own |= grown
    return tuple(sum(spent for pid, (_, spent) in rows.items() if (pid in own) == is_own) for is_own in (True, False))


def chunk_costs(a, folder):
    """{"in process", "workers": {"cpu_ms", "ms"} of a chunk of one item that costs next to nothing; "on its worker":
    milliseconds, the part of the worker's process}."""
    import distributed

    import nnfast

    b = nnfast.ModelBuilder("least")
    x = b.input("TENSOR_FLOAT32", (1, 4), name="x")
    b.operation("RELU", [x], [b.output("TENSOR_FLOAT32", (1, 4), name="y")]).build().save(folder / "least.nnapi")
    found = {}
    for name, flags in (("in process", ["--threads", "1"]), ("workers", ["--workers", a.processes])):
        turns = []
        for count in (a.chunks // 5, a.chunks):
            own, _ = ticks()
            began = time.perf_counter()
            least(folder, count, *flags)
            turns.append((ticks()[0] - own, time.perf_counter() - began))
        (few, first), (many, last) = turns
        count = a.chunks - a.chunks // 5
        found[name] = {"cpu_ms": 1e3 * (many - few) / TICK / count, "ms": 1e3 * (last - first) / count}
        print(f"a chunk, {name}: {found[name]}", flush=True)
    with by_hand(folder, 1) as flags, distributed.Client(scheduler_file=str(folder / "scheduler.json")) as client:
        least(folder, a.chunks // 5, *flags)  # imports
        before, = client.run(time.process_time).values()
        least(folder, a.chunks, *flags)
        after, = client.run(time.process_time).values()
        found["on its worker"] = 1e3 * (after - before) / a.chunks
    print(f"a chunk, on its worker: {found['on its worker']:.2f} ms", flush=True)
    return found


def least(folder, chunks, *flags):
    np.save(folder / "least.npy", np.zeros((chunks, 4), np.float32))
    run("batch", folder / "least.nnapi", folder / "least.npy", "--output", folder / "least_out.npy", "--overwrite",
        "--chunk", "1", *flags)


# -- the page ----------------------------------------------------------------------------------------------------------
def possible(row, processes):
    """Items per second of processors that do nothing else."""
    return 1e3 * processes / row["cpu_ms"]


def processors_of(name, found):
    return 1 if "1 thread" in name else found["processes"]


def table(found):
    rows = found["ways"]
    base = rows[f"one process, {found['processes']} threads"]
    lines = ["| way | processor time of an item | efficiency | items/s, by that | items/s, by the clock | "
             "start, processor time |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, row in rows.items():
        clock = f"{row['rate']:,.0f}" if row["rate"] else "not quiet"
        count = processors_of(name, found)
        efficiency = f"{base['cpu_ms'] / row['cpu_ms']:.2f}" if count == found["processes"] else ""
        lines.append(f"| {name} | {row['cpu_ms']:.2f} ms | {efficiency} | {possible(row, count):,.0f} | {clock} | "
                     f"{max(row['start_cpu_s'], 0):.1f} s |")
    return "\n".join(lines)


def plot(found, path):
    """Bars of items per second."""
    left, width, bar = 270, 900, 30
    rates = {name: possible(row, processors_of(name, found)) for name, row in found["ways"].items()}
    image = Image.new("RGB", (width, 70 + bar * len(rates)), "white")
    draw, small, large = ImageDraw.Draw(image), ImageFont.load_default(12), ImageFont.load_default(17)
    draw.text((16, 12), "nnfast batch, photos per second by processor time (longer is faster)", "#222222", large)
    scale = (width - left - 80) / max(rates.values())
    for place, (name, rate) in enumerate(rates.items()):
        y = 48 + place * bar
        draw.text((16, y + 3), name, "#222222", small)
        draw.rectangle((left, y, left + rate * scale, y + bar - 10), "#1b7f5c")
        draw.text((left + rate * scale + 8, y + 3), f"{rate:,.0f}", "#222222", small)
    image.save(path, optimize=True)


if __name__ == "__main__":
    main()
