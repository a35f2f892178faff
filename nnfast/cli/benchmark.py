"""`nnfast benchmark`: time of models, beside LiteRT where it is installed, and of each operation against the limits; of
rings between processes."""

import os
import time
from functools import partial
from types import SimpleNamespace

import numpy as np

from .. import trace
from ..bench.ways import WAYS, opened
from ..checks import counted
from ..errors import InvalidArgument
from ..extras import needed
from . import arrays, shapes
from .output import (
    Output,
    add_device_arguments,
    add_trace_argument,
    check_target,
    device_of,
    positive,
    progress,
    rich_table,
    tracing,
    waiting,
)

OPERATION_RUNS = 30
"""Timed runs behind the table of operations, at most; --runs may ask for fewer."""

TRACED_RUNS = 10
"""Runs that a trace shows; the timed ones are not recorded."""


def add_arguments(parser):
    parser.add_argument("models", metavar="MODEL", nargs="*", help="model file (.tflite)")
    parser.add_argument("--rings", action="store_true", help="instead: rings between two processes, beside a bare "
                                                             "futex, a pipe, a Unix socket and multiprocessing.Queue")
    parser.add_argument("--throughput", action="store_true", help="instead: items per second in batches of 1 to 32, by "
                                                                  "one client with all threads to one for each")
    parser.add_argument("--plot", metavar="F", help="with --rings: also draw the table (.png, .svg)")
    parser.add_argument("--via", action="append", choices=WAYS, metavar="WAY",
                        help="also through: burst (rings in shared memory, both ends polling), service (a driver's "
                             "process); both: a burst to that process too")
    shapes.add_argument(parser)
    add_device_arguments(parser)
    parser.add_argument("--runs", type=positive, metavar="N",
                        help="runs of each engine (default: two seconds of them); turns of --rings (20)")
    parser.add_argument("--per-op", action="store_true",
                        help="time, share, rate and part of the machine's limit of every operation")
    parser.add_argument("--html", metavar="F", help="also write the tables as a web page: sortable, with a bar per row")
    add_trace_argument(parser)
    Output.add_argument(parser)


def main(args):
    output = Output(args.json)
    for path in (args.html, args.plot):
        if path:
            check_target(path)
    if args.plot and not args.plot.lower().endswith((".png", ".svg")):
        raise InvalidArgument(f"--plot: {args.plot} is not the name of a picture; use one that ends in .png or .svg")
    if args.rings:
        if args.plot:
            needed("matplotlib", "--plot")  # before what takes long
        return main_rings(args, output)
    if not args.models or args.plot:
        raise InvalidArgument("--plot: needs --rings" if args.models else "name a model file, or --rings")
    if args.throughput:
        return main_throughput(args, output)
    with tracing(args.trace, "nnfast benchmark"):
        device = device_of(args)
        with waiting("prepare"):
            subjects = [load(path, device, args.relaxed, args.shape) for path in args.models]
        limits = measure_limits(device.num_threads) if args.per_op else None
        with progress("benchmark") as move, opened(args.via or (), device) as others:
            with trace.pause():
                found = [measure(subject, device, args, limits, position, len(subjects), move, others)
                         for position, subject in enumerate(subjects)]
        if trace.recorder is not None:
            for subject in subjects:
                with trace.span("LA", "PBM", subject.path):
                    for _ in range(TRACED_RUNS):
                        subject.prepared.run(subject.inputs, subject.outputs)
    document = {**surroundings(device, args.relaxed), "models": found}
    if limits is not None:
        document["limits"] = limits
    tables = tables_of_models(document) + [table_of_operations(row, document) for row in found if "operations" in row]
    output.show(*tables)
    if args.html:
        from .page import write_page

        write_page(args.html, tables)
    output.finish(document)
    return 0


def main_rings(args, output):
    from . import rings

    if args.models:
        raise InvalidArgument("--rings: runs no models")
    document = rings.measure(args.runs or 20)
    tables = [rings.table(document)]
    output.show(*tables)
    if args.plot:
        rings.plot(document, args.plot)
    if args.html:
        from .page import write_page

        write_page(args.html, tables)
    output.finish(document)
    return 0


def main_throughput(args, output):
    from . import throughput

    if args.via or args.per_op or args.trace:
        raise InvalidArgument("--throughput: leave out --via, --per-op and --trace")
    device = device_of(args)
    subjects = [load(path, device, args.relaxed, args.shape) for path in args.models]
    document = {**surroundings(device, args.relaxed), "models": throughput.measure(subjects, args.runs or 5)}
    tables = [throughput.table(document)]
    output.show(*tables)
    if args.html:
        from .page import write_page

        write_page(args.html, tables)
    output.finish(document)
    return 0


