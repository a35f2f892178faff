"""Threads of both teams in company: fork, other users of OpenMP, many callers, affinity, quotas, costs when idle."""

import multiprocessing
import os
import threading

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.processes import fresh
from nnfast._native import threads


@pytest.fixture(params=["own", "openmp"])
def team(request):
    """The name of a team."""
    if request.param == "openmp":
        pytest.importorskip("nnfast._native.openmp", reason="built without OpenMP")
    return request.param


def prepare(num_threads=2, size=48, team="own"):
    prepared = nnfast.Device(num_threads, team=team).prepare(models.wide_model(4, size))
    x = np.random.default_rng(0).standard_normal((1, size, size, 16), np.float32)
    return prepared, x, prepared.run([x])[0]


def test_forked_child_runs_with_threads(team):
    prepared, x, wanted = prepare(team=team)
    for _ in range(3):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            for _ in range(10_000):  # on a busy machine a run takes fewer threads for some milliseconds
                same = np.array_equal(prepared.run([x])[0], wanted)
                if not same or threads.team_size():
                    break
            os.write(writer, bytes([same, threads.team_size()]))
            os._exit(0)
        os.close(writer)
        assert os.read(reader, 2) == bytes([1, 1])
        assert os.waitpid(child, 0)[1] == 0
        os.close(reader)
    assert np.array_equal(prepared.run([x])[0], wanted)


def _pool_task(seed, team):
    prepared, x, wanted = prepare(team=team)
    return bool(np.array_equal(prepared.run([x])[0], wanted)) and seed


def test_multiprocessing_pool_after_use(team):
    prepare(team=team)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap_async(_pool_task, [(seed, team) for seed in (1, 2, 3, 4)]).get(timeout=600) == [1, 2, 3, 4]


def test_callers_share_one_cap(team):
    prepared, x, wanted = prepare(num_threads=4, team=team)
    limit, wrong = threads.limit(), []
    before = threads.team_size()
    threads.set_limit(1)

    def client():
        wrong.extend(1 for _ in range(20) if not np.array_equal(prepared.run([x])[0], wanted))

    try:
        clients = [threading.Thread(target=client) for _ in range(6)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
    finally:
        threads.set_limit(limit)
    assert not wrong
    assert threads.team_size() <= max(before, 1)


def test_beside_scikit_learn(team):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    out = fresh("""
import threading, numpy as np
from sklearn.cluster import KMeans
import sys, nnfast
from helpers import models
data = np.random.default_rng(0).standard_normal((3000, 8))
prepared = nnfast.Device(2, team=sys.argv[1]).prepare(models.wide_model(4, 48))
x = np.ones((1, 48, 48, 16), np.float32)
wanted = prepared.run([x])[0]
same = []
def client():
    for _ in range(30):
        same.append(np.array_equal(prepared.run([x])[0], wanted))
clients = [threading.Thread(target=client) for _ in range(2)]
for c in clients: c.start()
for _ in range(5):
    KMeans(4, n_init=1, random_state=0).fit(data)
for c in clients: c.join()
print(len(same), all(same))
""", team, OMP_NUM_THREADS="2")  # else joblib counts processors, and warns where it cannot
    assert out == "60 True"


def test_affinity_limits_the_default():
    one = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}}); import nnfast; "
    assert fresh(one + "print(nnfast.Device().num_threads)") == "1"
    assert fresh(one + "print(nnfast.Device().num_threads)", NNFAST_NUM_THREADS="3") == "3"


@pytest.mark.parametrize(("cgroup", "files", "wanted"), [
    ("0::/box\n", {"fs/cgroup/box/cpu.max": "150000 100000"}, 1),
    ("0::/box\n", {"fs/cgroup/box/cpu.max": "max 100000", "fs/cgroup/cpu.max": "400000 100000"}, 4),
    ("0::/\n", {"fs/cgroup/cpu.max": "50000 100000"}, 1),
    ("3:cpu,cpuacct:/box\n", {"fs/cgroup/cpu/box/cpu.cfs_quota_us": "300000",
                             "fs/cgroup/cpu/box/cpu.cfs_period_us": "100000"}, 3),
    ("3:cpu,cpuacct:/box\n", {"fs/cgroup/cpu/box/cpu.cfs_quota_us": "-1",
                             "fs/cgroup/cpu/box/cpu.cfs_period_us": "100000"}, None),
    ("0::/box\n", {}, None),
    ("0::/box\n", {"fs/cgroup/box/cpu.max": "nonsense"}, None),
])
def test_control_group_quotas(tmp_path, cgroup, files, wanted):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(cgroup)
    for name, text in files.items():
        (tmp_path / "sys" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys" / name).write_text(text)
    assert threads.quota(str(tmp_path / "proc"), str(tmp_path / "sys")) == wanted


def test_bad_thread_count_is_one_clear_line():
    code = "import nnfast\ntry:\n    nnfast.Device()\nexcept nnfast.InvalidArgument as e:\n    print(e)"
    assert fresh(code, NNFAST_NUM_THREADS="two") == "NNFAST_NUM_THREADS: 'two' is not a whole number of at least 1"


def test_idle_threads_cost_nothing():
    """Processor time, which no neighbour stretches, in a process that does nothing else."""
    spent = fresh("""
import time, nnfast, numpy as np
from helpers import models
nnfast.Device(2).prepare(models.wide_model(4, 48)).run([np.ones((1, 48, 48, 16), np.float32)])
time.sleep(0.05)
before = time.process_time()
time.sleep(0.5)
print(time.process_time() - before)
""")
    assert float(spent) < 0.1


def test_import_starts_no_thread_and_is_quick():
    assert fresh("import nnfast, threading; print(threading.active_count(), len(__import__('os').listdir("
                 "'/proc/self/task')))", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1") == "1 1"
    code = ("import numpy, time; t = time.process_time(); import nnfast; "
            "print((time.process_time() - t) * 1000)")
    assert min(float(fresh(code)) for _ in range(5)) < 30
