"""What devices say of their speed [NN 1.8, 3.4]: by definition or from a file, and never another answer."""

import json
import logging
import os
import subprocess
import sys

import pytest

import nnfast
from nnfast import config
from nnfast._native import kernels
from nnfast.driver import capabilities as module
from nnfast.driver.capabilities import OPERANDS, OTHERS, Performance, capabilities, path_of, store
from nnfast.hal import v1_0, v1_3
from nnfast.model.types import OperandType


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """An empty data folder, and a process that was never asked."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(module, "_answers", {})
    return tmp_path / "data"


def numbers(first=0.25):
    """Performances that all differ."""
    values = iter(range(100))
    return ({kind: Performance(first + next(values) / 64, 2.0) for kind in OPERANDS},
            {name: Performance(first + next(values) / 64, 3.0) for name in OTHERS})


def test_without_a_file_it_is_the_reference():
    found = capabilities()
    assert found.source == "" and set(found.operands.values()) == {Performance(1.0, 1.0)}
    assert found.relaxed_scalar == found.relaxed_tensor == found.branch == found.loop == Performance(1.0, 1.0)


def test_1_8_operand_types():
    assert list(OPERANDS) == sorted(OPERANDS) == list(range(15)) and OperandType.SUBGRAPH not in OPERANDS


def test_stored_numbers_are_the_answer_of_every_face():
    operands, others = numbers()
    path = store(operands, others)
    found = nnfast.Device(1).capabilities
    assert found.operands == operands and found.source == path == path_of(kernels.level())
    assert {name: getattr(found, name) for name in OTHERS} == others
    status, newest = v1_3.Device().getCapabilities_1_3()
    assert status == 0 and [row.type for row in newest.operandPerformance] == list(OPERANDS)
    assert [row.info.execTime for row in newest.operandPerformance] == [operands[kind].time for kind in OPERANDS]
    assert newest.ifPerformance.execTime == others["branch"].time and newest.whilePerformance.powerUsage == 3.0
    _, oldest = v1_0.Device().getCapabilities()
    assert oldest.float32Performance.execTime == operands[OperandType.TENSOR_FLOAT32].time
    assert oldest.quantized8Performance.execTime == operands[OperandType.TENSOR_QUANT8_ASYMM].time


def elsewhere():
    """The time of FLOAT32 as a process of its own answers."""
    source = "import nnfast; print(nnfast.Device(1).capabilities.operands[0].time)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=600, check=True)
    return float(done.stdout)


def test_3_4_answers_stay_until_recalibrated():
    before = capabilities()
    operands, others = numbers(0.5)
    assert elsewhere() == 1.0
    path = store(operands, others)
    assert capabilities() != before and capabilities() is capabilities() and elsewhere() == 0.5
    text = open(path).read()
    assert text.count("0.5,") == 1
    with open(path, "w") as stream:
        stream.write(text.replace("0.5,", "0.75,"))  # as another process's calibration does
    assert capabilities().operands[0].time == 0.5 and elsewhere() == 0.75
    os.unlink(path)
    assert capabilities().operands[0].time == 0.5 and elsewhere() == 1.0


def test_levels_have_numbers_of_their_own():
    store(*numbers())
    level = kernels.level()
    kernels.set_level("scalar")
    try:
        assert capabilities().source == "" or level == "scalar"
    finally:
        kernels.set_level(level)
    assert capabilities().source == path_of(level)


@pytest.mark.parametrize("change", [
    lambda d: "", lambda d: "[]", lambda d: "null", lambda d: "[" * 100000,
    lambda d: d | {"format": 2}, lambda d: d | {"driver": "nnfast 0"}, lambda d: d | {"level": "other"},
    lambda d: d | {"processor": "abacus"}, lambda d: d | {"operands": []},
    lambda d: d | {"operands": {k: v for k, v in d["operands"].items() if k != "BOOL"}},
    lambda d: d | {"operands": d["operands"] | {"SUBGRAPH": [1.0, 1.0]}},
    lambda d: d | {"operands": d["operands"] | {"BOOL": [0.0, 1.0]}}, lambda d: d | {"branch": [1.0, -1.0]},
    lambda d: d | {"loop": [float("nan"), 1.0]}, lambda d: d | {"loop": [1.0]}, lambda d: d | {"loop": [True, 1.0]},
    lambda d: d | {"loop": ["1", 1.0]}, lambda d: {k: v for k, v in d.items() if k != "relaxed_tensor"}])
def test_files_that_do_not_hold_here_are_ignored_with_a_line(change, monkeypatch, caplog):
    path = store(*numbers())
    changed = change(json.loads(open(path).read()))
    with open(path, "w") as stream:
        stream.write(changed if isinstance(changed, str) else json.dumps(changed))
    monkeypatch.setattr(module, "_answers", {})
    with caplog.at_level(logging.INFO, "nnfast"):
        assert capabilities().source == "" and capabilities().operands[0] == Performance(1.0, 1.0)
    assert [record.name for record in caplog.records] == ["nnfast.driver"]
    assert f"capabilities: {path} is not used" in caplog.text


def test_a_folder_in_the_place_of_the_file(fresh):
    os.makedirs(path_of(kernels.level()))
    assert capabilities().source == ""


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_numbers_that_break_the_rules_are_not_stored(fresh, value):
    operands, others = numbers()
    with pytest.raises(nnfast.InvalidArgument, match="INT32 is .* must be two positive numbers"):
        store(operands | {OperandType.INT32: Performance(value, 1.0)}, others)
    assert not fresh.exists()


@pytest.mark.parametrize("own, xdg, expected", [("/a/b", "/x", "/a/b"), ("", "/x", "/x/nnfast"),
                                                ("", "", "/home/h/.cache/nnfast"), ("", "x", "/home/h/.cache/nnfast")])
def test_where_compiled_models_lie(monkeypatch, own, xdg, expected):
    for name, value in (("NNFAST_CACHE_DIR", own), ("XDG_CACHE_HOME", xdg), ("HOME", "/home/h")):
        monkeypatch.setenv(name, value)
    assert config.cache_folder() == expected


@pytest.mark.parametrize("xdg, expected", [("/x", "/x/nnfast"), ("", "/home/h/.local/share/nnfast"),
                                           ("x", "/home/h/.local/share/nnfast")])
def test_the_file_lies_where_the_cache_folder_does_not_matter(monkeypatch, xdg, expected):
    for name, value in (("NNFAST_CACHE_DIR", "/a/b"), ("XDG_DATA_HOME", xdg), ("HOME", "/home/h")):
        monkeypatch.setenv(name, value)
    assert os.path.dirname(path_of("avx2")) == expected


def test_3_4_one_version_means_one_set_of_numbers(monkeypatch, tmp_path):
    """Whatever a process finds: what it answers is in its version string."""
    def answer(**environment):
        source = "import nnfast; d = nnfast.Device(1); print(d.version, d.capabilities.operands[0].time, sep='|')"
        done = subprocess.run([sys.executable, "-c", source], env={**os.environ, **environment}, capture_output=True,
                              text=True, timeout=600, check=True)
        return tuple(done.stdout.strip().split("|"))

    first = answer()
    assert answer(NNFAST_CACHE_DIR=str(tmp_path)) == answer(XDG_CACHE_HOME=str(tmp_path)) == first
    assert first == (nnfast.Device(1).version, "1.0") and first[0].endswith(" uncalibrated")
    store(*numbers(0.5))
    second = answer()
    assert second == (nnfast.Device(1).version, "0.5") and second[0] != first[0]
    store(*numbers(0.25))
    assert len({first[0], second[0], answer()[0]}) == 3
    store(*numbers(0.5))
    assert answer(NNFAST_CACHE_DIR=str(tmp_path)) == second
    other = answer(NNFAST_CPU="scalar")
    assert other == second if kernels.level() == "scalar" else other[0] != second[0] and other[1] == "1.0"


def test_a_device_is_made_without_reading_it():
    source = "import sys, nnfast; nnfast.Device(1); print('nnfast.driver.capabilities' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "False\n"
