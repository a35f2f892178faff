"""docs/comparison.md: what it says of nnfast is what the metadata says, and it fits a terminal."""

import re
import tomllib

import nnfast
from helpers.commands import call
from helpers.tree import ROOT

PAGE = (ROOT / "docs/comparison.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def row(*heads):
    """The row of nnfast in the table with these columns behind the first."""
    head = re.escape(" | ".join(("| package", *heads)))
    found = re.search(rf"^{head} \|\n\|.*\n\| nnfast \| (.*) \|$", PAGE, re.M)
    return found[1].split(" | ")


def test_it_names_this_version():
    assert f"nnfast {nnfast.__version__} as a package" in PAGE


def test_dependencies_and_pythons_are_those_of_the_metadata():
    assert [re.match(r"\w+", name)[0] for name in PROJECT["dependencies"]] == [row("wheel", "unpacked",
                                                                                     "needs from the index")[-1]]
    pythons = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]
    assert row("CPython", "free-threaded 3.14, Linux x86-64")[0] == f"{pythons[0]} to {pythons[-1]}"


def test_its_commands_exist(capsys):
    for name in ("benchmark", "view", "dump", "check", "vts", "randgraph", "fuzz"):
        assert f"`nnfast {name}`" in PAGE or f"`{name}`" in PAGE
        assert not call(name, "--help")
    capsys.readouterr()


def test_it_fits_80_columns():
    assert max(map(len, PAGE.splitlines())) <= 80
