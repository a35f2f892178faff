"""The tests, and running them one after the other, each in a process of its own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from .. import connect
from ..checks import called, chosen_from, counted, is_number, sequence, shown, whole
from ..checks import path as checked_path
from ..errors import Error, InvalidArgument
from .children import work_in_children
from .compiling import from_mapping
from .degradation import measure
from .driver import Driver
from .graphs import work_on_graphs
from .liveness import Liveness
from .outcome import CRASH, FAILURE, HANG, SUCCESS, Result, ending, one_line, reason_of
from .parallel import work_together
from .process import START_SECONDS, watch
from .provocations import PROVOCATIONS
from .way import LOCAL, SERVICE, VIAS, Way
from .workers import FOREVER, Work, chance_of, subjects_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .. import typed

MOST_MINUTES, MOST_SEED, MOST_THREADS, MOST_PROCESSES, MOST_PERCENT = 1e5, 1 << 63, 1000, 64, 1e9

KILLED = 0.25, 0.5
"""Shares of its duration between which a client that is to end early is killed: 17.5 and 35 of 70 s."""

IDLE_SECONDS = 60.0
"""After so long without clients the driver's process ends by itself, when this one was killed."""

FORGET_SECONDS = 30.0
"""Until the driver must have forgotten clients that are gone, and answered the last question, at least."""

EXECUTE, COMPILE = Work((0.25, 0.25), 1.3), Work((0.25, 0.25), 0.0)
MAP = Work((0.25, 0.25), 0.0, from_mapping)
COMPILE_ONCE, LOAD = Work((0.0, 0.0), FOREVER), Work((0.3, 0.8), 0.0)
"""What workers do with each model: 0.3 s of warm-up and 1 s of executions, or compilations only, after 250 ms; those of
forked processes, one compilation and executions to the end, or compilations with 300 to 800 ms between.
"""


@dataclass(frozen=True, slots=True)
class Test:
    """A test. what: one line; minutes: that it takes in the standard's suite, of one model; program and arguments:
    function that a process of its own runs; grace: seconds after its duration until it hangs; is_killed: the process is
    killed while it works; is_watched: somebody else uses the driver meanwhile, and must get answers.
    """

    what: str
    minutes: float
    program: Callable[..., Any]
    arguments: dict[str, Any]
    grace: float = 30.0
    is_killed: bool = False
    is_watched: bool = True


TESTS = {
    "parallel_inference": Test(
        "threads load and execute all models", 30, work_together, {"work": EXECUTE, "threads": 8}, 20.0,
        is_watched=False),
    "parallel_inference_12": Test(
        "the same with more threads", 20, work_together, {"work": EXECUTE, "threads": 12}, 20.0, is_watched=False),
    "client_early_termination": Test(
        "a client is killed while it compiles", 70 / 60, work_together, {"work": COMPILE, "threads": 4},
        is_killed=True),
    "client_early_termination_executing": Test(
        "a client is killed while it executes, with bursts open", 70 / 60, work_together,
        {"work": EXECUTE, "threads": 4}, is_killed=True),
    "memory_mapped_compilation": Test(
        "models whose constants lie in files", 70 / 60, work_together, {"work": MAP, "threads": 4}),
    "multi_process_inference": Test(
        "forked clients execute", 30, work_in_children,
        {"work": COMPILE_ONCE, "threads": 10, "processes": 6, "rate": 0.0}),
    "multi_process_inference_killed": Test(
        "the same, and most kill themselves at some moment", 20, work_in_children,
        {"work": COMPILE_ONCE, "threads": 10, "processes": 6, "rate": 0.8}),
    "multi_process_load": Test(
        "forked clients load and compile", 20, work_in_children,
        {"work": LOAD, "threads": 10, "processes": 6, "rate": 0.0}),
    "multi_process_load_half_killed": Test(
        "the same, and half of them kill themselves", 20, work_in_children,
        {"work": LOAD, "threads": 10, "processes": 6, "rate": 0.5}),
    "multi_process_load_all_killed": Test(
        "the same, and all of them kill themselves", 10, work_in_children,
        {"work": LOAD, "threads": 10, "processes": 6, "rate": 1.0}),
    "random_graph_load": Test(
        "compile random graphs of 5 operations", 15, work_on_graphs, {"size": "small", "is_executed": False},
        is_watched=False),
    "random_graph_load_large": Test(
        "compile random graphs of 40 operations", 15, work_on_graphs, {"size": "large", "is_executed": False},
        is_watched=False),
    "random_graph_execution": Test(
        "compile and execute random graphs of 5 operations", 15, work_on_graphs,
        {"size": "small", "is_executed": True}, is_watched=False),
    "random_graph_execution_large": Test(
        "compile and execute random graphs of 40 operations", 15, work_on_graphs,
        {"size": "large", "is_executed": True}, is_watched=False),
    "performance_degradation": Test(
        "latency while another process compiles", 75 / 60, measure, {"compilers": 1, "limit": 50.0},
        is_watched=False),
}
"""Tests by name."""


