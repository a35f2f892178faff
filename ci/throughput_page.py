"""Writes the throughput table of docs/batch.md: items per second of nnfast, LiteRT, ONNX Runtime and OpenVINO.

    python ci/throughput_page.py MODEL.tflite... --json FILE
    python ci/throughput_page.py --page FILE...

Batches of 1 and of 8, on all processors, in turns (nnfast/bench/throughput.py): of each engine the best of its clients
x threads. "2 clients / 1" is of batch 1 and one thread for each client: by the clock, the median of pairs of turns in
which other programs took no more than CALM of the processors, and by the processor time of an item, the median of all
pairs, which tells what clients cost each other also where there are other programs. Later files add to earlier ones.
"""

import argparse
import json
import os
import re
import statistics
import time
from itertools import repeat
from math import exp, log
from pathlib import Path

import nnfast
from nnfast.bench import throughput
from nnfast.cli.benchmark import load

PAGE = Path(__file__).resolve().parents[1] / "docs" / "batch.md"
ENGINES = ("nnfast", "LiteRT", "ONNX Runtime", "OpenVINO")
BATCHES = (1, 8)
SECONDS, PAIRS, ENOUGH, CALM = 0.25, 12, 4, 0.04
"""Turns of about so long by one and by two clients, so many pairs at most, or so many in which others took no more than
this share of the processors."""
TICK = os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--clients", action="store_true", help="nnfast by one and two clients only")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", nargs="+", type=Path, default=[], metavar="JSON",
                        help="write the table of docs/batch.md from files of --json")
    a = parser.parse_args()
    rows = []
    for path in a.models:
        subject = load(path, nnfast.Device(), False, [])
        row = {"model": Path(path).stem, **clients(subject)}
        if not a.clients:
            found, notes = throughput.measure(path, subject.prepared, subject.inputs, a.turns, BATCHES)
            row |= {"rows": [entry.summary() for entry in found], "notes": notes}
        rows.append(row)
        print(f"{row['model']} {row['clock']} {row['processor']}" if a.clients else line(row), flush=True)
        if a.json:
            a.json.write_text(json.dumps(rows, indent=1))
    if a.page:
        found = {}
        for path in a.page:
            for row in json.loads(path.read_text()):
                known = {key: value for key, value in row.items() if value is not None}
                found.setdefault(row["model"], {}).update(known)
        rows = [found[model] for model in sorted(found)]
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(r"(<!-- throughput -->\n).*?(\n<!-- end -->)",
                               lambda found: found[1] + table(rows) + found[2], text, flags=re.S), encoding="utf-8")


def clients(subject):
    """{"clock": rate of two clients over that of one in calm pairs, or None; "processor": the same by processor time,
    "calm": pairs}."""
    twins, count = {number: subject.prepared.narrowed(number) for number in (1, 2)}, 2
    while turn(twins[1], subject.inputs, 1, count)[0] < SECONDS:
        count *= 2
    clock, processor = [], []
    for _ in range(PAIRS):
        (one, cost, others), (two, cost_2, others_2) = (turn(twins[k], subject.inputs, k, count * k) for k in (1, 2))
        processor.append(2 * 2 * cost / cost_2)
        if max(others, others_2) <= CALM:
            clock.append(2 * one / two)
        if len(clock) == ENOUGH:
            break
    return {"clock": statistics.median(clock) if clock else None, "processor": statistics.median(processor),
            "calm": len(clock)}


def turn(prepared, inputs, count, items):
    """(seconds, processor seconds, share of the machine that others took) of so many items by `count` clients."""
    busy, used, began = busy_seconds(), time.process_time(), time.perf_counter()
    for _ in prepared.map(repeat(inputs, items), clients=count):
        pass
    spent, cost = time.perf_counter() - began, time.process_time() - used
    return spent, cost, max(0.0, busy_seconds() - busy - cost) / spent / os.cpu_count()


def busy_seconds():
    """Processor time of all programs since the machine began."""
    fields = Path("/proc/stat").read_text().split(None, 9)[1:9]
    return sum(int(value) for place, value in enumerate(fields) if place not in (3, 4)) / TICK


def best(row, engine):
    """(items per second, batch) of an engine; None if it did not run."""
    rates = [(found["items_per_second"], found["batch"]) for found in row["rows"] if found["engine"].startswith(engine)]
    return max(rates) if rates else None


def ahead(row):
    ours, others = best(row, "nnfast"), [best(row, engine) for engine in ENGINES[1:]]
    return ours[0] / max(other[0] for other in others if other)


def line(row):
    cells = [f"{found[0]:,.0f} ({found[1]})" if found else "" for found in (best(row, engine) for engine in ENGINES)]
    clock = f"{row['clock']:.2f}" if row.get("clock") else "not calm"
    return f"| {row['model']} | {' | '.join(cells)} | {ahead(row):.2f}x | {clock}, {row['processor']:.2f} |"


def table(rows):
    mean = exp(sum(log(ahead(row)) for row in rows) / len(rows))
    return "\n".join([f"| model | {' | '.join(ENGINES)} | ahead of the best | 2 clients / 1 |",
                      "| --- |" + " ---: |" * (len(ENGINES) + 2), *map(line, rows),
                      f"| geometric mean |{' |' * len(ENGINES)} {mean:.2f}x | |"])


if __name__ == "__main__":
    main()
