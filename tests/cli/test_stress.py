"""The command `nnfast stress`."""

import json
from dataclasses import replace

import pytest

from helpers.commands import assert_one_error_line, call
from nnfast.stress import TESTS, suite

SMALL = "--minutes", "0.02", "--threads", "2", "--processes", "2", "--grace", "600"


def test_list_shows_every_test(capsys):
    assert call("stress", "--list", "--json", "-") == 0
    assert [row["test"] for row in json.loads(capsys.readouterr().out)["tests"]] == list(TESTS)
    assert call("stress", "--list") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in TESTS)


def test_two_tests_as_a_table_and_as_json(capsys, tmp_path):
    assert call("stress", "--test", "client_early_termination", "--test", "multi_process_load_all_killed",
                "--seed", 5, *SMALL, "--json", tmp_path / "found.json") == 0
    shown = capsys.readouterr().out
    assert "client_early_termination       SUCCESS" in shown and "as planned" in shown
    assert "2 of 2 SUCCESS; seed 5, via local, 2 models" in shown
    found = json.loads((tmp_path / "found.json").read_text())
    assert [(row["test"], row["outcome"], row["client"]) for row in found["tests"]] == [
        ("client_early_termination", "SUCCESS", "CRASH"), ("multi_process_load_all_killed", "SUCCESS", "SUCCESS")]
    assert found["tests"][1]["facts"]["codes"] == [-9, -9]
    assert (found["seed"], found["via"], found["left_out"]) == (5, "local", [])


def test_an_outcome_other_than_success_is_exit_code_1(capsys, monkeypatch):
    name = "performance_degradation"
    monkeypatch.setitem(suite.TESTS, name, replace(TESTS[name], arguments={"compilers": 1, "limit": -101}))
    assert call("stress", "--test", name, *SMALL) == 1
    assert "FAILURE" in capsys.readouterr().out


def test_models_that_are_left_out_are_told(capsys, tmp_path):
    (tmp_path / "broken.tflite").write_bytes(b"no model")
    assert call("stress", "--models", tmp_path) == 2
    assert_one_error_line(capsys, "broken.tflite", "has no .tflite file that can be run")


def test_the_self_test_provokes_each_outcome(capfd):
    assert call("stress", "--self-test", "--json", "-") == 0
    rows = json.loads(capfd.readouterr().out)["programs"]
    assert {row["seen"] for row in rows} == {"SUCCESS", "FAILURE", "CRASH", "HANG"}
    assert all(row["seen"] == row["wanted"] for row in rows)


@pytest.mark.parametrize("arguments, words", [
    (["--test", "none"], "test is 'none', must be one of parallel_inference"),
    (["--minutes", "0"], "above 0"),
    (["--seed", "-1"], "must be a whole number"),
    (["--via", "burst"], "via is 'burst', must be one of local, service, ndk"),
    (["--models", "/nowhere"], "/nowhere: is not a folder"), (["--threads", "0"], "'0' is not a whole number from 1"),
    (["--json", "/nowhere/f.json"], "folder /nowhere does not exist"),
])
def test_bad_arguments(capsys, arguments, words):
    assert call("stress", *arguments) == 2
    assert_one_error_line(capsys, words)
