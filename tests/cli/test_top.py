"""`nnfast top`: what it makes of the statistics, and the command beside a driver's process."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import nnfast
from helpers.commands import ROOT, assert_one_error_line, call, outside
from nnfast.cli import top
from nnfast.service.wire.histogram import Histogram

MODEL = ROOT / "nnfast" / "data" / "digits_int8.tflite"


def counts(*durations):
    histogram = Histogram()
    for us in durations:
        histogram.add(us)
    return histogram.counts


def client(session, executions, busy_ms, durations, age_s=10.0, names=("net",), executable="/usr/bin/camera"):
    return {"session": session, "pid": 100 + session, "uid": 7, "executable": executable, "age_s": age_s,
            "connections": 1, "models": [{"name": name} for name in names], "buffers": 2, "memory_bytes": 3 << 20,
            "in_flight": 1, "executions": executions, "latency_counts": counts(*durations), "busy_ms": busy_ms}


def stats(uptime, clients, **changes):
    durations = [sum(row) for row in zip(*(c["latency_counts"] for c in clients))]
    return {"pid": 42, "uptime_s": uptime, "threads": 2, "cores": 2, "running": 1, "waiting": 0,
            "executions": sum(c["executions"] for c in clients), "latency_counts": durations,
            "memory_bytes": 6 << 20, "memory_limit": 64 << 20, "memory_used": 6 << 20, "resident_bytes": 50 << 20,
            "messages_refused": 0, "clients": clients,
            "models": [{"name": "net", "users": 2, "weights_bytes": 2 << 20, "arena_bytes": 512 << 10}], **changes}


def text_of(found, width=200):
    out = Console(file=io.StringIO(), width=width, highlight=False)
    out.print(*top.tables(found))
    return out.file.getvalue()


def test_rates_since_the_start():
    found = top.view(stats(20.0, [client(1, 40, 2000, [100] * 39 + [9000])]))
    one = found["clients"][0]
    assert found["since_start"] and found["per_second"] == 2 and one["per_second"] == 4
    assert one["core_share"] == pytest.approx(0.2)
    assert 100 <= one["p50_us"] <= 125 and 9000 <= one["p99_us"] <= 11250


def test_rates_since_the_last_table():
    early = stats(20.0, [client(1, 40, 2000, [100] * 40)])
    late = stats(22.0, [client(1, 50, 3000, [100] * 40 + [900] * 10, age_s=12.0), client(2, 6, 500, [50] * 6, 1.0)])
    found = top.view(late, early)
    first, second = found["clients"]
    assert not found["since_start"] and found["per_second"] == 8
    assert first["session"] == 1 and first["per_second"] == 5 and first["core_share"] == pytest.approx(0.5)
    assert first["p50_us"] >= 900  # of the ten new ones alone
    assert second["per_second"] == 6, "one that came meanwhile counts from then on"


def test_the_one_who_asks_is_left_out():
    found = top.view(stats(1.0, [client(1, 0, 0, []), client(2, 0, 0, [])], asking=2))
    assert [c["session"] for c in found["clients"]] == [1]


def test_names_that_others_chose_do_no_harm():
    hostile = "\x1b[2J[red]x[/nothing]\n" + "y" * 100
    found = top.view(stats(1.0, [client(1, 0, 0, [], names=(hostile, "a", "b", "b"), executable=f"/bin/{hostile}")]))
    found["models"][0]["name"] = hostile
    text = text_of(found)
    assert "\x1b" not in text and "?[2J[red]x[/nothing]?yyy" in text and "y" * 60 not in text
    assert "b x2" not in text.split("[red]")[0] and "more" in text


def test_what_is_shown():
    text = text_of(top.view(stats(3700.0, [client(1, 40, 2000, [100] * 39 + [9000])])))
    assert "driver 42, up 1:01:40: 1 client," in text and "6.0 MiB of 64.0 MiB" in text and "0.20 of 2 cores" in text
    row = next(line for line in text.splitlines() if " camera " in line)
    assert row.split() == ["101", "camera", "net", "1", "4.0", "112", "us", "10.2", "ms", "3.0", "MiB", "20.0"], row
    assert next(line for line in text.splitlines() if " net " in line and "camera" not in line).split() == \
        ["net", "2", "2.0", "MiB", "512", "KiB"]


@pytest.mark.parametrize("width", [*range(40, 130, 5), 200])
def test_any_width(width):
    """No line is wider than the terminal, and no figure is cut: columns go, and the caption tells which."""
    busy = {**client(1, 12345670, 2000, [100] * 39 + [9000], names=("mobilenet_v2_1.0_224_int8", "模型" * 9)),
            "pid": 123456, "memory_bytes": int(9999.9 * (1 << 20))}
    other = {**client(22, 5, 1, [77]), "executable": "/opt/" + "very_long_program_name" * 2}
    found = top.view(stats(20.0, [busy, other]))
    text = text_of(found, width)
    lines = text.splitlines()
    assert all(cell_len(line) <= width for line in lines), text
    head = next(line for line in lines if "process" in line)
    row = next(line for line in lines if "123456" in line)
    wanted = {"executions/s": "1,234,567", "p99": "10.2 ms", "memory": "9,999.9 MiB", "process": "123456",
              "p50": "112 us"}
    for name, figure in wanted.items():
        shown = f"{name} " in f"{head} "
        assert (figure in row) == shown
        assert shown or re.search(rf"too narrow for\b[^;]*\b{name}\b", " ".join(text.split())), text
    assert "process" in head and "executions/s" in head and "p50" in head
    if width >= 120:
        assert "too narrow" not in text and "models" in head
    if width >= 80:
        assert "executable" in head and "memory" in head


def test_no_driver(capsys, tmp_path):
    assert call("top", "--socket", tmp_path / "none.sock", "--once") == 2
    assert_one_error_line(capsys, "none.sock", "no driver's process", "nnfast serve")
    assert call("top", "--interval", "0") == 2
    assert_one_error_line(capsys, "--interval", "above 0")


@pytest.fixture
def driver(tmp_path):
    """(process, path of its socket)."""
    path = tmp_path / "d.sock"
    process = subprocess.Popen([sys.executable, "-m", "nnfast", "serve", "--socket", path, "--threads", "1"], cwd=ROOT)
    device = nnfast.connect(path, patience=120)
    device.close()
    yield process, path
    process.kill()
    process.wait()


TOP = """
import signal, sys
from nnfast.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(["top", *sys.argv[1:]]))
"""
"""A shell starts what runs in its background with interrupts ignored, and that is handed down. To give them back
between fork and exec would run Python in a child of many threads, whose locks nobody may ever release."""


def start_top(path, *args):
    command = [sys.executable, "-c", TOP, "--socket", path, "--interval", "0.05", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def test_beside_a_driver(driver, tmp_path):
    _, path = driver
    device = nnfast.connect(path)
    prepared = device.prepare(nnfast.load(MODEL))
    inputs = [np.zeros(info.shape, info.dtype) for info in prepared.inputs]
    for _ in range(5):
        prepared.run(inputs)
    shown = outside("top", "--socket", path, "--once")
    assert shown.returncode == 0 and str(os.getpid()) in shown.stdout and "digits_int8" in shown.stdout, shown
    told = json.loads(outside("top", "--socket", path, "--once", "--json", "-").stdout)
    assert [c["pid"] for c in told["clients"]] == [os.getpid()] and told["clients"][0]["executions"] == 5
    assert told["models"][0]["users"] == 1 and told["clients"][0]["memory_bytes"] > 0
    device.close()


def test_live_until_the_driver_ends(driver, tmp_path):
    process, path = driver
    log = tmp_path / "top.json"
    live = start_top(path, "--json", log)
    until = time.monotonic() + 600
    while not (log.exists() and log.read_text().count("\n") > 2):
        assert time.monotonic() < until and live.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, error = live.communicate(timeout=600)
    assert live.returncode == 2 and "driver's process has gone" in error and error.count("\n") == 1
    assert out.count(f"driver {process.pid}") > 2
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert rows[0]["since_start"] and not rows[1]["since_start"] and rows[0]["clients"] == []


def test_interrupt_ends_it_well(driver):
    _, path = driver
    live = start_top(path)
    assert live.stdout.readline() is not None and live.stdout.readline()
    live.send_signal(signal.SIGINT)
    assert live.communicate(timeout=600)[1] == "" and live.returncode == 0
