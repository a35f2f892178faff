"""`nnfast benchmark --rings`: ways between two processes beside each other, as a table and a plot."""

import math
import os

from .output import progress, rich_table

COLOURS = {"ring": "#1b7f5c", "two": "#c98a2b"}
OTHER = "#7a6fb0"
WIDTH, BAR, LEFT = 900, 22, 250


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
    title = f"{document['cpu']}, {document['processor_count']} processors, load {document['load']:.1f}, {places}"
    caption = (f"messages of {document['bytes']} bytes between two processes, in turns; medians of blocks, with their "
               f"middle half; a sleeping ring takes {document['futex_ratio']:.2f}x the bare futex")
    return rich_table(title, ["way", ">round trip us", ">middle half", ">one way us", ">M messages/s", ">middle half"],
                      rows, caption)


def _middle(summary, factor):
    return f"{factor * summary['low']:.2f}-{factor * summary['high']:.2f}"


def plot(document, path):
    """Bars on logarithmic scales: one-way latency, and messages in a second."""
    from PIL import Image, ImageDraw, ImageFont

    small, large = ImageFont.load_default(12), ImageFont.load_default(17)
    panels = [("One way, microseconds (shorter is faster)",
               {row["way"]: row["one_way_us"] for row in document["rows"] if row["one_way_us"]}, "{:.2f} us", 0.1),
              ("Messages of 24 bytes, millions a second (longer is faster)",
               {row["way"]: 1e-6 * row["messages_per_s"]["median"] for row in document["rows"]
                if row["messages_per_s"]}, "{:.2f} M/s", 0.05)]
    height = sum(44 + BAR * len(values) + 22 for _, values, _, _ in panels) + 28
    image = Image.new("RGB", (WIDTH, height), "white")
    draw, at = ImageDraw.Draw(image), 12
    for title, values, form, least in panels:
        draw.text((16, at), title, "#222222", large)
        at += 34
        scale = (WIDTH - LEFT - 110) / math.log(max(values.values()) / least)
        for name, value in values.items():
            length = max(2.0, math.log(value / least) * scale)
            draw.text((16, at + 2), name, "#222222", small)
            draw.rectangle((LEFT, at, LEFT + length, at + BAR - 6), COLOURS.get(name.split()[0].strip(","), OTHER))
            draw.text((LEFT + length + 8, at + 1), form.format(value), "#222222", small)
            at += BAR
        at += 32
    draw.text((16, at - 14), f"{document['cpu']}; logarithmic scales", "#666666", small)
    image.save(path, optimize=True)
