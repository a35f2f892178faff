"""A device in the driver's process does what a local one does, with the same words."""

import gc
import mmap
import os
import threading
from concurrent.futures import CancelledError

import numpy as np
import pytest

import nnfast
from helpers.service import (
    FLOAT,
    add_model,
    add_request,
    core_ns,
    dense_model,
    endless_model,
    gather_model,
    in_flight,
    reshape_model,
    state_model,
    until,
)
from nnfast import CacheFiles, Memory, ModelBuilder, Request, RequestArgument, Role
from nnfast.errors import ErrorStatus

X, Y = np.float32([1, 2, 3, 4]), np.float32([10, 20, 30, 40])


def refusal(call, *args, **options):
    with pytest.raises(nnfast.Error) as caught:
        call(*args, **options)
    return type(caught.value), str(caught.value)


def test_queries(device, local):
    model = dense_model()
    assert device.check(model) == local.check(model)
    assert device.supported_operations(model) == [True]
    assert device.unsupported_reasons(model) == {}
    assert device.capabilities == local.capabilities
    assert device.version == local.version and device.num_threads == 1 and device.is_available


def test_unsupported_operations_have_the_same_reasons(device, local):
    b = ModelBuilder()
    b.operation("OEM_OPERATION", [b.input(FLOAT, (1,))], [b.output(FLOAT, (1,))])
    model = b.build()
    assert device.unsupported_reasons(model) == local.unsupported_reasons(model) != {}
    assert refusal(device.prepare, model) == refusal(local.prepare, model)


def test_a_wrong_model_is_refused_with_the_same_words(device, local):
    b = ModelBuilder()
    b.operation("ADD", [b.input(FLOAT, (2,)), b.input("TENSOR_INT32", (2,)), b.scalar(0)], [b.output(FLOAT, (2,))])
    model = b.build()
    for call in ("check", "supported_operations", "prepare"):
        assert refusal(getattr(device, call), model) == refusal(getattr(local, call), model)
    assert refusal(device.prepare, "model")[0] is nnfast.InvalidArgument
    for options in ({"priority": "x"}, {"input_shapes": [(4,)]}, {"input_shapes": {"x": "4"}},
                    {"input_shapes": {2.5: (4,)}}, {"input_shapes": {"q": (4,)}}, {"input_shapes": {"x": (4, 4)}},
                    {"keep": 3}, {"keep": [2.5]}, {"keep": ["nothing"]}, {"deadline": "soon"}, {"deadline": 0.0}):
        assert refusal(device.prepare, add_model(), **options) == refusal(local.prepare, add_model(), **options)


def test_run(device, local):
    x = np.random.default_rng(1).standard_normal((1, 64), np.float32)
    remote, ours = device.prepare(dense_model()), local.prepare(dense_model())
    assert remote.inputs == ours.inputs and remote.outputs == ours.outputs
    for _ in range(3):
        np.testing.assert_array_equal(remote.run([x])[0], ours.run([x])[0])
    np.testing.assert_array_equal(remote.run({"x": x})["y"], ours.run([x])[0])
    out = [np.zeros((1, 64), np.float32)]
    assert remote.run([x], out)[0] is out[0]
    np.testing.assert_array_equal(out[0], ours.run([x])[0])


def test_run_refuses_as_a_local_one(device, local):
    remote, ours = device.prepare(add_model()), local.prepare(add_model())
    for inputs in ([X], [X, Y.astype(np.float64)], [X, Y[:3]], [X, Y[::2]], [X, 5], None, X):
        assert refusal(remote.run, inputs) == refusal(ours.run, inputs)
        assert refusal(remote.stream().run, inputs) == refusal(ours.stream().run, inputs)
        assert refusal(remote.submit(inputs).result) == refusal(ours.submit(inputs).result)
    for timeout in ("1", -1, True):
        assert refusal(remote.submit, [X, Y], timeout) == refusal(ours.submit, [X, Y], timeout)
    assert refusal(remote.run, [X, Y], [X]) == refusal(ours.run, [X, Y], [X])
    assert refusal(remote.run, {"x": X}) == refusal(ours.run, {"x": X})
    gather = device.prepare(gather_model()), local.prepare(gather_model())
    wrong = [X, np.int32([0, 9])]
    assert refusal(gather[0].run, wrong) == refusal(gather[1].run, wrong)


