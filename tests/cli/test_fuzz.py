"""The command `nnfast fuzz`."""

import json
import os
from pathlib import Path

import pytest

from helpers.commands import assert_one_error_line, call
from helpers.fuzz_targets import plant, without_atheris
from nnfast.fuzz import TARGETS


def test_the_command(capsys, tmp_path, monkeypatch):
    plant(monkeypatch, "Raises", "Fine")
    without_atheris(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert call("fuzz", "--target", "Fine", "--target", "Raises", "--runs", 20_000, "--seed", 1,
                "--json", "f.json") == 1
    out = capsys.readouterr().out
    assert "FOUND Raises: ValueError: the word is there" in out and "1 of 2 targets with a finding" in out
    assert "by chance, not guided by coverage: atheris is not installed" in out
    fine, raises = json.loads(Path("f.json").read_text())["targets"]
    assert fine["reason"] == "" and fine["runs"] == 20_000 and os.path.isfile(raises["file"])
    assert call("fuzz", "--target", "Raises", "--replay", raises["file"]) == 1
    assert "FOUND Raises: ValueError: the word is there" in capsys.readouterr().out
    assert call("fuzz", "--target", "Fine", "--replay", raises["file"]) == 0
    assert "1 input, nothing found" in capsys.readouterr().out


def test_list_shows_every_target(capsys):
    assert call("fuzz", "--list", "--json", "-") == 0
    assert [row["target"] for row in json.loads(capsys.readouterr().out)["targets"]] == list(TARGETS)


@pytest.mark.parametrize("arguments, words", [
    (["--target", "none"], "target is 'none', must be one of tflite"), (["--minutes", "0"], "above 0"),
    (["--runs", "0"], "'0' is not a whole number from 1"), (["--seed", "x"], "must be a whole number"),
    (["--seed", str(1 << 40)], "seed"), (["--replay", "x"], "--replay needs one --target"),
    (["--target", "packets", "--replay", "nowhere"], "nowhere: No such file or directory"),
    (["--target", "packets", "--replay", "/"], "/: is not a regular file"),
])
def test_bad_arguments(capsys, arguments, words):
    assert call("fuzz", *arguments) == 2
    assert_one_error_line(capsys, words)
