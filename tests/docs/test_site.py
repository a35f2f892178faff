"""What the site makes of docstrings (ci/site_docstrings.py)."""

import sys

import pytest

from helpers.tree import ROOT

pytest.importorskip("griffe")
sys.path.insert(0, str(ROOT / "ci"))

from site_docstrings import END, as_list, listed


class Thing:
    """A function of griffe."""

    def __init__(self, text):
        self.docstring = self
        self.value = text


def test_parameters_become_a_list():
    text = "Run it. size: bytes;\n0: none. first, last: places: both count. Raises\nInvalidArgument."
    assert as_list(text, ["size", "first", "last"]) == (
        "Run it.\n\n- `size`: bytes; 0: none.\n- `first`, `last`: places: both count.\n\nRaises\nInvalidArgument.")


@pytest.mark.parametrize("text", ["Nothing is named.", "The size: it counts.", "    size: no text", "sizes: others."])
def test_other_text_stays(text):
    assert as_list(text, ["size"]) == text


def test_examples_behind_a_list_and_internal_parts():
    thing = Thing("A class. size: bytes.\n\n    Thing(size=3)\n\nInternal: size may lie.")
    listed(thing, ["size"])
    assert thing.value == f"A class.\n\n- `size`: bytes.\n\n{END}\n\n    Thing(size=3)"
