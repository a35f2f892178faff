"""Life and death of the driver's process behind the C library."""

import os
import subprocess

import pytest

from helpers.processes import environment
from helpers.service import preparations, serving
from helpers.service_process import starter_in, stop
from helpers.tree import ROOT

CLIENTS = ROOT / "tests" / "ndk" / "clients"
RUNS = ["1", "30"]  # by messages; often enough for rings


@pytest.fixture
def starter(tmp_path):
    return starter_in(tmp_path)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("threads", ["1", ""])  # with fewer than processors, clients look for results before they sleep
def test_a_driver_is_started_and_its_death_is_told(threads, runs, program, starter, tmp_path):
    socket = str(tmp_path / "s")
    command = [program(CLIENTS / "patient.c"), runs]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=environment(NNFAST_SOCKET=socket, NNFAST_DRIVER=str(starter),
                                          NNFAST_NUM_THREADS=threads)) as client:
        assert client.stdout.readline() == "ready\n"
        stop(socket)
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "gone\n"
        rest, _ = client.communicate("\n", timeout=300)  # which starts another driver
        assert (rest, client.returncode) == ("", 0)
    stop(socket)


def test_rings_of_a_driver_with_all_processors(program, run, tmp_path):
    """The other programs' driver has one thread; beside this one a client sleeps and does not look."""
    with serving(tmp_path, threads=os.cpu_count()) as (path, _):
        assert run(program(ROOT / "tests" / "ndk" / "programs" / "many_runs.c"), socket=path) == ""


def test_clients_that_come_at_once_share_one_driver(program, starter, tmp_path):
    socket = str(tmp_path / "s")
    source = ROOT / "tests" / "ndk" / "programs" / "compilations.c"
    clients = [subprocess.Popen([program(source), "settings"], stdout=subprocess.PIPE, text=True,
                                env=environment(NNFAST_SOCKET=socket, NNFAST_DRIVER=str(starter)))
               for _ in range(4)]
    assert [(client.communicate(timeout=300)[0], client.returncode) for client in clients] == [("", 0)] * 4
    stop(socket)


def test_without_a_driver(program, tmp_path):
    source = ROOT / "tests" / "ndk" / "programs" / "devices.c"
    done = subprocess.run([program(source), "count_and_get", "wait_for_them"], capture_output=True, text=True,
                          env=environment(NNFAST_SOCKET=str(tmp_path / "s"), NNFAST_DRIVER=str(tmp_path / "none"),
                                          NNFAST_VLOG="driver"))
    assert done.stdout.count(" is 9, must be 0") == 2  # UNAVAILABLE_DEVICE for both, and the list is there
    assert "no driver's process can be reached" in done.stderr and "NNFAST_DRIVER" in done.stderr


def test_one_that_ends_at_once(program, tmp_path):
    source = ROOT / "tests" / "ndk" / "programs" / "devices.c"
    done = subprocess.run([program(source), "wait_for_them"], capture_output=True, text=True,
                          env=environment(NNFAST_SOCKET=str(tmp_path / "s"), NNFAST_DRIVER="/bin/false",
                                          NNFAST_VLOG="driver"))
    assert done.stdout.count(" is 9, must be 0") == 2 and "has ended" in done.stderr


@pytest.mark.parametrize("runs", RUNS)
def test_fork(runs, program, run):
    assert run(program(CLIENTS / "forks.c"), runs) == ""


@pytest.mark.parametrize("devices,without_passes", [
    ("0", set()), ("1", {"native_kernels"}), ("10", set()), ("01", set())])
def test_the_reference_runs_definitions(devices, without_passes, program, run, tmp_path):
    (tmp_path / "cache").mkdir()
    for wanted in (1, 0):  # the second compilation finds the first one's files
        with serving(tmp_path) as (path, server):
            made = preparations(server)
            assert run(program(CLIENTS / "reference.c"), str(tmp_path / "cache"), *devices, socket=path) == ""
            assert [device.without_passes for device in made] == [without_passes] * wanted
    name, = {path.stem for path in (tmp_path / "cache").iterdir()}
    assert name.endswith("-reference") == bool(without_passes)


def test_attributes_of_extensions(program, run, extended_driver):
    assert run(program(CLIENTS / "attributes.c"), socket=extended_driver) == ""
