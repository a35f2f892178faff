"""Shared memory [NN 5]: kinds, sealing, and files that shrink under the driver."""

import fcntl
import gc
import mmap
import os
import time
import weakref

import numpy as np
import pytest

from helpers import models
from nnfast import Device, Memory, ModelBuilder, Request, RequestArgument
from nnfast.driver.pools import bind_request
from nnfast.errors import GeneralFailure, InvalidArgument


def test_created_memory_is_zero_and_cannot_shrink():
    memory = Memory.create(100)
    assert memory.is_sealed and memory.array().tolist() == [0] * 100
    memory.array()[3] = 7
    assert memory.array()[3] == 7
    with pytest.raises(PermissionError):
        os.ftruncate(memory.fileno(), 10)


def test_descriptor_is_copied_and_closed():
    fd = os.memfd_create("client")
    os.ftruncate(fd, 8)
    memory = Memory("ashmem", fd, 8)
    os.close(fd)
    memory.write(0, np.arange(8, dtype=np.uint8))
    assert memory.read(2, 3).tolist() == [2, 3, 4]
    inner = memory.fileno()
    del memory
    gc.collect()
    with pytest.raises(OSError):
        os.fstat(inner)


@pytest.mark.parametrize("arguments, words", [
    (("ion", 0, 8), "kind is 'ion', must be one of ashmem, mmap_fd, hardware_buffer_blob"),
    (("ashmem", 0, 0), "size is 0"), (("ashmem", 0, 8.0), "size is 8.0"), (("ashmem", 0, True), "size is True"),
    (("ashmem", -1, 8), "fd is -1"), (("ashmem", 87654, 8), "87654 is not an open file descriptor"),
    (("mmap_fd", 0, 8, 4), "prot is 4"), (("mmap_fd", 0, 8, 3, -1), "offset is -1"),
    (("mmap_fd", 0, 1 << 63), "size is 9223372036854775808"),
    (("ashmem", 0, 8, 1), "kind ashmem has no offset and no prot"),
])
def test_bad_arguments(arguments, words):
    with pytest.raises(InvalidArgument, match=words):
        Memory(*arguments)


def test_ranges_and_shapes_of_copies():
    memory = Memory.create(24)
    memory.write(0, np.arange(6, dtype=np.float32).reshape(2, 3))
    assert memory.read(4, 8).view(np.float32).tolist() == [1, 2]
    for offset, length in ((-1, 2), (20, 5), (25, 0), (0, -1)):
        with pytest.raises(InvalidArgument, match="must lie in its 24 bytes"):
            memory.read(offset, length)
    with pytest.raises(InvalidArgument, match="must lie in its 24 bytes"):
        memory.write(8, np.zeros(5, np.float32))


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_bad_sizes_of_new_memory(size):
    with pytest.raises(InvalidArgument, match="size is"):
        Memory.create(size)


def test_memory_that_nobody_has():
    with pytest.raises(GeneralFailure):
        Memory.create(1 << 62).array()


def test_only_sealed_files_are_mapped(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(16))
    with open(path, "r+b") as file:
        memory = Memory("mmap_fd", file.fileno(), 16)
    assert not memory.is_sealed
    with pytest.raises(GeneralFailure, match="may shrink while it is mapped"):
        memory.array()
    path.write_bytes(bytes(4))
    with pytest.raises(GeneralFailure, match="the file has 4 bytes"):
        memory.write(0, np.zeros(16, np.uint8))
    with pytest.raises(GeneralFailure, match="ends before it"):
        memory.read(0, 16)
    assert path.stat().st_size == 4


def test_sealed_huge_pages_are_not_mapped():
    try:
        fd = os.memfd_create("huge", os.MFD_ALLOW_SEALING | os.MFD_HUGETLB)
    except OSError as error:
        pytest.skip(f"no huge pages here: {error}")
    try:
        os.ftruncate(fd, 2 << 20)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        memory = Memory("ashmem", fd, 2 << 20)
    finally:
        os.close(fd)
    assert not memory.is_sealed
    with pytest.raises(GeneralFailure, match="ordinary pages"):
        memory.array()


def test_offset_of_a_sealed_memory_need_not_be_on_a_page():
    whole = Memory.create(3 * mmap.PAGESIZE)
    whole.array()[:] = np.arange(3 * mmap.PAGESIZE) % 251
    part = Memory("mmap_fd", whole.fileno(), 100, offset=mmap.PAGESIZE + 13)
    assert part.array().tolist() == whole.array()[mmap.PAGESIZE + 13:][:100].tolist()
    reader = Memory("mmap_fd", whole.fileno(), 100, mmap.PROT_READ, 7)
    assert not reader.array().flags.writeable


def test_memory_sealed_against_writing_is_for_reading():
    fd = os.memfd_create("client", os.MFD_ALLOW_SEALING)
    os.write(fd, b"12345678")
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)
    memory = Memory("ashmem", fd, 8)
    os.close(fd)
    assert bytes(memory.array()) == b"12345678" and not memory.array().flags.writeable


