"""`nnfast mlts`: latency and accuracy of models on real data, as Android's Machine Learning Test Suite has it."""

import time

from .. import config
from ..bench.ways import MLTS_WAYS
from ..errors import InvalidArgument
from ..extras import needed
from .mlts_text import machine_of, problems_of, table_of, total_of
from .output import Output, check_target, positive, progress, seconds

BASELINES = ("litert", "reference")


def add_arguments(parser):
    parser.add_argument("--models", metavar="DIR", default=".", help="folder with .tflite files, or a list of models "
                                                                     "(.json); default: the current folder")
    parser.add_argument("--data", metavar="DIR", help="folder with photos, sequences and goldens (default: that of the "
                                                      "models)")
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name has this text")
    parser.add_argument("--limit", type=positive, metavar="N", help="the first N photos or sequences of each model")
    parser.add_argument("--seconds", type=seconds, default=1.0, metavar="S",
                        help="timed runs of each model, at least; all data runs once in any case (default 1)")
    parser.add_argument("--baseline", choices=BASELINES, help="hold outputs against LiteRT's reference kernels, or "
                                                              "against the scalar kernels that define nnfast's")
    parser.add_argument("--litert-python", metavar="PY", help="a Python that has LiteRT (default: that of "
                                                              "NNFAST_LITERT_PYTHON, else this one)")
    parser.add_argument("--via", choices=MLTS_WAYS, default="local", help="way to the driver: local (default), burst "
                        "(rings in shared memory), service (a driver's process), ndk (the C library in front of one)")
    parser.add_argument("--levels", action="store_true", help="time every instruction level too")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads (default: see nnfast info)")
    parser.add_argument("--report", metavar="F.html", help="write a web page: verdicts, plots, times, machine")
    parser.add_argument("--csv", metavar="F", help="write the benchmark's own CSV")
    Output.add_argument(parser)


def main(args):
    if args.report:
        needed("matplotlib", "--report")  # before what takes long
    from ..bench.mlts import manifest, results
    from ..bench.mlts.driver import Driver
    from ..bench.mlts.suite import FAILED, Options, Suite
    from .benchmark import surroundings

    output = Output(args.json)
    for path in filter(None, (args.report, args.csv)):
        check_target(path)
    if args.levels and args.via != "local":
        raise InvalidArgument("--levels: other levels run in this process only; leave out --via")
    entries = [entry for entry in manifest.read(args.models, args.data) if args.only in entry.name]
    if not entries:
        raise InvalidArgument(f"--only {args.only}: no model has this in its name")
    began = time.time()
    with progress("models") as move, Driver(args.via, args.threads) as driver:
        known = {**surroundings(driver.local, False), "via": args.via}
        suite = Suite(driver, Options(args.seconds, args.limit, args.levels), baseline_of(args, driver))
        found = suite.run(entries, move)
    document = {**known, "date": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began)),
                "seconds": time.time() - began, "baseline": args.baseline,
                "models": [results.document_of(result, times=True) for result in found]}
    output.show(table_of(document))
    for line in problems_of(document):
        output.say(line)
    output.say(total_of(document))
    if args.csv:
        results.write_csv(args.csv, found, machine_of(document), f"nnfast_{args.via}")
    if args.report:
        from .mlts_page import write

        write(args.report, document)
    output.finish(document)
    return int(any(result.verdict == FAILED for result in found))


def baseline_of(args, driver):
    """A member of bench.mlts.baseline, or None."""
    from ..bench.mlts.baseline import LiteRT, Reference

    if args.baseline == "litert":
        return LiteRT(args.litert_python or config.get("NNFAST_LITERT_PYTHON") or None)
    return Reference(driver.num_threads) if args.baseline else None
