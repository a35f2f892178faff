"""`nnfast serve --metrics`: the text of Prometheus, and who reads it how."""

import os
import re
import socket
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import nnfast
from helpers.commands import assert_one_error_line, call
from helpers.service import add_model, reach, serving, until
from nnfast.errors import InvalidArgument
from nnfast.service.server import metrics
from nnfast.service.server.exposition import MOST_PROGRAMS, Exposition, exposition
from nnfast.service.server.metrics import Metrics, listener_at
from nnfast.service.spawn import start
from nnfast.service.wire.histogram import Histogram, upper_us

X = np.ones(4, np.float32)
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({LABEL}(?:,{LABEL})*)\}})? ([-+.0-9e]+)")


def samples(text):
    """{"name{labels}": number} of a text, which must follow the format to the letter."""
    found, kinds, told = {}, {}, set()
    assert text.endswith("\n") and not text.endswith("\n\n")
    for line in text[:-1].split("\n"):
        if head := re.fullmatch(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)", line):
            word, name, rest = head.groups()
            assert (word, name) not in told, line
            told.add((word, name))
            if word == "TYPE":
                assert rest in ("counter", "gauge", "histogram")
                kinds[name] = rest
            continue
        row = SAMPLE.fullmatch(line)
        assert row, f"no sample: {line!r}"
        family = re.sub("_(bucket|sum|count)$", "", row[1]) if row[1] not in kinds else row[1]
        assert family in kinds and ("HELP", family) in told, line
        assert (kinds[family] == "counter") == (row[1].endswith("_total")), line
        key = line.rpartition(" ")[0]
        assert key not in found, f"{key} is there twice"
        found[key] = float(row[3])
    return found


@contextmanager
def page(server, address):
    served = Metrics(server, listener_at(address))
    served.start()
    try:
        yield served
    finally:
        served.stop()


def ask(address, request=b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    """(status line, head, body) of an answer; the connection must end by itself."""
    host, _, port = address.rpartition(":")
    if "/" in address:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(address)
    else:
        sock = socket.create_connection((host.strip("[]"), int(port)), 600)
    with sock:
        sock.settimeout(600)
        sock.sendall(request)
        text = b""
        while part := sock.recv(1 << 16):
            text += part
    head, _, body = text.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), head.decode(), body


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(metrics, "FRESH_SECONDS", -1.0)


def test_figures_are_those_of_the_server(tmp_path, fresh):
    with serving(tmp_path, memory_limit=64 << 20) as (path, server), page(server, "127.0.0.1:0") as served:
        device = nnfast.connect(path)
        prepared = device.prepare(add_model())
        for _ in range(7):
            prepared.run([X, X])
        held = device.stats()["held"]["descriptors"][0]
        for _ in range(3):
            with pytest.raises(InvalidArgument):
                prepared.stream().run([X[:2], X])  # refused by the client: no message
            with pytest.raises(InvalidArgument):
                nnfast.connect(path, precision="fp4")
        until(lambda: device.stats()["held"]["descriptors"][0] == held)  # the connections that were refused are closed
        status, head, body = ask(served.address)
        assert status == "HTTP/1.1 200 OK" and "text/plain; version=0.0.4; charset=utf-8" in head
        found = samples(body.decode())
        assert found["nnfast_executions_total"] == found["nnfast_execution_seconds_count"] == 7
        assert found['nnfast_execution_seconds_bucket{le="+Inf"}'] == 7
        assert found["nnfast_clients"] == found["nnfast_sessions"] == 1
        assert found['nnfast_objects{kind="prepared"}'] == 1
        assert found["nnfast_memory_limit_bytes"] == 64 << 20 and found["nnfast_memory_used_bytes"] > 0
        assert found['nnfast_held{resource="descriptors"}'] == held
        assert found["process_open_fds"] > 5 and found["process_resident_memory_bytes"] > 1 << 20
        assert abs(found["process_start_time_seconds"] - time.time()) < 1e6
        device.close()


def test_refusals_are_counted_by_status(tmp_path, fresh):
    with serving(tmp_path, quotas=nnfast.service.server.quotas.Quotas(models=1)) as (path, server), \
            page(server, "127.0.0.1:0") as served:
        device = nnfast.connect(path)
        kept = device.prepare(add_model())
        for _ in range(3):
            with pytest.raises(nnfast.errors.ResourceExhaustedTransient):
                device.prepare(add_model())
        found = samples(ask(served.address)[2].decode())
        assert found['nnfast_refusals_total{status="RESOURCE_EXHAUSTED_TRANSIENT"}'] == 3
        assert found['nnfast_refusals_total{status="INVALID_ARGUMENT"}'] == 0
        del kept


