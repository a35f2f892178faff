import json

import pytest

from helpers import vector_files
from nnfast.conformance import pool, run, runner
from nnfast.conformance.definitions import DefinitionsDevice
from nnfast.errors import GeneralFailure, InvalidArgument


def run_with(device, path, **options):
    return run([path], device=f"helpers.fake_devices:{device}", **options)


@pytest.fixture
def vectors(tmp_path):
    return vector_files.write(tmp_path / "add.json.gz", vector_files.add_test())


def test_definitions_pass_without_kernels(vectors):
    assert DefinitionsDevice().without_passes == {"native_kernels"}
    results = run([vectors], via="definitions")
    assert (results.passed, results.failed) == (6, 0)


def only(results, kind):
    found = [test for test in results.tests if test.kind == kind]
    assert len(found) == 1
    return found[0]


def test_right_device_passes_every_kind(vectors):
    results = run_with("Strict", vectors)
    assert [(test.kind, test.outcome) for test in results.tests] == [
        ("general", "passed"), ("dynamic", "passed"), ("memory_domain", "passed"), ("fenced", "passed"),
        ("deadline", "passed"), ("validation", "passed")]
    assert only(results, "memory_domain").parts == {"blob": "passed", "device": "skipped"}
    assert only(results, "dynamic").parts == {"unspecified": "passed", "insufficient": "passed"}
    assert (results.passed, results.failed, results.skipped, results.not_applicable) == (6, 0, 0, 0)
    assert only(results, "general").max_error == 0


@pytest.mark.parametrize("device, kind, words", [
    ("OffByOne", "general", "must be 4.0 within"),
    ("OffByOne", "dynamic", "must be 4.0 within"),
    ("NotANumber", "general", "is nan"),
    ("Raises", "general", "GENERAL_FAILURE: no such luck"),
    ("Breaks", "general", "the driver raised KeyError"),
    ("ClaimsAndRefuses", "general", "claimed as supported, but prepare gave INVALID_ARGUMENT"),
    ("NoFlags", "general", "gave 0 flags"),
    ("WrongShape", "general", "has dims [2, 1], must be [2]"),
    ("AlwaysTimes", "general", "must be None when they are not asked for"),
    ("NeverTimes", "general", "both were asked for"),
    ("TimesBackwards", "general", "must not exceed"),
    ("ChangesInput", "general", "the driver changed the input pool"),
    ("WrongInRun", "general", "run: output 0 TENSOR_FLOAT32: element [0] is 4.5"),
    ("WideInRun", "general", "run: output 0 is float64 [2], must be float32 [2]"),
    ("AnswersOtherwise", "dynamic", "gave INVALID_ARGUMENT: output 0: length is too small, must be OUTPUT_INSUFF"),
    ("AcceptsShort", "dynamic", "insufficient: execute, timing NO, output 0 one byte short: succeeded"),
    ("BlamesNoOutput", "dynamic", "output 0 is reported as sufficient"),
    ("WrongDims", "dynamic", "has dims [3], must be [2] or 0"),
    ("TakesNoPriority", "deadline", "prepare: prepare with priority high: gave GENERAL_FAILURE"),
    ("NeverInTime", "deadline", "execute: execute, timing NO, deadline the largest: gave MISSED_DEADLINE_TRANSIENT"),
    ("OffByOne", "deadline", "must be 4.0 within"),
    ("RefusesFences", "fenced", "GENERAL_FAILURE: no waiting"),
    ("OffByOne", "fenced", "must be 4.0 within"),
    ("WrongRoles", "memory_domain", "device: INVALID_ARGUMENT: allocate: there is no such role"),
    ("OffByOne", "memory_domain", "blob: execute, timing NO: output 0"),
])
def test_wrong_device_fails(vectors, device, kind, words):
    test = only(run_with(device, vectors), kind)
    assert test.outcome == "failed"
    assert words in test.reason


def test_stray_write_is_found(tmp_path):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(
        type_="TENSOR_QUANT8_ASYMM", a=(1, 2, 3), b=(1, 1, 1), out=(2, 3, 4)))
    test = only(run_with("WritesBeyond", path), "general")
    assert test.outcome == "failed" and "wrote 1 bytes outside the outputs, the first at offset 3" in test.reason


def test_refusing_what_was_not_claimed_is_a_skip_that_cites_the_rule(vectors):
    results = run_with("ClaimsNothing", vectors, kinds=["general", "dynamic"])
    assert results.skipped == 2
    assert "[NN 16.2]" in results.tests[0].reason


def test_general_failure_skips_dynamic_only(vectors):
    results = run_with("StaticOnly", vectors)
    assert only(results, "general").outcome == "passed"
    assert only(results, "dynamic").outcome == "skipped"
    assert "[NN 16.5]" in only(results, "dynamic").reason


