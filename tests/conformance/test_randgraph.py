"""Random graphs: legal and the same for one seed; right ones pass, planted bugs are found, made small and written."""

import subprocess
import sys
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from helpers.commands import ROOT
from helpers.planted_bugs import BUGS
from nnfast import Device, ModelBuilder
from nnfast.conformance import run as run_vectors
from nnfast.conformance.criteria import CRITERIA, breach, criteria_of, in_float32
from nnfast.conformance.judge import exposed, judge, mismatch
from nnfast.conformance.parts import golden
from nnfast.conformance.randgraph import SIZES, draw_case, run
from nnfast.conformance.randgraph.generate import rows_of
from nnfast.conformance.randgraph.trial import REFERENCE, Trial
from nnfast.conformance.reference import evaluate
from nnfast.errors import Error, InvalidArgument, ResourceExhaustedPersistent
from nnfast.model.types import VERSIONS, OperationType
from nnfast.model.types import OperandType as T

LOCAL = {"hal": "canonical", "via": "local", "level": None}
MOST_GRAPHS = 5000
"""Within so many each planted bug must be found."""


@pytest.fixture(scope="module")
def cases():
    """Function from a number to the small graph of that seed, each drawn once."""
    drawn = {}

    def case(seed):
        if seed not in drawn:
            drawn[seed] = draw_case(seed)
        return drawn[seed]

    return case


def trial(folder=None, against=REFERENCE, size="small"):
    return Trial(size, None, VERSIONS[-1], [LOCAL], 2, against, folder)


# -- graphs ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", SIZES)
def test_graphs_are_legal_and_of_their_size(size):
    device = Device(num_threads=1)
    for seed in range(5):
        case = draw_case(seed, size)
        assert len(case.model.main.operations) == SIZES[size].operations
        device.check(case.model)
        assert all(device.supported_operations(case.model))
        assert len(case.inputs) == len(case.model.main.inputs) >= 1


def test_the_same_seed_gives_the_same_graph():
    for size in SIZES:
        one, other = draw_case(7, size), draw_case(7, size)
        assert one.model.main.operations == other.model.main.operations
        for arrays in zip((*one.inputs, *one.expected), (*other.inputs, *other.expected), strict=True):
            assert arrays[0].tobytes() == arrays[1].tobytes()
    assert draw_case(7).model.main.operations != draw_case(8).model.main.operations


def test_outputs_are_those_of_the_definitions():
    for seed in range(10):
        case = draw_case(seed, "large")
        values = evaluate(case.model, case.inputs)
        for operand, wanted in zip(case.model.main.outputs, case.expected, strict=True):
            assert values[operand].tobytes() == wanted.tobytes()


def test_operations_read_what_others_wrote():
    inner = total = 0
    for seed in range(20):
        main = draw_case(seed, "large").model.main
        written = {operand for operation in main.operations for operand in operation.outputs}
        inner += sum(bool(written & set(operation.inputs)) for operation in main.operations)
        total += len(main.operations)
    assert inner > total / 2


@pytest.mark.parametrize("name", sorted(rows_of()))
def test_every_operation_can_be_drawn(name):
    for seed in range(3):
        case = draw_case(seed, "single", (name,))
        assert [operation.type.name for operation in case.model.main.operations] == [name]


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3"])
def test_graphs_of_a_version_have_no_newer_forms(version):
    for seed in range(20):
        Device(num_threads=1).check(draw_case(seed, "small", None, version).model, version)


def test_control_flow_cannot_be_drawn():
    with pytest.raises(InvalidArgument, match="none of the operations"):
        draw_case(1, "small", ("IF",))


# -- verdicts ----------------------------------------------------------------------------------------------------------
def test_right_graphs_pass_on_every_face_and_way():
    results = run(range(6), hals=["canonical", "1.0", "1.2", "1.3"], vias=["local", "burst", "cache"], jobs=1)
    assert results.failures == [] and results.graphs == 6
    assert len(results.counts) == 11  # HAL 1.0 has no bursts
    assert all(counts["same"] + counts["within"] >= 4 for counts in results.counts.values())


def test_right_graphs_pass_through_the_c_library():
    results = run(range(6), vias=["local", "ndk"], jobs=1)
    assert results.failures == [] and results.graphs == 6
    assert all(counts["same"] + counts["within"] >= 4 for counts in results.counts.values())


def test_levels():
    from nnfast._native import kernels

    results = run(range(4), levels=kernels.levels(), jobs=1)
    assert results.failures == [] and list(results.counts) == [f"canonical local {level}" for level in kernels.levels()]


def test_another_driver_is_held_to_the_criteria():
    assert run(range(4), against="nnfast:Device", jobs=1).failures == []


