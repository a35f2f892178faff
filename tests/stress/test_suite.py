"""The stress tests themselves, small: every one succeeds, and sees what it is there to see."""

import os
import re
import signal
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from helpers import stress_programs as programs
from helpers.tflite.running import Const, One
from nnfast.errors import InvalidArgument
from nnfast.stress import CRASH, FAILURE, SUCCESS, TESTS, find_models, run, suite
from nnfast.stress.children import deaths
from nnfast.stress.degradation import percent_more
from nnfast.stress.driver import Driver
from nnfast.stress.liveness import Liveness
from nnfast.stress.way import Way
from nnfast.stress.workers import Work

SHORT = 0.01
"""Minutes of a test: every worker does what it has begun at least once, however slow the machine is."""

SMALL = {"minutes": SHORT, "threads": 2, "processes": 2, "limit": 1e9, "grace": 600}


@cache
def models_of(via):
    """Those that come with nnfast: found once, which runs each of them by the definitions."""
    return find_models(via=via)


def only(name, via="local", **options):
    result, = run([name], via=via, **({"models": models_of(via)} | SMALL | options))
    return result


OVER_NDK = ("parallel_inference", "client_early_termination_executing", "memory_mapped_compilation",
            "multi_process_load_half_killed", "random_graph_execution", "performance_degradation")
"""One of each program."""


@pytest.mark.parametrize("name, via", [*product(TESTS, ["local", "service"]), *product(OVER_NDK, ["ndk"])])
def test_every_test_succeeds(name, via):
    result = only(name, via=via)
    assert result.outcome == SUCCESS, result
    facts = result.facts
    if TESTS[name].is_killed:
        assert result.client == CRASH and 0.25 * 60 * SHORT <= facts["killed_after_s"] <= 0.5 * 60 * SHORT
    else:
        assert result.client == SUCCESS
        assert "models" in facts or facts.get("graphs") or facts.get("compiled") or all(facts["planned"])
    if TESTS[name].is_watched:
        assert facts["liveness_rounds"] > 0


def test_children_die_as_planned():
    result = only("multi_process_load_half_killed", processes=6)
    planned, codes = result.facts["planned"], result.facts["codes"]
    assert [code == -signal.SIGKILL for code in codes] == [death is not None for death in planned]
    assert planned == deaths("multi_process_load_half_killed", 1, 6, 60 * SHORT, 0.5)
    assert {None} < set(planned)  # of this seed some die and some do not


def test_each_child_has_a_seed_of_its_own():
    plan = deaths("x", 7, 50, 100.0, 0.5)
    assert plan == deaths("x", 7, 50, 100.0, 0.5) != deaths("x", 8, 50, 100.0, 0.5)
    moments = [death for death in plan if death is not None]
    assert len(moments) == len(set(moments)) and 10 < len(moments) < 40
    assert all(0 <= moment < 100 for moment in moments)
    assert None not in deaths("x", 7, 50, 1.0, 1.0) and set(deaths("x", 7, 50, 1.0, 0.0)) == {None}


def test_the_moment_of_a_kill_follows_from_the_seed():
    first, again, other = (only("client_early_termination", seed=seed).facts["killed_after_s"] for seed in (3, 3, 4))
    assert first == again != other


# -- what must not succeed ---------------------------------------------------------------------------------------------
@pytest.fixture
def changed(monkeypatch):
    """Run a test with other arguments or fields."""
    def run_changed(name, arguments=None, program=None, **options):
        test = TESTS[name]
        monkeypatch.setitem(suite.TESTS, name, replace(test, arguments=test.arguments | (arguments or {}),
                                                       program=program or test.program))
        return only(name, **options)

    return run_changed


@pytest.mark.parametrize("name, compile, outcome, words", [
    ("parallel_inference", programs.compile_wrongly, FAILURE, "digits_float32.tflite: wrong outputs by "),
    ("parallel_inference", programs.compile_and_raise, FAILURE, "refused on purpose"),
    ("parallel_inference", programs.compile_and_crash, CRASH, "the process died: SIGSEGV"),
    ("multi_process_load", programs.compile_and_raise, FAILURE,
     "child 0 ended with exit code 1, planned was the end of its work: refused on purpose"),
    ("multi_process_load", programs.compile_and_crash, FAILURE, "child 1 ended with SIGSEGV, planned was the end of"),
    ("multi_process_load_all_killed", programs.compile_and_raise, FAILURE, "planned was SIGKILL after "),
    ("client_early_termination", programs.compile_and_raise, FAILURE, "refused on purpose"),
])
def test_clients_that_fail(changed, name, compile, outcome, words, capfd):
    result = changed(name, {"work": Work((0.0, 0.0), 1.0, compile)})
    assert (result.outcome, result.client) == (outcome, outcome) and words in result.detail, result
    if name.startswith("multi_process"):
        assert len(result.facts["codes"]) == len(result.facts["planned"]) == 2


@pytest.mark.parametrize("program, client, outcome, words", [
    (programs.end_early, SUCCESS, FAILURE, "the client ended before it was killed"),
    (programs.crash_early, CRASH, CRASH, "the process died: SIGSEGV"),
])
def test_who_is_to_be_killed_must_not_end_otherwise(changed, program, client, outcome, words, capfd):
    result = changed("client_early_termination", program=program, minutes=60)
    assert (result.outcome, result.client) == (outcome, client) and words in result.detail, result


