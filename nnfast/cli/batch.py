"""`nnfast batch`: a model over folders of pictures, arrays and tables, with restart (docs/batch.md)."""

import argparse
import sys
import time
from types import SimpleNamespace

from ..batch import runner
from ..batch.sources import open_sources
from ..batch.store import digest_of
from ..checks import counted
from ..tflite import metadata
from . import shapes
from .output import Output, add_device_arguments, device_of, positive, progress, waiting
from .run import add_picture_arguments, recipe_of

CHUNK = 64


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite, or of Model.save)")
    parser.add_argument("inputs", metavar="INPUT", nargs="+", help="folder of pictures, a picture, .npy, .npz, .zarr "
                        "or .parquet; items along the first dimension")
    parser.add_argument("--output", metavar="OUT", required=True, help="results: .npy (one output), .npz, .zarr or "
                        ".parquet, with the names of the items; OUT.failed.csv lists items without results")
    parser.add_argument("--overwrite", action="store_true", help="begin anew, whatever is there")
    parser.add_argument("--chunk", type=positive, default=CHUNK, metavar="N",
                        help=f"items after which work is kept (default {CHUNK})")
    parser.add_argument("--batch", type=positive, default=1, metavar="N", help="items of one execution (default 1)")
    parser.add_argument("--clients", type=positive, metavar="N",
                        help="executions at once, which share out the threads (default: one for each thread)")
    cluster = parser.add_mutually_exclusive_group()
    cluster.add_argument("--workers", type=positive, metavar="N", help="on so many processes of this machine (Dask)")
    cluster.add_argument("--scheduler", metavar="ADDRESS", help="on the workers of a Dask scheduler, such as "
                         "tcp://host:8786, which must see the inputs under the same paths")
    parser.add_argument("--column", action="append", type=column, default=[], metavar="INPUT=COLUMN",
                        help="column of a parquet file for an input (default: of the input's name)")
    add_picture_arguments(parser)
    shapes.add_argument(parser)
    add_device_arguments(parser)
    Output.add_argument(parser)


def column(text):
    """(input name, column) of a --column."""
    name, equals, found = text.partition("=")
    if not name or not equals or not found:
        raise argparse.ArgumentTypeError(f"{text}: must be the name of an input, '=' and the name of a column")
    return name, found


def main(args):
    output = Output(args.json)
    with open(args.model, "rb") as stream:
        model_digest = digest_of(stream.read())
    device = device_of(args)
    with waiting("prepare"):
        model, input_shapes, file = shapes.load(args.model, args.shape, args.relaxed)
        prepared = device.prepare(model, input_shapes=input_shapes)

    def recipe():
        return recipe_of(args, [] if file is None else metadata.facts(args.model, file)[0])

    source = open_sources(args.inputs, prepared.inputs, recipe, dict(args.column))
    options = {"model": model_digest, "batch": args.batch, "precision": args.precision, "relaxed": args.relaxed,
               "without_passes": args.without_passes, "shapes": sorted(args.shape)}
    began = time.perf_counter()
    with runner.Run(args.output, source, runner.outputs_of(prepared), args.chunk, options, args.overwrite) as run:
        before = run.done
        try:
            starting, reason = compute(args, run, model, prepared, source)
        except KeyboardInterrupt:
            print(f"nnfast: {run.finished_items()} of {run.count} items are finished and kept; the same command goes "
                  "on", file=sys.stderr)
            raise
        is_old = run.report is not None
        report = run.finish()
    spent = time.perf_counter() - began
    computed = report["items"] - before
    output.say(f"{args.output}: {report['written']} of {report['items']} items"
               + (" (complete already)" if is_old else f", {before} of them finished before" if before else ""))
    if report["failed"]:
        output.say(f"{args.output}.failed.csv: {counted(report['failed'], 'item')} without results")
    if reason:
        output.say(f"each item ran alone: {reason}")
    if computed:
        started = f", {starting:.1f} s of them to reach workers" if args.workers or args.scheduler else ""
        output.say(f"{spent:.1f} s{started}; {computed / (spent - starting):.1f} items/s")
    output.finish({**report, "output": args.output, "computed": computed, "seconds": spent, "starting": starting})
    return int(report["failed"] > 0)


def compute(args, run, model, prepared, source):
    """Compute and keep what is missing; returns (seconds before workers were there, why items do not run in batches as
    asked, or "")."""
    if not run.missing:
        return 0.0, ""
    if args.workers or args.scheduler:
        return compute_on_workers(args, run, model, prepared, source), ""
    with progress("batch") as move, \
            runner.results_of(prepared, source, run.missing, args.batch, args.clients) as results:
        for number, part in runner.parts_of(results, run.missing, run.outputs, mover(run, move)):
            run.keep(number, part)
        return 0.0, results.reason


def compute_on_workers(args, run, model, prepared, source):
    began = time.perf_counter()
    from ..distributed import Chunks, ModelOnWorkers, connected

    device = prepared.device
    reference = ModelOnWorkers(model, prepared.options.input_shapes, precision=device.precision,
                               without_passes=tuple(sorted(device.without_passes)))
    with connected(args.scheduler, args.workers, args.threads) as client, progress("batch") as move, \
            Chunks(client, reference, source, run.outputs, args.batch) as chunks:
        starting = time.perf_counter() - began
        moved = mover(run, move)
        for number, part in chunks.parts(run.missing):
            run.keep(number, part)
            moved(len(part.places) + len(part.failed))
    return starting


def mover(run, move):
    """Function(count) that moves a progress bar by so many items, and shows how many there are in a second."""
    state = SimpleNamespace(done=run.done, began=time.perf_counter())

    def moved(count):
        state.done += count
        rate = (state.done - run.done) / max(time.perf_counter() - state.began, 1e-9)
        move(state.done, run.count, f"{rate:.1f} items/s")

    move(run.done, run.count)
    return moved
