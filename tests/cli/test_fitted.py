"""Tables of the command line in terminals of any width."""

import io

import pytest

pytest.importorskip("rich")

from rich.console import Console
from rich.text import Text

from nnfast.cli import page
from nnfast.cli.output import rich_table

NUMBER = "123,456.789"
ROWS = [["a_name_that_is_longer_than_most", "[red]good[/]", NUMBER, Text("[not markup]"), "7"],
        ["x", "failed", "1.0", Text("-"), "8"]]


def made():
    return rich_table("Title", ["name", "verdict", ">time us", "note", ">count"], ROWS, "what it is",
                      folded=("note",), order=("count", "note"))


def text_of(table, width):
    out = Console(file=io.StringIO(), width=width, highlight=False)
    out.print(table)
    return out.file.getvalue()


@pytest.mark.parametrize("width", range(44, 121, 4))
def test_no_line_is_wider_and_no_number_is_cut(width):
    text = text_of(made(), width)
    assert max(map(len, text.splitlines())) <= width
    assert NUMBER in text and "good" in text and "failed" in text


def test_where_there_is_room_nothing_is_left_out():
    text = text_of(made(), 120)
    assert "too narrow" not in text and "a_name_that_is_longer_than_most" in text and "[not markup]" in text
    assert "count" in text


def test_what_was_left_out_is_told_first_things_first():
    assert "too narrow for count" in text_of(made(), 60).replace("\n", " ")
    narrow = " ".join(text_of(made(), 46).split())
    assert "what it is; too narrow for note, count" in narrow and "not markup" not in narrow


def test_a_table_is_printed_again_and_as_a_page_whole():
    table = made()
    assert text_of(table, 46) == text_of(table, 46)
    assert text_of(table, 120) == text_of(made(), 120)
    assert all(word in page.table(table) for word in ("count", "note", "a_name_that_is_longer_than_most"))
