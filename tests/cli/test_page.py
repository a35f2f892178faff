"""The web page of `nnfast benchmark --html`."""

from html.parser import HTMLParser

from nnfast.cli.output import rich_table
from nnfast.cli.page import write_page


class Cells(HTMLParser):
    """Text of the cells of each row."""

    def __init__(self, text):
        super().__init__()
        self.rows, self._open = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        self._open = tag in ("td", "th")
        if self._open:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._open = False

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


def test_cells_are_escaped_and_have_bars(tmp_path):
    name = "<script>alert('&')</script>"
    table = rich_table(name, ["operation", ">us", ">share %"], [[name, "1,200", "75"], ["[red]b", "-", "25"]], "a < b")
    write_page(tmp_path / "p.html", [table])
    page = (tmp_path / "p.html").read_text()
    assert Cells(page).rows == [["operation", "us", "share %"], [name, "1,200", "75"], ["b", "-", "25"]]
    assert page.count("<script>") == 1 and "<p>a &lt; b</p>" in page
    assert "--w:100.0%" in page and "--w:33.3%" in page


def test_tables_without_numbers_and_text_of_any_kind(tmp_path):
    write_page(tmp_path / "p.html", [rich_table("t", ["a"], []), rich_table(None, ["a"], [["\udcff \u2028 x"]])])
    assert Cells((tmp_path / "p.html").read_text()).rows == [["a"], ["a"], ["\\udcff \u2028 x"]]
