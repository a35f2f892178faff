"""Signs of life of commands: on a terminal, and nothing in a pipe."""

import ast
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.commands import ROOT
from helpers.processes import environment, fresh
from nnfast.cli.main import COMMANDS

WAITS = """
import sys
from nnfast.cli import output
output.PATIENCE_SECONDS = 0.01
with output.waiting("prepare"):
    sys.stdin.readline()
print("done")
"""


def test_a_terminal_shows_that_something_goes_on():
    terminal, end = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=end,
                               env=environment(TERM="xterm"), cwd=ROOT)
    os.close(end)
    text = b""
    while b"prepare ..." not in text:
        text += os.read(terminal, 4096)
    process.stdin.write(b"\n")
    assert process.communicate()[0] == b"done\n" and process.returncode == 0
    os.close(terminal)


def test_a_pipe_gets_nothing():
    assert fresh("import time\n" + WAITS.replace("sys.stdin.readline()", "time.sleep(0.1)")) == "done"


def test_what_ends_soon_shows_nothing():
    terminal, end = pty.openpty()
    program = WAITS.replace("0.01", "600").replace("sys.stdin.readline()", "pass")
    subprocess.run([sys.executable, "-c", program], stderr=end, env=environment(TERM="xterm"), check=True, cwd=ROOT)
    os.set_blocking(terminal, False)
    with pytest.raises(BlockingIOError):
        assert os.read(terminal, 4096).strip(b"\x1b[?25h\r\n") == b""  # no more than the cursor
        os.read(terminal, 4096)
    os.close(end)
    os.close(terminal)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"serve", "top", "health", "library", "completion"}))
def test_what_may_take_long_shows_it(command):
    """Every command with work of its own has a bar or a sign, its own or that of a module it calls."""
    folder = Path(ROOT / "nnfast" / "cli")
    names = {node.func.id for node in ast.walk(ast.parse((folder / f"{command}.py").read_text()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert names & {"waiting", "progress"}