def test_results_of_unknown_shape_come_small_and_large(device):
    prepared = device.prepare(reshape_model())
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(prepared.run([x, np.int32([3, 4])])[0], x.reshape(3, 4))
    b = ModelBuilder()
    big, shape = b.input(FLOAT, (256, 256)), b.input("TENSOR_INT32", (1,))
    b.operation("RESHAPE", [big, shape], [b.output(FLOAT, (0,))])
    x = np.random.default_rng(0).standard_normal((256, 256), np.float32)
    np.testing.assert_array_equal(device.prepare(b.build()).run([x, np.int32([65536])])[0], x.reshape(-1))
    out = [np.zeros((3, 4), np.float32)]
    prepared.run([np.ones((2, 6), np.float32), np.int32([3, 4])], out)
    assert (out[0] == 1).all()


def test_the_arena_grows_with_the_arrays(device):
    for size in (10, 100_000, 3, 1_000_000):
        x = np.full(size, 2, np.float32)
        assert (device.prepare(add_model(size)).run([x, x])[0] == 4).all()


def test_submit(device):
    prepared = device.prepare(add_model())
    futures = [prepared.submit([X, Y]) for _ in range(20)]
    for future in futures:
        np.testing.assert_array_equal(future.result(600)[0], X + Y)
    assert futures[0].timing.on_device_us is not None
    assert futures[0].cancel() is False
    with pytest.raises(nnfast.InvalidArgument, match="got 1 input,"):
        prepared.submit([X]).result(600)


def test_submit_takes_a_dict_as_run_does(device):
    prepared = device.prepare(add_model())
    inputs = dict(zip((info.name for info in prepared.inputs), (X, Y)))
    found, wanted = prepared.submit(inputs).result(600), prepared.run(inputs)
    assert list(found) == list(wanted) and all(np.array_equal(found[name], wanted[name]) for name in wanted)
    with pytest.raises(nnfast.InvalidArgument, match="^run input 'nobody': no such input"):
        prepared.submit({"nobody": X}).result(600)


def test_cancel_stops_an_execution_at_its_next_step(device, server):
    future = device.prepare(endless_model()).submit([np.float32([1])])
    assert until(lambda: core_ns(server))
    assert future.cancel()
    with pytest.raises(CancelledError):
        future.result(600)
    assert until(lambda: not in_flight(server))


def test_a_cancel_before_the_start_is_not_lost(device):
    prepared = device.prepare(endless_model())
    for _ in range(10):
        future = prepared.submit([np.float32([1])])
        future.cancel()
        with pytest.raises(CancelledError):
            future.result(600)


def test_submit_timeout(device):
    prepared = device.prepare(endless_model())
    # Persistent where a busy machine lets the time pass before the start.
    with pytest.raises((nnfast.errors.MissedDeadlineTransient, nnfast.errors.MissedDeadlinePersistent)):
        prepared.submit([np.float32([1])], timeout=0.05).result(600)


def test_stream(device, local):
    remote, ours = device.prepare(state_model()).stream(), local.prepare(state_model()).stream()
    for _ in range(3):
        np.testing.assert_array_equal(remote.run([X[:2]])[0], ours.run([X[:2]])[0])
    remote.reset()
    np.testing.assert_array_equal(remote.run([X[:2]])[0], X[:2])


def test_options_of_prepare(device):
    prepared = device.prepare(add_model(), input_shapes={"x": (6,), 1: (6,)}, priority="high")
    assert prepared.priority == "high" and prepared.inputs[0].shape == (6,)
    assert (prepared.run([np.ones(6, np.float32)] * 2)[0] == 2).all()
    b = ModelBuilder()
    x, y = b.input(FLOAT, (2,), name="x"), b.operand(FLOAT, (2,), name="middle")
    b.operation("ADD", [x, x, b.scalar(0)], [y]).operation("RELU", [y], [b.output(FLOAT, (2,))])
    kept = device.prepare(b.build(), keep=["middle"]).run([np.float32([-1, 1])])
    np.testing.assert_array_equal(kept[1], [-2, 2])


