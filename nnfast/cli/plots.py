"""Plots for web pages as inline SVG, in the colours of `page`: all are WIDTH wide and grow with the room they have."""

from html import escape
from math import isfinite, log10

WIDTH = 360
_ROW, _BAR = 32, 9
_PLOT_HEIGHT = 96


def figure(caption, svg):
    """HTML of a plot with its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>\n"


def bars(rows, most=None, logarithmic=False):
    """Bars below each other. rows: (label, text at the end, [values: the first, others beside it], mark or None).
    most: value of the whole width (default: the largest). logarithmic: of values above 0; the smallest has a tenth of
    the width."""
    if logarithmic and rows:
        values = [value for row in rows for value in row[2]]
        low, span = min(values), log10(max(values) / min(values)) or 1.0
        return bars([(label, text, [0.1 + 0.9 * log10(value / low) / span for value in row], None)
                     for label, text, row, _ in rows], 1.0)
    most = most or max((value for _, _, values, mark in rows for value in (*values, mark or 0)), default=0) or 1
    parts = []
    for place, (label, text, values, mark) in enumerate(rows):
        top = place * _ROW
        parts.append(f'<text x="0" y="{top + 11}">{escape(label)}</text>'
                     f'<text class="end" x="{WIDTH}" y="{top + 11}">{escape(text)}</text>'
                     f'<rect class="track" x="0" y="{top + 16}" width="{WIDTH}" height="{_BAR}" rx="2"/>')
        height = _BAR / max(len(values), 1)
        parts += [_rect(0, top + 16 + index * height, _share(value, most) * WIDTH, height, index)
                  for index, value in enumerate(values)]
        if mark is not None:
            x = _share(mark, most) * WIDTH
            parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{top + 14}" y2="{top + 18 + _BAR}"/>')
    return _svg(len(rows) * _ROW, parts)


def errors(rows, least=1e-9):
    """Errors beside their limits, on a logarithmic scale from `least` to the limit. rows: (label, values, limit)."""
    def height(value, limit):
        return max(0.0, min(1.0, log10(max(value, least) / least) / log10(limit / least)))

    return bars([(label, f"{' / '.join(f'{value:.3g}' for value in values)}, limit {limit:g}",
                  [height(value, limit) for value in values], None) for label, values, limit in rows], 1.0)


def histogram(times, marks, unit="ms", count=40):
    """How often times occur, on a logarithmic axis. times: a list, above 0; marks: {name: time} of lines, the last of
    which ends the plot; what is longer is counted in its last column."""
    low, high = min(times), max([*marks.values(), min(times)])
    step = log10(high / low) / count or 1.0

    def place_of(value):
        return min(max(log10(value / low) / step, 0.0), count)

    counts = [0] * (count + 1)
    for value in times:
        counts[int(place_of(value))] += 1
    top, width, most = 37, WIDTH / (count + 1), max(counts)
    parts = []
    for place, number in enumerate(counts):
        height = number / most * _PLOT_HEIGHT
        name = f"{number} at {low * 10 ** (place * step):.3g} {unit}{' and more' if place == count else ''}"
        parts.append(f'<rect class="{"two" if place == count else "one"}" x="{place * width:.1f}" '
                     f'y="{top + _PLOT_HEIGHT - height:.1f}" width="{max(width - 1, 1):.1f}" height="{height:.1f}">'
                     f"<title>{escape(name)}</title></rect>")
    bottom = top + _PLOT_HEIGHT
    parts.append(f'<line x1="0" x2="{WIDTH}" y1="{bottom}" y2="{bottom}"/>')
    for place, (name, value) in enumerate(marks.items()):
        x = place_of(value) * width
        side = "end" if x > WIDTH / 2 else ""
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{4 + 11 * (place % 3)}" y2="{bottom}"/>'
                     f'<text class="{side}" x="{x + (-4 if side else 4):.1f}" y="{12 + 11 * (place % 3)}">'
                     f"{escape(name)} {value:.3g}</text>")
    parts.append(f'<text class="faint" x="0" y="{bottom + 14}">{low:.3g} {unit}</text>'
                 f'<text class="faint end" x="{WIDTH}" y="{bottom + 14}">longest {max(times):.3g} {unit}</text>')
    return _svg(bottom + 20, parts)


def _share(value, most):
    return max(0.0, min(1.0, value / most)) if isfinite(value) else 1.0


def _rect(x, y, width, height, index):
    return (f'<rect class="{"two" if index else "one"}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="1.5"/>')


def _svg(height, parts):
    return (f'<svg viewBox="0 0 {WIDTH} {height}" role="img">'
            f'{"".join(parts)}</svg>')
