"""Random graphs over worker processes, so that a crash costs one graph."""

import json
import os
import time
from itertools import product

from ..._native import kernels
from ...checks import called, chosen_from, sequence, text, whole
from ...errors import Error, InvalidArgument
from ...model.types import VERSIONS
from ..dump import dump
from ..judge import DIFFERS
from ..pool import Pool
from ..runner import BURST, FACES, MOST_THREADS, ROUTES, operations
from .generate import SIZES, draw_case, rows_of
from .results import GraphResult, GraphResults
from .subject import label
from .trial import REFERENCE

MOST_SEED = 1 << 62
CHUNK = 50
"""Graphs per task."""

GRAPH_SECONDS = 600.0
"""A graph that takes longer, with the search for a smaller one, is stopped and counts as failed."""

HERE = ("local", BURST, "cache")
"""Ways to a driver in the worker's own process, whose level it can choose."""


def run(seeds, size="small", against=REFERENCE, hals=("canonical",), vias=("local",), levels=None, names=None,
        threads=2, jobs=None, folder=None, progress=None):
    """Draw a graph for each seed, run it and judge what comes out; returns GraphResults.

    seeds: whole numbers of at least 0. size: of SIZES. against: "reference", or "module:callable" of a driver to which
    the criteria of CTS hold [NN 16.10]. hals, vias: faces and ways as for conformance.run; each graph runs through all
    of them, and has only what the oldest face has. levels: of kernels, None for the machine's; a driver's own process
    has that of NNFAST_CPU. names: operations that graphs may have (list, or a text with commas), None for all. threads:
    of the device; jobs: processes, default one per usable core. folder: where failed graphs are written, made small.
    progress(done, total): called after each graph. Raises InvalidArgument for a wrong argument.
    """
    seeds = [whole(seed, "seed", 0, MOST_SEED) for seed in sequence(seeds, "seeds", "a list of whole numbers")]
    chosen_from(size, "size", tuple(SIZES))
    text(against, "against")
    subjects = subjects_of(hals, vias, levels)
    names = operations(names)
    names = None if names is None else sorted(names)
    version = min((FACES[hal] for hal in hals), key=VERSIONS.index)
    rows_of(None if names is None else frozenset(names), version)
    threads, jobs = (None if value is None else whole(value, what, 1, most)
                     for what, value, most in (("threads", threads, MOST_THREADS), ("jobs", jobs, None)))
    if progress is not None:
        called(progress, "progress")
    folder = None if folder is None else os.fspath(folder)
    results, start = GraphResults(), time.monotonic()
    done, labels = set(), [label(**subject) for subject in subjects]

    def finished(seed, rows):
        for name, row in zip(labels, rows):
            results.add(GraphResult(seed, name, *row))
        done.add(seed)
        results.graphs = len(done)
        if progress:
            progress(results.graphs, len(seeds))

    def died(seed, how):
        finished(seed, [(DIFFERS, how, _dump_crash(folder, (seed, size, names, version), how))] * len(subjects))

    tasks = [(None, [(seed, seed) for seed in seeds[at:at + CHUNK]]) for at in range(0, len(seeds), CHUNK)]
    arguments = json.dumps([size, names, version, subjects, threads, against, folder])
    Pool(tasks, jobs or len(os.sched_getaffinity(0)), "nnfast.conformance.randgraph.worker", arguments, finished, died,
         lambda seed: GRAPH_SECONDS, "graph").run()
    results.notable.sort(key=lambda result: (result.seed, labels.index(result.subject)))
    results.seconds = time.monotonic() - start
    return results


def subjects_of(hals, vias, levels):
    """[{hal, via, level}] of all that goes together."""
    for what, values, known in (("hal", hals, FACES), ("via", vias, ROUTES), ("level", levels, kernels.levels())):
        for value in sequence(values, what, "a list of names") if values is not None else ():
            chosen_from(value, what, tuple(known))
    found = []
    for hal, via in product(hals, vias):
        if via == BURST and hal in ("1.0", "1.1"):
            continue  # which have none
        for level in levels if levels is not None and via in HERE else (None,):
            found.append({"hal": hal, "via": via, "level": level})
    if not found:
        raise InvalidArgument(f"HAL {', '.join(hals)} has no way {', '.join(vias)}")
    return found


def _dump_crash(folder, drawn, how):
    if folder is None:
        return ""
    try:
        return dump(folder, draw_case(*drawn), how, f"randgraph/{drawn[1]}_{drawn[0]}")
    except Error:
        return ""