def test_bursts_count(tmp_path, fresh):
    with serving(tmp_path) as (path, server), page(server, "127.0.0.1:0") as served:
        device = nnfast.connect(path)
        with device.prepare(add_model()).burst() as burst:
            for _ in range(5):
                burst.run([X, X])
            assert until(lambda: samples(ask(served.address)[2].decode())["nnfast_executions_total"] == 5)
        device.close()


@pytest.mark.parametrize("hostile", ['/bin/a"b\\c\nd\te', "/bin/\udcff\udc80", "/bin/x\r\ny 1\n# TYPE z counter",
                                     '/bin/"} 1\nnnfast_clients 7', "/bin/" + "\\" * 200, ""])
def test_names_that_clients_chose_leave_the_format_alone(tmp_path, fresh, hostile):
    with serving(tmp_path) as (path, server), page(server, "127.0.0.1:0") as served:
        device = nnfast.connect(path)
        assert until(server.sessions)
        server.sessions()[0].executable = hostile
        found = samples(ask(served.address)[2].decode())
        rows = [key for key in found if key.startswith("nnfast_program_clients{")]
        assert len(rows) == 1 and found[rows[0]] == found["nnfast_clients"] == 1
        assert len(rows[0]) < 300
        device.close()


def test_programs_are_few_rows_however_many_there_are(tmp_path, fresh):
    quotas = nnfast.service.server.quotas.Quotas(sessions=100)
    with serving(tmp_path, quotas=quotas) as (path, server):
        devices = [nnfast.connect(path) for _ in range(MOST_PROGRAMS + 8)]
        assert until(lambda: len(server.sessions()) == len(devices))
        for number, session in enumerate(server.sessions()):
            session.executable = f"/bin/program{number}" if number else "/bin/" + "x" * 100
        found = samples(exposition(server).decode())
        rows = [key for key in found if key.startswith("nnfast_program_clients{")]
        assert len(rows) == MOST_PROGRAMS + 1 and 'nnfast_program_clients{uid="",executable=""}' in rows
        for device in devices:
            device.close()


def test_a_histogram_adds_up():
    durations, made = Histogram(), Exposition()
    for us in (0, 1, 3, 4, 5, 1000, 5_000_000, 10**12):
        durations.add(us)
    made.add_durations("d", "Durations.", durations.counts)
    found = samples(made.text().decode())
    buckets = {float(key.split('"')[1]): count for key, count in found.items() if key.startswith("d_bucket")}
    assert list(buckets) == sorted(buckets) and list(buckets.values()) == sorted(buckets.values())
    assert buckets[4e-6] == 3 and buckets[8e-6] == 5 and buckets[float("inf")] == found["d_count"] == 8
    assert buckets[upper_us(107) / 1e6] == 7, "the longest is longer than all limits"


def test_the_sum_of_a_histogram_is_within_an_eighth():
    durations, made = Histogram(), Exposition()
    for us in range(100, 100_000, 37):
        durations.add(us)
    made.add_durations("d", "Durations.", durations.counts)
    assert samples(made.text().decode())["d_sum"] == pytest.approx(sum(range(100, 100_000, 37)) / 1e6, rel=0.125)


