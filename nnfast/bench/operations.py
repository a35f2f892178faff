"""Time of each operation of a model, beside what the machine could do at best."""

import statistics

import numpy as np

from . import peak

MOST_PERCENT = 115
"""Products are never faster than the machine's limit: figures beyond it by more than measurements err were taken while
other programs kept the machine from its best."""

SAVED = 4
"""Products that a Winograd kernel does not do are counted as done: at most this many times those that it does."""

MOST_DOUBTFUL = 0.05
"""Share of a model's time in such operations up to which the others say how near the whole is to the limit."""


def measure(prepared, arrays, runs, meter=None):
    """Rows of the operations of a prepared model, in order: median of `runs` runs that are timed step by step.

    Each: index, operation, kernel, shape (of the last output), us, share (0..1), operations (2 per multiply-add; 0
    where it only moves values), bytes (read and written once: inputs, packed weights, outputs), packed_bytes (of
    them, the weights), types (a key of peak.UNITS), possible: by level, fastest first, the operations of bare
    arithmetic that the machine could have done in the operation's time (median over the runs).

    meter: a peak.Meter, read before and after every run; without one nothing is known to be possible.
    """
    times, rows, rates = {}, [], []
    before = meter.read() if meter else []
    for _ in range(runs):
        rows = _profiled(prepared, arrays)
        after = meter.read() if meter else []
        rates.append([(a + b) / 2 for a, b in zip(before, after)])
        before = after
        for place, row in enumerate(rows):
            times.setdefault(place, []).append(row["ns"])
    medians = [statistics.median(times[place]) for place in range(len(rows))]
    total = sum(medians) or 1

    def possible(place, types):
        return {level["isa"]: statistics.median(ns * rate[i] for ns, rate in zip(times[place], rates))
                for i, level in enumerate(meter.rows if meter else ()) if level["types"] == types}

    return [{"index": row["index"], "operation": row["operation"], "kernel": row["kernel"],
             "shape": row["output"][-1] if row["output"] else None, "us": ns / 1e3, "share": ns / total,
             "operations": 2 * row["work"] if row["multiply_adds"] else 0, "bytes": row["bytes"],
             "packed_bytes": row["packed_bytes"], "types": _types(row), "possible": possible(place, _types(row))}
            for place, (row, ns) in enumerate(zip(_gathered(rows), medians))]


def types_of(prepared, arrays):
    """The types (of peak.UNITS) whose arithmetic a model uses; runs it once."""
    return {_types(row) for row in _profiled(prepared, arrays) if row["multiply_adds"]}


def _profiled(prepared, arrays):
    from ..driver.profile import profile

    with profile() as found:
        prepared.run(arrays)
    return found.rows


def _gathered(rows):
    """Rows with what operations do that run inside others counted where their time is.

    What goes from one of them to the next stays near: of their values the largest count, of their weights all.
    """
    rows = [dict(row) for row in rows]
    of = {row["index"]: row for row in rows}
    for row in rows:
        if row["joined"] is not None:
            carrier = of[row["joined"]]
            weights = carrier["packed_bytes"] + row["packed_bytes"]
            values = max(r["bytes"] - r["packed_bytes"] for r in (carrier, row))
            carrier.update(work=carrier["work"] + row["work"], packed_bytes=weights, bytes=weights + values)
            row.update(kernel=f"joined to {row['joined']}", work=0, packed_bytes=0, bytes=0)
    return rows


def _types(row):
    """The type whose arithmetic limits an operation."""
    if row["bf16"]:
        return "bf16"
    return "s8" if row["types"] and np.dtype(row["types"][0]).itemsize < 4 and row["types"][0] != "float16" else "f32"


def compare(rows, limits, threads):
    """Add to each row what it reaches: rate, unit, bound ("arithmetic", or the level of memory), percent, percents.

    limits: of peak.limits, for `threads`. The bound is whatever takes longer at the machine's best: the arithmetic, as
    much as was possible on the fastest level, or one read of all bytes from memory; percent is that time over the
    measured one. Values come from the level of memory that holds those of the operation, weights from the level that
    holds those of the whole model. percents: of what was possible on each level. usable: False where the percent would
    be above MOST_PERCENT, or with Winograd's method that times SAVED; it is None then.
    """
    sizes = peak.cache_sizes()
    all_weights = sum(row["packed_bytes"] for row in rows)
    for row in rows:
        ns, values = max(1.0, 1e3 * row["us"]), row["bytes"] - row["packed_bytes"]
        row["rate"], row["unit"], row["bound"], row["percent"] = None, "", "", None
        reads = [(size / rate, level) for size, (level, rate) in (
            (values, peak.read_rate(limits, values, threads, sizes)),
            (row["packed_bytes"], peak.read_rate(limits, all_weights, threads, sizes))) if size]
        row["percents"] = {level: 100 * row["operations"] / possible for level, possible in row["possible"].items()
                           if row["operations"] and possible}
        if reads:
            row["rate"], row["unit"], row["bound"] = row["bytes"] / ns, "GB/s", max(reads)[1]
            row["percent"] = 100 * sum(time for time, _ in reads) / ns
        if row["operations"]:
            row["rate"], row["unit"] = row["operations"] / ns, peak.UNITS[row["types"]]
        # The fastest level comes first: the others only tell how far an operation is beyond them.
        reached = next(iter(row["percents"].values()), None)
        if reached is not None and (row["percent"] is None or reached > row["percent"]):
            row["percent"], row["bound"] = reached, "arithmetic"
        most = MOST_PERCENT * (SAVED if "winograd" in row["kernel"] else 1)
        row["usable"] = row["percent"] is None or row["percent"] <= most
        if not row["usable"]:
            row["percent"], row["percents"] = None, {}
    return rows


def total(rows):
    """Sum of the rows: us, operations, bytes, and the percent of the limit that the whole reaches (None unknown).
    usable: False where too much of the time is in rows that are not; percent is None then.
    """
    spent, usable = sum(row["us"] for row in rows), sum(row["us"] for row in rows if row["usable"])
    at_best = sum(row["us"] * row["percent"] / 100 for row in rows if row["percent"] is not None)
    is_usable = usable >= (1 - MOST_DOUBTFUL) * spent
    return {"us": spent, "operations": sum(row["operations"] for row in rows), "bytes": sum(r["bytes"] for r in rows),
            "percent": 100 * at_best / usable if usable and is_usable else None, "usable": is_usable}
