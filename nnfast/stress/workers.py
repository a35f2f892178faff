"""Threads of one process that load, compile and execute models again and again, each with a seed of its own."""

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .client import Caller, Subject
from .compiling import from_file
from .outcome import Failure, reason_of

FOREVER = math.inf


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker does with each model. pause: least and most seconds before each compilation; run_seconds: of
    executions after it, 0 for none; compile: of nnfast.stress.compiling.
    """

    pause: tuple
    run_seconds: float
    compile: Callable = from_file


def chance_of(*names):
    """A random.Random that depends on these names and numbers alone."""
    return random.Random("/".join(map(str, names)))


def subjects_of(paths, seed, arithmetic="litert"):
    """The Subject of each model file, with inputs drawn by seed. arithmetic: as of nnfast.load."""
    return [Subject.of(path, np.random.default_rng((seed, place)), arithmetic) for place, path in enumerate(paths)]


class Worker(threading.Thread):
    """Goes through its subjects until `stop` is set; a compilation that has begun is finished, and so is the first.

    error: what ended it before, in one line; compiled, executed: counts.
    """

    def __init__(self, device, way, subjects, work, chance, stop):
        super().__init__(daemon=True)
        self._device, self._way, self._subjects, self._work = device, way, subjects, work
        self._chance, self._stop_set = chance, stop
        self.error, self.compiled, self.executed = None, 0, 0

    def run(self):
        try:
            self._go_on()
        except BaseException as error:
            self.error = reason_of(error)
            self._stop_set.set()

    def _go_on(self):
        while True:
            for subject in self._subjects:
                self._stop_set.wait(self._chance.uniform(*self._work.pause))
                prepared = self._work.compile(self._device, subject.path, self._chance, self._way.arithmetic)
                self.compiled += 1
                if self._work.run_seconds:
                    self._execute(Caller(subject, prepared))
                del prepared
                if self._stop_set.is_set():
                    return

    def _execute(self, caller):
        until = time.monotonic() + self._work.run_seconds
        try:
            while True:
                way = self._chance.choice(caller.subject.ways)
                if not caller.subject.is_right(caller.call(way)):
                    raise Failure(f"{caller.subject.path}: wrong outputs by {way}")
                self.executed += 1
                if self._stop_set.is_set() or time.monotonic() > until:
                    return
        finally:
            caller.close()


def start_workers(device, way, subjects, work, threads, stop, *names):
    """So many running workers, each of which begins with another subject. device: what `way` led to; names: of their
    chances.
    """
    workers = []
    for number in range(threads):
        first = number % len(subjects)
        workers.append(Worker(device, way, subjects[first:] + subjects[:first], work,
                              chance_of(*names, number), stop))
    for worker in workers:
        worker.start()
    return workers


def end_of(workers):
    """Wait for their end. (compilations, executions, reason of the first that failed or None).

    Who waits for a worker that never ends is seen to hang itself.
    """
    for worker in workers:
        worker.join()
    errors = [worker.error for worker in workers if worker.error is not None]
    return sum(worker.compiled for worker in workers), sum(worker.executed for worker in workers), \
        errors[0] if errors else None
