"""Uses and misuses of nnfast.litert.Interpreter: results and exception types are LiteRT's."""

from pathlib import Path

import litert_models
import pytest
from habits import habits

import nnfast.litert

HERE = Path(__file__).parent


@pytest.fixture
def folder(tmp_path):
    return litert_models.write(tmp_path)


def expected():
    return (HERE / "habits.txt").read_text().splitlines()


def test_every_habit_is_that_of_litert(folder):
    assert habits(nnfast.litert, folder) == expected()


@pytest.mark.skipif(not litert_models.litert_python(), reason="ai_edge_litert is not installed and "
                                                              "NNFAST_LITERT_PYTHON not set")
def test_litert_has_these_habits(folder):
    told = litert_models.run_litert(HERE / "habits.py", "ai_edge_litert.interpreter", folder)
    assert told.splitlines() == expected()
