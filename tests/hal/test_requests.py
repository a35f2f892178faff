"""Requests through the faces: checks, memory kinds, shapes, times [NN 2.5, 3.14, 3.15, 5, 11.8]."""

import mmap
import os

import numpy as np
import pytest

from helpers.hal_clients import NO_TIME, Callback, Callback1_3, Pools, add_model, prepare
from nnfast import Memory
from nnfast.errors import ErrorStatus as S
from nnfast.hal import types as hidl
from nnfast.hal import v1_0, v1_1, v1_2, v1_3
from nnfast.hal.types import UINT64_MAX, DataLocation, Handle, MemoryPool, OutputShape, RequestArgument

SUM = [1, 2, 3, 4, 5, 6]


def synchronously(prepared, request, measure=0):
    if prepared.hal == "1.3":
        return prepared.executeSynchronously_1_3(request, measure, None, None)
    return prepared.executeSynchronously(request, measure)


def asynchronously(prepared, request):
    callback = Callback()
    launched = prepared.execute(request, callback)
    status, = callback.wait()
    assert launched in (S.NONE, status)
    return launched, status


@pytest.fixture
def prepared(device):
    return prepare(device)


def argument(pool=0, offset=0, length=24, dims=(), omitted=False):
    return RequestArgument(omitted, DataLocation(pool, offset, length), list(dims))


@pytest.mark.parametrize("role, wrong, words", [
    ("inputs", [], "request inputs: got 0, must be 1"),
    ("inputs", [argument()] * 2, "request inputs: got 2, must be 1"),
    ("inputs", None, "request inputs: is NoneType, must be a list"),
    ("inputs", [None], "request input 0: is NoneType, must be RequestArgument"),
    ("inputs", [argument(omitted=1)], "request input 0 hasNoValue: is 1"),
    ("inputs", [argument(omitted=True)], "has no value, so its location and dimensions must be zero"),
    ("inputs", [argument(length=0, dims=[1], omitted=True)], "has no value, so its location and dimensions"),
    ("inputs", [argument(pool=2)], "pool is 2, there are 2 pools"),
    ("inputs", [argument(pool=-1)], "poolIndex: is -1"),
    ("inputs", [argument(offset=4)], "bytes 4..28 must lie in pool 0 of 24 bytes"),
    ("inputs", [argument(offset=0xFFFFFFFF)], "must lie in pool 0"),
    ("inputs", [argument(length=0)], "not be empty"),
    ("inputs", [argument(length=20)], "length is 20, must be 24"),
    ("inputs", [argument(dims=[3, 2])], "dimensions are [3, 2], the model has [2, 3]"),
    ("inputs", [argument(dims=[2, 3, 1])], "dimensions are [2, 3, 1], the model has [2, 3]"),
    ("inputs", [argument(dims=[0, 3])], "none may be 0"),
    ("inputs", [argument(dims=[2, -1])], "dimension 1: is -1"),
    ("inputs", [RequestArgument(False, DataLocation(), None)], "dimensions: is NoneType, must be a list"),
    ("inputs", [RequestArgument(False, None, [])], "location: is NoneType, must be DataLocation"),
    ("outputs", [], "request outputs: got 0, must be 1"),
    ("outputs", [argument(1, omitted=True, length=0)], "request output 0"),
    ("outputs", [argument(1, dims=[2, 4])], "dimensions are [2, 4], the model has [2, 3]"),
    ("pools", [], "there are 0 pools"),
    ("pools", [None, None], "request pool 0: is NoneType, must be MemoryPool"),
    ("pools", [MemoryPool(), MemoryPool()], "must be either hidlMemory or token"),
    ("pools", [MemoryPool(token=0)] * 2, "token is 0, must be positive"),
    ("pools", [MemoryPool(token=100)] * 2, "token 100"),
    ("pools", [MemoryPool(hidl.Memory("ashmem", None, 24))] * 2, "request pool 0: handle is null"),
    ("pools", [MemoryPool(hidl.Memory("ion", Handle((0,)), 24))] * 2, "memory of kind 'ion' is not supported"),
])
def test_11_8_wrong_requests(prepared, role, wrong, words):
    pools = Pools()
    setattr(pools.request, role, wrong)
    assert synchronously(prepared, pools.request, 1) == (S.INVALID_ARGUMENT, [], NO_TIME)
    assert words in prepared.last_error()
    callback = Callback()
    assert prepared.execute_1_3(pools.request, 1, None, None, callback) == S.INVALID_ARGUMENT
    assert callback.calls == [(S.INVALID_ARGUMENT,)]
    assert prepared.executeFenced(pools.request, [], 1, None, None, None) == (S.INVALID_ARGUMENT, None, None)


