"""csrc/delegate/options.inc says what the format says: codes, unions, slots and types of options."""

import re

import pytest

from helpers.tree import ROOT
from nnfast.tflite.schema import BUILTINS, OPTIONS, OPTIONS_2, TABLES

KINDS = {"BOOL": "?", "INT": "i", "LONG": "q", "FLOAT": "f", "ENUM": "b", "KIND": "b", "INTS": "[i]", "LONGS": "[q]",
         "FLOATS": "[f]"}
ROWS = re.findall(r"^(LEFT|PLAIN|OPTIONS)\((\w+), (\d+)(?:, (\d), (\d+), (.*))?\)$",
                  (ROOT / "csrc" / "delegate" / "options.inc").read_text(), re.MULTILINE)


def test_all_operators_are_there_once():
    assert sorted(name for _, name, *_ in ROWS) == sorted(BUILTINS)


@pytest.mark.parametrize("row", ROWS, ids=[row[1] for row in ROWS])
def test_operator(row):
    kind, name, code, union, number, members = row
    assert int(code) == BUILTINS[name]
    found = [(1, OPTIONS), (2, OPTIONS_2)]
    expected = [(which, *table[BUILTINS[name]]) for which, table in found if BUILTINS[name] in table]
    if kind != "OPTIONS":
        assert kind == "LEFT" or not expected
        return
    (which, there, table), = expected
    assert (int(union), int(number)) == (which, there)
    fields = {slot: field for _, slot, field, _ in TABLES[table]}
    assert all(fields[int(slot)] == KINDS[member] for member, slot in re.findall(r"(\w+)\((\d+)\)", members)
               if member != "FROM")
