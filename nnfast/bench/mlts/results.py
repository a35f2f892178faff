"""Results as plain values, and as the lines of CSV that the benchmark of Android writes."""

import csv
import math
import time

from .compilation import KINDS

CSV_COLUMNS = ("# name, backend, {latency}, maxSingleError, testSetSize, evaluatorKeys, validationErrors, keys..., "
               "values..., errors..., hasWithoutCache[, {latency}], hasSaveToCache[, {latency}], "
               "hasPrepareFromCache[, {latency}], cacheSizeBytes; {latency}: iterations, totalSeconds, histogramStart, "
               "histogramStep, buckets, counts... (seconds)")


def document_of(result, times=False):
    """A suite.Result as plain values for JSON; NaN and infinities become null. times: with all times of the runs."""
    entry = result.entry
    found = {"name": entry.name, "model": str(entry.model), "verdict": result.verdict, "problems": result.problems}
    if result.skipped:
        found["skipped"] = result.skipped
    if result.latency is None:
        return found
    found |= {"unit": result.unit, "sequences": result.sequences, "steps": result.steps,
              "quantized": result.quantized, "evaluator": entry.evaluator, "expected_top1": entry.expected_top1,
              "limits": {} if result.evaluator is None else dict(result.evaluator.limits),
              "values": _numbers(result.values), "latency": result.latency.summary(times)}
    if entry.baseline_sec:
        found["baseline_sec"] = entry.baseline_sec
        found["times_faster"] = 1e3 * entry.baseline_sec / result.latency.mean
    if result.golden is not None:
        found["golden"] = _difference(result.golden)
    if result.beside is not None:
        beside = result.beside
        found["baseline"] = {"reason": beside.reason} if beside.reason else {
            "name": beside.name, "values": _numbers(beside.values), "difference": _difference(beside.difference),
            "latency": beside.latency.summary()}
    if result.compilation is not None:
        made = result.compilation
        found["compilation"] = {**{kind: latency.summary() for kind, latency in made.times.items()},
                                "cache_bytes": made.size, **({"note": made.note} if made.note else {})}
    if result.levels:
        found["levels"] = {level: latency.summary() for level, latency in result.levels.items()}
    return found


def _difference(golden):
    return {"sequences": golden.sequences, "equal": golden.equal, "steps": golden.steps,
            **_numbers({"mse": golden.mse, "max_error": golden.largest, "max_relative_error": golden.relative})}


def _numbers(values):
    return {key: value if math.isfinite(value) else None for key, value in values.items()}


def write_csv(path, results, machine, backend):
    """The benchmark's file: a line with date and machine, one that names the columns, one for each model that ran."""
    with open(path, "w", encoding="utf-8", newline="", errors="backslashreplace") as stream:
        stream.write(f"{time.strftime('%Y%m%d_%H%M%S')},{machine.replace(',', ' ')}\n{CSV_COLUMNS}\n")
        csv.writer(stream, lineterminator="\n").writerows(
            row for result in results if result.latency is not None for row in _rows(result, backend))


def _rows(result, backend):
    """Rows of a model: ours, and the baseline's where there is one."""
    made = result.compilation
    times = {} if made is None else made.times
    yield [result.entry.name, backend, *_latency(result.latency), *_accuracy(result.golden, result.steps, result.values,
                                                                           result.problems),
           *(cell for kind in KINDS[:3] for cell in
             (["true", *_latency(times[kind])] if kind in times else ["false"])), 0 if made is None else made.size]
    if result.beside is not None and not result.beside.reason:
        beside = result.beside
        yield [result.entry.name, beside.name.replace(",", " "), *_latency(beside.latency),
               *_accuracy(None, result.steps, beside.values, []), "false", "false", "false", 0]


def _latency(latency):
    low, step, counts = latency.histogram()
    return [latency.count, latency.times_ms.sum() / 1e3, low / 1e3, step / 1e3, len(counts), *counts]


def _accuracy(golden, steps, values, problems):
    return [0.0 if golden is None else golden.largest, steps, len(values), len(problems), *values, *values.values(),
            *(text.replace(",", " ") for text in problems)]
