"""The recipes of docs/architecture.md: every example has all that its recipe names; no other file lists them.

A recipe is a heading and a table of rows `file | text that it holds | why`; `<word>` stands for the example.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from helpers.tree import ROOT, sources

PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def recipes():
    """{title: [(file, text)]}"""
    page = PAGE.read_text().split("\n## Recipes\n")[1].split("\n## ")[0]
    return {part.partition("\n")[0]: [row[:2] for row in ROW.findall(part)] for part in page.split("\n### ")[1:]}


def filled(text, example):
    """A cell with the example's words in place of its placeholders."""
    return re.sub(r"<(\w+)>", lambda match: example[match[1]], text)


@cache
def files(pattern):
    """Names of files that a pattern of a recipe means."""
    rule = re.compile("".join({"**/": "(?:.*/)?", "*": "[^/]*"}.get(part, re.escape(part))
                              for part in re.split(r"(\*\*/|\*)", pattern)))
    return [name for name in sources() if rule.fullmatch(name)]


def holds(pattern, text):
    """Whether a file of that name has the text, as words of its own."""
    before, after = r"(?<![A-Za-z0-9])" * text[0].isalnum(), r"(?![A-Za-z0-9])" * text[-1].isalnum()
    word = re.compile(before + re.escape(text) + after)
    return any(word.search(sources()[name]) for name in files(pattern))


# -- examples: what there is now ---------------------------------------------------------------------------------------
def operations():
    from nnfast.ops.registry import FAMILIES

    return [{"family": family, "OPERATION": code.name} for family, codes in FAMILIES.items() for code in codes]


def kernel_families():
    return [{"family": path.name} for path in sorted((ROOT / "csrc" / "kernels").iterdir()) if path.is_dir()]


def variants():
    found = {(Path(name).parent.name, level) for name in files("csrc/kernels/*/*.inc")
             for level in re.findall(r"NNF_K\(\w+__([a-z0-9]+)", sources()[name])}
    return [{"family": family, "level": level} for family, level in sorted(found) if level != "scalar"]


def levels():
    names = re.search(r"names\[\] = \{([^}]*)\}", sources()["csrc/base/cpu.c"])[1]
    return [{"level": level, "LEVEL": level.upper()} for level in re.findall(r'"(\w+)"', names) if level != "scalar"]


def compiler_passes():
    from nnfast.compiler.passes import NAMES

    return [{"pass": name} for name in NAMES]


def operators():
    from nnfast.tflite.rules import TRANSLATIONS
    from nnfast.tflite.schema import operator_name
    from nnfast.tflite.translate import translation

    assert translation("no operator") is None  # imports them all
    return [{"OPERATOR": operator_name(code)} for code in TRANSLATIONS if not isinstance(code, str)]


def commands():
    from nnfast.cli.main import COMMANDS

    return [{"command": name} for name in COMMANDS]


def messages():
    from nnfast.service.server.connection import HANDLERS
    from nnfast.service.wire import protocol

    return [{"Message": kind.__name__} for kind in HANDLERS if kind is not protocol.Ping]  # which other clients send


def methods():
    found = set()
    for name in files("nnfast/hal/v1_*.py"):
        for made in ast.walk(ast.parse(sources()[name])):
            if isinstance(made, ast.ClassDef) and made.name in ("Device", "PreparedModel"):
                found |= {node.name for node in made.body if isinstance(node, ast.FunctionDef)}
    return [{"method": method, "name": re.sub(r"_1_\d$", "", method)} for method in sorted(found)
            if not method.startswith("_") and method not in ("last_error", "prepared_model")]  # which HIDL lacks


EXAMPLES = {
    "An operation": operations, "Its native form": kernel_families, "A faster variant of a kernel": variants,
    "An instruction level": levels, "A compiler pass": compiler_passes, "A TFLite operator": operators,
    "A command": commands, "A message of the service": messages, "A method of the HAL": methods,
}


@pytest.mark.parametrize("title", EXAMPLES)
def test_every_example_has_all_that_its_recipe_names(title):
    rows, examples = recipes()[title], EXAMPLES[title]()
    assert len(rows) >= 2 and len(examples) > 5
    missing = [f"{filled(file, example)}: {filled(text, example)}" for example in examples for file, text in rows
               if not holds(filled(file, example), filled(text, example))]
    assert missing == []


@pytest.mark.parametrize("title", ["An operation", "An instruction level", "A TFLite operator",
                                   "A message of the service"])
def test_no_other_file_lists_the_same(title):
    """A file that names three quarters of the examples is one more place to change."""
    examples = EXAMPLES[title]()
    known = {name for other, rows in recipes().items() for file, _ in rows for example in EXAMPLES[other]()
             for name in files(filled(file, example))}
    words = {next(example[word] for word in ("OPERATION", "level", "OPERATOR", "Message") if word in example)
             for example in examples}
    others = [name for name, text in sources().items()
              if name not in known and len(words & set(re.findall(r"\w+", text))) > 0.75 * len(words)]
    assert others == []


def test_every_recipe_with_a_table_is_tested():
    assert {title for title, rows in recipes().items() if rows} == set(EXAMPLES)


def test_every_named_file_exists():
    page = PAGE.read_text()
    named = set(re.findall(r"`((?:nnfast|csrc|tests|ci|docs|asv_bench|examples)/[\w./]+)`", page))
    assert len(named) > 20 and sorted(name for name in named if not (ROOT / name).exists()) == []
