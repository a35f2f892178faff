"""Web pages: one file each, no scripts, styles or pictures from elsewhere; light or dark as the reader's system is;
tables whose rows sort by any column, on any width of screen."""

from html import escape

from rich.text import Text

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --paper: #fff; --ink: #1c2128; --faint: #5b6572; --line: #d8dee4; --head: #f2f4f7;
  --card: #f8f9fb; --bar: #cfe2f8; --one: #2f6fdb; --two: #a3afbd; --good: #1a7f37; --bad: #cf222e; --warn: #8a5d00 }}
@media (prefers-color-scheme: dark) {{ :root {{ --paper: #0f1318; --ink: #e4e9ef; --faint: #97a1ad; --line: #313943;
  --head: #1d242c; --card: #161c23; --bar: #1f3f66; --one: #5b9bff; --two: #66717e; --good: #4cc566; --bad: #ff6a61;
  --warn: #d9a53a }} }}
* {{ box-sizing: border-box }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 2.5rem) 4rem;
  max-width: 96rem; background: var(--paper); color: var(--ink) }}
h1 {{ font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem }} h2 {{ font-size: 1.15rem; margin: 2.4rem 0 .8rem }}
h3 {{ font-size: 1rem; margin: 0; overflow-wrap: anywhere }}
p {{ max-width: 62rem; margin: .4rem 0 }} p, figcaption, .faint {{ color: var(--faint) }}
.scroll {{ overflow-x: auto; margin-bottom: .6rem }} .scroll + .scroll, p + .scroll {{ margin-top: 1.6rem }}
table {{ border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }}
caption {{ text-align: left; font-weight: 600; padding: .4em 0; color: var(--ink) }}
th, td {{ padding: .35em .8em; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap }}
th {{ background: var(--head); cursor: pointer; user-select: none; font-weight: 600 }}
th:focus-visible {{ outline: 2px solid var(--one); outline-offset: -2px }}
th[aria-sort=ascending]::after {{ content: " \\25b2" }} th[aria-sort=descending]::after {{ content: " \\25bc" }}
.n {{ text-align: right }}
.b {{ background: linear-gradient(var(--bar), var(--bar)) no-repeat left / var(--w) 100% }}
.green {{ color: var(--good) }} .red {{ color: var(--bad) }}
.yellow {{ color: var(--warn) }} .dim {{ color: var(--faint) }}
.badge {{ display: inline-block; padding: 0 .6em; border-radius: 1em; border: 1px solid currentColor; font-weight: 600;
  font-size: .85em }}
.cards {{ display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 23rem), 1fr));
  align-items: start }}
.card {{ background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; min-width: 0 }}
.card header {{ display: flex; gap: .8rem; justify-content: space-between; align-items: baseline }}
figure {{ margin: .9rem 0 0 }} .card > figure:first-child {{ margin: 0 }}
figcaption {{ font-size: .85rem; margin-bottom: .2rem }}
@media (max-width: 40rem) {{ th, td {{ padding: .3em .5em }} }}
ul {{ margin: .4rem 0; padding-left: 1.2rem }} li {{ overflow-wrap: anywhere }}
svg {{ display: block; width: 100%; max-width: 34rem; height: auto }}
</style></head><body>
"""
SCRIPT = """<script>
const number = text => parseFloat(text.replace(/,/g, ""));
for (const head of document.querySelectorAll("th")) {
  head.tabIndex = 0;
  head.onkeydown = event => { if (event.key === "Enter") head.click(); };
  head.onclick = () => {
    const body = head.closest("table").tBodies[0], down = head.ariaSort === "ascending", at = head.cellIndex;
    for (const other of head.parentNode.cells) other.ariaSort = null;
    head.ariaSort = down ? "descending" : "ascending";
    const order = (a, b) => {
      const [x, y] = [a, b].map(row => row.cells[at].textContent), [m, n] = [number(x), number(y)];
      return isNaN(m) || isNaN(n) ? isNaN(m) - isNaN(n) || x.localeCompare(y) : m - n;
    };
    body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));
  };
}
</script>
</body></html>
"""
BARS = ("share %", "median", "round trip us", "p50 ms")
"""Columns that may show a bar behind their numbers: the first of these that a table has, else its first number."""
COLOURS = ("green", "red", "yellow", "dim")
"""Styles of rich's markup that cells keep; one of them in bold is a badge."""


def write_page(path, tables):
    """Write rich tables as a web page."""
    write_document(path, plain(tables[0].title or "nnfast benchmark"), "".join(map(table, tables)))


def write_document(path, title, body):
    """Write a page of HTML with the styles and the script that sorts tables."""
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(HEAD.format(title=escape(title)) + body + SCRIPT)


def table(made):
    """HTML of a rich table: its title, columns, cells with their colours, and its caption."""
    headers = [plain(column.header) for column in made.columns]
    right = [column.justify == "right" for column in made.columns]
    rows = list(zip(*([_rich(cell) for cell in column.cells] for column in made.columns)))
    bars = _bars(headers, right, [[cell.plain for cell in row] for row in rows])
    title = f"<caption>{escape(plain(made.title))}</caption>\n" if made.title else ""
    lines = [f'<div class="scroll"><table>{title}<thead><tr>',
             *(f'<th scope="col"{_kind(n)}>{escape(header)}</th>' for header, n in zip(headers, right)),
             "</tr></thead>\n<tbody>\n"]
    for row, width in zip(rows, bars[1]):
        cells = [f"<td{_kind(n, width if place == bars[0] else None)}>{_cell(text)}</td>"
                 for place, (text, n) in enumerate(zip(row, right))]
        lines.append(f"<tr>{''.join(cells)}</tr>\n")
    note = f"<p>{escape(plain(made.caption))}</p>\n" if made.caption else ""
    return "".join(lines) + f"</tbody></table></div>\n{note}"


def badge(text, colour):
    """HTML of a word in a frame of one of COLOURS."""
    return f'<span class="badge {colour}">{escape(text)}</span>'


def paragraph(text):
    """HTML of a paragraph."""
    return f"<p>{escape(text)}</p>\n"


def listing(heading, lines):
    """HTML of a heading and a list of lines, "" where there are none."""
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<h2>{escape(heading)}</h2>\n<ul>\n{items}</ul>\n" if items else ""


def _cell(text):
    style = str(text.spans[0].style) if text.spans else ""
    colour = style.removeprefix("bold ")
    if colour not in COLOURS:
        return escape(text.plain)
    return badge(text.plain, colour) if colour != style else f'<span class="{colour}">{escape(text.plain)}</span>'


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


def _rich(text):
    return text if isinstance(text, Text) else Text.from_markup(str(text))


def plain(text):
    """Text without rich's markup."""
    return _rich(text).plain