def test_the_text_is_used_again_for_a_second(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(metrics, "exposition", lambda server: made.append(server) or b"x 1\n")
    monkeypatch.setattr(metrics, "FRESH_SECONDS", 1e6)
    with serving(tmp_path) as (_, server), page(server, "127.0.0.1:0") as served:
        assert [ask(served.address)[2] for _ in range(20)] == [b"x 1\n"] * 20
        assert len(made) == 1


# -- HTTP --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("request_, status", [
    (b"GET /metrics HTTP/1.0\r\n\r\n", "200 OK"), (b"GET /metrics?x=1 HTTP/1.1\n\n", "200 OK"),
    (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"), (b"GET /metricsx HTTP/1.1\r\n\r\n", "404 Not Found"),
    (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"), (b"\r\n\r\n", "405 Method Not Allowed"),
    (b"\xff\x00\x80\r\n\r\n", "405 Method Not Allowed")])
def test_requests(tmp_path, request_, status):
    with serving(tmp_path) as (_, server), page(server, "127.0.0.1:0") as served:
        line, head, body = ask(served.address, request_)
        assert line == f"HTTP/1.1 {status}" and f"Content-Length: {len(body)}" in head


def test_head_has_no_body(tmp_path):
    with serving(tmp_path) as (_, server), page(server, "127.0.0.1:0") as served:
        line, head, body = ask(served.address, b"HEAD /metrics HTTP/1.1\r\n\r\n")
        assert line == "HTTP/1.1 200 OK" and body == b"" and "Content-Length: 0" not in head


def test_those_who_hold_connections_are_dropped(tmp_path):
    with serving(tmp_path) as (_, server), page(server, "127.0.0.1:0") as served:
        host, _, port = served.address.rpartition(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(3 * metrics.MOST_CONNECTIONS)]
        for sock in silent[::2]:
            sock.sendall(b"GET /metr")
        assert ask(served.address)[0] == "HTTP/1.1 200 OK"
        silent[0].settimeout(600)
        assert silent[0].recv(1) == b"", "the oldest had to go"
        for sock in silent:
            sock.close()


def test_a_silent_one_has_so_long(tmp_path, monkeypatch):
    monkeypatch.setattr(metrics, "LONGEST_SECONDS", 0.1)
    with serving(tmp_path) as (_, server), page(server, "127.0.0.1:0") as served:
        host, _, port = served.address.rpartition(":")
        with socket.create_connection((host, int(port)), 600) as sock:
            assert sock.recv(1) == b""


def test_a_head_without_end_is_dropped(tmp_path):
    with serving(tmp_path) as (_, server), page(server, "127.0.0.1:0") as served:
        host, _, port = served.address.rpartition(":")
        with socket.create_connection((host, int(port)), 600) as sock:
            with pytest.raises(OSError):
                while True:
                    sock.sendall(b"x" * 65536)


def test_a_busy_driver_says_so_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(metrics, "TURN_SECONDS", 0.1)
    with serving(tmp_path) as (path, server), page(server, "127.0.0.1:0") as served:
        device = nnfast.connect(path)
        assert until(server.sessions)
        done = threading.Event()
        monkeypatch.setattr(metrics, "exposition", lambda server: done.wait(0.3) and b"" or _steps())
        assert ask(served.address)[0] == "HTTP/1.1 503 Service Unavailable"
        device.close()


def _steps():
    from nnfast import pace

    pace.step()


# -- where -------------------------------------------------------------------------------------------------------------
def test_a_unix_socket_is_for_the_user_alone(tmp_path):
    address = str(tmp_path / "m.sock")
    with serving(tmp_path) as (_, server):
        with page(server, address) as served:
            assert served.address == address and os.stat(address).st_mode & 0o777 == 0o600
            assert ask(address)[0] == "HTTP/1.1 200 OK"
            with pytest.raises(InvalidArgument, match="serves there already"):
                listener_at(address)
        assert not os.path.exists(address)


def test_ports():
    for address in ("0", ":0", "127.0.0.1:0", "localhost:0"):
        with listener_at(address) as listener:
            assert listener.getsockname()[0] in ("127.0.0.1", *["::1"] * address.startswith("localhost"))


@pytest.mark.parametrize("address", ["", "x", "1.2.3.4", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", ":\u0661",
                                     "no.such.host.invalid:80", "a" * 300 + ":80", "/no/such/folder/s", "1e3"])
def test_addresses_that_are_none(address, capsys):
    with pytest.raises(InvalidArgument):
        listener_at(address)
    assert call("serve", "--metrics", address or ":") == 2
    assert_one_error_line(capsys)


def test_a_port_that_somebody_has(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert call("serve", "--socket", tmp_path / "s", "--metrics", str(port)) == 2
        assert_one_error_line(capsys, str(port), "in use")
    assert not (tmp_path / "s").exists()


def test_as_a_process(tmp_path):
    address = str(tmp_path / "m")
    process = start(str(tmp_path / "s"), "--threads", "1", "--metrics", address)
    try:
        reach(str(tmp_path / "s")).close()
        assert until(lambda: os.path.exists(address))
        assert samples(ask(address)[2].decode())["nnfast_sessions_opened_total"] == 1
        process.terminate()
        assert process.wait(600) == 0 and not os.path.exists(address)
    finally:
        process.kill()
        process.wait()
