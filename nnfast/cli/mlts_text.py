"""What `nnfast mlts` says of its document, on the terminal and on its page."""

from ..bench.mlts.evaluators import TITLES
from ..checks import counted
from .output import rich_table

COLOURS = {"good": "green", "failed": "red", "skipped": "yellow"}


def machine_of(document):
    """Machine, version and way in one line."""
    way = "" if document["via"] == "local" else f", via {document['via']}"
    return (f"nnfast {document['nnfast']}, {document['cpu']}, level {document['level']}, {document['threads']} of "
            f"{counted(document['processors'], 'thread')}, load {document['load']:.1f}{way}")


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
                            "or the largest difference as a share of the largest value of all data",
                      order=("golden", "from file", "limit", "prepare", "data", "baseline", "p99 ms"))


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
