"""The checksum of the compilation cache: the same on any number of threads, in memory and while a file is read."""

import os

import numpy as np
import pytest
from nnfast._native.checksum import checksum, read

BLOCK = 1 << 18
SIZES = (0, 1, 7, 64, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK + 5)


def content(size, seed=1):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


@pytest.fixture
def file(tmp_path):
    """write(bytes): a descriptor of a file that holds them, somewhere behind its beginning."""
    opened = []

    def write(data):
        descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        opened.append(descriptor)
        os.write(descriptor, bytes(data))
        return descriptor

    yield write
    for descriptor in opened:
        os.close(descriptor)


@pytest.mark.parametrize("size", SIZES)
def test_reading_gives_the_bytes_and_their_checksum(file, size):
    data = content(size)
    wanted = checksum(data)
    for threads in (1, 2, 3):
        assert checksum(data, threads) == wanted
        copy = np.zeros(size, np.uint8)
        assert read(file(data), copy, threads) == wanted
        assert np.array_equal(copy, data)


@pytest.mark.parametrize("size", SIZES[1:])
def test_every_changed_byte_shows(size):
    data = content(size)
    wanted = checksum(data)
    for place in {0, size // 2, size - 1, min(size - 1, BLOCK)}:
        data[place] ^= 16
        assert checksum(data) != wanted
        data[place] ^= 16


def test_blocks_in_another_order_and_other_lengths_show():
    data = content(4 * BLOCK)
    moved = np.concatenate([data[BLOCK:2 * BLOCK], data[:BLOCK], data[2 * BLOCK:]])
    assert checksum(moved) != checksum(data)
    zeros = [checksum(np.zeros(size, np.uint8)) for size in range(200)]
    assert len(set(zeros)) == len(zeros)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_that_is_too_short(file, threads):
    for size in (1, BLOCK, 9 * BLOCK):
        assert read(file(content(size - 1)), np.empty(size, np.uint8), threads) is None


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(OSError, match="Bad file descriptor"):
        read(-1, np.empty(4, np.uint8))
    write_only = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="Bad file descriptor"):
        read(write_only, np.empty(4, np.uint8))
    os.close(write_only)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        read(folder, np.empty(4, np.uint8))
    os.close(folder)
