"""Many clients of one process: shared weights, quotas, turns, who may use what."""

import gc
import os
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import nnfast
from helpers.service import (
    OtherProcess,
    add_model,
    add_request,
    dense_model,
    endless_model,
    reshape_model,
    serving,
    until,
)
from helpers.vendor_extensions import MONEY, unit
from nnfast import CacheFiles, Memory, ModelBuilder, Role
from nnfast.errors import GeneralFailure, InvalidArgument, ResourceExhaustedPersistent, ResourceExhaustedTransient
from nnfast.service.server import calls, recent_roots
from nnfast.service.server.allowlist import Allowlist
from nnfast.service.server.model_reader import receive
from nnfast.service.server.quotas import Quotas
from nnfast.service.server.registry import Root

X = np.ones(4, np.float32)
WIDE = np.ones((1, 64), np.float32)
TOKEN = bytes(range(32))


@pytest.fixture
def files():
    files = CacheFiles((os.memfd_create("model"),), (os.memfd_create("data"),))
    yield files
    os.close(files.model[0])
    os.close(files.data[0])


# -- weights -----------------------------------------------------------------------------------------------------------
def test_clients_share_the_weights_of_one_model(server):
    devices = [nnfast.connect(server.path) for _ in range(3)]
    prepared = [device.prepare(dense_model(), priority=priority)
                for device, priority in zip(devices, ("low", "medium", "high"))]
    prepared.append(devices[0].prepare(dense_model(seed=1)))
    roots = {len(root.users): root for root in server.registry.roots()}
    assert sorted(roots) == [1, 3]
    sessions = server.sessions()
    served = [session.held()[0].prepared for session in sessions]
    constants = [next(iter(one.executor.segment.frame_spec["constants"].values())) for one in served]
    assert all(array is constants[0] for array in constants)
    assert len({session.budget.used for session in sessions[1:]}) == 1 and sessions[1].budget.used > 64 * 64 * 4
    results = [one.run([WIDE])[0] for one in prepared]
    np.testing.assert_array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[3])
    del served, constants, sessions, roots
    devices[0].close()
    assert until(lambda: [len(root.users) for root in server.registry.roots()] == [2])
    np.testing.assert_array_equal(prepared[1].run([WIDE])[0], results[0])
    for device in devices:
        device.close()
    assert until(lambda: not server.registry.roots() and not server.registry._roots)


def test_preferences_share_a_plan(server):
    names = ["low_power", "fast_single_answer", "sustained_speed"]
    with nnfast.connect(server.path) as device:
        prepared = [device.prepare(dense_model(), name) for name in names]
        root, = server.registry.roots()
        assert len(root.users) == len(prepared)
        assert [held.prepared.preference for held in server.sessions()[0].held()] == names


def test_a_small_model_is_read_once(server, monkeypatch):
    read = []
    monkeypatch.setattr(calls, "receive", lambda fd, *rest: read.append(fd) or receive(fd, *rest))
    one, other, large = dense_model(width=16), dense_model(1, width=16), dense_model()
    with nnfast.connect(server.path) as device:
        prepared = []
        for model, count in ((one, 1), (one, 1), (other, 2), (one, 3), (large, 5)):
            device.supported_operations(model)
            prepared.append(device.prepare(model))
            x = np.ones(model.main.operands[0].dims, np.float32)
            np.testing.assert_array_equal(prepared[-1].run([x])[0], nnfast.Device(1).prepare(model).run([x])[0])
            assert len(read) == count
        device.supported_operations(one)
        prepared.clear()
        assert until(lambda: not server.registry.roots() and server.sessions()[0].budget.used == 0)