def test_compiler_passes_left_out(server, tmp_path):
    plain, other = (nnfast.connect(server.path, without_passes=names) for names in ((), ["native_kernels"]))
    assert plain.without_passes == set() and other.without_passes == {"native_kernels"}
    x = np.ones((1, 64), np.float32)
    results = []
    for device, left_out in ((plain, []), (other, ["native_kernels"])):
        for _ in range(2):  # the second one comes from the files of the first
            prepared = device.prepare(dense_model(), cache_dir=tmp_path / "cache")
            explained = prepared.explain()
            assert explained.without_passes == left_out
            assert all((row["kernel"] == "numpy") == bool(left_out) for row in explained.rows)
            results.append(prepared.run([x])[0])
    for found in results[1:]:
        np.testing.assert_allclose(found, results[0], rtol=1e-4, atol=1e-4)
    assert len(list((tmp_path / "cache").iterdir())) == 4
    weights = other.prepare(dense_model())
    buffer = other.allocate(input_roles=[Role(weights, 0)])
    buffer.copy_from(x)


def test_unknown_passes_are_refused(server):
    with pytest.raises(nnfast.InvalidArgument, match="connect: without_passes element 0 is 'row_fussion', must be"):
        nnfast.connect(server.path, without_passes=["row_fussion"])


def test_explain(device, local):
    theirs, ours = device.prepare(dense_model()).explain(), local.prepare(dense_model()).explain()
    assert str(theirs) == str(ours) and theirs.native == ours.native and theirs.to_json() == ours.to_json()


# -- requests ----------------------------------------------------------------------------------------------------------
def test_execute_on_plain_memory(device, local):
    for made in (device, local):
        out = np.full(20, 7, np.uint8)
        result = made.prepare(add_model()).execute(add_request(X, Y, out), measure_timing=True)
        np.testing.assert_array_equal(out[:16].view(np.float32), X + Y)
        assert (out[16:] == 7).all() and result.shapes[0].dims == (4,) and result.timing.in_driver_us is not None


def test_execute_on_shared_memory_registers_it_once(device, server):
    prepared = device.prepare(add_model())
    source, target = Memory.create(32), Memory.create(16)
    source.array()[:] = np.concatenate([X, Y]).view(np.uint8)
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(1, 0, 16),),
                      (source, target))
    for _ in range(5):
        prepared.execute(request)
    np.testing.assert_array_equal(target.array().view(np.float32), X + Y)
    session, = server.sessions()
    assert session.count("memory") == 2
    del source, target, request
    gc.collect()
    assert until(lambda: session.count("memory") == 0)


def test_memory_that_may_shrink_is_copied(device, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(np.concatenate([X, Y]).tobytes())
    with open(path, "r+b") as file:
        source = Memory("mmap_fd", file.fileno(), 32, mmap.PROT_READ)
        out = np.zeros(16, np.uint8)
        prepared = device.prepare(add_model())
        request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(1, 0, 16),),
                          (source, out))
        prepared.execute(request)
        np.testing.assert_array_equal(out.view(np.float32), X + Y)
        os.truncate(path, 8)
        assert refusal(prepared.execute, request)[0] is nnfast.errors.GeneralFailure


def test_execute_refuses_as_a_local_one(device, local):
    remote, ours = device.prepare(add_model()), local.prepare(add_model())
    good = add_request(X, Y, np.zeros(16, np.uint8))
    argument = RequestArgument
    wrong = [Request(good.inputs[:1], good.outputs, good.pools), Request(good.inputs, (), good.pools),
             Request((argument(5, 0, 16), good.inputs[1]), good.outputs, good.pools),
             Request((argument(0, 20, 16), good.inputs[1]), good.outputs, good.pools),
             Request((argument(0, -1, 16), good.inputs[1]), good.outputs, good.pools),
             Request((argument(0, 0, 12), good.inputs[1]), good.outputs, good.pools),
             Request(good.inputs, good.outputs, (good.pools[0], bytes(16))),
             Request(good.inputs, good.outputs, (good.pools[0], "pool")), "request"]
    for request in wrong:
        assert refusal(remote.execute, request) == refusal(ours.execute, request)
    for options in ({"deadline": "soon"}, {"deadline": 0.0}, {"loop_timeout": "1"}, {"loop_timeout": -1}):
        assert refusal(remote.execute, good, **options) == refusal(ours.execute, good, **options)
    for options in ({"deadline": "soon"}, {"loop_timeout": "1"}, {"duration": "1"}, {"duration": 0}):
        assert refusal(remote.execute_fenced, good, **options) == refusal(ours.execute_fenced, good, **options)
    short = Request(good.inputs, (argument(1, 0, 15),), good.pools)
    with pytest.raises(nnfast.errors.OutputInsufficientSize) as caught:
        remote.execute(short)
    assert caught.value.shapes == [nnfast.driver.request.OutputShape((4,), False)]


