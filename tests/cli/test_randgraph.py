"""`nnfast randgraph`: what it prints, its JSON, bad input."""

import json
import re

import pytest

from helpers.commands import assert_one_error_line, call
from helpers.planted_bugs import BUGS


def test_right_graphs(capsys, tmp_path):
    assert call("randgraph", "--seed", "3..5", "--jobs", "1", "--levels", "scalar", "--dump-failed", tmp_path / "none",
                "--json", tmp_path / "r.json") == 0
    out = capsys.readouterr().out
    assert "subject" in out and "canonical local scalar" in out
    assert re.search(r"^3 graphs in [0-9.]+ s, 0 failed$", out, re.M)
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["graphs"] == 3 and document["failed"] == 0
    assert sum(document["subjects"]["canonical local scalar"].values()) == 3
    assert not (tmp_path / "none").exists()


def test_wrong_driver(capsys, tmp_path):
    """A driver that does something else disagrees with nnfast, and the files are there."""
    assert call("randgraph", "--seed", "1", "--only", "ADD", "--ops", "single", "--jobs", "1", "--against",
                "helpers.planted_bugs:Subtracts", "--dump-failed", tmp_path / "d", "--json", tmp_path / "r.json") == 1
    out = capsys.readouterr().out
    assert "FAILED seed 1 on canonical local: output 0: " in out
    assert re.search(r"^1 graph in [0-9.]+ s, 1 failed$", out, re.M)
    (row,) = json.loads((tmp_path / "r.json").read_text())["notable"]
    assert row["verdict"] == "differs" and row["file"].startswith(str(tmp_path / "d"))


@pytest.mark.parametrize("args, words", [
    (("--seed", "5..3"), ("5..3", "A..B")), (("--seed", "x"), ("A..B",)), (("--seed", "-1"), ("--seed",)),
    (("--ops", "huge"), ("size is 'huge'", "single, small, large")), (("--only", "NONE"), ("NONE",)),
    (("--only", "IF"), ("none of the operations",)), (("--via", "air"), ("via is 'air'",)),
    (("--hal", "2.0"), ("hal is '2.0'",)), (("--hal", "1.0", "--via", "burst"), ("HAL 1.0 has no way burst",)),
    (("--levels", "sse"), ("level is 'sse'",)), (("--jobs", "0"), ("--jobs",)),
])
def test_bad_arguments(capsys, args, words):
    assert call("randgraph", *args) == 2
    assert_one_error_line(capsys, *words)


def test_every_planted_bug_has_a_plant():
    assert len(BUGS) >= 20 and all(callable(bug.plant) for bug in BUGS.values())
