"""nnfast on Dask: Dask arrays, `nnfast batch` on workers; workers that die, come and are new."""

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import nnfast
from helpers.batch_data import FLAT, SIZE, batch, save_pictures
from helpers.commands import assert_one_error_line
from helpers.processes import environment
from nnfast.batch import runner, sources
from nnfast.errors import InvalidArgument

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
cluster = pytest.importorskip("nnfast.distributed")

MODULE = "__import__('nnfast.distributed', fromlist=['distributed'])"
"""The module, in an expression for `client.run(eval, ...)`."""

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def images(tmp_path):
    """A folder of 23 pictures, one of them none."""
    folder = save_pictures(tmp_path / "images", 23)
    (folder / "04.png").write_bytes(b"no picture")
    return folder


@pytest.fixture(scope="module")
def client():
    with cluster.connected(workers=2, threads=2) as client:
        yield client


def rows_of(count):
    return np.random.default_rng(9).integers(0, 256, (count, SIZE, SIZE, 3), np.uint8)


def weighted_model():
    """3x3 convolution of [1, 5, 5, 2] float32, and its ReLU as a second output."""
    rng = np.random.default_rng(7)
    b = nnfast.ModelBuilder("weighted")
    x = b.input("TENSOR_FLOAT32", (1, 5, 5, 2), name="x")
    w, bias = b.constant(rng.standard_normal((4, 3, 3, 2), np.float32)), b.constant(np.ones(4, np.float32))
    y, z = (b.output("TENSOR_FLOAT32", (1, 5, 5, 4), name=name) for name in "yz")
    same, one, none = b.scalar(1), b.scalar(1), b.scalar(0)
    b.operation("CONV_2D", [x, w, bias, same, one, one, none], [y])
    return b.operation("RELU", [y], [z]).build()


# -- arrays ------------------------------------------------------------------------------------------------------------
def test_map_blocks_on_threads(model):
    x = rows_of(10)
    y = cluster.map_blocks(str(model), da.from_array(x, chunks=(4, 2, -1, -1)))
    assert isinstance(y, da.Array) and (y.shape, y.dtype, y.chunks[0]) == ((10, FLAT), np.uint8, (4, 4, 2))
    assert np.array_equal(y.compute(scheduler="threads"), x.reshape(10, -1))


@pytest.mark.parametrize("lead", [True, False])
def test_map_blocks_on_workers(client, lead):
    model = weighted_model()
    x = np.random.default_rng(1).standard_normal((9, 1, 5, 5, 2), np.float32)
    prepared = nnfast.Device(1).prepare(model)
    expected = [np.concatenate(arrays) for arrays in zip(*(prepared.run([item]) for item in x))]
    array = da.from_array(x if lead else x[:, 0], chunks=(2, *([-1] * (3 + lead))))
    found = cluster.map_blocks(model, array, client=client)
    assert [y.shape for y in found] == [(9, 5, 5, 4)] * 2
    for ours, other in zip(dask.compute(*found), expected):
        assert ours.tobytes() == other.tobytes()
    again = cluster.map_blocks(model, array, client=client)
    assert [y.name for y in again] == [y.name for y in found]


def test_a_worker_compiles_a_model_once(client):
    model = weighted_model()
    x = da.zeros((12, 5, 5, 2), chunks=(1, -1, -1, -1), dtype=np.float32)
    dask.compute(*cluster.map_blocks(model, x, client=client))
    digest = cluster.digest_of(cluster.content_of(model))
    made = client.run(eval, f"[key[0] for key in {MODULE}._made]")
    assert len(made) == 2 and all(keys.count(digest) <= 1 for keys in made.values())
    assert any(digest in keys for keys in made.values())


@pytest.mark.parametrize("change, text", [
    (lambda x: x.compute(), "is an ndarray, must be a dask.array.Array"),
    (lambda x: x.astype(np.float32), "dtype is float32, must be uint8"),
    (lambda x: x[:, :3], "shape is .4, 3, 4, 3., must be a first dimension"),
])
def test_arrays_that_do_not_fit(model, change, text):
    with pytest.raises(InvalidArgument, match=text):
        cluster.map_blocks(str(model), change(da.from_array(rows_of(4))))


def test_two_clusters_of_one_machine():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Port")
        with cluster.connected(workers=1, threads=1) as one, cluster.connected(workers=1, threads=1) as other:
            assert one.scheduler.address != other.scheduler.address


# -- files -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("end", [".npy", ".zarr"])
def test_batch_on_workers_is_batch(tmp_path, model, images, end):
    if end == ".zarr":
        pytest.importorskip("zarr")
    here, there = tmp_path / f"here{end}", tmp_path / f"there{end}"
    code, document = batch(model, images, output=here, chunk=3)
    assert (code, document["starting"]) == (1, 0)
    code, document = batch(model, images, output=there, chunk=3, workers=2, threads=2)
    assert code == 1 and 0 < document["starting"] < document["seconds"]
    read = np.load if end == ".npy" else lambda path: __import__("zarr").open(path)["y0"][:]
    assert read(here).tobytes() == read(there).tobytes()
    for name in (".failed.csv", ".json", *([".items.csv"] if end == ".npy" else [])):
        with open(f"{here}{name}", "rb") as one, open(f"{there}{name}", "rb") as other:
            assert one.read() == other.read()