@dataclass(frozen=True, slots=True)
class Models:
    """Model files that tests use, and why others of the folder are left out."""

    paths: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


def find_models(folder: typed.FilePath | None = None, via: str = LOCAL) -> Models:
    """The `.tflite` files of a folder that this driver runs, as of `run`; None: those that come with nnfast.

    Returns Models. Raises InvalidArgument for no folder, and where no file is left.
    """
    chosen_from(via, "stress: via", VIAS)
    if folder is None:
        folder = Path(str(resources.files("nnfast") / "data"))
    else:
        folder = Path(checked_path(folder, "stress: models"))
        if not folder.is_dir():
            raise InvalidArgument(f"{folder}: is not a folder; name one with .tflite files")
    paths, skipped = [], []
    for path in sorted(map(str, folder.glob("*.tflite"))):
        try:
            subjects_of([path], 0, Way(via).arithmetic)
            paths.append(path)
        except Error as error:
            skipped.append((path, one_line(error)))
    if not paths:
        why = f"; {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
        raise InvalidArgument(f"{folder}: has no .tflite file that can be run{why}")
    return Models(tuple(paths), tuple(skipped))


def run(tests: Sequence[str] | None = None, minutes: float = 1.0, seed: int = 1, via: str = "local",
        models: Models | typed.FilePath | None = None, threads: int | None = None, processes: int | None = None,
        limit: float | None = None, grace: float | None = None,
        progress: Callable[[int, int, str], object] | None = None) -> list[Result]:
    """Run tests one after the other; returns a Result of each.

        for result in nnfast.stress.run(["client_early_termination"], minutes=0.2, via="service"):
            print(result.name, result.outcome, result.detail)

    tests: names of TESTS, None for all. minutes: of each. seed: of everything that is drawn: moments of deaths, order
    and ways of executions, inputs. via: "local", every client has the driver in its process; "service": they use a
    driver's process that is started for each test; "ndk": so, through libneuralnetworks.so. models: Models, a folder,
    or None for those that come with nnfast. threads, processes: instead of those of the test. limit: percent of
    performance_degradation (50). grace: seconds after the duration of a test until it counts as HANG, instead of its
    own. progress(done, total, note): called all along. Raises InvalidArgument for a wrong argument.
    """
    names = list(TESTS) if tests is None else list(sequence(tests, "stress: tests", "a list of names"))
    for name in names:
        chosen_from(name, "stress: test", TESTS)
    minutes = _number(minutes, "minutes", MOST_MINUTES)
    grace = None if grace is None else _number(grace, "grace", 60 * MOST_MINUTES)
    whole(seed, "stress: seed", 0, MOST_SEED)
    chosen_from(via, "stress: via", VIAS)
    sizes = {"threads": _size(threads, "threads", MOST_THREADS), "processes": _size(processes, "processes",
                                                                                   MOST_PROCESSES),
             "limit": None if limit is None else _number(limit, "limit", MOST_PERCENT)}
    if progress is not None:
        called(progress, "stress: progress")
    if not isinstance(models, Models):
        models = find_models(models, via)
    results = []
    for place, name in enumerate(names):
        def tell(text, place=place, name=name):
            if progress is not None:
                progress(place, len(names), " ".join(filter(None, (name, text))))

        tell("")
        results.append(_Run(name, TESTS[name], models.paths, minutes * 60, seed, via, sizes, grace).result(tell))
    return results


def _number(value, what, most):
    if not is_number(value) or not 0 < value <= most:
        raise InvalidArgument(f"stress: {what} is {shown(value)}, must be a number above 0 and at most {most:g}")
    return float(value)


def _size(value, what, most):
    return None if value is None else whole(value, f"stress: {what}", 1, most)


