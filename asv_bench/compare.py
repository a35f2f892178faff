"""Every benchmark in two built trees, in turns: which rows became slower.

    git worktree add ../before COMMIT
    (cd ../before && python setup.py build_ext --inplace)
    python asv_bench/compare.py ../before --rows "Reduce|Softmax"

Both trees run the benchmarks of the other one, which an older nnfast can run; --benchmarks names another folder. Where
arrays happen to lie in memory can decide more than the code, and a process keeps them where they are: what looks slower
in a first pair of processes is measured in --pairs more, in alternating order. A row counts as slower where both the
medians and the minima over these pairs say so. The exit code is 1 if a row is slower or raised something, 2 for usage.
"""

import argparse
import importlib
import inspect
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


# -- in a process of one tree ------------------------------------------------------------------------------------------
def rows(folder):
    """[module, class, timer, number of the parameters] of each benchmark of time below `folder`, and its name."""
    for path in sorted((folder / "benchmarks").glob("bench_*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        for name, kind in vars(module).items():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__ or inspect.isabstract(kind):
                continue
            for timer, (k, choice) in itertools.product([t for t in dir(kind) if t.startswith("time_")],
                                                        enumerate(choices(kind))):
                yield [path.stem, name, timer, k], f"{name}.{timer}({', '.join(map(str, choice))})"


def choices(kind):
    """The combinations of a benchmark's parameters, as asv makes them."""
    params = getattr(kind, "params", ())
    if params and not isinstance(params[0], (list, tuple)):
        params = [params]
    return list(itertools.product(*params))


class Worker:
    """Answers each row on stdin with its shortest time in seconds, or a text: what it raised."""

    current = teardown = None

    def seconds(self, row):
        if row != self.current:
            self.end()
            module, name, timer, k = row
            kind = getattr(importlib.import_module(f"benchmarks.{module}"), name)
            bench, choice = kind(), choices(kind)[k]
            getattr(bench, "setup", lambda *_: None)(*choice)
            self.teardown = lambda: getattr(bench, "teardown", lambda *_: None)(*choice)
            self.call = lambda: getattr(bench, timer)(*choice)
            self.call()
            self.number = max(1, round(0.002 / max(self.once(1), 1e-9)))
            self.current = row
        end = time.perf_counter() + 0.05
        times = [self.once(self.number)]
        while time.perf_counter() < end:
            times.append(self.once(self.number))
        return min(times)

    def once(self, number):
        call, start = self.call, time.perf_counter()
        for _ in range(number):
            call()
        return (time.perf_counter() - start) / number

    def end(self):
        last, self.current, self.teardown = self.teardown, None, None
        if last:
            last()


def answer():
    worker = Worker()
    for line in sys.stdin:
        try:
            found = worker.seconds(json.loads(line))
        except Exception as error:  # of the row; the others still count
            found = f"{type(error).__name__}: {error}"
        print(json.dumps(found), flush=True)


# -- over both ---------------------------------------------------------------------------------------------------------
class Tree:
    """A process that runs the benchmarks of `folder` on the packages of `root`."""

    def __init__(self, root, folder):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(folder)])}
        self.process = subprocess.Popen([sys.executable, "-P", __file__, "--answer"], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def seconds(self, row):
        try:
            print(json.dumps(row), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        return json.loads(line) if line else f"the process ended with code {self.process.wait()}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def measure(trees, folder, wanted, rounds, swapped=False, tell=lambda k: None):
    """{row: (shortest seconds of trees[0], of trees[1]), or a text} of a pair of processes, started for this."""
    found, order = {}, (1, 0) if swapped else (0, 1)
    with Tree(trees[order[0]], folder) as a, Tree(trees[order[1]], folder) as b:
        pair = dict(zip(order, (a, b), strict=True))
        for k, row in enumerate(wanted):
            tell(k)
            times, wrong = {0: [], 1: []}, None
            for turn in range(rounds):
                for which in (order if turn % 2 == 0 else order[::-1]):
                    value = pair[which].seconds(row)
                    if isinstance(value, str):
                        wrong = wrong or f"{trees[which]}: {value}"
                    else:
                        times[which].append(value)
                if wrong:
                    break
            found[tuple(row)] = wrong or (min(times[0]), min(times[1]))
    return found


def ratio(pairs):
    """How much slower the second of some pairs of times is: by medians or by minima, whichever says less."""
    before, now = zip(*pairs, strict=True)
    return min(statistics.median(now) / statistics.median(before), min(now) / min(before))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a checkout with its extensions built in place")
    parser.add_argument("--now", type=Path, default=ROOT, help="another one (default: this)")
    parser.add_argument("--benchmarks", type=Path, help="folder with benchmarks/ (default: asv_bench of BEFORE)")
    parser.add_argument("--rows", default="", metavar="PATTERN", help="rows whose name matches (default: all)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="turns of each row in a pair (default 3)")
    parser.add_argument("--pairs", type=int, default=6, metavar="N", help="pairs of processes in doubt (default 6)")
    parser.add_argument("--limit", type=float, default=1.03, help="ratio from where on a row is slower (default 1.03)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all times, in seconds")
    a = parser.parse_args()
    trees = [a.before.resolve(), a.now.resolve()]
    folder = (a.benchmarks or trees[0] / "asv_bench").resolve()
    for option, path in (("before", trees[0] / "nnfast"), ("--now", trees[1] / "nnfast"),
                         ("--benchmarks", folder / "benchmarks")):
        if not path.is_dir():
            parser.error(f"{option}: there is no {path}")
    if a.rounds < 1 or a.pairs < 1:
        parser.error("--rounds, --pairs: must be at least 1")
    sys.path[:0] = [str(trees[0]), str(folder)]
    names = {tuple(row): name for row, name in rows(folder) if re.search(a.rows, name)}
    if not names:
        parser.error(f"--rows: no row matches {a.rows}")

    def told(what, total):
        if not sys.stderr.isatty():
            return lambda k: None
        return lambda k: print(f"\r{what} {k + 1}/{total}", end="\n" * (k + 1 == total), file=sys.stderr, flush=True)

    first = measure(trees, folder, list(names), a.rounds, tell=told("row", len(names)))
    pairs = {row: [times] for row, times in first.items() if not isinstance(times, str)}
    doubtful = [row for row, times in pairs.items() if ratio(times) > a.limit]
    for row in doubtful:
        pairs[row] = []
    for k in range(a.pairs if doubtful else 0):
        again = measure(trees, folder, doubtful, a.rounds, k % 2 == 1, told(f"pair {k + 1}, row", len(doubtful)))
        for row, times in again.items():
            if not isinstance(times, str):
                pairs[row].append(times)
            else:
                first[row] = times

    wrong = {row: text for row, text in first.items() if isinstance(text, str)}
    ratios = {row: ratio(times) for row, times in pairs.items() if row not in wrong}
    slower = sorted((row for row, value in ratios.items() if value > a.limit), key=ratios.get, reverse=True)
    for row in slower:
        before, now = (statistics.median(times) * 1e6 for times in zip(*pairs[row], strict=True))
        print(f"{ratios[row]:5.2f}  {before:9.2f} -> {now:9.2f} us  {names[row]}")
    for row, text in wrong.items():
        print(f"  -    {names[row]}: {text}")
    if ratios:
        print(f"{len(ratios)} rows, median ratio {statistics.median(ratios.values()):.3f}; {len(doubtful)} measured "
              f"again; {len(slower)} above {a.limit:g}; {len(wrong)} raised something")
    if a.json:
        found = [dict(zip(("name", "before", "now"), (names[row], *zip(*times, strict=True)), strict=True))
                 for row, times in pairs.items() if row not in wrong]
        a.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(1 if slower or wrong else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer()
    else:
        main()