@pytest.fixture
def prepared_run(tmp_path, model, images):
    """(Run, reference, source, rows that a serial run gives)."""
    loaded = nnfast.load(model)
    prepared = nnfast.Device(1).prepare(loaded)
    source = sources.open_sources([str(images)], prepared.inputs, lambda: sources.image.Recipe())
    outputs = runner.outputs_of(prepared)
    expected = np.concatenate([prepared.run(source.item(k))[0] for k in range(len(source)) if k != 4])
    with runner.Run(str(tmp_path / "out.npy"), source, outputs, 1, {"model": "m"}) as run:
        yield run, cluster.ModelOnWorkers(loaded), source, expected


def kept_parts(client, prepared_run, disturb, after=(3,)):
    """Compute all chunks; disturb(client) when so many are there."""
    run, reference, source, expected = prepared_run
    with cluster.Chunks(client, reference, source, run.outputs, 1) as chunks:
        for count, (number, part) in enumerate(chunks.parts(run.missing)):
            run.keep(number, part)
            if count + 1 in after:
                disturb(client)
    report = run.finish()
    assert (count + 1, report["written"], report["failed"]) == (23, 22, 1)
    assert np.load(run.path).tobytes() == expected.tobytes()


def test_workers_that_are_killed(prepared_run):
    def kill(client):
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)

    with cluster.connected(workers=2, threads=2) as client:
        kept_parts(client, prepared_run, kill)


def test_workers_that_are_killed_again_and_again(prepared_run):
    kills = []

    def kill(client):
        pid = next(iter(client.run(os.getpid, on_error="ignore").values()), None)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            kills.append(pid)

    with cluster.connected(workers=2, threads=2) as client:
        kept_parts(client, prepared_run, kill, range(2, 23, 5))
    assert len(set(kills)) >= 3


KILLED = """
import os, signal, sys
from nnfast.batch import runner
from nnfast.cli.main import main
keep, kept = runner.Run.keep, []

def killing(run, number, part):
    keep(run, number, part)
    kept.append(number)
    if len(kept) == 6:
        os.killpg(0, signal.SIGKILL)

runner.Run.keep = killing
raise SystemExit(main(sys.argv[1:]))
"""
"""`nnfast batch` that kills itself and its workers after six chunks."""


def test_whole_runs_that_are_killed(tmp_path, model, images):
    here, there = tmp_path / "here.npy", tmp_path / "there.npy"
    assert batch(model, images, output=here, chunk=1)[0] == 1
    arguments = ["batch", model, images, "--output", there, "--chunk", 1, "--workers", 2, "--threads", 2]
    codes = []
    while 1 not in codes:
        codes.append(subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], env=environment(),
                                    start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    timeout=300).returncode)
        parts = len(list(tmp_path.glob("there.npy.parts/part-*.npz")))
        assert codes[-1] == 1 or parts == 6 * len(codes)  # none is lost, none is computed again
    assert codes == [-signal.SIGKILL] * 3 + [1]
    for end in ("", ".failed.csv", ".items.csv", ".json"):
        assert (tmp_path / f"here.npy{end}").read_bytes() == (tmp_path / f"there.npy{end}").read_bytes()


def test_workers_keep_freed_memory(client):
    """Dask's workers give freed memory back at once, which costs a page fault for each page of each array."""
    cluster.register(client, b"of no use")
    blocks = "[None for _ in range(200) if b'x' * (1 << 20)]"
    faults = f"(lambda used: [used(0).ru_minflt, {blocks}, used(0).ru_minflt])(__import__('resource').getrusage)"
    assert set(client.run(eval, "__import__('os').environ['MALLOC_TRIM_THRESHOLD_']").values()) == {cluster.TRIMMED}
    client.run(eval, blocks)
    for before, _, after in client.run(eval, faults).values():
        assert after - before < 200 * 16  # of 256 pages each


def test_workers_that_come_in_the_middle(prepared_run):
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local, \
            distributed.Client(local) as client:
        def change(client):
            old, = client.run(os.getpid)
            local.scale(2)
            client.wait_for_workers(2)
            client.retire_workers([old])

        kept_parts(client, prepared_run, change)


def test_a_scheduler_that_forgets_what_workers_need(client, prepared_run):
    def forget(client):
        for data in (prepared_run[1].data, cluster.pickle.dumps(prepared_run[2])):
            client.unregister_worker_plugin(f"nnfast-{cluster.digest_of(data)}")

    kept_parts(client, prepared_run, forget)
    kept = client.run(eval, f"list({MODULE}._contents)")
    assert len(kept) == 2 and not any(prepared_run[1].digest in digests for digests in kept.values())