@pytest.mark.parametrize("role", ["inputs", "outputs"])
def test_11_11_an_argument_removed(face, role):
    """On every way to execute of every version: INVALID_ARGUMENT at the launch and in the callback, nothing else."""
    prepared, request = prepare(face), Pools(hal=face.hal).request
    setattr(request, role, [])
    failed = (S.INVALID_ARGUMENT, [], NO_TIME)
    assert asynchronously(prepared, request) == (S.INVALID_ARGUMENT, S.INVALID_ARGUMENT)
    for measure in (0, 1):
        if face.hal in ("1.2", "1.3"):
            callback = Callback1_3()
            old = request if face.hal == "1.2" else Pools(hal="1.2").request
            setattr(old, role, [])
            assert prepared.execute_1_2(old, measure, callback) == S.INVALID_ARGUMENT
            assert callback.wait() == failed and prepared.executeSynchronously(old, measure) == failed
        if face.hal == "1.3":
            callback = Callback1_3()
            assert prepared.execute_1_3(request, measure, None, None, callback) == S.INVALID_ARGUMENT
            assert callback.wait() == failed and synchronously(prepared, request, measure) == failed
            assert prepared.executeFenced(request, [], measure, None, None, None) == (S.INVALID_ARGUMENT, None, None)


def test_11_8_what_is_no_request(prepared):
    for request in (None, 7, {}, add_model()):
        assert synchronously(prepared, request)[0] == S.INVALID_ARGUMENT


@pytest.mark.parametrize("measure", [-1, 2, None, "YES", True])
def test_11_8_l_measure(prepared, measure):
    assert synchronously(prepared, Pools().request, measure) == (S.INVALID_ARGUMENT, [], NO_TIME)


@pytest.mark.parametrize("hal", ["1.0", "1.1"])
def test_11_8_f_outputs_must_be_known_before_1_2(canonical, hal):
    module = {"1.0": v1_0, "1.1": v1_1}[hal]
    prepared = prepare(module.Device(canonical), add_model(hal=hal, declared=(0, 0)))
    pools = Pools(hal=hal)
    assert asynchronously(prepared, pools.request) == (S.INVALID_ARGUMENT, S.INVALID_ARGUMENT)
    assert "dimensions are not fully known, which HAL 1.0 needs" in prepared.last_error()
    pools.request.outputs[0].dimensions = [2, 3]
    assert asynchronously(prepared, pools.request) == (S.NONE, S.NONE)
    assert pools.output.view(np.float32).tolist() == SUM


def test_11_1_a_1_0_execution_of_a_1_3_model_has_the_rules_of_1_0(device):
    prepared, pools = prepare(device, add_model(declared=(0, 3))), Pools(hal="1.0")
    assert asynchronously(prepared, pools.request)[0] == S.INVALID_ARGUMENT
    assert synchronously(prepared, Pools().request)[0] == S.NONE


