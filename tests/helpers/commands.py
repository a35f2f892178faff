"""The `nnfast` command, in this process or in one of its own."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from nnfast.cli import main as command

ROOT = Path(__file__).resolve().parents[2]


drawing = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed (nnfast[plot])")
"""On tests that draw plots."""


def call(*args):
    """Exit code of the command in this process."""
    try:
        return command.main([str(arg) for arg in args])
    except SystemExit as stop:
        return stop.code


def assert_one_error_line(capsys, *words):
    error = capsys.readouterr().err
    assert error.startswith("nnfast: error: ") and error.count("\n") == 1, error
    for word in words:
        assert word in error


def outside(*args, **options):
    """The command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "nnfast", *map(str, args)], capture_output=True, text=True, cwd=ROOT,
                          timeout=600, **options)
