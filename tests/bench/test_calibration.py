"""Measuring capabilities: what is measured, by what, and what comes of it."""

import json

import pytest

from helpers.commands import call
from nnfast._native import kernels
from nnfast.bench import calibration
from nnfast.driver import capabilities
from nnfast.model.types import OperandType

LOOPS = ("branch", "loop")


@pytest.fixture
def quick(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(capabilities, "_answers", {})
    monkeypatch.setattr(calibration, "ROUNDS", 2)
    monkeypatch.setattr(calibration, "TURN_SECONDS", 0.002)
    return tmp_path


def test_every_type_has_a_workload_that_begins_with_it():
    models = calibration.workloads()
    for kind in capabilities.OPERANDS:
        model = models[calibration._ALIKE.get(kind, kind)]
        operand = model.main.operands[model.main.operations[0].inputs[0]]
        assert operand.type == calibration._ALIKE.get(kind, kind)
    assert models["relaxed_tensor"].relaxed and not models[OperandType.TENSOR_FLOAT32].relaxed
    assert [models[name].main.operations[0].type.name for name in LOOPS] == ["IF", "WHILE"]


def test_both_sides_run_what_they_should(quick):
    model = calibration.network(OperandType.TENSOR_FLOAT32)
    before = kernels.level()
    ours = calibration._Run(model, before)
    reference = calibration._Run(model, "scalar", ours)
    assert kernels.level() == before
    assert all(row["kernel"].endswith("__scalar") for row in reference._prepared.explain().rows)
    assert ours._prepared.num_threads == reference._prepared.num_threads == 1
    if before != "scalar":
        assert "__scalar" not in ours._prepared.explain().rows[0]["kernel"]


def test_ratios(monkeypatch):
    monkeypatch.setattr(calibration, "ROUNDS", 1)

    class Fixed:
        def __init__(self, seconds, cpu):
            self.best, self.turns = (seconds, cpu), 0

        def turn(self):
            self.turns += 1

    ours = Fixed(1e-3, 3e-3)
    assert calibration.compare(ours, Fixed(3e-3, 2e-3)) == capabilities.Performance(0.3333, 1.5) and ours.turns == 1


def test_calibrate(quick, capsys):
    seen = []
    path = calibration.calibrate(lambda done, total, note="": seen.append((done, total)))
    assert path.startswith(str(quick)) and seen[0] == (0, 13) and seen[-1] == (13, 13)
    found = capabilities.capabilities()
    assert found.source == path and found.relaxed_scalar == found.relaxed_tensor
    assert found.operands[OperandType.FLOAT32] == found.operands[OperandType.TENSOR_FLOAT32]
    assert all(info.time > 0 for info in found.operands.values())
    assert [item.name for item in (quick / "nnfast").iterdir()] == [f"capabilities_{kernels.level()}.json"]


def test_info_measures_and_reports(quick, capsys):
    assert call("info") == 0
    assert "1.0 by definition" in capsys.readouterr().out
    assert call("info", "--calibrate", "--json", quick / "i.json") == 0
    text = capsys.readouterr().out
    found = json.loads((quick / "i.json").read_text())["capabilities"]
    assert found["source"].endswith(".json") and found["source"] in text and "TENSOR_QUANT8_ASYMM_SIGNED" in text
    assert list(found["performance"])[:2] == ["FLOAT32", "INT32"] and len(found["performance"]) == 19
    assert call("info", "--json", quick / "again.json") == 0
    assert json.loads((quick / "again.json").read_text())["capabilities"] == found