# -- cache files -------------------------------------------------------------------------------------------------------
def test_clients_share_the_weights_of_one_cache(server, files):
    x = np.ones((1, 256), np.float32)
    wanted = nnfast.Device().prepare(dense_model(width=256), cache=files, token=TOKEN).run([x])
    devices = [nnfast.connect(server.path) for _ in range(2)]
    loaded = [device.prepare_from_cache(files, TOKEN) for device in devices]
    loaded.append(devices[0].cached(files, TOKEN))
    devices[0].submit_load(loaded.pop(), lambda prepared, error: loaded.append(prepared))
    assert until(lambda: len(loaded) == 3)
    root, = server.registry.roots()
    assert len(root.users) == 3 and [session.budget.used > 256 * 256 * 4 for session in server.sessions()] == [True] * 2
    for one in loaded:
        np.testing.assert_array_equal(one.run([x]), wanted)
    del root, one
    loaded.clear()
    assert until(lambda: not server.registry.roots())  # this one is too large to be kept
    assert [session.budget.used for session in server.sessions()] == [0, 0]


def test_who_stores_a_model_shares_it_with_who_loads_it(server, files):
    model = dense_model(width=256)
    one, other = nnfast.connect(server.path), nnfast.connect(server.path)
    stored = one.prepare(model, cache=files, token=TOKEN)
    loaded = other.prepare_from_cache(files, TOKEN)
    root, = server.registry.roots()
    assert len(root.users) == 2
    again = CacheFiles((os.memfd_create("model"),), (os.memfd_create("data"),))
    stored_again = one.prepare(model, cache=again, token=TOKEN)  # the first files stay good, as another model
    assert len(root.places) == 2
    late = other.prepare_from_cache(again, TOKEN), other.prepare_from_cache(files, TOKEN)
    assert len(root.users) == 4 and len(server.registry.roots()) == 2
    x = np.ones((1, 256), np.float32)
    for prepared in (stored, stored_again, loaded, *late):
        np.testing.assert_array_equal(prepared.run([x])[0], nnfast.Device(1).prepare(model).run([x])[0])
    os.close(again.model[0])
    os.close(again.data[0])


def test_a_small_model_of_a_cache_is_kept_for_the_next_client(server, files):
    with nnfast.connect(server.path) as device:
        device.prepare(add_model(), cache=files, token=TOKEN)
    assert until(lambda: not server.sessions())
    root, = server.registry.roots()
    assert not root.users
    with nnfast.connect(server.path) as device:
        loaded = device.prepare_from_cache(files, TOKEN)
        assert loaded.run([X, X])[0].tolist() == [2] * 4
        assert server.registry.roots() == [root]
        assert [row["users"] for row in device.stats()["models"]] == [1]
    assert until(lambda: not server.sessions())
    with nnfast.connect(server.path) as device:  # who has no files does not find it
        prepared = device.prepare(add_model())
        assert sorted(row["users"] for row in device.stats()["models"]) == [0, 1]
        assert device.prepare(add_model()).run([X, X])[0].tolist() == prepared.run([X, X])[0].tolist() == [2] * 4
        assert len(server.registry.roots()) == 2
    del root
    server.registry.recent.clear()
    assert until(lambda: not server.registry.roots())


@pytest.mark.parametrize("kept", [False, True], ids=["anew", "kept"])
def test_a_kept_model_makes_no_bad_file_good(server, files, kept):
    def flipped(descriptor, at):
        os.pwrite(descriptor, bytes([os.pread(descriptor, 1, at)[0] ^ 1]), at)

    with nnfast.connect(server.path) as device:
        device.prepare(add_model(), cache=files, token=TOKEN)
        if not kept:
            server.registry.recent.clear()
        for descriptor in (files.model[0], files.data[0]):
            last = os.fstat(descriptor).st_size - 1
            flipped(descriptor, last)
            with pytest.raises(GeneralFailure, match="damaged"):
                device.prepare_from_cache(files, TOKEN)
            flipped(descriptor, last)
        os.pwrite(files.data[0], b"x", os.fstat(files.data[0]).st_size)
        with pytest.raises(GeneralFailure, match="were stored"):
            device.prepare_from_cache(files, TOKEN)
        os.ftruncate(files.data[0], os.fstat(files.data[0]).st_size - 1)
        with pytest.raises(GeneralFailure, match="another token"):
            device.prepare_from_cache(files, bytes(32))
        for other, what in ((nnfast.connect(server.path, precision="bf16"), "precision"),
                            (nnfast.connect(server.path, without_passes=["row_fusion"]), "compiler passes")):
            with other, pytest.raises(GeneralFailure, match=f"another .*{what}"):
                other.prepare_from_cache(files, TOKEN)
        assert device.prepare_from_cache(files, TOKEN).run([X, X])[0].tolist() == [2] * 4
        assert len(server.registry.roots()) == 1