def test_deadlines(device):
    prepared = device.prepare(add_model())
    request = add_request(X, Y, np.zeros(16, np.uint8))
    with pytest.raises(nnfast.errors.MissedDeadlinePersistent):
        prepared.execute(request, deadline=1e-6)
    with pytest.raises(nnfast.errors.MissedDeadlinePersistent):
        device.prepare(add_model(), deadline=1e-6)
    out = np.zeros(4, np.uint8)
    endless = Request((RequestArgument(0, 0, 4),), (RequestArgument(1, 0, 4),), (np.float32([1]).tobytes(), out))
    with pytest.raises(nnfast.errors.MissedDeadlineTransient, match="loop"):
        device.prepare(endless_model()).execute(endless, loop_timeout=0.01)


def test_fences(device):
    prepared = device.prepare(add_model())
    gate, outs = nnfast.Fence(), [np.zeros(16, np.uint8), np.zeros(16, np.uint8)]
    first = prepared.execute_fenced(add_request(X, Y, outs[0]), [gate], measure_timing=True)
    second = prepared.execute_fenced(add_request(X, Y, outs[1]), [first.fence])
    assert first.fence.wait(0.05) == "active"
    with pytest.raises(nnfast.errors.GeneralFailure, match="has not ended"):
        first.info()
    gate.signal()
    assert first.fence.wait(600) == "signaled" and second.fence.wait(600) == "signaled"
    for out in outs:
        np.testing.assert_array_equal(out.view(np.float32), X + Y)
    assert first.info()[0].in_driver_us >= first.info()[1].in_driver_us and second.info()[0].on_device_us is None


def test_a_fence_in_error_fails_what_waits_for_it(device):
    prepared, gate = device.prepare(add_model()), nnfast.Fence()
    execution = prepared.execute_fenced(add_request(X, Y, np.zeros(16, np.uint8)), [gate])
    gate.fail()
    assert execution.fence.wait(600) == "error"
    assert refusal(execution.info)[0] is nnfast.errors.GeneralFailure
    assert refusal(prepared.execute_fenced, add_request(X, Y, np.zeros(16, np.uint8)), [gate])[0] is \
        nnfast.InvalidArgument


def test_buffers(device, local):
    for made in (device, local):
        prepared = made.prepare(add_model())
        buffer = made.allocate([Role(prepared, 0), Role(prepared, 1)], [])
        result = made.allocate([], [Role(prepared, 0)])
        assert buffer.token > 0 and buffer.dims == (4,) and buffer.shape is None and buffer.dtype == np.float32
        request = Request((RequestArgument(0), RequestArgument(0)), (RequestArgument(1),), (buffer, result))
        assert "has no value yet" in refusal(prepared.execute, request)[1]
        buffer.copy_from(X)
        assert buffer.shape == (4,)
        prepared.execute(request)
        back = np.zeros(4, np.float32)
        result.copy_to(back)
        np.testing.assert_array_equal(back, X + X)
        shared = Memory.create(16)
        result.copy_to(shared)
        np.testing.assert_array_equal(shared.array().view(np.float32), X + X)
        buffer.copy_from(shared)
        assert "must have exactly 16" in refusal(buffer.copy_from, X[:2])[1] and buffer.shape is None
        assert refusal(made.allocate, [Role(prepared, 7)])[0] is nnfast.InvalidArgument
        assert refusal(made.allocate, [])[0] is nnfast.InvalidArgument
        assert made.tokens.find(buffer.token) is buffer