class _Run:
    """One test with its sizes."""

    def __init__(self, name, test, paths, seconds, seed, via, sizes, grace):
        self.name, self.test, self.paths, self.seconds, self.seed, self.via = name, test, paths, seconds, seed, via
        self.grace = test.grace if grace is None else grace
        self.arguments = {key: value if sizes.get(key) is None else sizes[key] for key, value in test.arguments.items()}
        self.kill_after = chance_of(seed, name).uniform(*KILLED) * seconds if test.is_killed else None

    def result(self, tell):
        """Run it; a driver that does not even begin is a FAILURE."""
        try:
            return self._result(tell)
        except Error as error:
            return Result(self.name, FAILURE, FAILURE, f"before it began: {reason_of(error)}", 0.0)

    def _result(self, tell):
        with ExitStack() as stack:
            driver = own = liveness = None
            if self.via != LOCAL:
                driver = stack.enter_context(Driver("--exit-idle", IDLE_SECONDS, patience=START_SECONDS))
                own = connect(driver.path)
            way = Way(self.via, driver and driver.path)
            if self.test.is_watched:  # what is watched is the driver: a process has the C library once, for one driver
                liveness = Liveness(way if driver is None else Way(SERVICE, driver.path), self.paths[0])
            arguments = {"name": self.name, "paths": self.paths, "seed": self.seed, "way": way,
                         "seconds": FOREVER if self.test.is_killed else self.seconds, **self.arguments}
            end = watch(self.test.program, arguments, self.seconds, self.grace, self.kill_after, tell)
            problems = []
            if liveness is not None:
                problems.append(liveness.stop(self._patience()))
            if driver is not None:
                own.close()
                problems[:0] = self._problems_of(driver)
            return self._verdict(end, list(filter(None, problems)), liveness)

    def _patience(self):
        return max(self.grace, FORGET_SECONDS)

    def _problems_of(self, driver):
        """What is wrong with a driver's process whose clients are gone, as lines; ends it."""
        try:
            forgotten = driver.wait_for_clients(time.monotonic() + self._patience())
            problem = None if forgotten else "the driver still knows clients that are gone"
        except Error as error:
            problem = f"the driver: {one_line(error)}"
        try:
            code = driver.end()
        except subprocess.TimeoutExpired:
            problem, code = "the driver's process does not end", 0
        return [f"the driver's process ended with {ending(code)}" if code else problem, *driver.said()[:1]]

    def _verdict(self, end, problems, liveness):
        outcome, detail, facts = end.outcome, end.text, dict(end.facts)
        if liveness is not None:
            facts["liveness_rounds"] = liveness.rounds
        if self.test.is_killed:
            facts["killed_after_s"] = self.kill_after
            if end.outcome == CRASH and end.killed:
                outcome, detail = SUCCESS, f"killed after {self.kill_after:.2f} s, as planned"
            elif end.outcome == SUCCESS:
                outcome, detail = FAILURE, "the client ended before it was killed"
        elif end.outcome == SUCCESS:
            outcome, detail = (FAILURE, end.text) if end.text else (SUCCESS, _told(facts))
        if problems and outcome == SUCCESS:
            outcome, detail = FAILURE, "; ".join(problems)
        elif problems:
            detail = "; ".join([*problems, detail])
        return Result(self.name, outcome, end.outcome, one_line(detail), end.seconds, facts)


def _told(facts):
    """Counts in one line."""
    parts = []
    if "planned" in facts:
        killed = sum(death is not None for death in facts["planned"])
        parts.append(f"{len(facts['planned'])} children, {killed} of them killed, as planned")
    if "graphs" in facts:
        refused = f", {facts['refused']:,} refused" if facts["refused"] else ""
        parts.append(counted(facts["graphs"], "graph") + refused)
    if facts.get("compiled"):
        parts.append(f"{facts['compiled']:,} compilations, {facts['executed']:,} executions")
    if "models" in facts:
        parts.append(", ".join(f"{name} {row['percent']:+d} %" for name, row in facts["models"].items()))
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Provoked:
    """A program (name) that ends on purpose in one way (wanted), and how it was seen to end; detail: one line."""

    name: str
    wanted: str
    seen: str
    detail: str


def run_provocations(seconds: float = 1.0, grace: float = 600.0) -> list[Provoked]:
    """See whether each outcome is told from the others; returns a Provoked for each of the programs that end so.

    seconds: after which the one that never answers hangs; grace: seconds that the others have. Raises InvalidArgument.
    """
    seconds, grace = _number(seconds, "seconds", 60 * MOST_MINUTES), _number(grace, "grace", 60 * MOST_MINUTES)
    found = []
    for program, wanted in PROVOCATIONS.items():
        end = watch(program, {}, seconds, 0.0 if wanted == HANG else grace, stderr=subprocess.DEVNULL)
        found.append(Provoked(program.__name__, wanted, end.outcome, end.text))
    return found
