"""Units of systemd and the container file, held against the options that the commands have, and run."""

import configparser
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.processes import environment
from helpers.service import add_model, reach
from nnfast import config
from nnfast.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging"
UNITS = sorted(FOLDER.glob("systemd/*/*"))
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
CONTAINER = (FOLDER / "Containerfile").read_text()


def name(unit):
    return f"{unit.parent.name}/{unit.name}"


def unit(path):
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str
    found.read_string(path.read_text())
    return found


def instruction(word):
    """The list in JSON at the end of an instruction of the container file."""
    return json.loads(re.search(rf"^{word} .*?(\[.*\])$", CONTAINER, re.M)[1])


def parsed(arguments):
    """What the command makes of arguments; a wrong one ends the test."""
    return build_parser(arguments[0])[0].parse_args(arguments)


@pytest.mark.parametrize("path", SERVICES, ids=name)
def test_services_start_what_there_is(path):
    service = unit(path)["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    args = parsed(arguments)
    assert program.endswith("/bin/nnfast") and args.command == "serve" and args.socket is None
    assert int(service["TimeoutStopSec"]) > args.drain
    for line in re.findall(r"^Environment=(\w+)=", path.read_text(), re.M):
        assert line in config.variables()


@pytest.mark.parametrize("path", [path for path in UNITS if path.suffix == ".socket"], ids=name)
def test_sockets_are_such_as_the_driver_takes(path):
    found = unit(path)["Socket"]
    assert found["ListenSequentialPacket"].endswith("nnfast.sock") and found["PassCredentials"] == "yes"
    assert path.with_suffix(".service") in SERVICES


@pytest.mark.parametrize("path", UNITS, ids=name)
def test_systemd_finds_nothing_wrong(path, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze")
    for other in path.parent.glob("*"):
        text = re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", other.read_text(), flags=re.M)
        (tmp_path / other.name).write_text(text)
    scope = ["--user"] if path.parent.name == "user" else []
    done = subprocess.run(["systemd-analyze", *scope, "verify", tmp_path / path.name], capture_output=True, text=True,
                          env={**environment(), "XDG_RUNTIME_DIR": str(tmp_path)})
    ours = [line for line in done.stderr.splitlines() if "nnfast" in line]
    assert ours == [], done.stderr


def test_the_copies_in_the_documentation_are_these():
    text = (ROOT / "docs" / "service.md").read_text()
    for path in UNITS:
        if path.parent.name == "user":
            assert path.read_text() in text, path


@pytest.mark.parametrize("path", SERVICES, ids=name)
def test_the_driver_of_a_unit_says_when_it_is_ready_and_when_it_stops(path, tmp_path):
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(600)
        arguments = shlex.split(unit(path)["Service"]["ExecStart"])[1:]
        arguments = [re.sub(r":\d+$", ":0", word) for word in arguments]
        variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "NNFAST_SOCKET": str(tmp_path / "s")}
        driver = subprocess.Popen([sys.executable, "-m", "nnfast", *arguments], stderr=subprocess.PIPE, text=True,
                                  cwd=ROOT, env=environment(**variables))
        try:
            assert systemd.recv(100) == b"READY=1"
            device, x = reach(str(tmp_path / "s")), np.ones(4, np.float32)
            assert (device.prepare(add_model()).run([x, x])[0] == 2).all()
            device.close()
            driver.send_signal(signal.SIGTERM)
            assert systemd.recv(100) == b"STOPPING=1"
            _, lines = driver.communicate(timeout=600)
        finally:
            driver.kill()
    assert driver.returncode == 0 and "session 1 has begun" in lines and "session 1 has ended" in lines


# -- the container -----------------------------------------------------------------------------------------------------
def test_the_container_runs_what_there_is():
    assert instruction("ENTRYPOINT") == ["nnfast"]
    args = parsed(instruction("CMD"))
    port = re.search(r"^EXPOSE (\d+)$", CONTAINER, re.M)[1]
    assert args.command == "serve" and args.metrics.rpartition(":")[2] == port
    word, *arguments = instruction("HEALTHCHECK")
    health = parsed(arguments)
    assert word == "nnfast" and health.command == "health"
    assert health.timeout < int(re.search(r"HEALTHCHECK .*--timeout=(\d+)s", CONTAINER)[1])
    assert {line.partition("=")[0] for line in re.search(r"^ENV (.*)$", CONTAINER, re.M)[1].split()} <= \
        set(config.variables())
    volume, = instruction("VOLUME")
    assert f"NNFAST_SOCKET={volume}/" in CONTAINER


@pytest.mark.parametrize("page", ["docs/service.md", "packaging/README.md", "packaging/Containerfile"])
def test_the_container_is_built_with_its_health_check_and_has_time_to_finish(page):
    text = (ROOT / page).read_text()
    builds = re.findall(r"podman build (.*?) -f", text)
    assert builds and set(builds) == {"--format docker"}  # in podman's own format of images there is none
    for run in re.findall(r"podman run .*", text):
        assert int(re.search(r"--stop-timeout (\d+)", run)[1]) > parsed(instruction("CMD")).drain


def test_the_container_is_built_from_sources_alone():
    assert {"build", "dist", "venv", "**/*.so"} <= set((ROOT / ".containerignore").read_text().splitlines())


def test_the_container_brings_what_the_driver_needs():
    assert "[service]" in CONTAINER and "gcc" in CONTAINER.split("FROM ")[1]
    assert "USER nnfast" in CONTAINER.split("FROM ")[2]