def surroundings(device, relaxed):
    """Where it was measured: processor, level, threads, version, load."""
    from .. import __version__
    from .._native import kernels
    from ..driver.capabilities import processor

    return {"nnfast": __version__, "cpu": processor(), "level": kernels.level(), "threads": device.num_threads,
            "precision": device.precision, "relaxed": relaxed, "without_passes": sorted(device.without_passes),
            "processors": os.cpu_count(), "load": os.getloadavg()[0]}


def load(path, device, relaxed, given=()):
    """A model, prepared, with inputs and the milliseconds of each step; refused early where it cannot be timed.

    given: (input name, dimensions) of --shape.
    """
    def timed(action):
        start = time.perf_counter()
        result = action()
        return result, 1e3 * (time.perf_counter() - start)

    (model, input_shapes, _), load_ms = timed(lambda: shapes.load(path, given, relaxed))
    prepared, prepare_ms = timed(lambda: device.prepare(model, input_shapes=input_shapes))
    try:
        inputs = arrays.random(prepared.inputs)
    except InvalidArgument:
        raise InvalidArgument(f"{path}: the shape of an input is not fixed; give it with --shape") from None
    outputs, first_ms = timed(lambda: prepared.run(inputs))
    return SimpleNamespace(path=path, model=model, prepared=prepared, inputs=inputs, outputs=outputs,
                           spent={"load_ms": load_ms, "prepare_ms": prepare_ms, "first_ms": first_ms})


def measure_limits(threads):
    from ..bench import peak

    with progress("limits of the machine") as move:
        return peak.limits((threads,), progress=move)


def measure(subject, device, args, limits, position, count, move, others):
    """Everything about one model, as plain values: {"model", "engines": [...], "operations": [...]}."""
    from ..bench import operations, peak
    from ..bench.timing import Contestant, take_turns

    name = os.path.basename(subject.path)
    prepared, inputs, out = subject.prepared, subject.inputs, subject.outputs
    contestants = [Contestant("nnfast", lambda: prepared.run(inputs, out))]
    facts = [dict(subject.spent)]
    row = {"model": subject.path, "engines": []}
    for way, run, known in others(subject.model, prepared):
        start = time.perf_counter()
        run(inputs)
        facts.append({"load_ms": None, **known, "first_ms": 1e3 * (time.perf_counter() - start)})
        contestants.append(Contestant(way, partial(run, inputs)))
    peer, why = find_peer(subject, device.num_threads)
    if peer is None:
        row["peer"] = why
    else:
        facts.append({"load_ms": peer.prepare_ms, "prepare_ms": None, "first_ms": peer.first_ms,
                      "difference": difference(subject, peer.outputs)})
        contestants.append(Contestant(peer.name, lambda: peer.run(inputs)))
    take_turns(contestants, args.runs, progress=lambda done, total: move(position * total + done, count * total, name))
    for contestant, known in zip(contestants, facts):
        row["engines"].append({"engine": contestant.name, **known, **contestant.summary(),
                               "times_ms": contestant.times_ms})
    if limits is not None:
        meter = peak.Meter(limits, operations.types_of(prepared, inputs), device.num_threads)
        rows = operations.measure(prepared, inputs, min(args.runs or OPERATION_RUNS, OPERATION_RUNS), meter)
        row["operations"] = operations.compare(rows, limits, device.num_threads)
        row["peaks"] = meter.summary()
        row["total"] = operations.total(rows)
    return row


def find_peer(subject, threads):
    """(LiteRT on the same model after its first run, None), or (None, why there is none)."""
    from ..bench import peers

    if peers.find() is None:
        return None, "LiteRT is not installed"
    try:
        peer = peers.LiteRT(subject.path, threads, [array.shape for array in subject.inputs])
        start = time.perf_counter()
        peer.outputs = peer.run(subject.inputs)
        peer.first_ms = 1e3 * (time.perf_counter() - start)
    except (RuntimeError, ValueError) as error:
        return None, f"LiteRT does not run it: {' '.join(str(error).split())}"
    return peer, None


