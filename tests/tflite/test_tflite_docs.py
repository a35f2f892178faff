"""docs/tflite.md names every operator that is translated or refused for a reason, and no other."""

import re
from pathlib import Path

from nnfast.model.types import OperationType
from nnfast.ops.own import BY_NAME
from nnfast.tflite.own import EXTENDED
from nnfast.tflite.rules import TRANSLATIONS
from nnfast.tflite.schema import operator_name
from nnfast.tflite.translate import extension, translation

assert translation("no operator") is None and extension("no operator") is None  # imports all translations
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "tflite.md").read_text()


def rows(title):
    """Rows of the table under a heading, as lists of cells."""
    section = TEXT.split(f"## {title}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()
            if line.startswith("|")][2:]


def test_every_translation_is_in_the_table():
    names = [row[0] for row in rows("Translated")]
    assert names == sorted(names) and len(names) == len(set(names))
    assert set(names) == {code if isinstance(code, str) else operator_name(code) for code in TRANSLATIONS}


def test_the_table_names_operations_that_exist():
    for name, operations, _ in rows("Translated"):
        found = re.findall(r"\b[A-Z][A-Z0-9_]+\b", operations)
        assert found or operations == "none: a constant", name
        assert all(code in OperationType.__members__ or code in BY_NAME for code in found), name


def test_every_operation_of_our_own_is_in_the_table():
    names = [row[0] for row in rows("Operations of nnfast's own")]
    assert names == sorted(names) and len(names) == len(set(names))
    assert set(names) == {code if isinstance(code, str) else operator_name(code) for code in EXTENDED}