def test_one_byte_output_has_no_insufficient_form(tmp_path):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(
        type_="TENSOR_QUANT8_ASYMM", a=(1,), b=(2,), out=(3,)))
    assert only(run_with("Right", path), "dynamic").parts == {"unspecified": "passed"}


@pytest.mark.parametrize("device, source, outcome", [
    ("Raises", "V1_2/x", "passed"),
    ("Right", "V1_2/x", "failed"),
    ("Breaks", "V1_2/x", "failed"),
    ("ClaimsNothing", "V1_2/x", "passed"),
    ("ClaimsAndRefuses", "V1_2/x", "failed"),
    ("ClaimsAndRefuses", "V1_3_cts_only/x", "passed"),
])
def test_failure_kind(tmp_path, device, source, outcome):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(expect_failure=True), source=source)
    results = run_with(device, path, kinds="failure")
    assert [test.outcome for test in results.tests] == [outcome]


def quant_test(name="add", **changes):
    return vector_files.add_test(name, type_="TENSOR_QUANT8_ASYMM", a=(130, 140), b=(1, 2), out=(131, 142), **changes)


@pytest.mark.parametrize("device, outcome, words", [
    ("Right", "passed", ""),
    ("WrongWithSigned", "failed", "signed: execute, timing NO: output 0"),
    ("UnsignedOnly", "failed", "signed: refused, but the original model prepares"),
    ("ClaimsNothing", "skipped", "[NN 16.2]"),
])
def test_coupling_kind(tmp_path, device, outcome, words):
    path = vector_files.write(tmp_path / "x.json.gz", quant_test())
    test = only(run_with(device, path, kinds="coupling"), "coupling")
    assert (test.outcome, words in test.reason) == (outcome, True)
    assert set(test.parts) == {"original", "signed"}


@pytest.mark.parametrize("test", [
    vector_files.add_test(), quant_test(operation="PAD_V2"), quant_test(expect_failure=True)])
def test_coupling_takes_only_single_operations_on_unsigned_codes(tmp_path, test):
    path = vector_files.write(tmp_path / "x.json.gz", test)
    assert run_with("Right", path, kinds="coupling").tests == []


@pytest.mark.parametrize("device, outcome, words", [
    ("RunsOutOfTime", "passed", ""),
    ("Right", "failed", "succeeded, must be MISSED_DEADLINE"),
    ("StopsLoopsOtherwise", "failed", "gave INVALID_ARGUMENT"),
    ("Raises", "skipped", "[NN 16.5]"),
])
def test_loop_timeout_kind(tmp_path, device, outcome, words):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(operation="WHILE", expect_failure=True))
    test = only(run_with(device, path, kinds="loop_timeout"), "loop_timeout")
    assert (test.outcome, words in test.reason) == (outcome, True)


@pytest.mark.parametrize("device, column, rule, words", [
    ("OverlooksScales", "accepted", "operand scale", "main.operand[0] scale 1.0: supported_operations accepted it"),
    ("RefusesInTwoLines", "crashed", "operation removed", "must be INVALID_ARGUMENT with one line"),
    ("BreaksOnBadOrder", "crashed", "missing writer", "raised IndexError: oops"),
    ("Right", "accepted", "operand rank", "supported_operations accepted it"),
])
def test_validation_counts_what_is_not_refused(tmp_path, device, column, rule, words):
    chain = vector_files.add_chain()
    path = vector_files.write(tmp_path / "x.json.gz", chain)
    results = run_with(device, path, kinds="validation")
    assert results.failed == 1 and words in results.tests[0].reason
    counts = results.mutations()[rule]
    assert counts[column] > 0 and counts["tried"] == counts["refused"] + counts["accepted"] + counts["crashed"]


def test_validation_takes_the_names_of_the_standard(tmp_path):
    names = ["x", "x_all_inputs_as_internal", "x_all_tensors_as_inputs", "x_all_outputs_as_internal"]
    path = vector_files.write(tmp_path / "x.json.gz", *map(vector_files.add_test, names))
    results = run_with("Strict", path, kinds="validation")
    assert [test.name for test in results.tests] == [names[0], names[3]] and results.failed == 0


def test_crash_costs_one_test_and_the_rest_go_on(tmp_path):
    names = ["add_0", "add_crash", "add_2", "add_crash_too", "add_4"]
    path = vector_files.write(tmp_path / "x.json.gz", *(vector_files.add_test(name) for name in names))
    seen = []
    results = run_with("Crashes", path, kinds=["general"], jobs=1, progress=lambda *args: seen.append(args))
    assert {test.name: test.outcome for test in results.tests} == {
        name: "failed" if "crash" in name else "passed" for name in names}
    assert "SIGSEGV" in results.tests[1].reason
    assert [(done, total) for done, total, _ in seen] == [(n, 5) for n in range(1, 6)]