def difference(subject, theirs):
    """Largest difference of the outputs of the first run, in steps of quantized outputs; None where shapes differ."""
    ours = subject.prepared.run(subject.inputs)
    if [a.shape for a in ours] != [b.shape for b in theirs]:
        return None
    return max((float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0))
                for a, b in zip(ours, theirs)), default=0.0)


# -- what is shown -----------------------------------------------------------------------------------------------------
def tables_of_models(document):
    """What runs take, and what comes before them: each fits 80 columns."""
    threads = f"{document['threads']} of {document['processors']} threads"
    precision = (f", {document['precision']}" if document["precision"] else "") + \
        (", relaxed" if document["relaxed"] else "") + "".join(f", no {name}" for name in document["without_passes"])
    title = f"{document['cpu']}, level {document['level']}{precision}, {threads}, load {document['load']:.1f}"
    warm, cold, notes = [], [], []
    for model in document["models"]:
        ours = model["engines"][0]
        for place, engine in enumerate(model["engines"]):
            names = ["" if place else os.path.basename(model["model"]), engine["engine"]]
            ratios = [engine[key] / ours[key] for key in ("median_ms", "min_ms")]
            warm.append([*names, milliseconds(engine["median_ms"]), milliseconds(engine["min_ms"]),
                         f"{engine['spread_percent']:.1f}",
                         *("" if not place else f"[{'green' if r >= 1 else 'red'}]{r:.2f}x" for r in ratios)])
            cold.append([*names, *(milliseconds(engine[key]) for key in ("load_ms", "prepare_ms", "first_ms")),
                         str(engine["runs"])])
        if "peer" in model and model["peer"] not in notes:
            notes.append(model["peer"])
    notes.append("ms of warm runs in turns, numpy in, numpy out; spread: middle half of them; ahead: how many times as "
                 "long the other takes, by median and by minimum")
    return [rich_table(title, ["model", "engine", ">median", ">min", ">spread %", ">ahead", ">by min"], warm,
                       "; ".join(notes), folded=("model", "engine")),
            rich_table(None, ["model", "engine", ">load", ">prepare", ">first run", ">warm runs"], cold,
                       "ms before the warm runs, and how many there were", folded=("model", "engine"))]


def milliseconds(value):
    """Three figures, at least."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def table_of_operations(model, document):
    def cells(row):
        percent = row["percent"]
        colour = "dim" if percent is None or row["share"] < 0.01 else \
            "green" if percent >= 80 else "yellow" if percent >= 50 else "red"
        return [str(row["index"]), row["operation"], "x".join(map(str, row["shape"] or ())), row["kernel"],
                f"{row['us']:,.1f}", f"{100 * row['share']:.1f}",
                "" if row["rate"] is None else f"{row['rate']:,.1f} {row['unit']}", row["bound"],
                "[dim]busy" if not row["usable"] else "" if percent is None else f"[{colour}]{percent:.0f}",
                *(f"{row['percents'][level]:.0f}" if level in row["percents"] else "" for level in slower)]

    slower = [row["isa"] for before, row in zip(model["peaks"], model["peaks"][1:]) if before["types"] == row["types"]]
    total = model["total"]
    whole = ", the machine was busy: no share of its limit" if not total["usable"] else \
        "" if total["percent"] is None else f", {total['percent']:.0f} % of the machine's limit"
    busy = "" if all(row["usable"] for row in model["operations"]) else \
        "; busy: beyond the limit, which was measured while others used the machine: measure again when they do not"
    saved = "; above 100: Winograd's method does fewer products than are counted" if any(
        row["usable"] and row["percent"] is not None and row["percent"] > 100 and "winograd" in row["kernel"]
        for row in model["operations"]) else ""
    count = len(model["operations"])
    peaks = ", ".join(f"{row['types']} {row['isa']} {row['rate']:,.0f} {row['unit']}" for row in model["peaks"])
    return rich_table(
        f"{os.path.basename(model['model'])}: {total['us'] / 1e3:.3f} ms in {counted(count, 'operation')}{whole}",
        [">op", "operation", "output", "kernel", ">us", ">share %", ">rate", "bound", ">% of limit",
         *(f">% of {level}" for level in slower)],
        [cells(row) for row in model["operations"]],
        "limit: the slower of all arithmetic at the peak and one read of all bytes from the named memory"
        + (f"; peaks, measured in turns with the runs (medians): {peaks}" if peaks else "") + saved + busy,
        folded=("operation", "kernel"),
        order=(*(f"% of {level}" for level in slower), "bound", "output", "rate", "% of limit"))