@pytest.mark.parametrize("name", ["parallel_inference", "memory_mapped_compilation", "multi_process_load_all_killed"])
def test_a_driver_that_dies_is_seen(changed, name):
    work = Work((0.0, 0.0), 0.0, programs.kill_the_driver)
    result = changed(name, {"work": work}, via="service")
    assert result.outcome == FAILURE and "the driver's process ended with SIGKILL" in result.detail, result


@pytest.mark.parametrize("program, words", [
    (programs.graphs_of_other_shapes, ", must be "),
    (programs.graphs_that_do_not_compile, "GeneralFailure: on purpose"),
])
def test_random_graphs_that_fail(changed, program, words):
    """The reason tells how to draw the same graph again."""
    result = changed("random_graph_execution", program=program)
    assert result.outcome == FAILURE and words in result.detail, result
    assert re.search(r"; nnfast randgraph --seed \d+ --ops small draws the same graph$", result.detail), result


def test_a_driver_that_does_not_start_is_a_failure(monkeypatch):
    monkeypatch.setattr(suite, "IDLE_SECONDS", "never")  # an option that the driver refuses
    monkeypatch.setattr(suite, "START_SECONDS", 0.1)
    result = only("parallel_inference", via="service")
    assert result.outcome == FAILURE and result.detail.startswith("before it began: DeadObject: ")


def test_liveness_sees_a_driver_that_does_not_answer(tmp_path):
    with Driver(patience=600) as driver:
        liveness = Liveness(Way("service", driver.path), find_models().paths[0])
        os.kill(driver.pid, signal.SIGSTOP)
        assert liveness.stop(0.5) == "the driver has not answered for 0.5 s"


def test_degradation_beyond_the_limit_is_a_failure(changed):
    assert [percent_more(2.0, after) for after in (2.0, 3.0, 2.019, 1.0)] == [0, 50, 0, -50]
    result = only("performance_degradation")
    assert result.outcome == SUCCESS and set(result.facts["models"]) == {"digits_float32.tflite", "digits_int8.tflite"}
    result = changed("performance_degradation", {"limit": -101}, limit=None)
    assert result.outcome == FAILURE and "digits_float32.tflite slows down beside compilations of " in result.detail
    assert all(row["alone_us"] > 0 and row["beside_us"] > 0 for row in result.facts["models"].values())


# -- models and arguments ----------------------------------------------------------------------------------------------
def test_models_that_do_not_run_are_left_out(tmp_path):
    (tmp_path / "a.tflite").write_bytes(b"no model")
    (tmp_path / "b.tflite").write_bytes(Path(find_models().paths[0]).read_bytes())
    models = find_models(tmp_path)
    assert models.paths == (str(tmp_path / "b.tflite"),)
    (path, why), = models.skipped
    assert path == str(tmp_path / "a.tflite") and "a.tflite" in why
    assert only("memory_mapped_compilation", models=models).outcome == SUCCESS


def test_models_beyond_the_standard_are_left_out_of_the_c_library(tmp_path):
    """A fused TANH and DYNAMIC_UPDATE_SLICE are LiteRT's alone."""
    x = np.ones((2, 3), np.float32)
    one = One("ADD", [x, x], [((2, 3), np.float32)], "AddOptions", {"FusedActivationFunction": 4})
    (tmp_path / "a.tflite").write_bytes(one.file())
    (tmp_path / "b.tflite").write_bytes(Path(find_models().paths[0]).read_bytes())
    place = Const(np.zeros(2, np.int32))
    other = One("DYNAMIC_UPDATE_SLICE", [x, x[:1], place], [((2, 3), np.float32)])
    (tmp_path / "c.tflite").write_bytes(other.file())
    assert len(find_models(tmp_path).paths) == 3
    models = find_models(tmp_path, "ndk")
    assert models.paths == (str(tmp_path / "b.tflite"),) and "fused activation" in models.skipped[0][1]
    assert "is no operation of NNAPI" in models.skipped[1][1]
    with pytest.raises(InvalidArgument, match="via is 'burst'"):
        find_models(tmp_path, "burst")


def test_folders_without_models(tmp_path):
    with pytest.raises(InvalidArgument, match="is not a folder"):
        find_models(tmp_path / "none")
    with pytest.raises(InvalidArgument, match="has no .tflite file that can be run"):
        run(models=tmp_path)


@pytest.mark.parametrize("options, words", [
    ({"tests": ["none"]}, "test is 'none', must be one of parallel_inference, "), ({"tests": 1}, "tests"),
    ({"minutes": 0}, "minutes is 0, must be a number above 0"), ({"minutes": "1"}, "minutes is '1'"),
    ({"seed": -1}, "seed is -1"), ({"via": "burst"}, "via is 'burst', must be one of local, service, ndk"),
    ({"threads": 0}, "threads is 0"), ({"processes": 1.5}, "processes is 1.5"), ({"limit": 0}, "limit is 0"),
    ({"grace": float("inf")}, "grace is inf"), ({"progress": 1}, "progress"), ({"models": 1}, "models"),
])
def test_wrong_arguments(options, words):
    with pytest.raises(InvalidArgument, match=words):
        run(**options)