@pytest.mark.parametrize("wanted, found, text", [
    (np.float32([1, np.nan, np.inf]), np.float32([1, np.nan, np.inf]), ""),
    (np.float32([0]), np.float32([4e-6]), ""),
    (np.float32([0]), np.float32([6e-6]), "must be 0.0 within 5e-06"),
    (np.float32([np.inf]), np.float32([1]), "must be inf"),
    (np.float32([1]), np.float32([np.nan]), "is nan"),
    (np.int32([3]), np.int32([4]), "element [0] is 4, must be 3; 1 of 1 are wrong"),
    (np.int32([3]), np.int32([[3]]), "is int32 [1, 1], must be int32 [1]"),
])
def test_mismatch(wanted, found, text):
    said = mismatch(wanted, found)
    assert text in said if text else said == ""


@pytest.mark.parametrize("type_, wanted, found, is_fine", [
    (T.TENSOR_FLOAT32, np.zeros(4, np.float32), np.full(4, 0.009, np.float32), True),
    (T.TENSOR_FLOAT32, np.zeros(4, np.float32), np.full(4, 0.011, np.float32), False),
    (T.TENSOR_FLOAT32, np.zeros(10, np.float32), np.full(10, 0.009, np.float32), False),  # bias
    (T.TENSOR_FLOAT32, np.full(4, np.inf, np.float32), np.zeros(4, np.float32), True),
    (T.TENSOR_BOOL8, np.zeros(11, np.uint8), np.uint8([1, 1, *[0] * 9]), True),
    (T.TENSOR_BOOL8, np.zeros(11, np.uint8), np.uint8([1, 1, 1, *[0] * 8]), False),
    (T.TENSOR_QUANT8_ASYMM, np.zeros(4, np.uint8), np.full(4, 12, np.uint8), True),
    (T.TENSOR_QUANT8_ASYMM, np.zeros(4, np.uint8), np.full(4, 13, np.uint8), False),
    (T.TENSOR_INT32, np.zeros(12, np.int32), np.ones(12, np.int32), True),
])
def test_criteria(type_, wanted, found, is_fine):
    assert (breach(type_, wanted, found, CRITERIA["small"]) == "") == is_fine


@pytest.mark.parametrize("size, name, wanted", [
    ("single", "CONV_2D", "conv"), ("single", "ADD", "medium"), ("single", "GATHER", "strict"),
    ("single", "SOFTMAX", "relaxed"), ("small", "ADD", "small"), ("large", "ADD", "large")])
def test_criteria_of_operations_and_sizes(size, name, wanted):
    assert criteria_of(draw_case(1, "single", (name,)), size) is CRITERIA[wanted]


def test_definitions_can_be_told_how_much_memory_an_output_may_take():
    b = ModelBuilder()
    x, paddings = b.input("TENSOR_FLOAT32", (1,)), b.input("TENSOR_INT32", (1, 2))
    padded, y = b.operand("TENSOR_FLOAT32", (None,)), b.output("TENSOR_FLOAT32", (None,))
    model = b.operation("PAD", [x, paddings], [padded]).operation("FLOOR", [padded], [y]).build()
    inputs = np.ones(1, np.float32), np.int32([[0, 2]])
    assert golden("x", model, inputs, most=12).expected[0].tolist() == [1, 0, 0]
    with pytest.raises(ResourceExhaustedPersistent, match=r"PAD output 0: takes 12 bytes, must be at most 11"):
        golden("x", model, inputs, most=11)


def test_codes_are_held_against_float32():
    b = ModelBuilder()
    x, y = b.input("TENSOR_QUANT8_ASYMM", (4,), 0.5, 10), b.input("TENSOR_QUANT8_ASYMM", (4,), 0.25, 0)
    out = b.output("TENSOR_QUANT8_ASYMM", (4,), 1.0, 100)
    model = b.operation("ADD", [x, y, b.scalar(0)], [out]).build()
    case = golden("add", model, (np.uint8([10, 11, 255, 0]), np.uint8([0, 4, 255, 2])))
    (found,) = in_float32(case)
    assert found.tolist() == [100, 102, 255, 95]  # 0, 0.5 + 1, 122.5 + 63.75, -5 + 0.5: halves away from zero
    assert in_float32(draw_case(1, "single", ("QUANTIZE",))) is None


def test_a_step_made_of_a_last_place_is_unstable_not_wrong():
    """FLOOR of a sum near 1: a last place makes it 0 or 1, and nothing is wrong as long as FLOOR is right."""
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (10,)), b.output("TENSOR_FLOAT32", (1,))
    total = b.add("REDUCE_SUM", [x, b.constant(np.int32([0])), b.scalar(True)])
    case = golden("x", b.operation("FLOOR", [total], [y]).build(), (np.full(10, 0.1, np.float32),))
    other = np.float32([1 if case.expected[0][0] == 0 else np.nextafter(np.float32(1), np.float32(0))])

    def verdict(output, *shown):
        return judge(case, [output], lambda exposed: list(shown))

    assert verdict(np.floor(other), other, np.floor(other))[0] == "unstable"
    kind, text = verdict(np.floor(other), other, case.expected[0])
    assert kind == "differs" and text.startswith("operation 1 FLOOR output 0: element [0] is ")
    assert "no operation alone is wrong" in verdict(np.floor(other), case.expected[0] + 0, case.expected[0])[1]


