"""Instructions that one run of a model takes on aarch64, beside LiteRT with XNNPACK; under qemu-user, on any machine.

    python ci/aarch64_instructions.py WHEEL MODEL.tflite... [--level neondot]... [--markdown | --functions 10]

WHEEL: of nnfast for aarch64 (bash ci/build_wheels.sh --arch aarch64). A Python for arm64 runs each model on one thread,
twice in one process and six times in another; the difference is what four runs take, all of a call as users make it.
Counts are the same from machine to machine, but for some thousands of Python's. They are no times: a processor does
several at once, and multiply-adds take more of it than the addresses between them.
--functions shows where they go, for a wheel whose libraries have symbols (LDFLAGS= bash ci/build_wheels.sh ...).
"""

import argparse
import bisect
import os
import re
import shutil
import statistics
import struct
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WHEEL = re.compile(r"-cp3(\d+)-.*_aarch64\.whl$")  # with the minor version of its Python
FEW, MANY = 2, 6  # runs of the two processes
ENGINES = ("nnfast", "litert")

PROGRAM = """
import gc, sys
import numpy as np
gc.disable()
engine, path, runs, maps = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
if engine == "nnfast":
    import nnfast
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(path))
    inputs = [(one.shape, one.dtype) for one in prepared.inputs]
    call = prepared.run
else:
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    details, results = interpreter.get_input_details(), interpreter.get_output_details()
    inputs = [(one["shape"], one["dtype"]) for one in details]
    def call(arrays):
        for one, array in zip(details, arrays):
            interpreter.set_tensor(one["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(one["index"]) for one in results]
random = np.random.default_rng(1)
arrays = [random.standard_normal(shape).astype(dtype) if np.dtype(dtype).kind == "f"
          else random.integers(0, 100, shape).astype(dtype) for shape, dtype in inputs]
for _ in range(runs):
    call(arrays)
open(maps, "w").write(open("/proc/self/maps").read())
"""


class Level(NamedTuple):
    """A processor of qemu-user's that has an instruction level, and what its /proc/cpuinfo says: XNNPACK reads that,
    and an older emulator shows the machine's own."""

    cpu: str
    part: str
    features: str


BASE = "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"
DOT = f"{BASE} atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp"
LEVELS = {
    "neon": Level("cortex-a72", "0xd08", BASE),
    "neondot": Level("neoverse-n1", "0xd0c", DOT),
    "neoni8mm": Level("max,sve=off,sme=off", "0xd49", f"{DOT} i8mm bf16"),  # a Neoverse N2 but for SVE
}


class Skip(Exception):
    """What is not here that counting needs."""


class System:
    """A Python for arm64 with both engines, and an emulator that counts."""

    def __init__(self, folder, wheel, litert):
        python = f"3.{WHEEL.search(wheel.name)[1]}"
        made = subprocess.run(["bash", ROOT / "ci/aarch64_system.sh", folder, python, wheel.resolve(), "numpy",
                               f"ai-edge-litert=={litert}"], capture_output=True, text=True)
        if made.returncode == 3:
            raise Skip(made.stdout.strip())
        if made.returncode:
            raise SystemExit(made.stdout + made.stderr)
        self._folder, self._plugin = folder, folder / "blocks.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-o",
                        self._plugin, ROOT / "ci/qemu_blocks.c"], check=True)
        for name, level in LEVELS.items():
            files = folder / name
            (files / "proc").mkdir(parents=True)
            for one in (folder / "system").iterdir():
                (files / one.name).symlink_to(one)
            (files / "proc/cpuinfo").write_text("".join(
                f"processor\t: {core}\nFeatures\t: {level.features}\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
                f"CPU variant\t: 0x1\nCPU part\t: {level.part}\nCPU revision\t: 0\n\n"
                for core in range(os.cpu_count() or 1)))

    def a_run(self, level, engine, model):
        """Instructions of one run of a model by where they lie: Counter of (file, address in it)."""
        few, many = (self._process(level, engine, model, runs) for runs in (FEW, MANY))
        many.subtract(few)
        return Counter({place: count / (MANY - FEW) for place, count in many.items()})

    def _process(self, level, engine, model, runs):
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            blocks, maps = Path(folder, "blocks"), Path(folder, "maps")
            environment = {**os.environ, "QEMU_CPU": LEVELS[level].cpu, "QEMU_LD_PREFIX": str(self._folder / level),
                           "QEMU_PLUGIN": f"{self._plugin},out={blocks}", "PYTHONHASHSEED": "0",
                           "OPENBLAS_NUM_THREADS": "1"}
            done = subprocess.run([self._folder / "python", "-c", PROGRAM, engine, model.resolve(), str(runs), maps],
                                  capture_output=True, text=True, env=environment, cwd=folder)
            if done.returncode:
                said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                raise SystemExit(f"{model}, {engine}, {level}: {said[-1]}")
            return by_place(blocks.read_text(), maps.read_text())


