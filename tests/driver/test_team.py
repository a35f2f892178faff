"""Device(team=...): the same results on OpenMP's threads, and what says no."""

import sys
import threading

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.processes import fresh
from nnfast.errors import MissedDeadlineTransient

pytest.importorskip("nnfast._native.openmp", reason="built without OpenMP")

CLIENTS, RUNS = 4, 10


def prepared_on(team, num_threads, **options):
    return nnfast.Device(num_threads, team=team).prepare(models.wide_model(4, 48), **options)


def image(seed=0):
    return np.random.default_rng(seed).standard_normal((1, 48, 48, 16), np.float32)


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8])
def test_same_bytes_on_any_number_of_threads(num_threads):
    wanted, = prepared_on("own", 1).run([image()])
    prepared = prepared_on("openmp", num_threads)
    for _ in range(3):
        assert np.array_equal(prepared.run([image()])[0], wanted)


def test_concurrent_runs_of_both_teams():
    wanted = [prepared_on("own", 1).run([image(seed)])[0] for seed in range(CLIENTS)]
    right = []

    def client(seed):
        prepared = prepared_on("openmp" if seed % 2 else "own", 2)
        right.extend(np.array_equal(prepared.run([image(seed)])[0], wanted[seed]) for _ in range(RUNS))

    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert right == [True] * (CLIENTS * RUNS)


def test_a_passed_deadline_stops_a_run_which_goes_on_afterwards():
    prepared = prepared_on("openmp", 2)
    with pytest.raises(MissedDeadlineTransient):
        prepared.submit([image()], timeout=1e-9).result()
    assert np.array_equal(prepared.run([image()])[0], prepared_on("own", 1).run([image()])[0])


@pytest.mark.parametrize("limit", ["1", "2"])
def test_fewer_threads_than_asked_for(limit):
    """OpenMP may give fewer threads than it is asked for."""
    assert fresh("""
import numpy as np, nnfast
from helpers import models
x = np.ones((1, 48, 48, 16), np.float32)
own, openmp = (nnfast.Device(4, team=team).prepare(models.wide_model(4, 48)) for team in ("own", "openmp"))
print(np.array_equal(own.run([x])[0], openmp.run([x])[0]))
""", OMP_THREAD_LIMIT=limit) == "True"


def test_the_variable_names_the_team_of_devices_that_name_none():
    code = "import nnfast; print(nnfast.Device(2), nnfast.Device(2, team='own'))"
    assert fresh(code, NNFAST_TEAM="openmp") == "Device(num_threads=2, team='openmp') Device(num_threads=2)"
    assert fresh(code, NNFAST_TEAM="") == "Device(num_threads=2) Device(num_threads=2)"


def test_the_library_is_loaded_on_demand_only():
    assert fresh("import sys, nnfast; nnfast.Device(2); print('nnfast._native.openmp' in sys.modules)",
                 NNFAST_TEAM="own") == "False"


@pytest.mark.parametrize("name", ["libgomp", "", 1, b"own"])
def test_other_names_are_refused(name):
    with pytest.raises(nnfast.InvalidArgument, match="^Device team: is .*, must be one of own, openmp$"):
        nnfast.Device(team=name)


def test_a_wrong_variable_is_refused():
    code = "import nnfast\ntry:\n    nnfast.Device()\nexcept nnfast.InvalidArgument as e:\n    print(e)"
    assert fresh(code, NNFAST_TEAM="gomp") == "NNFAST_TEAM: is 'gomp', must be one of own, openmp"


def test_a_build_without_openmp_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "nnfast._native.openmp", None)
    with pytest.raises(nnfast.InvalidArgument, match="does not have .*; build it with a compiler that has OpenMP"):
        nnfast.Device(team="openmp")
    assert nnfast.Device(team="own").team.name == "own"