def test_a_long_sum_may_lose_what_its_additions_lose():
    """20,000 products added to a bias one by one; beyond what that explains it is wrong."""
    rng, size = np.random.default_rng(3), 20_000
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (1, size)), b.output("TENSOR_FLOAT32", (1, 1))
    weights = rng.normal(0, 1e-3, (1, size)).astype(np.float32)
    model = b.operation("FULLY_CONNECTED", [x, b.constant(weights), b.constant(np.float32([8])), b.scalar(0)],
                        [y]).build()
    values = rng.normal(0, 1, (1, size)).astype(np.float32)
    case = golden("x", model, (values,))
    one_by_one = np.cumsum(np.append(np.float32(8), values * weights), dtype=np.float32)[-1:].reshape(1, 1)
    off = abs(one_by_one - case.expected[0]).item()
    assert mismatch(case.expected[0], one_by_one) and off < 1e-4

    def verdict(output):
        return judge(case, [output], lambda exposed: [output])[0]

    assert verdict(one_by_one) == "unstable"
    assert verdict(case.expected[0] + np.float32(4e-4)) == "differs"


def test_exposed_shows_all_values():
    case = draw_case(3)
    shown = exposed(case)
    assert set(shown.model.main.outputs) == {o for op in case.model.main.operations for o in op.outputs}
    found = Device(num_threads=1).prepare(shown.model).run(list(shown.inputs))
    assert [array.shape for array in found] == [array.shape for array in shown.expected]


# -- planted bugs ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_found(name, cases, monkeypatch):
    bug, judge_ = BUGS[name], trial()
    bug.plant(monkeypatch)
    for seed in range(MOST_GRAPHS):
        case = cases(seed)
        types = {OperationType(operation.type).name for operation in case.model.main.operations}
        if bug.operations is not None and not types & set(bug.operations):
            continue
        try:
            case = golden(case.name, case.model, case.inputs)
        except Error:
            continue
        if judge_.verdict(judge_.subjects[0], case, seed)[0] == "differs":
            return
    pytest.fail(f"not found in {MOST_GRAPHS} graphs")


def test_failure_is_made_small_and_written(tmp_path, monkeypatch):
    bug = BUGS["fused activation left out"]
    with monkeypatch.context() as patch:
        bug.plant(patch)
        tried = trial(str(tmp_path / "failed"))
        for seed in count():
            if "DEPTHWISE_CONV_2D" in {o.type.name for o in draw_case(seed).model.main.operations}:
                (verdict, reason, file), = tried.run(seed)
                if verdict == "differs":
                    break
        assert "DEPTHWISE_CONV_2D" in reason or "output" in reason
    written = sorted(path.name for path in (tmp_path / "failed").iterdir())
    assert [name.partition(".")[2] for name in written] == ["json.gz", "py"]
    program = subprocess.run([sys.executable, file], capture_output=True, text=True, cwd=ROOT)
    assert program.returncode == 1 and "must be" in program.stdout, program.stderr
    assert program.stdout.count("DEPTHWISE_CONV_2D") == 1  # in the table of the one operation that is left
    results = run_vectors(tmp_path / "failed", kinds="general")
    assert [test.outcome for test in results.tests] == ["failed"]


def test_crash_costs_one_graph(tmp_path):
    results = run(range(2), against="helpers.planted_bugs:Dies", jobs=1, folder=tmp_path)
    assert [(result.seed, result.verdict) for result in results.notable] == [(0, "differs"), (1, "differs")]
    assert all("died during this graph: killed by SIGKILL" in result.reason for result in results.notable)
    assert all(result.file.endswith(".py") for result in results.notable)


def test_written_case_that_is_right_runs_and_passes(tmp_path):
    from nnfast.conformance.dump import dump

    drawn = (draw_case(seed, "large", ("ADD", "CONV_2D", "DEQUANTIZE", "RESHAPE", "SPLIT")) for seed in count())
    finite = (case for case in drawn if all(np.isfinite(array).all() for array in case.expected))  # NaN never passes
    files = [dump(tmp_path, replace(next(finite), name=f"right {nth}"), "nothing is wrong", "randgraph/x")
             for nth in range(5)]
    program = subprocess.run([sys.executable, files[0]], capture_output=True, text=True, cwd=ROOT)
    assert program.returncode == 0, program.stdout + program.stderr
    results = run_vectors(tmp_path, kinds="general")
    assert [test.reason for test in results.tests] == [""] * 5
