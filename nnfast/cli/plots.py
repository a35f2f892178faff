"""Plots by matplotlib: figures with axes, as SVG in the colours of the page around it or in a light and a dark theme,
and as PNG. matplotlib is imported when something is drawn; without it, MissingPackage says how to get it.
"""

import io
import math
import re
from html import escape
from typing import NamedTuple

from ..extras import needed

THEMES = {
    "paper": ("#ffffff", "#0f1318"), "ink": ("#1c2128", "#e4e9ef"), "faint": ("#5b6572", "#97a1ad"),
    "line": ("#d8dee4", "#313943"), "one": ("#2f6fdb", "#5b9bff"), "two": ("#a3afbd", "#66717e"),
    "green": ("#1b7f5c", "#3fb98c"), "amber": ("#c98a2b", "#e0a84e"), "violet": ("#7a6fb0", "#a99be0"),
    "blue": ("#4a86c5", "#6fa8e8"),
}
"""Colours by name: light, dark. The first six are those of `page`, under the same names."""

INCHES, ROW_INCHES = 5.0, 0.3
FEW_DECADES = 50
"""Width of a logarithmic axis, as a factor, below which its ticks are not at powers of ten."""

_STYLE = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 8, "text.parse_math": False,
    "svg.fonttype": "none", "svg.hashsalt": "nnfast", "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "axes.titlesize": 9, "axes.titlelocation": "left", "axes.titleweight": "bold",
    "axes.edgecolor": THEMES["faint"][0], "axes.labelcolor": THEMES["faint"][0], "axes.titlecolor": THEMES["ink"][0],
    "text.color": THEMES["ink"][0], "xtick.color": THEMES["faint"][0], "ytick.color": THEMES["faint"][0],
    "ytick.labelcolor": THEMES["ink"][0], "grid.color": THEMES["line"][0], "figure.facecolor": "none",
    "axes.facecolor": "none", "legend.frameon": False,
}


class Bar(NamedTuple):
    """A row of bars. values: the first, others beside it; text: at the end of the row; mark: where a line is, or None;
    spread: (low, high) of the first value, or None; colours: names of THEMES, of the values in turn."""

    label: str
    values: list
    text: str = ""
    mark: float | None = None
    spread: tuple | None = None
    colours: tuple = ("one", "two")


def colour(name):
    """The colour of a name in drawings, which themes replace."""
    return THEMES[name][0]


def drawing(panels, inches=INCHES):
    """A Figure of panels below each other: of [(height in inches, draw)], draw(axes) draws one."""
    needed("matplotlib", "plots")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        made = Figure((inches, sum(height for height, _ in panels)), layout="constrained")
        axes = made.subplots(len(panels), 1, squeeze=False, height_ratios=[height for height, _ in panels])[:, 0]
        for one, (_, draw) in zip(axes, panels):
            draw(one)
        made.draw_without_rendering()
        made.set_layout_engine(None)  # found: else it is found twice more as the figure is written
    return made


# -- kinds of plots ----------------------------------------------------------------------------------------------------
def bars(rows, unit="", most=None, logarithmic=False):
    """A Figure of bars below each other. rows: of Bar; unit: of the axis; most: its end (default: as values need)."""
    return drawing([bars_panel(rows, unit, most, logarithmic)])


def bars_panel(rows, unit="", most=None, logarithmic=False, title="", legend=()):
    """A panel of `drawing`, as `bars`. legend: of (colour, text)."""
    deep = max((len(row.values) for row in rows), default=1)
    height = max(1, len(rows)) * (ROW_INCHES + 0.12 * (deep - 1)) + 0.55 + 0.25 * bool(title)
    return height, lambda axes: _draw_bars(axes, rows, unit, most, logarithmic, title, legend)


def _draw_bars(axes, rows, unit, most, logarithmic, title, legend):
    known = [value for row in rows for value in (*row.values, *(row.spread or ()), row.mark)
             if value is not None and math.isfinite(value) and (value > 0 or not logarithmic)]
    end = most or max(known, default=0) or 1.0
    start = 0.0
    if logarithmic:
        axes.set_xscale("log")
        low = min(known, default=end)
        start = low / max(10.0, (end / low)) ** (1 / 9)
    axes.set_xlim(start, end * 1.0001 if most else end ** 1.02 / start ** 0.02 if logarithmic else 1.02 * end)
    for place, row in enumerate(rows):
        thick = 0.7 / max(1, len(row.values))
        for index, value in enumerate(row.values):
            shown = min(max(value, start), axes.get_xlim()[1]) if math.isfinite(value) else axes.get_xlim()[1]
            middle = place - 0.35 + (index + 0.5) * thick
            name = row.colours[index % len(row.colours)]
            axes.barh(middle, shown - start, thick, left=start, color=colour(name))
            if index == 0 and row.spread is not None:
                axes.plot(row.spread, (middle, middle), color=colour("ink"), linewidth=1, marker="|", markersize=4)
        if row.mark is not None:
            axes.vlines(row.mark, place - 0.45, place + 0.45, color=colour("ink"), linewidth=1.5)
        axes.annotate(row.text, (1, place), (4, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                      va="center", annotation_clip=False)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    _finish(axes, unit, title, logarithmic)
    if legend:
        from matplotlib.patches import Patch

        axes.legend(handles=[Patch(color=colour(name), label=text) for name, text in legend], loc="lower right",
                    bbox_to_anchor=(1, 1), ncols=len(legend), borderaxespad=0, handlelength=1)


def _finish(axes, unit, title, logarithmic):
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_xlabel(unit)
    if title:
        axes.set_title(title)
    if logarithmic:
        low, high = axes.get_xlim()
        if high / low < FEW_DECADES:  # may have one power of ten, or none
            axes.set_xticks([low * (high / low) ** share for share in (0.05, 0.35, 0.65, 0.95)])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())