# -- executions ------------------------------------------------------------------------------------------------------
def pools_of(kind, tmp_path):
    """(input, output, extra file descriptor) for the 2x3 float32 arguments of two_step_model."""
    if kind == "sealed":
        return Memory.create(48), Memory.create(24)
    memories = []
    for name, size in (("in", 48), ("out", 24)):
        path = tmp_path / name
        path.write_bytes(bytes(size))
        with open(path, "r+b") as file:
            memories.append(Memory("mmap_fd", file.fileno(), size))
    return memories


def two_step_request(source, target):
    given = (RequestArgument(0, 0, 24), RequestArgument(0, 24, 24))
    return Request(given, (RequestArgument(1, 0, 24),), (source, target))


@pytest.mark.parametrize("kind", ["sealed", "file"])
def test_executions_on_memory(device, tmp_path, kind):
    prepared = device.prepare(models.two_step_model())
    source, target = pools_of(kind, tmp_path)
    source.write(0, np.arange(12, dtype=np.float32).view(np.uint8))
    result = prepared.execute(two_step_request(source, target))
    assert result.shapes[0].dims == (2, 3)
    assert target.read(0, 24).view(np.float32).tolist() == [6, 6, 6, 6, 6, 6]
    assert source.read(0, 48).view(np.float32).tolist() == list(range(12))


def test_sealed_memory_is_used_in_place(device):
    """The output is computed where it belongs: no copy shows."""
    prepared = device.prepare(models.two_step_model())
    source, target = Memory.create(48), Memory.create(24)
    arguments = bind_request(prepared.executor.form, two_step_request(source, target))
    assert all(np.shares_memory(array, source.array()) for array in arguments.inputs.values())
    place = prepared.model.main.outputs[0]
    arguments.place(place, (2, 3), np.dtype(np.float32))[...] = 5
    assert target.array().view(np.float32).tolist() == [5] * 6


def test_the_short_way_gives_what_the_long_one_gives(device):
    """Aligned pools take the short way of run, unaligned ones the long one."""
    prepared = device.prepare(models.two_step_model())
    runs, given = prepared.executor.runner.runs, np.arange(12, dtype=np.float32).view(np.uint8)
    for offset, short in ((0, 1), (1, 0), (2, 0), (4, 1)):
        source, target = Memory.create(64), Memory.create(64)
        source.array()[offset:offset + 48] = given
        inputs = tuple(RequestArgument(0, offset + at, 24) for at in (0, 24))
        prepared.execute(Request(inputs, (RequestArgument(1, offset, 24),), (source, target)))
        assert target.array()[offset:offset + 24].tobytes() == np.full(6, 6, np.float32).tobytes()
        runs += short
        assert prepared.executor.runner.runs == runs


def test_a_file_that_ends_too_soon_is_an_error_and_grows_not(device, tmp_path):
    prepared = device.prepare(models.two_step_model())
    source, target = pools_of("file", tmp_path)
    os.truncate(tmp_path / "in", 40)
    with pytest.raises(GeneralFailure, match="request pool 0: memory: the file has 40 bytes"):
        prepared.execute(two_step_request(source, target))
    os.truncate(tmp_path / "in", 48)
    os.truncate(tmp_path / "out", 0)
    with pytest.raises(GeneralFailure, match="request pool 1"):
        prepared.execute(two_step_request(source, target))
    assert (tmp_path / "out").stat().st_size == 0


def test_nothing_is_appended_to_a_file(device, tmp_path):
    prepared = device.prepare(models.two_step_model())
    source, _ = pools_of("file", tmp_path)
    fd = os.open(tmp_path / "out", os.O_RDWR | os.O_APPEND)
    target = Memory("mmap_fd", fd, 24)
    os.close(fd)
    with pytest.raises(GeneralFailure, match="without O_APPEND"):
        prepared.execute(two_step_request(source, target))
    assert (tmp_path / "out").read_bytes() == bytes(24)
    assert target.read(0, 24).tolist() == [0] * 24


def test_indexes_are_taken_out_of_shared_memory(device):
    """Reshape target in shared memory: a client that changes it during the run changes nothing."""
    prepared = device.prepare(models.reshape_model())
    memory, out = Memory.create(56), Memory.create(48)
    memory.array()[48:] = np.array([3, 4], np.int32).view(np.uint8)
    request = Request((RequestArgument(0, 0, 48), RequestArgument(0, 48, 8)), (RequestArgument(1, 0, 48),),
                      (memory, out))
    perform = prepared.executor.perform_request

    def perform_late(*arguments):
        memory.array()[48:] = 255
        return perform(*arguments)

    prepared.executor.perform_request = perform_late
    assert prepared.execute(request).shapes[0].dims == (3, 4)


def test_an_execution_keeps_nothing_of_its_request():
    """Also one with limits, which takes the long path: what the request checks must not stay with the plan."""
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (4,)), b.output("TENSOR_FLOAT32", (4,))
    prepared = Device(1).prepare(b.operation("ABS", [x], [y]).build())
    for deadline in (None, time.monotonic() + 1e6):
        pool = np.zeros(64, np.uint8)
        gone = weakref.ref(pool)
        prepared.execute(Request((RequestArgument(0, 0, 16),), (RequestArgument(0, 32, 16),), (pool,)),
                         deadline=deadline)
        del pool
        assert gone() is None
