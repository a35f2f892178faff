"""Pages of mapped weights: dropped when asked, back when read, and only those of our own files."""

import mmap
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
def weights(tmp_path):
    path = tmp_path / "weights"
    np.arange(SIZE, dtype=np.float32).tofile(path)
    with open(path, "rb") as stream:
        return np.frombuffer(memoryview(MappedFile(stream.fileno(), 4 * SIZE, access=mmap.ACCESS_READ)), np.float32)


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


def test_memory_of_others_is_left_alone():
    private = mmap.mmap(-1, 4 * SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(private, np.float32)
    array[:] = 1
    release(model_of(array))
    release(model_of(np.ones(SIZE, np.float32)))
    assert resident(array) == 4 * SIZE >> 10 and array.all()
