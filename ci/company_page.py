"""Calls beside busy processes: measures them, and writes the part of docs/performance.md that shows them.

    python ci/company_page.py measure MODEL.tflite... --json FILE [--threads 1 2] [--neighbours 0 1 2 4]
    python ci/company_page.py page FILE... --about "processor, system, date"

Both teams of nnfast, and LiteRT with XNNPACK (of NNFAST_LITERT_PYTHON, or of this Python), each in a process of its
own, take turns of a second of calls one after another, in another order each round. Neighbours are processes that spin.
The file keeps quantiles of a call's time and its processor time, no samples.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nnfast.cli import plots

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
ENGINES = {"own": "nnfast", "openmp": "nnfast, OpenMP", "litert": "LiteRT + XNNPACK"}
COLOURS = {"own": "green", "openmp": "blue", "litert": "amber"}
QUANTILES = [*range(1, 100), 99.9]
TURN = 1.0  # seconds
DRAWN = (1, 2)
"""Numbers of neighbours that get a plot, with as many threads as nnfast has by itself: the most measured."""

NEIGHBOUR = "while True: pass"
WORKER = """
import json, sys, time
import numpy as np
engine, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance = np.random.default_rng(1)
def sample(shape, dtype):
    if np.dtype(dtype).kind == "f":
        return chance.random(shape, np.float32).astype(dtype)
    return chance.integers(0, 100, shape).astype(dtype)
if engine == "litert":
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(path, num_threads=threads)
    interpreter.allocate_tensors()
    inputs = [(d["index"], sample(d["shape"], d["dtype"])) for d in interpreter.get_input_details()]
    outputs = [d["index"] for d in interpreter.get_output_details()]
    def call():
        for index, value in inputs:
            interpreter.set_tensor(index, value)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]
else:
    import nnfast
    prepared = nnfast.Device(num_threads=threads, team=engine).prepare(nnfast.load(path))
    inputs = [sample(tensor.shape, tensor.dtype) for tensor in prepared.inputs]
    def call():
        return prepared.run(inputs)
call()
print("ready", flush=True)
for line in sys.stdin:
    times, end, cost = [], time.perf_counter() + float(line), time.process_time()
    now = time.perf_counter()
    while now < end:
        call()
        then, now = now, time.perf_counter()
        times.append(now - then)
    print(json.dumps([times, time.process_time() - cost]), flush=True)
