"""The web page of `nnfast benchmark --html`."""

from helpers.pages import Page
from nnfast.cli.output import rich_table
from nnfast.cli.page import write_page


def test_cells_are_escaped_and_have_bars(tmp_path):
    name = "<script>alert('&')</script>"
    table = rich_table(name, ["operation", ">us", ">share %"], [[name, "1,200", "75"], ["[red]b", "-", "25"]], "a < b")
    write_page(tmp_path / "p.html", [table])
    page = (tmp_path / "p.html").read_text()
    assert Page(page).rows == [["operation", "us", "share %"], [name, "1,200", "75"], ["b", "-", "25"]]
    assert Page(page).faults == [] and '<span class="red">b</span>' in page
    assert page.count("<script>") == 1 and "<p>a &lt; b</p>" in page
    assert "--w:100.0%" in page and "--w:33.3%" in page


def test_tables_without_numbers_and_text_of_any_kind(tmp_path):
    write_page(tmp_path / "p.html", [rich_table("t", ["a"], []), rich_table(None, ["a"], [["\udcff \u2028 x"]])])
    assert Page((tmp_path / "p.html").read_text()).rows == [["a"], ["a"], ["\\udcff \u2028 x"]]