def test_buffers_of_others_are_refused(device, local, server):
    prepared, other = device.prepare(add_model()), nnfast.connect(server.path)
    assert "this device prepared" in refusal(other.allocate, [Role(prepared, 0)])[1]
    theirs = other.allocate([Role(other.prepare(add_model()), 0)])
    assert "another device" in refusal(
        prepared.execute, Request((RequestArgument(0), RequestArgument(0)), (RequestArgument(1, 0, 16),),
                                  (theirs, bytearray(16))))[1]
    twin = device.prepare(add_model())
    buffer = device.allocate([Role(prepared, 0), Role(prepared, 1)])
    buffer.copy_from(X)
    assert "not allocated for" in refusal(
        twin.execute, Request((RequestArgument(0), RequestArgument(0)), (RequestArgument(1, 0, 16),),
                              (buffer, bytearray(16))))[1]
    other.close()


# -- caches ------------------------------------------------------------------------------------------------------------
def memfds():
    return CacheFiles((os.memfd_create("model"),), (os.memfd_create("data"),))


def test_cache_files(device):
    files, token = memfds(), bytes(range(32))
    device.prepare(dense_model(), cache=files, token=token)
    x = np.ones((1, 64), np.float32)
    wanted = device.prepare(dense_model()).run([x])[0]
    np.testing.assert_array_equal(device.prepare_from_cache(files, token).run([x])[0], wanted)
    assert refusal(device.prepare_from_cache, files, bytes(32))[0] is nnfast.errors.GeneralFailure
    assert refusal(device.cached, CacheFiles((), ()), token)[0] is nnfast.InvalidArgument
    assert refusal(device.cached, CacheFiles((999,), (998,)), token)[0] is nnfast.errors.GeneralFailure
    device.prepare(dense_model(), cache=CacheFiles((999,), (998,)), token=token)  # does no harm [NN 7.2]


def test_cache_dir_is_a_folder_of_the_client(device, tmp_path):
    folder = str(tmp_path / "made")
    x = np.ones((1, 64), np.float32)
    first = device.prepare(dense_model(), cache_dir=folder).run([x])[0]
    assert len(os.listdir(folder)) == 2
    again = device.prepare(dense_model(), cache_dir=folder)
    assert again.model is None
    np.testing.assert_array_equal(again.run([x])[0], first)


# -- many threads ------------------------------------------------------------------------------------------------------
def test_many_threads_use_one_device(device, server):
    prepared, wrong = device.prepare(add_model()), []

    def work(k):
        x = np.full(4, k, np.float32)
        for _ in range(50):
            if not (prepared.run([x, x])[0] == 2 * k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert not wrong
    assert len(server.sessions()[0].connections) <= 12


def test_calls_wait_where_the_driver_allows_no_more_connections(tmp_path):
    from helpers.service import serving
    from nnfast.service.server.quotas import Quotas

    with serving(tmp_path, quotas=Quotas(connections=2)) as (path, _):
        prepared = nnfast.connect(path).prepare(add_model())
        results = [future.result(600)[0] for future in [prepared.submit([X, Y]) for _ in range(30)]]
        assert all((result == X + Y).all() for result in results)


def test_dropped_objects_are_released(device, server):
    prepared = [device.prepare(add_model()) for _ in range(5)]
    session, = server.sessions()
    assert session.count("prepared") == 5
    del prepared
    gc.collect()
    assert until(lambda: session.count("prepared") == 0)
    assert session.budget.used == 0


def test_statuses_come_back_as_their_classes():
    from nnfast.driver.request import OutputShape
    from nnfast.service.wire.failures import failure, raise_failure

    for kind in nnfast.Error.__subclasses__():
        with pytest.raises(nnfast.Error) as caught:
            raise_failure(failure(kind("text")), OutputShape)
        assert type(caught.value) is kind and str(caught.value) == "text"
    assert failure(KeyError("x")).status == ErrorStatus.GENERAL_FAILURE
    assert failure(MemoryError()).status == ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT
