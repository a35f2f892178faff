"""A web page of tables: one file, no scripts or styles from elsewhere, rows that sort by any column."""

from html import escape

from rich.text import Text

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --bar: #9cc4f0; --line: #ddd; --head: #f2f2f2 }}
@media (prefers-color-scheme: dark) {{ :root {{ --bar: #24507e; --line: #444; --head: #2a2a2a }} }}
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em }}
table {{ border-collapse: collapse; margin-bottom: 2.5em; font-variant-numeric: tabular-nums }}
caption {{ text-align: left; font-weight: bold; padding: .4em 0 }}
th, td {{ padding: .2em .7em; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap }}
th {{ background: var(--head); cursor: pointer; position: sticky; top: 0 }}
th[aria-sort=ascending]::after {{ content: " \\25b2" }} th[aria-sort=descending]::after {{ content: " \\25bc" }}
.n {{ text-align: right }}
.b {{ background: linear-gradient(var(--bar), var(--bar)) no-repeat left / var(--w) 100% }}
p {{ max-width: 60em }}
</style></head><body>
"""
SCRIPT = """<script>
const number = text => parseFloat(text.replace(/,/g, ""));
for (const head of document.querySelectorAll("th")) head.onclick = () => {
  const body = head.closest("table").tBodies[0], down = head.ariaSort === "ascending", at = head.cellIndex;
  for (const other of head.parentNode.cells) other.ariaSort = null;
  head.ariaSort = down ? "descending" : "ascending";
  const order = (a, b) => {
    const [x, y] = [a, b].map(row => row.cells[at].textContent), [m, n] = [number(x), number(y)];
    return isNaN(m) || isNaN(n) ? isNaN(m) - isNaN(n) || x.localeCompare(y) : m - n;
  };
  body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));
};
</script>
</body></html>
"""
BARS = ("share %", "median", "round trip us")
"""Columns that may show a bar behind their numbers: the first of these that a table has, else its first number."""


def write_page(path, tables):
    """Write rich tables as a web page."""
    title = _plain(tables[0].title or "nnfast benchmark")
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(HEAD.format(title=escape(title)) + "".join(map(_table, tables)) + SCRIPT)


def _table(table):
    headers = [_plain(column.header) for column in table.columns]
    right = [column.justify == "right" for column in table.columns]
    rows = list(zip(*([_plain(cell) for cell in column.cells] for column in table.columns)))
    bars = _bars(headers, right, rows)
    lines = [f"<table><caption>{escape(_plain(table.title or ''))}</caption>\n<thead><tr>",
             *(f'<th scope="col"{_kind(n)}>{escape(header)}</th>' for header, n in zip(headers, right)),
             "</tr></thead>\n<tbody>\n"]
    for row, width in zip(rows, bars[1]):
        cells = [f"<td{_kind(n, width if place == bars[0] else None)}>{escape(text)}</td>"
                 for place, (text, n) in enumerate(zip(row, right))]
        lines.append(f"<tr>{''.join(cells)}</tr>\n")
    note = f"<p>{escape(_plain(table.caption))}</p>\n" if table.caption else ""
    return "".join(lines) + f"</tbody></table>\n{note}"


def _kind(is_number, width=None):
    if width is not None:
        return f' class="n b" style="--w:{width:.1f}%"'
    return ' class="n"' if is_number else ""


def _bars(headers, right, rows):
    """(the column with bars or None, width of each row's bar in percent of the longest)."""
    numbers = [place for place, is_number in enumerate(right) if is_number]
    column = next((headers.index(name) for name in BARS if name in headers), numbers[0] if numbers else None)
    values = [0.0 if column is None else _number(row[column]) for row in rows]
    most = max(values, default=0.0) or 1.0
    return column, [100 * value / most for value in values]


def _number(text):
    try:
        return max(0.0, float(text.replace(",", "")))
    except ValueError:
        return 0.0


def _plain(text):
    return text.plain if isinstance(text, Text) else Text.from_markup(str(text)).plain
