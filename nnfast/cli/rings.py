"""`nnfast benchmark --rings`: ways between two processes beside each other, as a table and a plot."""

import os

from ..checks import counted
from .output import progress, rich_table


def measure(turns):
    """The document of bench.rings.measure, and where it was measured."""
    from .. import __version__
    from ..bench import rings
    from ..driver.capabilities import processor

    with progress("rings") as move:
        found = rings.measure(turns, move)
    return {"nnfast": __version__, "cpu": processor(), "processor_count": os.cpu_count(), "load": os.getloadavg()[0],
            **found}


def table(document):
    rows = []
    for row in document["rows"]:
        trip, rate = row["round_trip_us"], row["messages_per_s"]
        rows.append([row["way"], *((f"{trip['median']:.2f}", _middle(trip, 1), f"{row['one_way_us']:.2f}") if trip else
                                   ("", "", "")),
                     *((f"{1e-6 * rate['median']:.2f}", _middle(rate, 1e-6)) if rate else ("", ""))])
    places = "each process on a processor of its own" if document["processors"] else \
        "one processor: no rows that spin"
    processors = counted(document["processor_count"], "processor")
    title = f"{document['cpu']}, {processors}, load {document['load']:.1f}, {places}"
    caption = (f"messages of {document['bytes']} bytes between two processes, in turns; medians of blocks, with their "
               f"middle half; a sleeping ring takes {document['futex_ratio']:.2f}x the bare futex")
    return rich_table(title, ["way", ">round trip us", ">middle half", ">one way us", ">M messages/s", ">middle half"],
                      rows, caption)


def _middle(summary, factor):
    return f"{factor * summary['low']:.2f}-{factor * summary['high']:.2f}"


def plot(document, path):
    """Bars on logarithmic scales: one-way latency, and messages in a second, with their middle halves."""
    from . import plots

    def panel(title, unit, key, factor, form):
        rows = [plots.Bar(row["way"], [factor * row[key]["median"]], form.format(factor * row[key]["median"]), None,
                          (factor * row[key]["low"], factor * row[key]["high"]), (_colour(row["way"]),))
                for row in document["rows"] if row[key]]
        return plots.bars_panel(rows, unit, logarithmic=True, title=title)

    plots.save(plots.drawing([
        panel("One way between two processes (shorter is faster)", "us", "round_trip_us", 0.5, "{:.2f} us"),
        panel(f"Messages of {document['bytes']} bytes (longer is faster)", f"millions a second; {document['cpu']}",
              "messages_per_s", 1e-6, "{:.2f} M/s")], 7.0), path)


def _colour(way):
    return {"ring": "green", "two": "amber"}.get(way.split()[0].strip(","), "violet")
