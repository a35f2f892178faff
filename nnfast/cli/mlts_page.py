"""The page of `nnfast mlts --report`: verdicts, a card with plots for each model, compilation, machine."""

from html import escape

from ..bench.mlts import compilation, evaluators
from ..checks import counted
from . import plots
from .mlts_text import (
    COLOURS,
    beside_of,
    difference_of,
    machine_of,
    number_of,
    problems_of,
    size_of,
    table_of,
    total_of,
)
from .output import rich_table
from .page import badge, listing, paragraph, table, write_document


def write(path, document):
    """Write the page of a document of `nnfast mlts`."""
    models = document["models"]
    good = sum(model["verdict"] == "good" for model in models)
    colour = "red" if any(model["verdict"] == "failed" for model in models) else "green" if good else "yellow"
    summary = table_of(document)
    summary.title = None
    parts = [f"<h1>nnfast mlts {badge(f'{good} of {len(models)} models good', colour)}</h1>\n",
             paragraph(machine_of(document)), paragraph(f"{document['date']}, {total_of(document)}"),
             "<h2>Summary</h2>\n", table(summary), listing("What is wrong or left out", problems_of(document)),
             _overview(models),
             '<h2>Models</h2>\n<div class="cards">\n', *map(_card, models), "</div>\n", _compilation(models), _method()]
    write_document(path, "nnfast mlts", "".join(parts))


def _overview(models):
    """Two plots of all models: top-1 beside the baseline and what was published, and latency."""
    ran = [model for model in models if "latency" in model]
    figures = []
    shares = [plots.Bar(model["name"], _sides(model, "top_1"), _shares_text(model), model["expected_top1"])
              for model in ran if "top_1" in model["values"]]
    if shares:
        figures.append(plots.figure("Top-1: nnfast, the baseline below it, and as a line what was published",
                                    plots.bars(shares, "share", 1.0)))
    if ran:
        figures.append(plots.figure("Latency of a step, median and shortest to 90th percentile",
                                    plots.bars([_median(model["name"], model["latency"]) for model in ran], "ms")))
    cards = "".join(f'<div class="card">{figure}</div>\n' for figure in figures)
    return f'<h2>Overview</h2>\n<div class="cards">\n{cards}</div>\n' if figures else ""


def _median(label, times):
    """The Bar of a summary of times."""
    spread = times["min_ms"], times["p90_ms"]
    return plots.Bar(label, [times["p50_ms"]], f"{times['p50_ms']:.3g}", None, spread)


def _sides(model, key):
    """A value of the evaluator: ours, and the baseline's where it has one."""
    values = [model["values"][key], model.get("baseline", {}).get("values", {}).get(key)]
    return [value for value in values if value is not None]


def _shares_text(model):
    return " / ".join(f"{value:.1%}" for value in _sides(model, "top_1"))


def _card(model):
    """HTML of one model."""
    parts = [f'<article class="card"><header><h3>{escape(model["name"])}</h3>',
             badge(model["verdict"], COLOURS[model["verdict"]]), "</header>\n"]
    notes = [*model["problems"], *([model["skipped"]] if "skipped" in model else [])]
    if notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>\n")
    if "latency" in model:
        parts.append(paragraph(", ".join(_facts(model))))
        parts += [_accuracy(model), _latency(model), _levels(model), _preparing(model)]
    return "".join(parts) + "</article>\n"


def _facts(model):
    yield f"{model['sequences']} {model['unit']}"
    if model["unit"] != "photos":
        yield counted(model["steps"], "step")
    if "times_faster" in model:
        yield f"{model['times_faster']:.3g} times as fast as the list's {1e3 * model['baseline_sec']:g} ms"
    if "difference" in model.get("baseline", {}):
        yield f"{beside_of(model)} beside {model['baseline']['name']}"
    if "golden" in model:
        yield f"golden: {difference_of(model['golden'], model['quantized'])}, " \
              f"largest error {number_of(model['golden']['max_error'])}"


def _accuracy(model):
    values = model["values"]
    if "top_1" in values:
        rows = [plots.Bar(f"top-{k}", _sides(model, f"top_{k}"),
                          " / ".join(f"{value:.1%}" for value in _sides(model, f"top_{k}")),
                          model["expected_top1"] if k == 1 else None) for k in (1, 2, 3, 5)]
        beside = " / baseline" if len(_sides(model, "top_1")) > 1 else ""
        return plots.figure(f"Share of photos with the true class among the best: nnfast{beside}",
                            plots.bars(rows, "share", 1.0))
    rows = [(evaluators.TITLES[key], _sides(model, key), limit) for key, limit in model["limits"].items()
            if _sides(model, key)]
    return plots.figure("Largest errors, logarithmic", plots.errors(rows)) if rows else ""


def _latency(model):
    times = model["latency"]
    marks = {name: times[f"{name}_ms"] for name in ("p50", "p90", "p99")}
    return plots.figure(f"Latency of {times['count']} steps: mean {times['mean_ms']:.3f} ms, deviation "
                        f"{times['std_dev_ms']:.3f}; logarithmic", plots.histogram(times["times_ms"], marks))


def _levels(model):
    if "levels" not in model:
        return ""
    rows = [_median(level, times) for level, times in model["levels"].items()]
    return plots.figure("Latency at each instruction level, median and shortest to 90th percentile, logarithmic",
                        plots.bars(rows, "ms", logarithmic=True))


def _preparing(model):
    made = model.get("compilation", {})
    rows = [_median(title, made[kind]) for kind, title in compilation.TITLES.items() if kind in made]
    return plots.figure("Preparing the model, median and shortest to 90th percentile", plots.bars(rows, "ms")) \
        if rows else ""


def _compilation(models):
    rows = []
    for model in models:
        made = model.get("compilation")
        if made is None:
            continue
        rows.append([model["name"], *(cell for kind in compilation.TITLES for cell in
                                      ([f"{made[kind]['mean_ms']:.3f}", str(made[kind]["count"])] if kind in made
                                       else ["-", "-"])), size_of(made["cache_bytes"]), made.get("note", "")])
    columns = [column for title in compilation.TITLES.values() for column in (f">{title} ms", ">runs")]
    if not rows:
        return ""
    return "<h2>Compilation</h2>\n" + table(rich_table(None, ["model", *columns, ">file", "note"], rows,
                                                       "mean times of preparing a loaded model"))


def _method():
    return ("<h2>How it was measured</h2>\n<p>Photos: the middle square of 0.875 of the shorter side, bilinear to the "
            "input's size, scaled to -1..1; quantized inputs as the benchmark of Android rounds them. Sequences start "
            "from the initial state. All data ran once, then again until the time was over; only the step itself is "
            "timed. Codes must equal the baseline's and the golden ones, floats must lie within 2e-5 of the largest "
            "value; top-1 may be 5 points below what was published.</p>\n")
