"""Sealed memfds: what is said of them, and mappings without a descriptor of their own."""

import fcntl
import gc
import os

import numpy as np
import pytest

from helpers.open_files import open_files
from nnfast import seals
from nnfast._native.rings import Mapping, duplicate, sealed_file


@pytest.fixture
def memfd():
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 3 * os.sysconf("SC_PAGESIZE"))
    yield fd
    os.close(fd)


def seal(fd, bits):
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, bits)


def test_only_files_with_all_the_seals_are_found(memfd, tmp_path):
    assert sealed_file(memfd, seals.SHRINK) is None
    seal(memfd, seals.SHRINK)
    found = os.fstat(memfd)
    assert sealed_file(memfd, seals.SHRINK) == (found.st_dev, found.st_ino, found.st_size)
    assert seals.find(memfd, seals.SHRINK) == ((found.st_dev, found.st_ino), found.st_size)
    assert sealed_file(memfd, seals.FROZEN) is None and not seals.is_sealed(memfd, seals.FROZEN)
    with open(tmp_path / "file", "wb") as file:
        assert sealed_file(file.fileno(), 0) is None
    assert sealed_file(-1, 0) is None


def test_a_mapping_is_shared_and_goes_with_its_last_view(memfd):
    seal(memfd, seals.SHRINK)
    page = os.sysconf("SC_PAGESIZE")
    before = open_files()
    mapping = Mapping(memfd, page, page, True)
    array = np.frombuffer(mapping, np.uint8)
    del mapping
    assert not open_files() - before and array.flags.writeable and array.nbytes == page
    array[:4] = 1, 2, 3, 4
    assert os.pread(memfd, 5, page) == b"\1\2\3\4\0"
    name = f"{array.ctypes.data:x}-"
    del array
    gc.collect()
    with open("/proc/self/maps") as maps:
        assert not any(line.startswith(name) and "memfd:test" in line for line in maps)


def test_what_may_not_be_written_is_mapped_for_reading_only(memfd):
    seal(memfd, seals.FROZEN)
    with pytest.raises(OSError, match="not permitted"):
        Mapping(memfd, 0, 64, True)
    assert not np.frombuffer(Mapping(memfd, 0, 64, False), np.uint8).flags.writeable


def test_descriptors_are_copied_or_refused(memfd):
    copy = duplicate(memfd)
    try:
        assert copy != memfd and os.fstat(copy) == os.fstat(memfd) and not os.get_inheritable(copy)
    finally:
        os.close(copy)
    with pytest.raises(OSError, match="Bad file descriptor"):
        duplicate(-1)
    for odd in (1.5, "x", None):
        with pytest.raises(TypeError):
            duplicate(odd)
    with pytest.raises(OverflowError):
        duplicate(1 << 70)
