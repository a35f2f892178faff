"""`nnfast run`: one model on a picture, on arrays, or on a seeded random input."""

import argparse
import statistics
import time

import numpy as np

from .. import trace
from ..batch import image
from ..errors import InvalidArgument
from ..tflite import metadata
from . import arrays, shapes
from .output import (
    Output,
    add_device_arguments,
    add_trace_argument,
    check_target,
    device_of,
    positive,
    table,
    tracing,
    waiting,
)

MAX_RUNS = 5
MAX_SECONDS = 2.0
"""Timing stops after this many runs or seconds, whichever comes first."""


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite, or of Model.save)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--image", metavar="F", help="picture, prepared as the file's metadata or these flags say:")
    source.add_argument("--input", metavar="F", help=".npy of the only input, or .npz with `input` or one array per "
                                                     "input name (`calls` = N: a sequence of N calls)")
    add_picture_arguments(parser)
    shapes.add_argument(parser)
    parser.add_argument("--labels", metavar="F", help="text file, one class name per line (default: the file's own)")
    parser.add_argument("--top", type=positive, default=5, metavar="N", help="classes to show (default 5)")
    parser.add_argument("--output", metavar="F.npz", help="write the outputs as output_0, output_1, ...")
    add_device_arguments(parser)
    add_trace_argument(parser)
    Output.add_argument(parser)


def add_picture_arguments(parser):
    """How pictures are prepared: what recipe_of takes."""
    pictures = parser.add_argument_group("pictures", "(v - mean) / std of bytes 0 to 255; without flags and metadata "
                                         "in [-1, 1] for floats, 0 and 255 the ends of a quantized range")
    pictures.add_argument("--mean", type=numbers, default=(), metavar="M[,M,M]", help="one, or one for each channel")
    pictures.add_argument("--std", type=numbers, default=(), metavar="S[,S,S]", help="one, or one for each channel")
    pictures.add_argument("--range", type=bounds, metavar="LOW,HIGH", help="what 0 and 255 become, instead")
    pictures.add_argument("--crop", type=share, default=image.CROP, metavar="SHARE",
                          help="middle square, as a share of the shorter side (default 0.875); 0: the whole picture")
    pictures.add_argument("--layout", choices=("nhwc", "nchw"), help="order of the input (default: by its shape)")


def numbers(text):
    """Tuple of the finite numbers of an option."""
    try:
        found = tuple(float(value) for value in text.split(","))
    except ValueError:
        found = ()
    if not found or not np.isfinite(found).all():
        raise argparse.ArgumentTypeError(f"{text}: must be numbers with commas between them")
    return found


def bounds(text):
    """(low, high) of an option."""
    found = numbers(text)
    if len(found) != 2 or found[0] >= found[1]:
        raise argparse.ArgumentTypeError(f"{text}: must be two numbers, the lower one first")
    return found


def share(text):
    """A number from 0 to 1."""
    found, *more = numbers(text)
    if more or not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text}: must be a number from 0 to 1")
    return found


def recipe_of(args, facts):
    """The image.Recipe of picture arguments, completed by what the file tells. facts: as of read_input."""
    mean, std = args.mean, args.std
    if args.range is not None:
        if mean or std:
            raise InvalidArgument("--range: says what --mean and --std say; give one of them")
        low, high = args.range
        std = (255 / (high - low),)
        mean = (-low * std[0],)
    elif not mean and not std and facts:
        mean, std = facts[0].mean, facts[0].std
    return image.Recipe(None if args.crop == 0 else args.crop, args.layout, mean, std)