def test_kept_models_count_for_the_limit_of_memory_and_give_way_to_it(tmp_path, files):
    with serving(tmp_path, memory_limit=1 << 22) as (path, server), nnfast.connect(path) as device:
        for seed in range(8):  # of 16 KiB each; a 64th of the limit is 64 KiB
            device.prepare(dense_model(seed), cache=files, token=TOKEN)
        assert until(lambda: not server.sessions()[0].count("prepared"))
        assert 0 < len(server.registry.recent) < 4
        assert 0 < server.budget.used <= 1 << 16
        server.registry.recent.clear()
        assert until(lambda: server.budget.used == 0)


def test_all_that_a_cache_holds_counts(server, files):
    b = ModelBuilder("unused")
    x, y = b.input("TENSOR_FLOAT32", (4,)), b.output("TENSOR_FLOAT32", (4,))
    b.constant(np.ones(1 << 16, np.float32))  # which nothing reads
    b.operation("ABS", [x], [y])
    passes = ["drop_constants"]  # so that it is stored all the same
    nnfast.Device(without_passes=passes).prepare(b.build(), cache=files, token=TOKEN)
    size = os.fstat(files.data[0]).st_size
    with nnfast.connect(server.path, without_passes=passes) as device:
        loaded = device.prepare_from_cache(files, TOKEN)
        np.testing.assert_array_equal(loaded.run([-X])[0], X)
        session, = server.sessions()
        assert size > 1 << 18 and session.budget.used > size
        assert not len(server.registry.recent)


class _Root:
    def __init__(self, held_bytes=1000):
        self.held_bytes = held_bytes


