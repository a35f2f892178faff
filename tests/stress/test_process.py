"""Programs in processes of their own: each outcome is told from the others, and the first to arrive counts."""

import os
import signal
import subprocess
import sys

import pytest

from helpers import stress_programs as programs
from helpers.processes import environment
from nnfast.errors import InvalidArgument
from nnfast.stress import CRASH, FAILURE, HANG, SUCCESS, run_provocations
from nnfast.stress.outcome import reason_of
from nnfast.stress.process import watch

GENEROUS = 600.0


def ended(function, seconds=1.0, grace=GENEROUS, **options):
    return watch(function, {}, seconds, grace, **options)


def test_provocations_end_as_they_must():
    found = run_provocations()
    assert {row.name: (row.wanted, row.seen) for row in found} == {
        "succeed": (SUCCESS, SUCCESS), "fail": (FAILURE, FAILURE), "leave": (CRASH, CRASH),
        "write_through_null": (CRASH, CRASH), "never_answer": (HANG, HANG)}
    details = {row.name: row.detail for row in found}
    assert details["fail"].startswith("ValueError: raised on purpose (provocations.py:")
    assert details["leave"] == "the process died: exit code 255"
    assert details["write_through_null"] == "the process died: SIGSEGV"
    assert details["never_answer"] == "nothing within the 1 s declared and 0 s more"
    assert details["succeed"] == ""


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": "1"}, {"grace": -1}, {"grace": float("nan")}])
def test_provocations_take_numbers_above_zero(options):
    with pytest.raises(InvalidArgument, match="must be a number above 0"):
        run_provocations(**options)


def test_what_hangs_shows_where_it_stands(capfd):
    end = ended(programs.work_for_ever, seconds=0.1, grace=0.1)
    assert (end.outcome, end.code) == (HANG, -signal.SIGKILL)
    assert "work_for_ever" in capfd.readouterr().err


def test_what_a_program_returns_comes_back():
    end = watch(programs.add, {"x": 1, "y": 2}, 1.0, GENEROUS)
    assert (end.outcome, end.facts, end.code, end.killed) == (SUCCESS, {"sum": 3}, 0, False)


def test_progress_comes_back_and_is_no_outcome():
    told = []
    end = ended(programs.count_to_three, progress=told.append)
    assert (end.outcome, told) == (SUCCESS, ["1", "2", "3"])


@pytest.mark.parametrize("function, outcome, text", [
    (programs.succeed_and_crash, SUCCESS, "the process ended with SIGSEGV then"),
    (programs.fail_and_crash, FAILURE, "Failure first"),
])
def test_the_first_to_arrive_counts(function, outcome, text, capfd):
    end = ended(function)
    assert (end.outcome, end.text) == (outcome, text) and end.code == -signal.SIGSEGV


@pytest.mark.parametrize("function, text", [
    (programs.crash_at_once, "the process died: SIGSEGV"), (programs.exit_silently, "the process died: exit code 0"),
    (programs.close_everything_and_exit, "the process died: exit code 3")])
def test_who_dies_without_an_answer_has_crashed(function, text, capfd):
    end = ended(function)
    assert (end.outcome, end.text, end.killed) == (CRASH, text, False)


def test_a_planned_kill_is_told_from_other_deaths():
    end = ended(programs.work_for_ever, kill_after=0.01)
    assert (end.outcome, end.code, end.killed) == (CRASH, -signal.SIGKILL, True)
    end = ended(programs.kill_itself, kill_after=GENEROUS)
    assert (end.outcome, end.code, end.killed) == (CRASH, -signal.SIGKILL, False)


def test_who_is_done_before_the_kill_has_succeeded():
    end = ended(programs.count_to_three, kill_after=GENEROUS)
    assert (end.outcome, end.killed) == (SUCCESS, False)


def test_the_process_does_not_outlive_who_started_it(tmp_path):
    """Killed, so that it cannot tidy up."""
    line = tmp_path / "line"
    os.mkfifo(line)
    code = """
import sys
from helpers.stress_programs import hold
from nnfast.stress.process import watch
watch(hold, {"path": sys.argv[1]}, 600.0, 600.0)
"""
    starter = subprocess.Popen([sys.executable, "-c", code, line], env=environment())
    with open(line, "rb", buffering=0) as held:
        assert held.read(1) == b"x"  # the program lives, and has the other end
        starter.kill()
        starter.wait()
        assert held.read(1) == b""  # nobody has it any more


def test_reasons_are_one_line():
    try:
        raise KeyError("a\nb" * 1000)
    except KeyError as error:
        text = reason_of(error)
    assert "\n" not in text and len(text) < 600
