"""What commands print: plain tables, the JSON document, progress; and argument types they share."""

import argparse
import io
import json
import os
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec

from ..checks import shown
from ..errors import InvalidArgument

MOST = 1 << 60
"""Larger numbers mean nothing as bytes or counts, and the system's calls do not take them."""


PATIENCE_SECONDS = 1.0


def positive(text):
    """argparse type: a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number from 1 to {MOST}")
    return value


def seconds(text):
    """argparse type: seconds from 0 to a billion."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e9:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number of seconds from 0 to 1e9")
    return value


def above_zero(most=1e9):
    """argparse type: a number above 0, up to `most`."""
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= most:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not a number above 0, up to {most:g}")
        return value

    return parse


def add_device_arguments(parser):
    """--threads, --precision and --without-passes, as nnfast.Device takes them, and --relaxed, as nnfast.load does."""
    parser.add_argument("--threads", type=positive, metavar="N", help="threads (default: see nnfast info)")
    parser.add_argument("--precision", metavar="P", help="bf16: faster and less exact convolutions and fully connected "
                                                         "layers in float32 models (default: exact)")
    parser.add_argument("--relaxed", action="store_true", help="float32 may be computed as precisely as float16: large "
                                                               "LSTM weights are stored as halves")
    parser.add_argument("--without-passes", metavar="PASS[,PASS]", help="rewrites of the compiler to leave out, as "
                        "row_fusion (docs/passes.md lists all)")


def device_of(args):
    """The nnfast.Device that the arguments of add_device_arguments ask for."""
    import nnfast

    names = args.without_passes.split(",") if args.without_passes is not None else ()
    return nnfast.Device(num_threads=args.threads, precision=args.precision, without_passes=names)


def check_target(path):
    """Refuse early a file that could not be written at the end."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise InvalidArgument(f"{path}: folder {folder} does not exist")
    if os.path.isdir(path):
        raise InvalidArgument(f"{path}: is a folder, must be a file")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise InvalidArgument(f"{path}: is not writable")


class Output:
    """Text on stdout and a JSON document in `json_path`; with "-" the document is all that goes to stdout."""

    def __init__(self, json_path=None):
        self.json_path = json_path
        if json_path not in (None, "-"):
            check_target(json_path)

    @staticmethod
    def add_argument(parser):
        parser.add_argument("--json", metavar="FILE", help="also write the result as JSON ('-': to stdout, instead)")

    def say(self, text=""):
        if self.json_path != "-":
            print(text)

    def show(self, *tables):
        """Print rich tables: as wide as the terminal, or as they like where there is none."""
        if self.json_path != "-":
            console(sys.stdout).print(*tables)

    def finish(self, document):
        """Write the document where it was asked for."""
        if self.json_path is None:
            return
        text = json.dumps(document, indent=1, allow_nan=False)
        if self.json_path == "-":
            print(text)
        else:
            with open(self.json_path, "w", encoding="utf-8") as stream:
                stream.write(text + "\n")


def add_trace_argument(parser):
    """The argument --trace, for `tracing`."""
    parser.add_argument("--trace", metavar="F", help="write a trace of everything that runs, for ui.perfetto.dev; see "
                                                     "nnfast trace")


@contextmanager
def tracing(path, detail):
    """A trace of the block, which is one application run, into a file; none where path is None."""
    if path is None:
        yield None
        return
    from .. import trace

    check_target(path)
    with trace.record() as recorder:
        with trace.span("LA", "PO", detail):
            yield recorder
    recorder.save(path)


def table(headers, rows):
    """Text of a table: columns as wide as needed, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [headers, *rows]]
    right = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(headers))]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    lines = ["  ".join(cell.rjust(width) if to_right else cell.ljust(width)
                       for cell, width, to_right in zip(row, widths, right)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def console(stream=None):
    """A rich console on a stream; one that is not a terminal gets lines of up to 200 characters, no colours."""
    from rich.console import Console

    stream = io.StringIO() if stream is None else stream
    width = None if stream.isatty() else 200
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def rich_table(title, columns, rows, caption=None, folded=(), order=()):
    """A cli.fitted.FittedTable, for which rich must be there."""
    from .fitted import FittedTable

    return FittedTable(title, columns, rows, caption, folded, order)


@contextmanager
def waiting(text):
    """A sign of life on stderr while the block takes longer than PATIENCE_SECONDS, where that is a terminal and rich is
    installed: for what nobody can count."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{text} ...")
    late = threading.Timer(PATIENCE_SECONDS, status.start)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        status.stop()


@contextmanager
def progress(text):
    """A function (done, total, note) that moves a bar on stderr, where that is a terminal and rich is installed."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda done, total, note="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    note = TextColumn("{task.fields[note]}")
    columns = TextColumn(text), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), note
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None, note="")
        yield lambda done, total, note="": bar.update(task, completed=done, total=total, note=note)