"""


class Worker:
    """A process that calls a model on one engine when it is told to."""

    def __init__(self, engine, model, threads):
        litert = os.environ.get("NNFAST_LITERT_PYTHON") or sys.executable
        self._process = subprocess.Popen(
            [litert if engine == "litert" else sys.executable, "-c", WORKER, engine, model, str(threads)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self._process.stdout.readline() != "ready\n":
            raise SystemExit(f"{model}: {engine} does not run: {self._process.stderr.read().strip()[-300:]}")

    def turn(self, seconds):
        """([seconds of a call], processor seconds of all)."""
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def measure(models, threads, neighbours, rounds):
    for model in models:
        for count in threads:
            workers = {engine: Worker(engine, model, count) for engine in ENGINES}
            for busy in neighbours:
                yield from beside(workers, busy, rounds, {"model": Path(model).stem, "threads": count,
                                                          "neighbours": busy})
            for worker in workers.values():
                worker.close()


def beside(workers, busy, rounds, about):
    """Rows of all engines with so many busy neighbours."""
    others = [subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) for _ in range(busy)]
    times, cost = {engine: [] for engine in workers}, dict.fromkeys(workers, 0.0)
    try:
        for place in range(rounds):
            order = list(workers)
            for engine in order[place % len(order):] + order[:place % len(order)]:
                some, spent = workers[engine].turn(TURN)
                times[engine] += some
                cost[engine] += spent
    finally:
        for other in others:
            other.kill()
            other.wait()
    for engine, some in times.items():
        some.sort()
        yield {**about, "engine": engine, "calls": len(some), "cpu_ms": _digits(1e3 * cost[engine] / len(some)),
               "quantiles_ms": [_digits(1e3 * quantile(some, share)) for share in QUANTILES]}


def quantile(ordered, percent):
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def _digits(value):
    return float(f"{value:.4g}")


def at(row, percent):
    return row["quantiles_ms"][QUANTILES.index(percent)]


def table(rows):
    """A line for each model, number of threads and of neighbours."""
    titles = ["model", "threads", "busy neighbours", *ENGINES.values()]
    lines = ["| " + " | ".join(titles) + " |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for key, engines in grouped(rows).items():
        best = min(at(row, 90) for row in engines.values())
        cells = [f"{at(row, 50):.3g}, {_bold(at(row, 90), best)}, {row['cpu_ms']:.3g}"
                 for row in (engines[engine] for engine in ENGINES)]
        lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
    return "\n".join(lines)


def _bold(value, best):
    return f"**{value:.3g}**" if value == best else f"{value:.3g}"


def grouped(rows):
    found = {}
    for row in rows:
        found.setdefault((row["model"], row["threads"], row["neighbours"]), {})[row["engine"]] = row
    return found


def summary(rows):
    """One sentence: where the 90th percentiles are."""
    pairs = [(engines["own"], engines["litert"]) for engines in grouped(rows).values()]
    ahead = sum(at(ours, 90) <= at(theirs, 90) for ours, theirs in pairs)
    factor = statistics.geometric_mean(at(theirs, 90) / at(ours, 90) for ours, theirs in pairs)
    return f"The 90th percentile is at or below LiteRT's in {ahead} of {len(pairs)} rows; by geometric mean LiteRT's " \
           f"is {factor:.2f} times as long."


def draw(rows, busy):
    """A plot of the distributions beside so many neighbours, for each model. The page's line for it."""
    most = max(row["threads"] for row in rows)
    panels = []
    for (model, threads, neighbours), engines in grouped(rows).items():
        if threads == most and neighbours == busy:
            lines = [(COLOURS[engine], name, list(zip(engines[engine]["quantiles_ms"], QUANTILES, strict=True)))
                     for engine, name in ENGINES.items()]
            panels.append(plots.distributions_panel(lines, "ms a call", model))
    path = PAGE.with_suffix("") / f"company_{busy}.svg"
    plots.save(plots.drawing(panels, 8.0), str(path))
    title = f"Calls on {most} threads beside {busy} busy {'process' if busy == 1 else 'processes'}"
    return f"![{title}]({path.parent.name}/{path.name})"


def write_page(paths, about):
    """The part between the page's markers and its plots. Of a row that several files have, the last counts."""
    known = {}
    for path in paths:
        try:
            known |= {(row["model"], row["threads"], row["neighbours"], row["engine"]): row
                      for row in json.loads(path.read_text()) if row["quantiles_ms"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"{path}: not what `measure --json` writes ({error!r})") from None
    rows = list(known.values())
    parts = [f"{about}. {summary(rows)}", table(rows), "\n".join(draw(rows, busy) for busy in DRAWN)]
    text = PAGE.read_text(encoding="utf-8")
    start, end = "<!-- company -->\n", "\n<!-- end -->"
    if start not in text:
        raise SystemExit(f"{PAGE}: no marker {start.strip()}")
    made = re.sub(f"({start}).*?({end})", lambda found: found[1] + "\n\n".join(parts) + found[2], text, flags=re.S)
    PAGE.write_text(made, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("models", nargs="+")
    one.add_argument("--json", type=Path, required=True)
    one.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    one.add_argument("--neighbours", type=int, nargs="+", default=[0, 1, 2, 4])
    one.add_argument("--rounds", type=int, default=6)
    two = commands.add_parser("page")
    two.add_argument("json", type=Path, nargs="+", help="of a row that several have, the last counts")
    two.add_argument("--about", required=True, help="the machine and the date, in words")
    a = parser.parse_args(arguments)
    if a.command == "page":
        write_page(a.json, a.about)
        return
    rows = []
    for row in measure(a.models, a.threads, a.neighbours, a.rounds):
        rows.append(row)
        print(f"{row['model']} threads {row['threads']} neighbours {row['neighbours']} {row['engine']}: median "
              f"{at(row, 50):.3g} ms, p90 {at(row, 90):.3g}, processor {row['cpu_ms']:.3g}", flush=True)
    a.json.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