def test_kept_models_that_were_not_used_for_a_while_make_room(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(recent_roots, "time", SimpleNamespace(monotonic=lambda: now[0]))
    recent, roots = recent_roots.RecentRoots(None), [_Root() for _ in range(recent_roots.MOST)]
    for root in roots:
        recent.keep(root)
    more = _Root()
    recent.keep(more)
    assert list(recent) == roots  # all of them were used just now
    now[0] = recent_roots.IDLE_SECONDS + 1
    recent.keep(roots[0])
    recent.keep(more)
    assert list(recent) == [*roots[2:], roots[0], more]
    recent.keep(_Root(recent_roots.LARGEST))
    assert len(recent) == recent_roots.MOST and list(recent)[-1] is more
    recent.clear()
    assert not list(recent)
    for root in (wide := [_Root(recent_roots.LARGEST - 1) for _ in range(100)]):
        recent.keep(root)
    assert list(recent) == wide[:recent_roots.MOST_BYTES // (recent_roots.LARGEST - 1)]


def test_the_server_counts_shared_weights_once(tmp_path):
    with serving(tmp_path, memory_limit=1 << 30) as (path, server):
        clients = [nnfast.connect(path) for _ in range(4)]
        models = [client.prepare(dense_model()) for client in clients]
        root, = server.registry.roots()
        assert server.budget.used == root.prepared.executor.segment.held_bytes + root.nbytes
        del root
        del models
        for client in clients:
            client.close()
        assert until(lambda: server.budget.used == 0)


@pytest.mark.parametrize("get", [lambda device, files: device.prepare(dense_model()),
                                 lambda device, files: device.prepare_from_cache(files, TOKEN)], ids=["sent", "cached"])
def test_the_same_model_at_the_same_time_is_compiled_once(get, server, files):
    nnfast.Device().prepare(dense_model(), cache=files, token=TOKEN)
    devices, made = [nnfast.connect(server.path) for _ in range(6)], []
    threads = [threading.Thread(target=lambda device=device: made.append(get(device, files))) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert len(made) == 6 and [len(root.users) for root in server.registry.roots()] == [6]


def test_a_model_is_shared_before_its_first_client_has_it(server, monkeypatch):
    compiled, compile_, twin, made = [], nnfast.Device.compile, Root.twin, threading.Event()

    def late(root, *options):
        if not made.is_set():  # the first client: wait until the second one has the model
            made.set()
            assert until(lambda: root.users)
        return twin(root, *options)

    monkeypatch.setattr(nnfast.Device, "compile", lambda *args, **rest: compiled.append(1) or compile_(*args, **rest))
    monkeypatch.setattr(Root, "twin", late)
    with nnfast.connect(server.path) as device, OtherProcess(server.path) as other:
        prepared = []
        thread = threading.Thread(target=lambda: prepared.append(device.prepare(add_model())))
        thread.start()
        assert made.wait(600)
        assert other.ask("(kept := device.prepare(add_model())).run([np.ones(4, np.float32)] * 2)[0][0]") == "2.0"
        thread.join(600)
        assert prepared[0].run([X, X])[0].tolist() == [2] * 4
        assert len(compiled) == 1


def test_models_that_cannot_be_planned_ahead_are_not_shared(server):
    first, second = nnfast.connect(server.path), nnfast.connect(server.path)
    models = first.prepare(reshape_model()), second.prepare(reshape_model())
    assert not server.registry.roots() and not server.registry._making
    inputs = [np.arange(12, dtype=np.float32).reshape(2, 6), np.int32([4, 3])]
    np.testing.assert_array_equal(models[0].run(inputs)[0], models[1].run(inputs)[0])


@pytest.mark.parametrize("size", [0, 4], ids=["open", "known"])
def test_a_model_is_planned_once(server, files, monkeypatch, size):
    made, compile_ = [], nnfast.Device.compile
    monkeypatch.setattr(nnfast.Device, "compile", lambda *args, **options: made.append(1) or compile_(*args, **options))
    with nnfast.connect(server.path) as device:
        prepared = device.prepare(add_model(size), cache=files, token=TOKEN)
        assert len(made) == 1
        server.registry.recent.clear()
        del prepared
        assert until(lambda: not server.registry.roots())
        assert device.prepare_from_cache(files, TOKEN).run([X, X])[0].tolist() == [2] * 4
        assert len(made) == 2


def test_a_model_with_an_input_that_is_not_there_is_refused(server):
    model = add_model()
    wrong = replace(model, main=replace(model.main, inputs=(0, 99)))
    with nnfast.connect(server.path) as device:
        with pytest.raises(InvalidArgument, match="input"):
            device.prepare(wrong)
        assert device.prepare(model).run([X, X])[0].tolist() == [2] * 4


@pytest.mark.parametrize("width,descriptors", [(64, 0), (256, 1)], ids=["copied", "mapped"])
def test_only_large_models_take_a_descriptor(width, descriptors, server):
    with nnfast.connect(server.path) as device:
        def held():
            device.stats()  # after it, the descriptors of the call before are closed
            return server.clients.in_use()["descriptors"][0]

        before = held()
        prepared = device.prepare(dense_model(width=width))
        assert held() == before + descriptors and prepared


def test_what_cannot_be_prepared_leaves_nothing_behind(server):
    device, b = nnfast.connect(server.path), ModelBuilder()
    b.operation("ADD", [b.input("TENSOR_FLOAT32", (2,)), b.input("TENSOR_FLOAT32", (3,)), b.scalar(0)],
                [b.output("TENSOR_FLOAT32", (2,))])
    model = b.build()
    for _ in range(3):
        with pytest.raises(InvalidArgument):
            device.prepare(model)
    assert not server.registry.roots() and not server.registry._making


# -- quotas ------------------------------------------------------------------------------------------------------------
def test_quota_of_models(tmp_path):
    with serving(tmp_path, quotas=Quotas(models=2)) as (path, server):
        device = nnfast.connect(path)
        kept = [device.prepare(add_model()) for _ in range(2)]
        with pytest.raises(ResourceExhaustedTransient, match="quota of prepared models is 2"):
            device.prepare(add_model())
        second = nnfast.connect(path)  # of the same process, with which it shares the quota
        with pytest.raises(ResourceExhaustedTransient, match="quota of prepared models is 2"):
            second.prepare(add_model())
        with OtherProcess(path) as other:
            assert other.ask("device.prepare(add_model()).run([np.ones(4, np.float32)] * 2)[0][0]") == "2.0"
        del kept
        gc.collect()
        assert until(lambda: not server.sessions()[0].count("prepared"))
        kept = device.prepare(add_model())
        assert kept and (second.prepare(add_model()).run([X, X])[0] == 2).all()


def test_quota_of_memory(tmp_path):
    with serving(tmp_path, quotas=Quotas(memory=100_000)) as (path, server), OtherProcess(path) as other:
        device, same = nnfast.connect(path), nnfast.connect(path)
        kept = device.prepare(dense_model())
        with pytest.raises(ResourceExhaustedPersistent, match="quota of memory is 100000"):
            device.prepare(dense_model(width=256))
        second = same.prepare(dense_model(seed=1))
        for one in (device, same):
            with pytest.raises(ResourceExhaustedTransient, match="quota of memory is 100000"):
                one.prepare(dense_model(seed=2))
        assert other.ask("device.prepare(dense_model(seed=2)).inputs[0].shape") == "(1, 64)"
        session = server.sessions()[1]
        del kept, second
        gc.collect()
        assert until(lambda: session.budget.used == 0)
        device.prepare(dense_model(seed=2))
        assert session.budget.used < 100_000


def test_memory_limit_of_all_clients(tmp_path):
    with serving(tmp_path, memory_limit=100_000) as (path, _):
        first, second = nnfast.connect(path), nnfast.connect(path)
        kept = [first.prepare(dense_model()), second.prepare(dense_model(seed=1))]
        with pytest.raises(ResourceExhaustedTransient, match="driver's memory limit is 100000"):
            second.prepare(dense_model(seed=2))
        assert kept[1].run([WIDE])


def test_quota_of_objects(tmp_path):
    with serving(tmp_path, quotas=Quotas(objects=4)) as (path, _):
        device = nnfast.connect(path)
        prepared = device.prepare(add_model())
        kept = [device.allocate([Role(prepared, 0)]) for _ in range(4)]
        with pytest.raises(ResourceExhaustedTransient, match="buffers, memories, streams and fences is 4"):
            device.allocate([Role(prepared, 0)])
        shared = Memory.create(32)
        request = nnfast.Request((nnfast.RequestArgument(0, 0, 16), nnfast.RequestArgument(0, 16, 16)),
                                 (nnfast.RequestArgument(1, 0, 16),), (shared, bytearray(16)))
        with pytest.raises(ResourceExhaustedTransient, match="is 4"):
            prepared.execute(request)
        del kept[0]
        prepared.execute(request)


def test_quota_of_executions(tmp_path):
    with serving(tmp_path, quotas=Quotas(executions=3)) as (path, _):
        device, other = nnfast.connect(path), nnfast.connect(path)
        prepared, gate = device.prepare(add_model()), nnfast.Fence()
        waiting = [prepared.execute_fenced(add_request(X, X, np.zeros(16, np.uint8)), [gate]) for _ in range(3)]
        with pytest.raises(ResourceExhaustedTransient, match="executions in flight is 3"):
            prepared.execute_fenced(add_request(X, X, np.zeros(16, np.uint8)), [gate])
        with pytest.raises(ResourceExhaustedTransient, match="executions in flight is 3"):
            prepared.run([X, X])
        with pytest.raises(ResourceExhaustedTransient, match="executions in flight is 3"):
            other.prepare(add_model()).run([X, X])
        with OtherProcess(path) as another:
            assert another.ask("device.prepare(add_model()).run([np.ones(4, np.float32)] * 2)[0][0]") == "2.0"
        gate.signal()
        assert [execution.fence.wait(600) for execution in waiting] == ["signaled"] * 3
        assert until(lambda: device.stats()["clients"][0]["in_flight"] == 0)
        prepared.run([X, X])


# -- turns -------------------------------------------------------------------------------------------------------------
def test_a_flood_does_not_starve_another_client(server):
    greedy, modest = nnfast.connect(server.path), nnfast.connect(server.path)
    endless, quick = greedy.prepare(endless_model()), modest.prepare(add_model())
    flood = [endless.submit([np.float32([1])], timeout=600) for _ in range(4)]
    assert until(lambda: server.sessions()[0].in_flight >= 4)
    began = time.monotonic()
    for _ in range(20):
        assert (quick.run([X, X])[0] == 2).all()
    assert time.monotonic() - began < 25
    for future in flood:
        future.cancel()
    greedy.close()


# -- extensions --------------------------------------------------------------------------------------------------------
def money_model():
    """y = x, of a type and an operation of the extension."""
    b = ModelBuilder("money")
    kind = b.extension_code(MONEY.name, 5)
    x, y = b.input(kind, (3,), parameters=unit(1)), b.output(kind, (3,), parameters=unit(1))
    return b.operation(b.extension_code(MONEY.name, 1), [x], [y]).build()


def test_allowlist_by_executable(tmp_path):
    me = os.readlink("/proc/self/exe")
    nnfast.extensions.register(MONEY)
    try:
        for rules, allowed in ((None, True), (f"{me} {MONEY.name}", True), (f"{me} *", True),
                               (f"{os.path.dirname(me)}/ {MONEY.name}", True), (f"{me} com.example.other", False),
                               ("/usr/bin/other *", False), ("# nothing\n", False),
                               (f"com.example.app\n{me}", True), ("com.example.app\n/usr/bin/other", False)):
            path = tmp_path / "list"
            path.write_text(f"{rules}\n")
            allowlist = Allowlist() if rules is None else Allowlist.read(path)
            with serving(tmp_path, allowlist=allowlist) as (where, _):
                device = nnfast.connect(where)
                assert (MONEY.name in device.extensions) is allowed
                model = money_model()
                assert device.supported_operations(model) == [allowed]
                if allowed:
                    assert device.prepare(model)
                else:
                    with pytest.raises(InvalidArgument):
                        device.prepare(model)
                device.close()
    finally:
        nnfast.extensions.unregister(MONEY.name)


@pytest.mark.parametrize("line", ["relative *", "relative", "com.example.app *", "/usr/bin/x Not-a-name"])
def test_a_wrong_line_of_the_allowlist_is_named(tmp_path, line):
    path = tmp_path / "list"
    path.write_text(f"# first\n{line}\n")
    with pytest.raises(InvalidArgument, match="line 2"):
        Allowlist.read(path)


# -- statistics --------------------------------------------------------------------------------------------------------
def test_stats(server):
    device = nnfast.connect(server.path)
    prepared = device.prepare(dense_model(), priority="high")
    for _ in range(10):
        prepared.run([WIDE])
    found = device.stats()
    client, = found["clients"]
    assert found["executions"] == client["executions"] == 10
    assert client["pid"] == os.getpid() and client["executable"] == os.path.realpath(sys.executable)
    assert client["models"] == [{"name": "dense", "priority": "high", "executions": 10,
                                 "best_us": client["models"][0]["best_us"]}]
    model, = found["models"]
    assert (model["name"], model["users"]) == ("dense", 1) and 64 * 64 * 4 <= model["weights_bytes"]
    assert client["memory_bytes"] >= model["weights_bytes"]
    assert 0 < client["latency_us"]["p50"] <= client["latency_us"]["p99"] and sum(client["latency_counts"]) == 10
    assert found["resident_bytes"] > 1 << 20


def test_histogram():
    from nnfast.service.wire.histogram import Histogram, bucket_of, upper_us

    for us in (*range(300), 1000, 123_456, 10**9):
        bucket = bucket_of(us)
        assert us < upper_us(bucket) and (bucket == 0 or us >= upper_us(bucket - 1)), us
    histogram = Histogram()
    for us in range(1, 1001):
        histogram.add(us)
    assert histogram.total == 1000 == sum(histogram.counts) and bucket_of((1 << 64) - 1) == len(histogram.counts) - 1
    assert 500 <= histogram.percentile(0.5) <= 650 and 990 <= histogram.percentile(0.99) <= 1280
    assert Histogram().percentile(0.5) == 0
