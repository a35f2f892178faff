"""Whether the targets of `nnfast fuzz` leak: memory that nothing refers to any more, as LeakSanitizer finds it.

    bash ci/sanitize_python.sh leaks                    # builds the extensions with the sanitizer, then runs this
    python ci/fuzz_leaks.py [TARGET...] [--warm 300] [--inputs 3000] [--seed 1]

Looks after a first round of inputs, and again after a second and a third one: the interpreter and its libraries leave
some blocks behind while modules are imported, and threads hide a few while they begin or end, so what counts are stacks
that lost more in both of the later rounds. Prints these. Exit code 1 when there are any. Each target runs in a process
of its own.
"""

import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from importlib import resources
from itertools import islice
from random import Random

from nnfast.fuzz.chance import inputs
from nnfast.fuzz.targets import TARGETS, load

BLOCKS = re.compile(r"^(?:Direct|Indirect) leak of (\d+) byte.*\n((?:    #.*\n)+)", re.M)
FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ (?:in )?(.*)")


def leaks(check):
    """{stack: (bytes, objects)} of what is lost now."""
    gc.collect()
    sys.stderr.flush()
    with tempfile.TemporaryFile("w+b") as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            check()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        report = file.read().decode(errors="replace")
    if "LeakSanitizer has encountered a fatal error" in report:
        sys.exit(f"LeakSanitizer does not work here:\n{report}")
    found = Counter()
    for size, stack in BLOCKS.findall(report):
        found["\n".join(FRAME.findall(stack))] += int(size)
    return found


def look(name, warm, count, seed):
    """Bytes that each of two rounds of inputs leaves behind."""
    check = ctypes.CDLL(None).__lsan_do_recoverable_leak_check
    target = load(TARGETS[name].place)
    folder = resources.files("nnfast.fuzz").joinpath("corpus", name)
    seeds = [*target.seeds(), *(file.read_bytes() for file in folder.iterdir())] if folder.is_dir() else \
        list(target.seeds())
    made = inputs(target, seeds, TARGETS[name].most, Random(seed))
    looks = []
    for number in (len(seeds) + warm, count, count):
        for data in islice(made, number):
            target.one(data)
        looks.append(leaks(check))
    more = (looks[1] - looks[0]) & (looks[2] - looks[1])
    for stack, size in more.most_common(10):
        print(f"{size} bytes more each time, from\n  " + stack.replace("\n", "\n  "))
    print(f"{name}: {len(seeds) + warm} inputs left {sum(looks[0].values())} bytes, twice {count} more of them added "
          f"{sum(more.values())} or more each time", flush=True)
    return sum(more.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--warm", type=int, default=300)
    parser.add_argument("--inputs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not {*args.targets} <= {*TARGETS}:
        parser.error(f"targets are {', '.join(TARGETS)}")
    if args.here:
        sys.exit(look(*args.targets, args.warm, args.inputs, args.seed) > 0)
    options = ["--here", "--warm", str(args.warm), "--inputs", str(args.inputs), "--seed", str(args.seed)]
    # One target a process: small blocks of Python, too, come from the allocator that the sanitizer watches.
    failed = [name for name in args.targets or TARGETS
              if subprocess.run([sys.executable, __file__, name, *options],
                                env={**os.environ, "PYTHONMALLOC": "malloc"}).returncode]
    sys.exit(f"leaks: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
