"""`nnfast health`: exit codes for whoever watches the driver's process."""

import json
import os
import signal
import socket

import pytest

from helpers.commands import assert_one_error_line, call
from nnfast.service.spawn import reach, start


@pytest.fixture
def driver(tmp_path):
    """(process, path of its socket)."""
    path = str(tmp_path / "d.sock")
    process = start(path, "--threads", "1")
    reach(path, process).close()
    yield process, path
    process.kill()
    process.wait()


def test_a_driver_that_answers(driver, capsys):
    process, path = driver
    assert call("health", "--socket", path, "--timeout", "600") == 0
    assert capsys.readouterr().out.startswith(f"healthy: process {process.pid}, nnfast ")
    assert call("health", "--socket", path, "--timeout", "600", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["healthy"] and found["pid"] == process.pid and found["answer_ms"] > 0 and found["reason"] is None


def test_nobody_serves(capsys, tmp_path):
    assert call("health", "--socket", tmp_path / "none") == 1
    text = capsys.readouterr().out
    assert text.startswith("not healthy: ") and "none" in text and text.count("\n") == 1


def test_a_driver_that_was_stopped(driver, capsys):
    process, path = driver
    os.kill(process.pid, signal.SIGSTOP)
    assert call("health", "--socket", path, "--timeout", "0.2", "--json", "-") == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["healthy"] and found["pid"] is None and "answer" in found["reason"]


def test_one_that_welcomes_and_answers_no_call(capsys, tmp_path, monkeypatch):
    from helpers.service import serving
    from nnfast.service.server.connection import Connection

    with serving(tmp_path) as (path, _):
        monkeypatch.setattr(Connection, "serve_one", lambda self: self.channel.socket.recv(1 << 16) != b"")
        assert call("health", "--socket", path, "--timeout", "0.5") == 1
        assert capsys.readouterr().out.startswith("not healthy: ")
        monkeypatch.undo()


def test_what_is_no_driver(capsys, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(str(tmp_path / "s"))
        other.listen()
        assert call("health", "--socket", tmp_path / "s", "--timeout", "0.2") == 1
    assert capsys.readouterr().out.startswith("not healthy: ")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon", "1e9"])
def test_times_that_mean_nothing(value, capsys):
    assert call("health", "--timeout", value) == 2
    assert_one_error_line(capsys, "--timeout", "above 0")
