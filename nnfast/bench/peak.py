"""What the machine can do at most: arithmetic for each type and instruction level, reads from each level of memory."""

import statistics

from .._native import bench, threads
from .._native.kernels import cache_sizes

TARGET_NS = 3_000_000
"""A measurement runs about this long ..."""
REPEATS = 15
"""... and is repeated this often; the best counts, since everything that disturbs only slows down."""
TURN_NS = 250_000
"""A loop of a Meter runs about this long; see there."""
LARGEST = 256 << 20
"""Bytes of the memory that is read to measure main memory."""
UNITS = {"f32": "GFLOP/s", "bf16": "GFLOP/s", "s8": "GOP/s"}


def working_sets(sizes=None):
    """Bytes that a thread reads to measure each level: {"L1": ..., "L2": ..., "L3": ..., "memory": ...}.

    sizes: of cache_sizes(). Half of a private cache; eight second-level caches stand for a third level, of which other
    machines may use the rest; what is unknown is guessed low.
    """
    sizes = cache_sizes() if sizes is None else sizes
    first, second = sizes["L1"] or 32 << 10, sizes["L2"] or 256 << 10
    return {"L1": first // 2, "L2": second // 2, "L3": min(8 * second, (sizes["L3"] or 8 << 20) // 2),
            "memory": LARGEST}


def limits(counts=None, types=None, progress=None):
    """Measure; takes a second or two. Returns a plain document (`nnfast info --peak --json`).

    counts: numbers of threads (default 1 and the default number); types: of UNITS (default all).
    progress(done, total, note): called before each measurement.
    {"threads": counts, "arithmetic": [{"types", "isa", "unit", "rates": {threads: 1e9 operations a second}}],
     "reads": [{"level", "bytes": of each thread, "rates": {threads: 1e9 bytes a second}}]}; only what the level in
    force (NNFAST_CPU) allows.
    """
    counts = sorted({1, threads.default_threads()}) if counts is None else sorted(set(counts))
    rows = [row for row in bench.peak_rows() if types is None or row["types"] in types]
    sets = working_sets()
    total, done = len(counts) * (len(rows) + len(sets)), 0

    def next_up(text, count):
        nonlocal done
        if progress is not None:
            progress(done, total, f"{text}, {count} thread{'s' if count > 1 else ''}")
        done += 1

    arithmetic, reads = [], []
    for row in rows:
        rates = {}
        for count in counts:
            next_up(f"{row['types']} {row['isa']}", count)
            rounds, best = _best(row["name"], None, count)
            rates[count] = row["operations"] * rounds * count / best
        arithmetic.append({"types": row["types"], "isa": row["isa"], "unit": UNITS[row["types"]], "rates": rates})
    for level, size in sets.items():
        rates = {}
        for count in counts:
            next_up(f"reads from {level}", count)
            # What the cores share is measured together: each thread reads its part.
            array = bench.peak_memory(size if level in ("L1", "L2") else size // count, count)
            rounds, best = _best(None, array, count)
            rates[count] = array.size * rounds / best
        reads.append({"level": level, "bytes": size, "rates": rates})
    return {"threads": counts, "arithmetic": arithmetic, "reads": reads}


def _best(name, array, count, target=TARGET_NS):
    """(rounds, least nanoseconds) of repeated measurements of about `target` nanoseconds."""
    rounds = 1
    while True:
        # A thread that had to wait for a processor says nothing about the speed of a round.
        spent = max(1, min(bench.measure_peak(name, array, rounds, count) for _ in range(3)))
        if spent >= target / 2:
            break
        rounds = max(2 * rounds, min(int(rounds * target / spent), 1000 * rounds))
    repeats = REPEATS if spent < 4 * target else 3
    return rounds, max(1, min([spent, *(bench.measure_peak(name, array, rounds, count) for _ in range(repeats - 1))]))


class Meter:
    """Arithmetic that the machine can do at this moment, read in turns with whatever is to be set against it.

    The limits above are those of bursts after rest: a processor holds their clock for milliseconds, not for a model.
    Turns on the same threads meet the clock that the model meets, if they are short: arithmetic in registers alone
    draws less current, and has a higher clock half a millisecond later.

    found: of limits(), with the count of threads; types: of UNITS. Read are the fastest level of each type, and where
    that works on whole tiles (AMX) also the fastest of vectors. rows: their dicts types, isa, unit, fastest first.
    """

    def __init__(self, found, types, count):
        self.rows, self._loops, self._rates, self._count = [], [], [], count
        known = {(row["types"], row["isa"]): row for row in bench.peak_rows()}
        for name in sorted(types):
            levels = sorted((row for row in found["arithmetic"] if row["types"] == name),
                            key=lambda row: -row["rates"][count])
            for row in levels[:2 if levels and levels[0]["isa"].endswith("amx") else 1]:
                loop = known[name, row["isa"]]
                each = loop["operations"] * count
                rounds = max(1, int(TURN_NS * row["rates"][count] / each))
                self.rows.append({key: row[key] for key in ("types", "isa", "unit")})
                self._loops.append((loop["name"], rounds, each * rounds))

    def read(self):
        """Measure: 1e9 operations a second of each of `rows`, now."""
        for name, rounds, _ in self._loops[:1]:
            bench.measure_peak(name, None, rounds // 10 + 1, self._count)  # wakes the threads
        self._rates.append([operations / max(1, bench.measure_peak(name, None, rounds, self._count))
                            for name, rounds, operations in self._loops])
        return self._rates[-1]

    def summary(self):
        """The rows with `rate`, the median of all that was read."""
        return [{**row, "rate": statistics.median(rates)} for row, rates in zip(self.rows, zip(*self._rates))]


def read_rate(found, size, count, sizes=None):
    """(level, 1e9 bytes a second) of the memory that `size` bytes of a working set of `count` threads stay in."""
    sizes = cache_sizes() if sizes is None else sizes
    room = {"L1": count * sizes["L1"], "L2": count * sizes["L2"], "L3": sizes["L3"]}
    level = next((level for level, most in room.items() if size <= most), "memory")
    return level, next(row["rates"][count] for row in found["reads"] if row["level"] == level)
