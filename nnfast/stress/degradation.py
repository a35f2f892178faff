"""How much slower a model runs while others are compiled."""

import os
import time
from multiprocessing import Pipe
from pathlib import Path

from .client import Caller
from .compiling import from_file
from .outcome import Failure
from .program import die_with
from .workers import subjects_of

WARM_SHARE = 0.2
"""Of the time of a measurement: 5 of 25 s."""

PARTS = 3
"""Measurements of each model: alone, beside compilations, alone again."""

REST_SECONDS, PAUSE_SECONDS = 0.5, 0.02


def measure(report, name, paths, seed, way, compilers, limit, seconds):
    """Mean latency of the first model alone, and while `compilers` processes compile each of the models in turn.

    What it is alone is measured before and after, and the slower of both counts: the machine may have got other work in
    between. limit: whole percent that the mean may grow by. Returns percentages by model. Raises Failure where one is
    larger.
    """
    subjects = subjects_of(paths, seed, way.arithmetic)
    others = [_Compiler(way) for _ in range(compilers)]
    device = way.open()
    caller = Caller(subjects[0], device.prepare(subjects[0].model))
    report.begin()
    share, found = seconds / (PARTS * len(subjects)), {}
    for subject in subjects:
        alone = mean_seconds(caller, share)
        time.sleep(REST_SECONDS)
        for other in others:
            other.begin(subject.path)
        beside = mean_seconds(caller, share)
        compiled = sum(other.end() for other in others)
        alone = max(alone, mean_seconds(caller, share))
        found[Path(subject.path).name] = {"alone_us": alone * 1e6, "beside_us": beside * 1e6, "compiled": compiled,
                                          "percent": percent_more(alone, beside)}
        report.progress(f"{Path(subject.path).name}: {percent_more(alone, beside)} %")
    for other in others:
        other.close()
    caller.close()
    device.close()
    beyond = [f"{path} by {row['percent']} %" for path, row in found.items() if row["percent"] > limit]
    if beyond:
        raise Failure(f"{Path(subjects[0].path).name} slows down beside compilations of {', '.join(beyond)}; "
                      f"allowed are {limit:g} %", {"models": found})
    return {"models": found}


def mean_seconds(caller, seconds):
    """Mean duration of a call, after a warm-up, in so many seconds together; of one call at least."""
    way = caller.subject.ways[-1] if len(caller.subject.ways) < 3 else "execute"
    until = time.monotonic() + WARM_SHARE * seconds
    while time.monotonic() < until:
        caller.call(way)
    began, count, until = time.monotonic(), 0, time.monotonic() + (1 - WARM_SHARE) * seconds
    while not count or time.monotonic() < until:
        outputs = caller.call(way)
        count += 1
    spent = time.monotonic() - began
    if not caller.subject.is_right(outputs):
        raise Failure(f"{caller.subject.path}: wrong outputs by {way}")
    return spent / count


def percent_more(before, after):
    """Whole percent, towards 0, that a figure has grown by."""
    return int((after / before - 1) * 100)


class _Compiler:
    """A forked process that compiles when it is told to: threads of one process would share its interpreter."""

    def __init__(self, way):
        parent = os.getpid()
        self._connection, other = Pipe()
        if os.fork() == 0:
            self._connection.close()
            _compile_on(other, parent, way)
        other.close()

    def begin(self, path):
        """Compile a file over and over; returns once it has done so for the first time."""
        self._connection.send(path)
        self._answer()

    def end(self):
        """Stop; how often it has compiled."""
        self._connection.send(None)
        return self._answer()

    def close(self):
        self._connection.close()

    def _answer(self):
        try:
            return self._connection.recv()
        except EOFError:
            raise Failure("a process that compiles has died") from None


def _compile_on(connection, parent, way):
    """The life of such a process; does not return."""
    try:
        die_with(parent)
        device = way.open()
        while True:
            path, count = connection.recv(), 0
            while not count or not connection.poll(PAUSE_SECONDS):
                from_file(device, path, None, way.arithmetic)
                count += 1
                if count == 1:
                    connection.send(count)
            connection.recv()
            connection.send(count)
    except EOFError:
        os._exit(0)
    finally:
        os._exit(1)
