"""`nnfast mlts`: latency and accuracy of models on real data, as Android's Machine Learning Test Suite has it."""

import time

from .. import config
from ..bench.mlts.evaluators import TITLES
from ..errors import InvalidArgument
from .output import Output, check_target, positive, progress, rich_table, seconds
from .ways import WAYS

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
    parser.add_argument("--via", choices=WAYS, default="local", help="way to the driver: local (default), burst (rings "
                                                                     "in shared memory), service (a driver's process)")
    parser.add_argument("--levels", action="store_true", help="time every instruction level too")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads (default: see nnfast info)")
    parser.add_argument("--report", metavar="F.html", help="write a web page: verdicts, plots, times, machine")
    parser.add_argument("--csv", metavar="F", help="write the benchmark's own CSV")
    Output.add_argument(parser)


def main(args):
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
        known = {**surroundings(driver.device, False), "via": args.via}
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


# -- what is shown -----------------------------------------------------------------------------------------------------
COLOURS = {"good": "green", "failed": "red", "skipped": "yellow"}


def machine_of(document):
    """Machine, version and way in one line."""
    way = "" if document["via"] == "local" else f", via {document['via']}"
    return (f"nnfast {document['nnfast']}, {document['cpu']}, level {document['level']}, {document['threads']} of "
            f"{document['processors']} threads, load {document['load']:.1f}{way}")


def table_of(document):
    """The summary, a line for each model."""
    rows = []
    for model in document["models"]:
        verdict = f"[bold {COLOURS[model['verdict']]}]{model['verdict']}[/]"
        if "latency" not in model:
            rows.append([verdict, model["name"], *[""] * 9])
            continue
        times, made = model["latency"], model.get("compilation", {})
        rows.append([verdict, model["name"], f"{model['sequences']} {model['unit']}", accuracy_of(model["values"]),
                     expected_of(model), beside_of(model), golden_of(model),
                     *(f"{times[key]:.3f}" for key in ("p50_ms", "p99_ms")),
                     *(f"{made[kind]['p50_ms']:.2f}" if kind in made else "-"
                       for kind in ("without_cache", "prepare_from_cache"))])
    return rich_table(machine_of(document), ["verdict", "model", "data", "accuracy", "limit", "baseline", "golden",
                                             ">p50 ms", ">p99 ms", ">prepare", ">from file"],
                      rows, "ms of single steps, and medians of preparing; baseline, golden: data with equal outputs, "
                            "or the largest difference as a share of the largest value of all data")


def accuracy_of(values):
    """Text of an evaluator's values: top-1 and top-5, or errors."""
    if "top_1" in values:
        return f"{values['top_1']:.1%}, top-5 {values['top_5']:.1%}"
    return ", ".join(f"{TITLES[key]} {number_of(value)}" for key, value in values.items())


def number_of(value):
    return "not a number" if value is None else f"{value:.3g}"


def expected_of(model):
    """What accuracy must at least be, and errors at most, as text."""
    return ", ".join(f"{limit:.1%}" if key == "top_1" else f"{limit:g}" for key, limit in model["limits"].items())


def beside_of(model):
    """Difference from the baseline, as text."""
    beside = model.get("baseline")
    if beside is None:
        return "-"
    return "skipped" if "reason" in beside else difference_of(beside["difference"], model["quantized"])


def golden_of(model):
    return difference_of(model["golden"], model["quantized"]) if "golden" in model else "-"


def difference_of(difference, quantized):
    """Text of a difference: how many are equal; of floats how far the worst is apart."""
    if quantized or difference["equal"] == difference["sequences"]:
        return f"{difference['equal']} of {difference['sequences']} equal"
    return f"to {number_of(difference['max_relative_error'])}"


def size_of(count):
    return "-" if not count else f"{count / 1e6:.2f} MB"


def problems_of(document):
    """Lines that say what is wrong, and why a baseline or a model was left out."""
    reasons = {}
    for model in document["models"]:
        yield from (f"{model['name']}: {text}" for text in model["problems"])
        if "skipped" in model:
            yield f"{model['name']}: skipped: {model['skipped']}"
        reason = model.get("baseline", {}).get("reason")
        if reason:
            reasons.setdefault(reason, model["name"])
    yield from (f"baseline skipped for {name}: {reason}" for reason, name in reasons.items())


def total_of(document):
    """Counts of verdicts, in one line."""
    counts = {verdict: sum(model["verdict"] == verdict for model in document["models"]) for verdict in COLOURS}
    return f"{', '.join(f'{count} {verdict}' for verdict, count in counts.items())} in {document['seconds']:.1f} s"
