"""Log lines of `nnfast serve`."""

import io
import json
import logging
import os
import subprocess
import sys
import threading

import pytest

from helpers.commands import ROOT, assert_one_error_line, call
from helpers.processes import environment
from helpers.service import reach
from nnfast.cli import service_log
from nnfast.cli.service_log import JsonLines, Lines, TextLines
from nnfast.errors import InvalidArgument

HOSTILE = 'a\nb\x1b[2J"\\\udcff'


def record(message, *args, error=None):
    return logging.LogRecord("nnfast.service", logging.ERROR, "f", 1, message, args, error)


def failed():
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        return sys.exc_info()


def test_json_is_an_object_a_line():
    for made in (record("%s", HOSTILE), record("x", error=failed())):
        line = JsonLines().format(made)
        found = json.loads(line)
        assert line.isascii() and "\n" not in line
        assert found["level"] == "error" and found["logger"] == "nnfast.service"
        assert found["time"].endswith("Z") and len(found["time"]) == 24
    assert json.loads(JsonLines().format(record("%s", HOSTILE)))["message"] == HOSTILE
    assert "ValueError" in found["traceback"]


def test_text_is_one_line_but_for_a_traceback():
    line = TextLines().format(record("%s", HOSTILE))
    assert line.isprintable() and r"a\nb\x1b[2J" in line and " nnfast.service: " in line
    assert TextLines().format(record("x", error=failed())).count("\n") > 2


class Slow(io.StringIO):
    """A stream that nobody reads, until `read` is set."""

    def __init__(self):
        super().__init__()
        self.read = threading.Event()

    def write(self, text):
        self.read.wait(600)
        return super().write(text)


def test_a_stream_that_nobody_reads_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(service_log, "MOST_LINES", 10)
    stream = Slow()
    lines = Lines(stream, JsonLines())
    for number in range(100):
        lines.emit(record("line %d", number))  # returns, though nothing is written
    stream.read.set()
    lines.finish(600)
    found = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    dropped = [int(text.split()[0]) for text in found if "were dropped" in text]
    assert found[0] == "line 0" and dropped and sum(dropped) + len(found) - len(dropped) == 100


def test_a_stream_that_is_closed_is_none():
    stream = io.StringIO()
    stream.close()
    lines = Lines(stream, TextLines())
    lines.emit(record("x"))
    lines.finish(600)


def serve(tmp_path, *options, steps=lambda device: None, **variables):
    """What a driver's process writes to stderr while a client does some steps."""
    path = str(tmp_path / "s")
    process = subprocess.Popen([sys.executable, "-m", "nnfast", "serve", "--socket", path, "--threads", "1", *options],
                               stderr=subprocess.PIPE, text=True, cwd=ROOT, env={**environment(), **variables})
    try:
        device = reach(path)
        steps(device)
        device.close()
        process.terminate()
        _, lines = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0
    return lines


def refused(device):
    from nnfast.driver.cache_files import CacheFiles

    with pytest.raises(InvalidArgument):
        device.prepare_from_cache(CacheFiles([], []), b"short")


def test_lines_of_a_session_as_json(tmp_path):
    lines = [json.loads(line) for line in
             serve(tmp_path, "--log-format", "json", "--log-level", "info").splitlines()]
    texts = [line["message"] for line in lines]
    assert texts[0] == f"serving at {tmp_path / 's'}, 1 thread" and texts[-1] == "served 1 session"
    program = os.path.realpath(sys.executable)
    assert f"session 1 has begun: process {os.getpid()} of user {os.getuid()}, {program}" in texts
    assert f"session 1 has ended: process {os.getpid()}" in texts


def test_quiet_unless_asked(tmp_path):
    assert serve(tmp_path) == ""


def test_lines_by_tag_are_there_as_before(tmp_path):
    from helpers.service import add_model

    lines = serve(tmp_path, steps=lambda device: device.prepare(add_model()), NNFAST_VLOG="compilation")
    about = [line.partition(" ")[2] for line in lines.splitlines() if " nnfast.compilation: " in line]
    assert about and len(about) == len(set(about)), "each once, whoever else takes lines"


def test_formats_and_levels_there_are(capsys):
    for option in ("--log-format", "--log-level"):
        assert call("serve", option, "loud") == 2
        assert_one_error_line(capsys, option, "loud")