def test_device_that_never_starts_ends_the_run(vectors):
    with pytest.raises(GeneralFailure, match="ended before its first test.*exit code 7"):
        run_with("DiesAtStart", vectors)


def test_device_that_is_never_ready_ends_the_run(vectors, monkeypatch):
    monkeypatch.setattr(pool, "START_SECONDS", 0.5)
    with pytest.raises(GeneralFailure, match="ended before its first test.*stopped after 0 s without an answer"):
        run_with("NeverReady", vectors)


def test_hanging_test_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "TEST_SECONDS", 5)
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test("hang"), vector_files.add_test("well"))
    results = run_with("Hangs", path, kinds="general")
    assert [test.outcome for test in results.tests] == ["failed", "passed"]
    assert "without an answer" in results.tests[0].reason


def test_many_files_over_two_workers_keep_their_order(tmp_path):
    for number in range(5):
        tests = [vector_files.add_test(f"add_{number}_{i:02}") for i in range(40)]
        vector_files.write(tmp_path / f"{number}.json.gz", *tests)
    results = run_with("Right", tmp_path, kinds=["general"], jobs=2)
    names = [test.name for test in results.tests]
    assert names == sorted(names) and len(names) == 200 and results.passed == 200


def test_selection(tmp_path):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test("one"),
                              vector_files.add_test("two", operation="MUL"))
    assert [t.name for t in run_with("Right", path, kinds="general", ops="ADD,SUB").tests] == ["one"]
    assert [t.name for t in run_with("Right", path, kinds="general", pattern="t.o").tests] == ["two"]
    assert run_with("Right", path, pattern="three").tests == []


def test_sample_is_drawn_by_the_seed(tmp_path):
    path = vector_files.write(tmp_path / "x.json.gz", *(vector_files.add_test(f"t{i}") for i in range(40)))
    names = [[test.name for test in run_with("Strict", path, kinds=["general", "fenced"], sample=5, seed=seed).tests]
             for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2] and len(names[0]) == 10
    assert len(run_with("Strict", path, kinds="general", sample=100).tests) == 40


def test_newer_than_the_face_is_not_applicable(tmp_path):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(min_hal="unknown", operation="DENSIFY"),
                              source="experimental/x")
    results = run_with("Breaks", path, kinds="general")
    assert results.tests[0].outcome == "not_applicable"
    assert "needs experimental" in results.tests[0].reason


def test_dynamic_leaves_out_models_with_control_flow(tmp_path):
    path = vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(operation="RANK"))
    results = run_with("Right", path, kinds=["general", "dynamic"])
    assert [test.kind for test in results.tests] == ["general"]


@pytest.mark.parametrize("options, words", [
    ({"hal": "2.0"}, "hal is '2.0', must be one of"),
    ({"via": "burst"}, "must be reached via local"),
    ({"via": "cache"}, "must be reached via local"),
    ({"via": "definitions"}, "must be reached via local"),
    ({"kinds": ["nonsense"]}, "kind is 'nonsense'"),
    ({"ops": "ADD,FOO"}, "there is no operation FOO"),
    ({"ops": ""}, "ops is empty"),
    ({"pattern": "("}, "not a regular expression"),
    ({"jobs": 0}, "jobs is 0"),
    ({"threads": 0}, "threads is 0"),
])
def test_bad_arguments(vectors, options, words):
    with pytest.raises(InvalidArgument, match=words):
        run_with("Right", vectors, **options)


def test_malformed_operand_ends_the_run(tmp_path):
    test = vector_files.add_test()
    test["model"]["main"]["operands"][0]["dims"] = [3]
    path = vector_files.write(tmp_path / "x.json.gz", test)
    with pytest.raises(InvalidArgument, match=r"main.operands\[0\]: data has 8 bytes, TENSOR_FLOAT32 \[3\] takes 12"):
        run_with("Right", path)


def test_json_document(vectors):
    document = json.loads(json.dumps(
        run_with("NotANumber", vectors, kinds=["general", "dynamic"]).to_json(), allow_nan=False))
    assert (document["passed"], document["failed"], document["skipped"], document["not_applicable"]) == (0, 2, 0, 0)
    row = document["tests"][0]
    assert {key: row[key] for key in ("name", "kind", "hal", "via", "outcome", "max_error")} == {
        "name": "add", "kind": "general", "hal": "canonical", "via": "local", "outcome": "failed", "max_error": None}
    assert document["worst"]["TENSOR_FLOAT32"]["max_error"] is None


def test_threads_reach_the_device(vectors):
    assert run_with("WantsTwoThreads", vectors, kinds="general", threads=2).passed == 1
    assert run_with("WantsTwoThreads", vectors, kinds="general").failed == 1