def by_place(blocks, maps):
    """Instructions of (file, address in it), from what the plugin and the process wrote."""
    mapped, lowest = [], {}
    for fields in (line.split() for line in maps.splitlines()):
        if len(fields) > 5 and fields[5].startswith("/"):
            first, last = (int(text, 16) for text in fields[0].split("-"))
            mapped.append((first, last, fields[5]))
            lowest.setdefault(fields[5], first)
    mapped.sort()
    starts = [first for first, _, _ in mapped]
    found = Counter()
    for line in blocks.splitlines():
        address, instructions, times = line.split()
        at = int(address, 16)
        index = bisect.bisect_right(starts, at) - 1
        file = mapped[index][2] if index >= 0 and at < mapped[index][1] else ""
        found[file, at - lowest.get(file, 0)] += int(instructions) * int(times)
    return found


def functions_of(places):
    """Instructions of each function, as Counter of \"function file\"."""
    found, symbols = Counter(), {}
    for (file, address), count in places.items():
        if file not in symbols:
            symbols[file] = sorted(symbols_of(file)) if file else []
        index = bisect.bisect_right(symbols[file], (address, "\uffff")) - 1
        found[f"{symbols[file][index][1] if index >= 0 else '?'} {Path(file).name}"] += count
    return found


def symbols_of(file):
    """(address from where the file begins in memory, name) of its functions."""
    first = _first_address(Path(file).read_bytes())
    for kind in ([], ["--dynamic"]):
        listed = subprocess.run(["aarch64-linux-gnu-nm", *kind, file], capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            fields = line.split()
            if len(fields) == 3 and fields[1] in "tTwW":
                yield int(fields[0], 16) - first, fields[2]


def _first_address(elf):
    """Where an ELF file of 64 bits wants to begin: 0, but for programs at fixed addresses."""
    offset, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    parts = range(offset, offset + count * size, size)
    return min(struct.unpack_from("<Q", elf, at + 16)[0] for at in parts if struct.unpack_from("<I", elf, at) == (1,))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--level", action="append", choices=LEVELS, help="default: all")
    parser.add_argument("--litert", default="2.3.0", metavar="VERSION", help="of ai-edge-litert (%(default)s)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--markdown", action="store_true")
    shown.add_argument("--functions", type=int, metavar="N", help="the N functions with the most instructions")
    args = parser.parse_args()
    for path in (args.wheel, *args.models):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    if WHEEL.search(args.wheel.name) is None:
        parser.error(f"{args.wheel}: must be a wheel for aarch64; bash ci/build_wheels.sh --arch aarch64 makes one")
    if args.functions and shutil.which("aarch64-linux-gnu-nm") is None:
        parser.error("--functions needs aarch64-linux-gnu-nm (Debian: binutils-aarch64-linux-gnu)")
    levels = args.level or list(LEVELS)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            system = System(Path(folder), args.wheel, args.litert)
        except Skip as reason:
            print(f"aarch64 instructions: {reason}: skipped")
            return
        runs = {(model.stem, level): [pool.submit(system.a_run, level, engine, model) for engine in ENGINES]
                for model in args.models for level in levels}
        if args.functions:
            show_functions(runs, args.functions)
        else:
            show_totals(runs, levels, args.markdown)


def show_functions(runs, most):
    for (model, level), engines in runs.items():
        for engine, run in zip(ENGINES, engines, strict=True):
            counts = functions_of(run.result())
            total = counts.total()
            print(f"{model}, {level}, {engine}: {total / 1e6:.3f} million")
            for name, count in counts.most_common(most):
                print(f"{count / 1e6:12.3f} {count / total:6.1%} {name}", flush=True)


def show_totals(runs, levels, markdown):
    """Millions of instructions, a row for each model: nnfast's, LiteRT's, and these times ours."""
    models = list(dict.fromkeys(model for model, _ in runs))
    heads = [head for level in levels for head in (f"nnfast, {level}", "LiteRT", "ahead")]
    print(_row("model", heads, markdown))
    if markdown:
        print("| --- |" + " ---: |" * len(heads))
    ratios = {level: [] for level in levels}
    for model in models:
        cells = []
        for level in levels:
            ours, theirs = (run.result().total() / 1e6 for run in runs[model, level])
            ratios[level].append(theirs / ours)
            cells += [f"{ours:.3g}", f"{theirs:.3g}", f"{theirs / ours:.2f}x"]
        print(_row(model, cells, markdown), flush=True)
    means = [cell for level in levels for cell in ("", "", f"{statistics.geometric_mean(ratios[level]):.2f}x")]
    print(_row("geometric mean", means, markdown))


def _row(name, cells, markdown):
    if markdown:
        return f"| {name} | {' | '.join(cells)} |"
    return f"{name:32} " + " ".join(f"{cell:>16}" for cell in cells)


if __name__ == "__main__":
    main()
