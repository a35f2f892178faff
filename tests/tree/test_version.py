"""One version, in nnfast/version.py: whatever else names it takes it from there."""

import json
import re
import tomllib

import pytest

import nnfast
from helpers.commands import call
from helpers.tree import ROOT
from nnfast.driver import cache_files


def test_the_metadata_takes_it_from_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    pyprojecttoml = pytest.importorskip("setuptools.config.pyprojecttoml")
    assert pyprojecttoml.read_configuration(ROOT / "pyproject.toml")["project"]["version"] == nnfast.__version__


def test_commands_say_it(capsys):
    assert call("--version") == 0
    assert capsys.readouterr().out == f"nnfast {nnfast.__version__}\n"
    assert call("info", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["version"] == nnfast.__version__
    assert call("info") == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["nnfast", nnfast.__version__]


def test_stored_models_carry_it():
    assert cache_files.version_string().startswith(f"nnfast {nnfast.__version__} ")


def test_it_is_a_section_of_the_changelog_with_a_date():
    heads = re.findall(r"^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    released = [(version, date) for version, date in heads if version != "Unreleased"]
    assert released[0][0] == nnfast.__version__
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for _, date in released)