@pytest.fixture
def started(tmp_path):
    """(address of a scheduler, its process) with two workers, all processes started by hand."""
    def dask_process(name, *options):
        return subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{name}", "--scheduler-file",
                                 str(tmp_path / "scheduler.json"), "--no-dashboard", *options], cwd=tmp_path,
                                env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    processes = [dask_process("scheduler", "--port", "0", "--host", "127.0.0.1")]
    processes += [dask_process("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
    try:
        with distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout=120) as first:
            first.wait_for_workers(2, timeout=120)
        yield json.loads((tmp_path / "scheduler.json").read_text())["address"], processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_processes_started_by_hand(tmp_path, model, images, started):
    here, there = tmp_path / "here.npy", tmp_path / "there.npy"
    assert batch(model, images, output=here, chunk=4)[0] == 1
    assert batch(model, images, output=there, chunk=4, scheduler=started[0])[0] == 1
    assert here.read_bytes() == there.read_bytes()


def test_a_scheduler_that_dies(tmp_path, model, images, started, capsys, monkeypatch):
    address, scheduler = started
    keep, kept = runner.Run.keep, []

    def killing(run, number, part):
        keep(run, number, part)
        kept.append(number)
        if len(kept) == 3:
            scheduler.kill()
            scheduler.wait()

    monkeypatch.setattr(runner.Run, "keep", killing)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    out = tmp_path / "out.npy"
    assert batch(model, images, output=out, chunk=1, scheduler=address)[0] == 2
    assert_one_error_line(capsys, "the scheduler is gone; what is finished is kept, the same command goes on")
    monkeypatch.undo()
    assert batch(model, images, output=out, chunk=1)[1]["computed"] == 23 - len(kept)


@pytest.mark.parametrize(("status", "told"), [("connecting", "the scheduler is gone"), ("running", "expiring")])
def test_a_client_that_cannot_be_closed(monkeypatch, status, told):
    """One that lost its scheduler may fail to, while it tries to connect again."""
    class Client:
        def __init__(self, *_, **__):
            self.status = status

        def wait_for_workers(self, *_, **__):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            raise RuntimeError("Cannot change state of expiring Timeout")

    monkeypatch.setattr(cluster.distributed, "Client", Client)
    with pytest.raises((nnfast.Error, RuntimeError), match=told), cluster.connected("tcp://127.0.0.1:9"):
        raise nnfast.Error("the scheduler is gone")


def test_a_scheduler_that_is_not_there(tmp_path, model, images, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    assert batch(model, images, output=tmp_path / "o.npy", scheduler="tcp://127.0.0.1:9")[0] == 2
    assert_one_error_line(capsys, "--scheduler tcp://127.0.0.1:9: cannot be reached")
    assert batch(model, images, output=tmp_path / "o.npy", scheduler="what://")[0] == 2
    assert_one_error_line(capsys, "--scheduler what://: cannot be reached")


def test_what_is_finished_outlives_a_scheduler_that_is_not_there(tmp_path, model, images, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    out, keep = tmp_path / "out.npy", runner.Run.keep

    def interrupted(run, number, part):
        keep(run, number, part)
        if number == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner.Run, "keep", interrupted)
        assert batch(model, images, output=out, chunk=4)[0] == 130
    capsys.readouterr()
    assert batch(model, images, output=out, chunk=4, scheduler="tcp://127.0.0.1:9")[0] == 2
    assert_one_error_line(capsys, "--scheduler tcp://127.0.0.1:9: cannot be reached")
    assert batch(model, images, output=out, chunk=4)[1]["computed"] == 23 - 8


def test_wrong_dtypes_are_told_before_workers_are_asked(tmp_path, model, capsys):
    np.save(tmp_path / "x.npy", rows_of(4).astype(np.float32))
    assert batch(model, tmp_path / "x.npy", output=tmp_path / "o.npy", scheduler="tcp://127.0.0.1:9")[0] == 2
    assert_one_error_line(capsys, "x.npy: array for input x: dtype is float32, must be uint8")


def test_a_full_disk_while_workers_compute(tmp_path, model, images):
    code = "import resource, sys; from nnfast.cli.main import main\n" \
           "from nnfast.batch import runner; finish, kept = runner.Run.keep, []\n" \
           "def keep(run, number, part):\n" \
           "    if len(kept) == 3: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n" \
           "    finish(run, number, part); kept.append(number)\n" \
           "runner.Run.keep = keep; raise SystemExit(main(sys.argv[1:]))"
    out = tmp_path / "out.npy"
    arguments = ["batch", model, images, "--output", out, "--chunk", 2, "--workers", 2, "--threads", 2]
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          env=environment(), timeout=300)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "cannot be written: File too large; what is finished is kept, the same command goes on" in done.stderr
    assert len(list(tmp_path.glob("out.npy.parts/part-*.npz"))) == 3 and not out.exists()
    assert batch(model, images, output=out, chunk=2)[1]["computed"] == 23 - 2 * 3


def test_a_scheduler_without_workers(tmp_path, model, images, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "WORKERS_SECONDS", 0.1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as local:
        assert batch(model, images, output=tmp_path / "o.npy", scheduler=local.scheduler_address)[0] == 2
    assert_one_error_line(capsys, "has no workers; start some with `dask worker`")