def test_2_5_pools_of_1_2_are_memory_and_of_1_3_memory_pools(prepared):
    assert synchronously(prepared, Pools(hal="1.2").request)[0] == S.INVALID_ARGUMENT
    status, shapes, _ = prepared.executeSynchronously(Pools(hal="1.2").request, 0)
    assert (status, shapes) == (S.NONE, [OutputShape([2, 3], True)])


# -- shapes and times ------------------------------------------------------------------------------------------------
def test_3_14_shapes_of_unspecified_outputs(device):
    prepared = prepare(device, add_model(declared=(0, 0)))
    assert synchronously(prepared, Pools().request)[:2] == (S.NONE, [OutputShape([2, 3], True)])
    status, shapes, timing = synchronously(prepared, Pools(out_bytes=23).request, 1)
    assert (status, shapes, timing) == (S.OUTPUT_INSUFFICIENT_SIZE, [OutputShape([2, 3], False)], NO_TIME)


def test_3_14_before_1_2_only_the_status_tells(canonical):
    prepared = prepare(v1_0.Device(canonical))
    assert asynchronously(prepared, Pools(hal="1.0", out_bytes=23).request) == (S.NONE, S.OUTPUT_INSUFFICIENT_SIZE)


def test_2_5_input_shapes_may_change_between_executions(device):
    prepared = prepare(device, add_model(shape=(0, 3)))
    for rows in (2, 5, 1):
        pools = Pools(nbytes=12 * rows, dims=[rows, 3])
        assert synchronously(prepared, pools.request)[:2] == (S.NONE, [OutputShape([rows, 3], True)])
        assert pools.output.view(np.float32).tolist() == (np.arange(3 * rows) + 1).tolist()


def test_3_15_times(canonical):
    for module, hal in ((v1_2, "1.2"), (v1_3, "1.3")):
        prepared = prepare(module.Device(canonical))
        timing = synchronously(prepared, Pools(hal=hal).request, 1)[2]
        assert 0 <= timing.timeOnDevice <= timing.timeInDriver < UINT64_MAX
        assert synchronously(prepared, Pools(hal=hal).request, 0)[2] == NO_TIME


# -- memory ----------------------------------------------------------------------------------------------------------
def client_file(path, content):
    path.write_bytes(content)
    return os.open(path, os.O_RDWR)


def as_mmap_fd(fd, size, prot=mmap.PROT_READ | mmap.PROT_WRITE, offset=0):
    return hidl.Memory("mmap_fd", Handle((fd,), (prot, offset & 0xFFFFFFFF, offset >> 32)), size)


def test_5_1_plain_files_with_offsets(prepared, tmp_path):
    given = np.arange(6, dtype=np.float32).tobytes()
    source, target = client_file(tmp_path / "in", bytes(4099) + given), client_file(tmp_path / "out", bytes(30))
    pools = Pools()
    pools.request.pools = [MemoryPool(as_mmap_fd(source, 24, mmap.PROT_READ, 4099)),
                           MemoryPool(as_mmap_fd(target, 24, offset=3))]
    assert synchronously(prepared, pools.request)[0] == S.NONE, prepared.last_error()
    written = (tmp_path / "out").read_bytes()
    assert np.frombuffer(written[3:27], np.float32).tolist() == SUM and written[:3] + written[27:] == bytes(6)
    assert (tmp_path / "in").read_bytes() == bytes(4099) + given
    os.close(source)
    os.close(target)


@pytest.mark.parametrize("offset", [0, 1, 2, 4])
def test_5_2_arguments_need_no_alignment(prepared, offset):
    memory = Memory.create(64)
    memory.array()[offset:offset + 24] = np.arange(6, dtype=np.float32).view(np.uint8)
    request = hidl.Request([argument(0, offset)], [argument(0, offset + 26)], [MemoryPool(memory)])
    assert synchronously(prepared, request)[0] == S.NONE
    assert memory.array()[offset + 26:offset + 50].tobytes() == np.array(SUM, np.float32).tobytes()