def read_labels(path):
    """Lines of a text file."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().splitlines()
    except OSError as error:
        raise InvalidArgument(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{path}: not a text file in UTF-8") from None


def read_input(args, entries, facts):
    """(calls, is a sequence, text about where they come from). facts: tflite.metadata.Facts of each input, or []."""
    if args.input:
        calls, sequence = arrays.from_file(args.input, entries)
        return calls, sequence, f"{args.input}" + (f", {len(calls)} calls" if sequence else "")
    if args.image:
        if len(entries) != 1:
            raise InvalidArgument(f"a picture feeds one input, the model has {len(entries)}; use --input")
        return [[image.prepare(args.image, entries[0], recipe_of(args, facts))]], False, args.image
    return [arrays.random(entries)], False, f"random values (seed {arrays.SEED}); give --image or --input for real ones"


def read_metadata(args, file):
    """(Facts of each input, of each output, what is wrong with them or None); damage only stops who needs a picture."""
    if file is None:
        return [], [], None
    try:
        return *metadata.facts(args.model, file), None
    except InvalidArgument as error:
        if args.image:
            raise
        return [], [], str(error)


def run_calls(prepared, calls, sequence):
    """(outputs, milliseconds per call): one run of everything; a sequence's outputs are stacked."""
    if not sequence:
        start = time.perf_counter()
        outputs = prepared.run(calls[0])
        return outputs, 1e3 * (time.perf_counter() - start)
    stream = prepared.stream()
    start = time.perf_counter()
    steps = [stream.run(call) for call in calls]
    spent = 1e3 * (time.perf_counter() - start) / len(calls)
    return [np.stack(values) for values in zip(*steps)], spent


def measure(prepared, calls, sequence):
    """Milliseconds per call of a few warm runs."""
    spent, start = [], time.perf_counter()
    while len(spent) < MAX_RUNS and time.perf_counter() - start < MAX_SECONDS:
        spent.append(run_calls(prepared, calls, sequence)[1])
    return spent


def main(args):
    output = Output(args.json)
    if args.output:
        check_target(args.output)
    labels = read_labels(args.labels) if args.labels else None
    with tracing(args.trace, "nnfast run"):
        device = device_of(args)
        with waiting("prepare"):
            model, input_shapes, file = shapes.load(args.model, args.shape, args.relaxed)
            known_inputs, known_outputs, note = read_metadata(args, file)
            with trace.span("LA", "PC", "prepare"):
                prepared = device.prepare(model, input_shapes=input_shapes)
        calls, sequence, source = read_input(args, prepared.inputs, known_inputs)
        with waiting("first run"), trace.span("LA", "PWU", "first run"), trace.span("LA", "PE", "run"):
            outputs, _ = run_calls(prepared, calls, sequence)
        with waiting("measure"), trace.pause():
            spent = measure(prepared, calls, sequence)
        if trace.recorder is not None:
            with trace.span("LA", "PE", "run"):
                run_calls(prepared, calls, sequence)

    document = {"model": args.model, "input": source, "calls": len(calls), "runs": len(spent),
                "median_ms": statistics.median(spent),
                "outputs": [arrays.summary(entry, array) for entry, array in zip(prepared.outputs, outputs)]}
    output.say(f"model   {args.model}")
    output.say(f"input   {source}")
    if note:
        output.say(f"note    {note}; labels of the file are not used")
    unit = "call" if sequence else "run"
    output.say(f"time    {document['median_ms']:.3f} ms per {unit} (median of {len(spent)} after a warm-up)")
    output.say()
    if arrays.is_classifier(prepared.outputs, outputs):
        best = arrays.top(prepared.outputs[0], outputs[0], args.top)
        own = known_outputs[0].labels if known_outputs else None
        if labels is None and own is not None and len(own) == outputs[0].shape[1]:
            labels = own
        document["top"] = name_classes(best, labels, outputs[0].shape[1], args.labels)
        columns = 3 if labels else 2
        output.say(table(["class", "score", "label"][:columns],
                         [[row["class"], float(f"{row['score']:.6g}"), row["label"]][:columns]
                          for row in document["top"]]))
    elif labels is not None:
        raise InvalidArgument("--labels is for classifiers: one output [1, classes] with at least 10 classes")
    else:
        output.say(table(["output", "dtype", "shape", "min", "max", "mean"], [
            [row["name"], row["dtype"], row["shape"], *(f"{row[key]:.6g}" if row.get(key) is not None else "-"
                                                        for key in ("min", "max", "mean"))]
            for row in document["outputs"]]))
    if args.output:
        with open(args.output, "wb") as stream:
            np.savez(stream, **{f"output_{place}": array for place, array in enumerate(outputs)})
    output.finish(document)
    return 0


def name_classes(best, labels, classes, path):
    """[{class, score, label}]; a label file must name all classes."""
    if labels is not None and len(labels) != classes:
        raise InvalidArgument(f"{path}: {len(labels)} labels for {classes} classes")
    return [{"class": place, "score": score, "label": labels[place] if labels else ""} for place, score in best]
