"""`nnfast check`: every operator of a file beside LiteRT's reference kernels, and the first difference."""

import argparse
import shutil
from types import SimpleNamespace

from .. import config
from ..errors import InvalidArgument
from . import arrays, shapes
from .output import Output, table, waiting

NARROWEST = 8
"""Characters of a tensor's name that the table shows at least."""


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite)")
    parser.add_argument("--inputs", metavar="F", help=".npy of the only input, or .npz with one array per input name "
                                                      "(`calls` = N: a sequence of N calls); default: random values")
    parser.add_argument("--seed", type=seed, default=arrays.SEED, metavar="N", help="of random values (default 0)")
    shapes.add_argument(parser)
    parser.add_argument("--litert-python", metavar="PY", help="a Python that has LiteRT (default: that of "
                                                              "NNFAST_LITERT_PYTHON, else this one)")
    Output.add_argument(parser)


def seed(text):
    """A whole number of at least 0."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number of at least 0")
    return int(text)


def main(args):
    from ..conformance.litert.check import Subject, check
    from ..conformance.litert.peer import Peer

    output = Output(args.json)
    subject = Subject(args.model)
    calls, source = read_inputs(args, subject)
    with waiting("every operator, here and in LiteRT"):
        report = check(subject, calls, Peer(args.litert_python or config.get("NNFAST_LITERT_PYTHON") or None))
    output.say(f"model   {args.model}")
    output.say(f"inputs  {source}")
    output.say(f"beside  {report.version}, {report.resolver}")
    output.say()
    output.say(table_of(report, shutil.get_terminal_size((200, 24)).columns))
    output.say()
    for line in summary(report):
        output.say(line)
    output.finish(document(args.model, source, report))
    return 0 if report.is_well else 1


def read_inputs(args, subject):
    """([{tensor index: array} of each call], text about where they come from)."""
    known = dict(args.shape)
    for name in known:
        if name not in subject.inputs:
            raise InvalidArgument(f"--shape {name}: no such input; there are {', '.join(map(repr, subject.inputs))}")
    if args.inputs is None:
        calls = subject.random_calls({subject.inputs[name]: dims for name, dims in known.items()}, args.seed)
        return calls, f"random values (seed {args.seed})" + (f", {len(calls)} calls" if len(calls) > 1 else "")
    if known:
        raise InvalidArgument("--shape: not with --inputs, whose arrays have their shapes")
    found, _ = arrays.from_file(args.inputs, [SimpleNamespace(name=name) for name in subject.inputs])
    calls = [dict(zip(subject.inputs.values(), call)) for call in found]
    return calls, args.inputs + (f", {len(calls)} calls" if len(calls) > 1 else "")


# -- what is shown -----------------------------------------------------------------------------------------------------
def table_of(report, width):
    """Text of the table, as wide as the terminal: names lose their beginnings."""
    headers = ["op", "operator", "tensor", "type", "shape", "largest", "verdict"]
    rows = [[row.index, row.operator, row.name, row.dtype, "x".join(map(str, row.shape)), largest(row),
             row.difference.verdict] for row in report.rows]
    rest = sum(max(len(str(cells[i])) for cells in (headers, *rows)) for i in range(len(headers)) if i != 2)
    room = max(NARROWEST, width - rest - 2 * (len(headers) - 1))
    for cells in rows:
        cells[2] = cells[2] if len(cells[2]) <= room else "..." + cells[2][3 - room:]
    return table(headers, rows)


def largest(row):
    """Largest difference of floats as a share of the largest value; of integers how many differ, and by how much."""
    difference = row.difference
    if difference.verdict in ("-", "same"):
        return "0" if difference.verdict == "same" else ""
    if difference.largest is None:
        return "n/a"
    return f"{difference.largest:.1e}" if row.dtype.startswith(("float", "complex")) else \
        f"{difference.differing}, by {difference.largest:.0f}"


def summary(report):
    """Lines below the table."""
    count = {verdict: sum(row.difference.verdict == verdict for row in report.rows)
             for verdict in ("same", "within", "carried", "DIFFERS", "-")}
    yield (f"{len(report.rows)} results: {count['same']} same, {count['within']} within the bound, "
           f"{count['carried']} carried, {count['DIFFERS']} differ, {count['-']} not compared")
    if report.first is not None:
        yield f"first difference: {report.first}"
    if not report.fused:
        yield "the outputs are others where intermediate results are not kept"


def document(path, source, report):
    """The check as plain values."""
    return {"model": path, "inputs": source, "calls": report.calls, "litert": report.version,
            "resolver": report.resolver, "well": report.is_well, "fused": report.fused,
            "first": None if report.first is None else report.rows.index(report.first),
            "rows": [{"index": row.index, "operator": row.operator, "tensor": row.tensor, "name": row.name,
                      "dtype": row.dtype, "shape": list(row.shape), "verdict": row.difference.verdict,
                      "values": row.difference.values, "differing": row.difference.differing,
                      "largest": row.difference.largest, "bound": row.bound, "where": list(row.difference.where),
                      "text": row.difference.text} for row in report.rows]}
