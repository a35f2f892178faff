"""docs/hal.md names a test for each case of the standard's tests: they exist, and every section has some."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "hal.md").read_text().split("## Where each case of the standard is tested")[1]
ROWS = re.findall(r"^\| ([\d.]+) \| (.+) \| (.+) \|$", TABLE, re.MULTILINE)


def functions(path):
    """Names of the functions of a Python file."""
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_section_is_there():
    assert {section for section, _, _ in ROWS} == {"6.7", "7.5", "8.4", "11.9", "11.10", "11.11", "11.12", "11.13"}


def test_every_named_test_exists():
    named = [(case, *name.split("::")) for _, case, tests in ROWS for name in re.findall(r"`(\S+::\S+)`", tests)]
    assert len(named) >= len(ROWS)
    known = {}
    for case, name, test in named:
        path = ROOT / (name if "/" in name else f"tests/hal/{name}")
        assert path.exists(), f"{case}: {path}"
        assert test in known.setdefault(path, functions(path)), f"{case}: {path} has no {test}"