def errors(rows, least=1e-9):
    """A Figure of errors on a logarithmic axis, with lines at their limits. rows: (label, values, limit)."""
    return bars([Bar(label, [max(value, least) for value in values],
                     f"{' / '.join(f'{value:.3g}' for value in values)}, limit {limit:g}", limit)
                 for label, values, limit in rows], "error", logarithmic=True)


def histogram(times, marks, unit="ms", count=40):
    """A Figure of how often times occur, on a logarithmic axis. times: a list, above 0; marks: {name: time} of lines,
    the last of which ends the plot; what is longer is counted in its last column."""
    low, high = min(times), max([*marks.values(), min(times)])
    step = math.log10(high / low) / count or 0.001
    counts = [0] * (count + 1)
    for value in times:
        counts[int(min(max(math.log10(value / low) / step, 0.0), count))] += 1

    def draw(axes):
        axes.set_xscale("log")
        edges = [low * 10 ** (place * step) for place in range(count + 2)]
        for place, number in enumerate(counts):
            axes.bar(edges[place], number, edges[place + 1] - edges[place], align="edge",
                     color=colour("two" if place == count else "one"))
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylabel("runs")
        axes.grid(axis="y")
        for place, (name, value) in enumerate(marks.items()):
            axes.axvline(value, color=colour("ink"), linewidth=1)
            right = math.log10(max(value, low) / low) > step * count / 2
            axes.annotate(f"{name} {value:.3g}", (value, 1), (-3 if right else 3, -2 - 10 * (place % 3)),
                          xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                          ha="right" if right else "left", va="top")
        _finish(axes, f"{unit}, longest {max(times):.3g}", "", True)

    return drawing([(1.7, draw)])


def distributions_panel(lines, unit, title):
    """A panel of `drawing`: the share of values up to each, on a logarithmic axis. lines: of (colour, text, points),
    where points are [(value, percent)] in order."""
    def draw(axes):
        axes.set_xscale("log")
        for name, text, points in lines:
            axes.plot(*zip(*points), color=colour(name), label=text, linewidth=1.5, drawstyle="steps-post")
        axes.set_xlim(min(points[0][0] for *_, points in lines), max(points[-1][0] for *_, points in lines))
        axes.set_ylim(0, 100)
        axes.set_ylabel("% of calls")
        axes.grid()
        axes.legend(loc="lower right")
        _finish(axes, unit, title, True)

    return 2.4, draw


# -- files -------------------------------------------------------------------------------------------------------------
def figure(caption, made):
    """HTML of a Figure with its caption, in the colours of the page."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg(made)}</figure>\n"


def svg(made):
    """SVG of a Figure for a page: as wide as there is room, colours as variables of the page's style."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        made.savefig(text, format="svg", metadata={"Date": None})
    found = re.sub(r"<metadata>.*?</metadata>", "", text.getvalue()[text.getvalue().index("<svg"):], flags=re.S)
    found = re.sub(r' (?:xmlns(?::\w+)?|version)="[^"]*"| id="[A-Za-z]\w*_\d+"', "", found)
    found = re.sub(r'<svg width="[^"]*" height="[^"]*"', '<svg role="img"', found)
    found = re.sub(r"(?:'[^']*', )*'DejaVu Sans'(?:, [-'\w ]+)*", "system-ui, sans-serif", found)
    for name, (light, _) in THEMES.items():
        found = found.replace(light, f"var(--{name})")
    return found.strip()


def save(made, path):
    """Write a Figure to a .png file, in light colours, or to an .svg file that follows the reader's theme."""
    if path.lower().endswith(".png"):
        made.savefig(path, dpi=150, facecolor=THEMES["paper"][0], metadata={"Software": None})
        return
    light, dark = (" ".join(f"--{name}: {pair[side]};" for name, pair in THEMES.items()) for side in (0, 1))
    style = f"<style>svg {{ {light} background: var(--paper) }} " \
            f"@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}</style>"
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    head, _, rest = svg(made).partition(">")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(f"{head} {names}>{style}{rest}\n")
