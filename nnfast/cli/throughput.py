"""`nnfast benchmark --throughput`: items per second."""

import os

from ..bench import throughput
from ..checks import counted
from .output import progress, rich_table


def measure(subjects, turns):
    """[{"model", "rows", "notes"}] of the subjects of `nnfast benchmark`."""
    found = []
    with progress("throughput") as move:
        for place, subject in enumerate(subjects):
            name = os.path.basename(subject.path)

            def moved(done, total, place=place, name=name):
                move(place * total + done, len(subjects) * total, name)

            rows, notes = throughput.measure(subject.path, subject.prepared, subject.inputs, turns, progress=moved)
            found.append({"model": subject.path, "rows": [row.summary() for row in rows], "notes": notes})
    return found


def table(document):
    """A rich table; the best rate of each engine is bold."""
    rows, notes = [], []
    for model in document["models"]:
        best = {}
        for row in model["rows"]:
            best[row["engine"]] = max(best.get(row["engine"], 0), row["items_per_second"])
        for place, row in enumerate(model["rows"]):
            rate = f"{row['items_per_second']:,.1f}"
            is_best = row["items_per_second"] == best[row["engine"]]
            rows.append([os.path.basename(model["model"]) if not place else "", row["engine"], str(row["batch"]),
                         f"{row['clients']} x {row['threads']}", f"[bold]{rate}[/bold]" if is_best else rate,
                         f"{row['spread_percent']:.1f}", str(row["turns"])])
        notes += [note for note in model["notes"] if note not in notes]
    notes.append("medians of turns, numpy in, numpy out; spread: middle half of the turns; bold: the best of an engine")
    return rich_table(f"{document['cpu']}, level {document['level']}, {document['threads']} of "
                      f"{counted(document['processors'], 'thread')}, load {document['load']:.1f}",
                      ["model", "engine", ">batch", ">clients x threads", ">items/s", ">spread %", ">turns"], rows,
                      "; ".join(notes), order=("turns", "spread %"))
