"""Pages of mapped weights: dropped when asked, back when read, and only those of our own files."""

import fcntl
import mmap
import os
import re

import numpy as np
import pytest

import nnfast
from nnfast.model.mapped import MappedFile, release

SIZE = 1 << 20


def resident(array):
    """KiB in memory of the mapping that holds an array."""
    place, found = array.ctypes.data, None
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if match := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
                found = int(match[1], 16) <= place < int(match[2], 16)
            elif found and line.startswith("Rss:"):
                return int(line.split()[1])
    raise AssertionError("no mapping")


@pytest.fixture
def weights():
    """An array over a sealed memfd."""
    fd = os.memfd_create("weights", os.MFD_ALLOW_SEALING)
    with open(fd, "r+b") as stream:
        stream.write(np.arange(SIZE, dtype=np.float32).tobytes())
        stream.flush()
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return np.frombuffer(memoryview(MappedFile(fd, 4 * SIZE, access=mmap.ACCESS_READ)), np.float32)


def model_of(array):
    b = nnfast.ModelBuilder()
    x = b.input("TENSOR_FLOAT32", (1, 1024))
    y = b.output("TENSOR_FLOAT32", (1, 1024))
    b.operation("FULLY_CONNECTED", [x, b.constant(array.reshape(1024, 1024)),
                                    b.constant(np.zeros(1024, np.float32)), b.scalar(0)], [y])
    return b.build()


def test_release_drops_the_pages_and_keeps_the_values(weights):
    model = model_of(weights)
    total = weights.sum(dtype=np.float64)
    assert resident(weights) == 4 * SIZE >> 10
    release(model)
    assert resident(weights) == 0
    assert weights.sum(dtype=np.float64) == total


def test_a_prepared_model_needs_the_file_no_more(weights):
    prepared = nnfast.Device(1).prepare(model_of(weights))
    assert prepared.explain().native and resident(weights) == 0
    x = np.zeros((1, 1024), np.float32)
    x[0, 3] = 1
    np.testing.assert_array_equal(prepared.run([x])[0][0], np.arange(1024) * 1024 + 3)


@pytest.mark.parametrize("kind", ["memmap", "frombuffer"])
def test_a_constant_out_of_a_file_outlives_the_file(tmp_path, kind):
    path = tmp_path / "weights"
    np.ones(SIZE, np.float32).tofile(path)
    if kind == "memmap":
        array = np.memmap(path, np.float32, "r")
    else:
        with open(path, "rb") as stream:
            array = np.frombuffer(memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)), np.float32)
    model = model_of(array)
    os.truncate(path, 0)
    (y,) = nnfast.Device(1).prepare(model).run([np.ones((1, 1024), np.float32)])
    assert (y == 1024).all()


def test_a_read_only_constant_in_plain_memory_is_used_where_it_lies():
    array = np.ones(SIZE, np.float32)
    array.flags.writeable = False
    constants = [o.data for o in model_of(array).main.operands if o.data is not None]
    assert any(np.shares_memory(data, array) for data in constants)


def test_memory_of_others_is_left_alone():
    private = mmap.mmap(-1, 4 * SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(private, np.float32)
    array[:] = 1
    release(model_of(array))
    release(model_of(np.ones(SIZE, np.float32)))
    assert array.all(), "pages that are given back read as zeros"