def test_5_1_read_only_memory_takes_no_output(prepared, tmp_path):
    fd = client_file(tmp_path / "x", bytes(24))
    pools = Pools()
    pools.request.pools[1] = MemoryPool(as_mmap_fd(fd, 24, mmap.PROT_READ))
    assert synchronously(prepared, pools.request)[0] == S.INVALID_ARGUMENT
    assert prepared.last_error() == "request output 0: pool 1 is read-only"
    os.close(fd)


def test_3_13_memory_that_cannot_be_mapped_is_general_failure(prepared):
    pools, callback = Pools(), Callback()
    fd = os.memfd_create("short")
    os.ftruncate(fd, 8)
    pools.request.pools[0] = MemoryPool(hidl.Memory("ashmem", Handle((fd,)), 24))
    assert synchronously(prepared, pools.request)[0] == S.GENERAL_FAILURE
    assert "the file has 8 bytes, the memory ends at 24" in prepared.last_error()
    assert prepared.execute_1_3(pools.request, 0, None, None, callback) == S.NONE
    assert callback.wait() == (S.GENERAL_FAILURE,)
    os.close(fd)


def test_5_1_file_truncated_before_the_outputs_are_written(prepared, monkeypatch):
    """Neither a crash nor a success: the driver never maps a file that can shrink."""
    fd = os.memfd_create("client", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 24)
    pools = Pools()
    pools.request.pools[1] = MemoryPool(hidl.Memory("ashmem", Handle((fd,)), 24))
    executor = prepared.prepared.executor
    perform = executor.perform_request

    def truncate_then_perform(*arguments):
        os.ftruncate(fd, 0)
        return perform(*arguments)

    monkeypatch.setattr(executor, "perform_request", truncate_then_perform)
    assert synchronously(prepared, pools.request) == (S.GENERAL_FAILURE, [], NO_TIME)
    assert os.fstat(fd).st_size == 0
    os.close(fd)


def test_5_1_the_client_may_close_its_descriptor_after_the_launch(device):
    prepared, callback = prepare(device), Callback()
    pools = Pools()
    fds = [os.dup(memory.fileno()) for memory in pools.memories]
    pools.request.pools = [MemoryPool(hidl.Memory("ashmem", Handle((fd,)), 24)) for fd in fds]
    assert prepared.execute_1_3(pools.request, 0, None, None, callback) == S.NONE
    for fd in fds:
        os.close(fd)
    assert callback.wait() == (S.NONE,)
    assert pools.output.view(np.float32).tolist() == SUM


def test_descriptors_do_not_leak(prepared):
    pools = Pools()
    pools.request.pools = [MemoryPool(hidl.Memory("ashmem", Handle((m.fileno(),)), 24)) for m in pools.memories]
    assert synchronously(prepared, pools.request)[0] == S.NONE
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        synchronously(prepared, pools.request)
        prepared.executeFenced(pools.request, [], 0, None, None, None)
    prepare(prepared.device)
    assert len(os.listdir("/proc/self/fd")) <= before + 12


@pytest.mark.parametrize("dims", [(2, 4), (3, 3), (1, 3)])
def test_dimensions_of_an_output_that_are_not_those_of_the_result(face, dims):
    """The model leaves them open, the request may not say what it likes."""
    pools = Pools(hal="1.0", out_bytes=48)
    prepared = prepare(face, add_model(hal=face.hal, declared=(0, 0)))
    pools.output[:] = 0xA5
    pools.request.outputs[0].dimensions = list(dims)
    assert asynchronously(prepared, pools.request) == (S.INVALID_ARGUMENT, S.INVALID_ARGUMENT)
    assert (pools.output == 0xA5).all()
    pools.request.outputs[0].dimensions = [2, 3]
    assert asynchronously(prepared, pools.request) == (S.NONE, S.NONE)
    assert pools.output[:24].view(np.float32).tolist() == SUM and (pools.output[24:] == 0xA5).all()
