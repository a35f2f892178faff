"""Fuzzing without atheris: seeds and corpus, changed by chance. Flags, artifacts and last lines are libFuzzer's."""

import faulthandler
import hashlib
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from random import Random

from ..checks import counted

ODD = (0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)
CURRENT = "current"
"""Ending of the file that holds the input which is tried now."""

FOUND = 77
"""Exit code: an input raised something; libFuzzer's."""


def mutated(target, data, size, random, change):
    """`data` changed by the target, or by change(data, size) where the target knows nothing better."""
    made = target.mutate(data, size, random) if hasattr(target, "mutate") else None
    return change(data, size) if made is None else made[:size]


def changed(data, size, random, others=()):
    """Bytes with a few of them changed, put in, left out, moved or taken from others."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4, 8))):
        at = random.randrange(len(data) + 1)
        match random.randrange(7):
            case 0:
                data[at:at + 1] = random.randbytes(1)
            case 1 if at < len(data):
                data[at] ^= 1 << random.randrange(8)
            case 2:
                data[at:at] = random.randbytes(random.randrange(1, 9))
            case 3:
                del data[at:at + random.randrange(1, 9)]
            case 4:
                width = random.choice((1, 2, 4))
                data[at:at + width] = (random.choice(ODD) & (1 << 8 * width) - 1).to_bytes(width, "little")
            case 5:
                start = random.randrange(len(data) + 1)
                data[at:at] = data[start:start + random.randrange(1, 33)]
            case _ if others:
                other = random.choice(others)
                start = random.randrange(len(other) + 1)
                data[at:] = other[start:]
    return bytes(data[:size])


def inputs(target, seeds, size, random):
    """The seeds, then without end what chance makes of them, of at most `size` bytes."""
    yield from seeds
    while True:
        data = random.choice(seeds)
        for _ in range(random.choice((1, 1, 2, 4))):
            data = mutated(target, data, size, random, lambda data, size: changed(data, size, random, seeds))
        yield data


def fuzz_by_chance(target, arguments):
    """Try inputs until runs or seconds are over, or one raises something; does not return then."""
    flags = dict(argument[1:].split("=", 1) for argument in arguments if argument.startswith("-"))
    seeds = [path.read_bytes() for path in sorted(Path(arguments[-1]).iterdir())]
    most, runs, seconds = int(flags["max_len"]), int(flags.get("runs", -1)), int(flags.get("max_total_time", 0))
    patience, limit, prefix = int(flags["timeout"]), int(flags["rss_limit_mb"]) << 10, flags["artifact_prefix"]
    random = Random(int(flags["seed"]) if "seed" in flags else None)
    began = armed = shown = time.monotonic()
    count = 0
    faulthandler.dump_traceback_later(patience, exit=True)
    with open(prefix + CURRENT, "w+b", buffering=0) as current:
        for data in inputs(target, seeds, most, random):
            if count == runs or seconds and time.monotonic() - began >= seconds:
                break
            _keep(current, data)
            count += 1
            _try(target, data, prefix, count)
            now = time.monotonic()
            if now - armed > 1:
                faulthandler.dump_traceback_later(patience, exit=True)
                armed = now
                if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > limit:
                    raise MemoryError(f"more than {limit >> 10} MiB after {counted(count, 'input')}")
            if now - shown > 5:
                print(f"#{count}\tpulse", file=sys.stderr, flush=True)
                shown = now
    faulthandler.cancel_dump_traceback_later()
    os.unlink(prefix + CURRENT)
    print(f"stat::number_of_executed_units: {count}\n"
          f"stat::peak_rss_mb: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(0)  # as libFuzzer ends: threads of the target need not


def _keep(file, data):
    """Have a file hold an input: a process that dies leaves it behind."""
    os.pwrite(file.fileno(), data, 0)
    os.ftruncate(file.fileno(), len(data))


def _try(target, data, prefix, count):
    try:
        target.one(data)
    except BaseException:
        traceback.print_exc()
        Path(f"{prefix}crash-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
        os.unlink(prefix + CURRENT)
        print(f"#{count}\tfound", file=sys.stderr, flush=True)
        os._exit(FOUND)
