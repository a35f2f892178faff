"""Running conformance vectors over worker processes, so that a crash costs one test and all cores work."""

from __future__ import annotations

import json
import os
import random
import re
import time
from typing import TYPE_CHECKING

from ..checks import called, sequence, shown, text, whole
from ..checks import path as checked_path
from ..errors import InvalidArgument
from ..model.types import VERSIONS, OperationType
from .dump import dump
from .kinds import KINDS
from .pool import Pool
from .results import Results, TestResult
from .vectors import collect, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .. import typed
    from ..trace import Recorder

FACES = {"canonical": "aidl3", "1.0": "1.0", "1.1": "1.1", "1.2": "1.2", "1.3": "1.3"}
"""Faces of the driver, each with the newest HAL version whose models it takes."""

OWN_DEVICE = "nnfast:Device"
BURST = "burst"
ROUTES = {"local": OWN_DEVICE, BURST: OWN_DEVICE, "service": "nnfast.service.spawn:service_device",
          "cache": "nnfast.conformance.caching:CachedDevice", "ndk": "nnfast.conformance.ndk:NdkDevice",
          "definitions": "nnfast.conformance.definitions:DefinitionsDevice"}
"""Ways to the driver, each with the device that takes it."""

NDK_KINDS = ("general", "dynamic", "coupling", "failure", "loop_timeout", "memory_domain", "fenced", "deadline")
"""Kinds that the functions of the C library can say."""

MOST_SEED, MOST_PATTERN = 1 << 64, 10_000
MOST_THREADS = (1 << 31) - 1
"""As an int of C holds; fewer are the device's own rule."""

CHUNK = 32
"""Tests per task: small enough to share a large file between workers."""

TEST_SECONDS = 120.0
"""A test that takes longer is stopped and counts as failed."""

TIMES_LONGER = {"validation": 5}
"""Kinds that get more time: a real network has thousands of mutations, each a preparation."""

def run(paths: typed.FilePath | Sequence[typed.FilePath], hal: str = "canonical", via: str = "local",
        kinds: str | Sequence[str] | None = None, ops: str | Sequence[str] | None = None, pattern: str | None = None,
        jobs: int | None = None, progress: Callable[[int, int, TestResult], object] | None = None, threads: int = 1,
        device: str = OWN_DEVICE, sample: int | None = None, seed: int | None = 1, recorder: Recorder | None = None,
        folder: typed.FilePath | None = None) -> Results:
    """Run conformance vectors; returns Results.

        results = nnfast.conformance.run("vts", kinds=["general"], sample=1000)
        assert not results.failed, [test.reason for test in results.tests if test.outcome == "failed"]

    paths: vector files or folders. hal: face of the driver, "canonical" or "1.0" to "1.3". kinds: names, default all
    that are built. ops: operation names (list, or a text with commas): only tests that use no other. pattern: regular
    expression that test names must contain. jobs: processes, default one per usable core. progress(done, total, result)
    is called after every test. threads: of the device in each process. via: "local"; "burst": executions go through
    bursts only, and kinds that have none are not run; "service": in a driver's process of its own for each worker;
    "cache": every model comes from cache files; "ndk": through the C library, canonical face only; "definitions":
    without kernels. device: "module:callable" of the device to test, called with num_threads; a foreign one can be
    reached locally only. sample: that many tests of each kind, drawn by `seed`; None runs all. recorder: a
    trace.Recorder that takes the marks of all processes (those of one that dies are lost). folder: where each failed
    test is written, as a vector file and as a program. Raises InvalidArgument for a wrong argument or a malformed
    vector.
    """
    if isinstance(paths, str | bytes | os.PathLike):
        paths = [paths]
    paths = [checked_path(path, "paths") for path in sequence(paths, "paths", "a list of files and folders")]
    if progress is not None:
        called(progress, "progress")
    text(device, "device")
    if seed is not None:
        whole(seed, "seed", -MOST_SEED, MOST_SEED)
    _check_choice("hal", hal, FACES)
    _check_choice("via", via, ROUTES)
    if via == "ndk" and hal != "canonical":
        raise InvalidArgument(f"via ndk has no face of HAL {hal}; leave hal out")
    if via != "local":
        if device != OWN_DEVICE:
            raise InvalidArgument(f"via {via} is a way to nnfast's own device, {device} must be reached via local")
        device = ROUTES[via]
    jobs, threads, sample = (None if value is None else whole(value, what, 1, most) for what, value, most in (
        ("jobs", jobs, None), ("threads", threads, MOST_THREADS), ("sample", sample, None)))
    start = time.monotonic()
    plan = _Plan(collect(paths), hal, via, _kinds(kinds, via), operations(ops), _pattern(pattern))
    if sample is not None:
        plan.draw(sample, seed)
    jobs = jobs or len(os.sched_getaffinity(0))
    _work(plan, jobs, (device, threads, hal, via == BURST), progress, recorder)
    if folder is not None:
        _dump(plan, checked_path(folder, "folder"), threads)
    return Results(plan.results, time.monotonic() - start)


def _check_choice(label, value, known):
    if not isinstance(value, str) or value not in known:
        raise InvalidArgument(f"{label} is {shown(value)}, must be one of {', '.join(known)}")


