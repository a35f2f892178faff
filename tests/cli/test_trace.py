"""`--trace` of run, benchmark and vts, and `nnfast trace`."""

import json
from pathlib import Path

import pytest

import nnfast
from helpers.commands import assert_one_error_line, call
from helpers.vector_files import add_test, write
from nnfast.bench import marks, peers
from nnfast.cli import benchmark

MODEL = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"


def cells(path):
    return {f"{layer}_{phase}" for layer, phase in marks.totals(marks.read(path))}


def test_run(capsys, tmp_path):
    path = tmp_path / "t.json"
    assert call("run", MODEL, "--threads", 1, "--trace", path) == 0
    capsys.readouterr()
    assert {"LA_PO", "LA_PP", "LA_PC", "LA_PWU", "LA_PE", "LD_PC", "LD_PE", "LD_PCO"} <= cells(path)
    assert call("trace", path, "--top", 3, "--json", tmp_path / "s.json") == 0
    text = capsys.readouterr().out
    assert "application" in text and "driver" in text and "compilation" in text and "n/a" in text
    document = json.loads((tmp_path / "s.json").read_text())
    rows = {(row["layer"], row["phase"]): row for row in document["totals"]}
    assert document["version"] == 1 and rows["LD", "PC"]["count"] == 1 and rows["LD", "PE"]["count"] == 2
    assert rows["LA", "PO"]["us"] > rows["LA", "PC"]["us"] >= rows["LD", "PC"]["us"] > 0


def test_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "find", lambda: None)
    assert call("benchmark", MODEL, "--runs", 3, "--threads", 1, "--trace", tmp_path / "t.json") == 0
    totals = marks.totals(marks.read(tmp_path / "t.json"))
    assert totals["LA", "PBM"][1] == 1 and totals["LD", "PE"][1] == benchmark.TRACED_RUNS + 1  # and the first run
    assert {"LA_PO", "LA_PP", "LD_PC", "LD_PCO"} <= cells(tmp_path / "t.json")


@pytest.mark.parametrize("hal", ["canonical", "1.3"])
def test_vts_gathers_the_marks_of_its_processes(tmp_path, hal):
    vectors = write(tmp_path / "v.json.gz", add_test())
    assert call("vts", vectors, "--kind", "general", "--jobs", 1, "--hal", hal, "--trace", tmp_path / "t.json") == 0
    roots = marks.read(tmp_path / "t.json")
    tests = [root for root in roots if root.layer == "LA" and root.detail.endswith(" general")]
    assert len(tests) == 1 and {"LD_PC", "LD_PE", "LD_PIO", "LD_PCO", "LD_PR"} <= cells(tmp_path / "t.json")


def test_refusals(capsys, tmp_path):
    assert call("run", MODEL, "--trace", tmp_path / "no" / "t.json") == 2
    assert_one_error_line(capsys, "does not exist")
    assert call("trace", tmp_path / "nothing.json") == 2
    assert_one_error_line(capsys, "nothing.json")
    (tmp_path / "bad.json").write_text('{"traceEvents": [{"ph": "B"}]}')
    assert call("trace", tmp_path / "bad.json") == 2
    assert_one_error_line(capsys, "bad.json", "complete event")
