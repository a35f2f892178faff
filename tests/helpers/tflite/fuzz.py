"""Fuzzing of the reader: `python -m helpers.tflite.fuzz --seconds 60 [--seed N]` in tests/.

Damages the sample files and, where NNFAST_SHARED has them, the shared models. A damaged file must load into a valid
model or be refused with InvalidArgument, within seconds; anything else is a crash. Exit code 1 on any.
"""

import argparse
import random
import resource
import struct
import sys
import time
import traceback

from helpers.shared import MODELS
from helpers.tflite.samples import samples
from nnfast.errors import InvalidArgument
from nnfast.model.validate import validate_model
from nnfast.tflite import load
from nnfast.tflite.verify import decode

WORDS = (0, 1, 2, 3, 4, 127, 128, 255, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
SLOW = 5.0
"""Seconds that no file of these sizes may take."""


def structure(data):
    """Positions of `data` that hold tables rather than weights."""
    inside = bytearray(len(data))
    for buffer in decode(memoryview(data), "sample").buffers:
        raw = bytes(buffer.data)
        place = data.find(raw) if len(raw) > 64 else -1
        if place >= 0:
            inside[place:place + len(raw)] = b"\1" * len(raw)
    return [k for k, weight in enumerate(inside) if not weight]


def mutate(data, positions, rng):
    """`data` with one to eight injuries: bits, bytes, words, copied pieces, a cut end."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place = rng.choice(positions)
        kind = rng.randrange(7)
        if kind == 0:
            damaged[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            damaged[place] = rng.randrange(256)
        elif kind == 2:
            word = place & ~3
            damaged[word:word + 4] = struct.pack("<I", rng.choice(WORDS))
        elif kind == 3:
            word = place & ~3
            old = int.from_bytes(damaged[word:word + 4], "little")
            damaged[word:word + 4] = struct.pack("<I", (old + rng.choice((-8, -4, -1, 1, 4, 8, 256))) & 0xFFFFFFFF)
        elif kind == 4:
            word, other = place & ~3, rng.choice(positions) & ~3
            damaged[word:word + 4] = damaged[other:other + 4]
        elif kind == 5:
            # An offset of one place that leads to the target of another: shared tables, cycles.
            word, other = place & ~3, rng.choice(positions) & ~3
            target = other + int.from_bytes(damaged[other:other + 4], "little")
            damaged[word:word + 4] = struct.pack("<I", (target - word) & 0xFFFFFFFF)
        elif rng.random() < 0.1:
            del damaged[place:]
            positions = [k for k in positions if k < place] or [0]
            if len(damaged) < 4:
                break
    return bytes(damaged[:len(data)])


def judge(data):
    """"loaded" or "refused"; any exception but InvalidArgument passes through."""
    started = time.perf_counter()
    try:
        validate_model(load(data))
        outcome = "loaded"
    except InvalidArgument as error:
        text = str(error)
        if not text or "\n" in text:
            raise AssertionError(f"message is not one line: {text!r}") from error
        outcome = "refused"
    if time.perf_counter() - started > SLOW:
        raise AssertionError(f"took {time.perf_counter() - started:.1f} s")
    return outcome


def main(arguments=None):
    parser = argparse.ArgumentParser(description="damage .tflite files and load them")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    files = samples()
    small = len(files)
    for path in sorted(MODELS.rglob("*.tflite")):
        if path.stat().st_size < 2_000_000:
            files[path.name] = path.read_bytes()
    work = [(name, data, structure(data)) for name, data in files.items()]
    counts = {"loaded": 0, "refused": 0, "crashed": 0}
    end, number = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        number += 1
        rng = random.Random(options.seed * 1_000_003 + number)
        # Small files are quick to load: they get most of the tries.
        name, data, positions = work[rng.randrange(small) if rng.random() < 0.8 else rng.randrange(len(work))]
        try:
            counts[judge(mutate(data, positions, rng))] += 1
        except Exception:
            counts["crashed"] += 1
            print(f"crash: {name}, seed {options.seed}, number {number}\n{traceback.format_exc()}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{number} files tried ({len(work)} originals): {counts['loaded']} loaded, {counts['refused']} refused,"
          f" {counts['crashed']} crashes; peak memory {peak} MiB")
    return 1 if counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
