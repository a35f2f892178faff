"""Memory of weights and temporaries: where it begins, what it holds, and that it goes."""

import re
from pathlib import Path

import numpy as np
import pytest

from nnfast._native.engine import HugePages, aligned_bytes, set_poison

HUGE_PAGE = 1 << 21


@pytest.fixture(autouse=True)
def _as_it_comes():
    set_poison(None)
    yield
    set_poison(None)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("size", [1, 63, 4096, HUGE_PAGE - 1])
def test_begins_at_a_line_of_the_cache(size):
    array = aligned_bytes(size)
    assert array.dtype == np.uint8 and array.shape == (size,) and address(array) % 64 == 0


@pytest.mark.parametrize("more", [0, 1, 4095, 4096, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5])
def test_large_ones_begin_at_a_huge_page(more):
    array = aligned_bytes(HUGE_PAGE + more)
    assert array.shape == (HUGE_PAGE + more,) and address(array) % HUGE_PAGE == 0
    assert not array.any()
    array[:] = 7
    assert (array == 7).all()


def test_large_ones_are_poisoned():
    set_poison(0xA5)
    assert (aligned_bytes(HUGE_PAGE + 3) == 0xA5).all()


def test_large_ones_go_with_their_last_view():
    def virtual():
        return int(re.search(r"VmSize:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) << 10

    before, size = virtual(), 32 * HUGE_PAGE
    view = aligned_bytes(size)[5:].view()
    view[0] = 9
    assert view[0] == 9
    for _ in range(100):
        aligned_bytes(size + 1)
    assert virtual() < before + 20 * size


def test_more_than_there_is_is_a_memory_error():
    with pytest.raises(MemoryError, match=f"{1 << 60} bytes"):
        HugePages(1 << 60)
