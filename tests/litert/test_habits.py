"""Uses and misuses of nnfast.litert.Interpreter: results and exception types are LiteRT's."""

from pathlib import Path

import pytest

import nnfast.litert
from helpers import litert_habits, litert_models
from helpers.litert_habits import habits

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
    told = litert_models.run_litert(litert_habits.__file__, "ai_edge_litert.interpreter", folder)
    assert told.splitlines() == expected()