def _kinds(kinds, via):
    if isinstance(kinds, str):
        kinds = [kinds]
    kinds = None if kinds is None else sequence(kinds, "kinds", "a list of names")
    for kind in kinds or ():
        _check_choice("kind", kind, KINDS)
    if via == "ndk":
        for kind in kinds or ():
            _check_choice("kind via ndk", kind, NDK_KINDS)
        return list(dict.fromkeys(kinds or NDK_KINDS))
    return list(dict.fromkeys(kinds or [name for name, kind in KINDS.items() if kind.bursts or via != BURST]))


def _has_bursts(kind, hal):
    return KINDS[kind].bursts and hal not in ("1.0", "1.1")


def operations(ops: str | Iterable[str] | None) -> set[str] | None:
    """Set of operation names, or None for all."""
    if ops is None:
        return None
    given = ops.split(",") if isinstance(ops, str) else sequence(ops, "ops", "a list of names")
    names = {text(name, "ops: name").strip() for name in given} - {""}
    unknown = sorted(names - OperationType.__members__.keys())
    if unknown:
        raise InvalidArgument(f"ops: there is no operation {', '.join(unknown)}")
    if not names:
        raise InvalidArgument("ops is empty, must name at least one operation")
    return names


def _pattern(pattern):
    if pattern is not None and len(text(pattern, "pattern")) > MOST_PATTERN:
        raise InvalidArgument(f"pattern has {len(pattern)} characters, must have at most {MOST_PATTERN}")
    try:
        return re.compile(pattern or "")
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidArgument(f"pattern {shown(pattern)} is not a regular expression: {error}") from None


class _Plan:
    """What to run. results: one TestResult per test, filled in as it ends; tasks: (path, [(result, (place, kind))])."""

    def __init__(self, files, hal, via, kinds, ops, pattern):
        self.results, self.tasks = [], []
        newest = VERSIONS.index(FACES[hal])
        for path in files:
            entries = []
            for place, vector in enumerate(read(path)):
                if not pattern.search(vector.name) or (ops is not None and not vector.operations <= ops):
                    continue
                applicable = vector.version in VERSIONS[:newest + 1]
                for kind in kinds:
                    if not KINDS[kind].takes(vector):
                        continue
                    result = TestResult(vector.name, kind, hal, via, vector.source, "")
                    self.results.append(result)
                    if not KINDS[kind].is_of(hal):
                        result.outcome = "not_applicable"
                        result.reason = f"kind {kind} came with HAL {KINDS[kind].since}"
                    elif via == BURST and not _has_bursts(kind, hal):
                        result.outcome = "not_applicable"
                        result.reason = f"kind {kind} of HAL {hal} does not go through bursts [NN 16.5]"
                    elif applicable:
                        entries.append((result, (place, kind)))
                    else:
                        result.outcome = "not_applicable"
                        result.reason = f"needs {vector.version}, newer than {hal} ({FACES[hal]})"
            self.tasks += [(path, entries[at:at + CHUNK]) for at in range(0, len(entries), CHUNK)]
        self.total = sum(len(entries) for _, entries in self.tasks)

    def draw(self, count, seed):
        """Keep `count` tests of each kind that apply, the same for one seed; the rest is as if it were absent."""
        chance, entries, kept = random.Random(seed), {}, set()
        for _, task in self.tasks:
            for result, (_, kind) in task:
                entries.setdefault(kind, []).append(id(result))
        for results in entries.values():
            kept.update(chance.sample(results, min(count, len(results))))
        tasks = [(path, [entry for entry in task if id(entry[0]) in kept]) for path, task in self.tasks]
        self.tasks = [(path, task) for path, task in tasks if task]
        self.results = [entry[0] for _, task in self.tasks for entry in task]
        self.total = len(self.results)


def _work(plan, jobs, device, progress, recorder):
    """Have a pool of processes fill in the results of a plan."""
    done = 0

    def finished(result, outcome, reason, errors=None, parts=None, tally=None):
        nonlocal done
        result.outcome, result.reason = outcome, reason
        result.errors, result.parts, result.tally = errors or {}, parts or {}, tally or {}
        done += 1
        if progress:
            progress(done, plan.total, result)

    def died(result, text):
        if result.outcome:
            result.outcome, result.reason = "failed", text
        else:
            finished(result, "failed", text)

    def idle(marks):
        if recorder is not None:
            recorder.events += marks

    Pool(plan.tasks, jobs, "nnfast.conformance.worker", json.dumps([*device, recorder is not None]), finished, died,
         lambda result: TEST_SECONDS * TIMES_LONGER.get(result.kind, 1), idle=idle).run()


def _dump(plan, folder, threads):
    """Write the failed tests of a plan."""
    for path, entries in plan.tasks:
        failed = {place: result for result, (place, _) in reversed(entries) if result.outcome == "failed"}
        vectors = read(path) if failed else ()
        for place, result in failed.items():
            vector = vectors[place]
            dump(folder, vector.case(), f"{result.kind}: {result.reason}", vector.source, threads,
                 expect_failure=vector.expect_failure)
