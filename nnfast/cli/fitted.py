"""Tables that are no wider than the terminal, and say which columns that cost."""

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

LEAST = 12
"""Characters that remain of a column of text, where it has as many."""


class FittedTable(Table):
    """A rich table that leaves out columns where it is printed with too little room. Numbers are never cut.

    columns: names, a leading ">" puts the cells to the right, as numbers are. rows: lists of markup or rich text.
    folded: columns of text that take several lines instead of being cut. order: names of those that may be left out,
    the first to go first; which were left out stands below.
    """

    def __init__(self, title, columns, rows, caption=None, folded=(), order=()):
        super().__init__(title=title, caption=caption, box=box.SIMPLE_HEAD, title_justify="left",
                         caption_justify="left", title_style="bold", header_style="bold cyan")
        self.names, self.folded, self.order, self.is_fitted = columns, folded, order, False
        for name in columns:
            plain = name.lstrip(">")
            self.add_column(plain, justify="right" if name.startswith(">") else "left", no_wrap=plain not in folded,
                            overflow="fold" if plain in folded else "ellipsis")
        for row in rows:
            self.add_row(*row)

    def __rich_console__(self, console, options):
        if self.is_fitted:
            yield from super().__rich_console__(console, options)
        else:
            yield self.within(options.max_width)

    def within(self, width):
        """The table for so many characters."""
        cells = {name: [cell.copy() if isinstance(cell, Text) else Text.from_markup(cell) for cell in column.cells]
                 for name, column in zip(self.names, self.columns)}
        widths = {name: max(map(cell_len, (name.lstrip(">"), *(cell.plain for cell in cells[name]))))
                  for name in self.names}
        for gone in range(len(self.order) + 1):
            kept = [name for name in self.names if name.lstrip(">") not in self.order[:gone]]
            texts = [name for name in kept if not name.startswith(">")]
            room = width - 4 - 3 * (len(kept) - 1) - sum(widths[name] for name in kept if name not in texts)
            if room >= sum(min(LEAST, widths[name]) for name in texts):
                break
        for place, name in enumerate(texts):
            most = max(LEAST, min(widths[name], room - sum(min(LEAST, widths[other]) for other in texts[place + 1:])))
            room -= min(most, widths[name])
            for cell in cells[name] if name not in self.folded else ():
                cell.truncate(most, overflow="ellipsis")
        left = ", ".join(name.lstrip(">") for name in self.names if name not in kept)
        caption = "; ".join(filter(None, (self.caption, left and f"too narrow for {left}")))
        made = FittedTable(self.title, kept, zip(*(cells[name] for name in kept)), caption or None, self.folded)
        made.is_fitted = True
        return made
