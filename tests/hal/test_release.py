"""Release frees everything [NN 3.10]: memory and descriptors after thousands of preparations and executions."""

import gc
import os

import pytest

from helpers.hal_clients import Pools, add_model, prepare

PREPARATIONS = 2_500
GROWTH_KB = 2048


def resident_kb():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


@pytest.mark.slow
def test_thousands_of_preparations(device):
    model, pools = add_model(shape=(64, 64)), Pools(nbytes=4 * 64 * 64)

    def once():
        prepared = prepare(device, model)
        assert prepared.executeSynchronously_1_3(pools.request, 0, None, None)[0] == 0

    for _ in range(PREPARATIONS // 10):
        once()
    before, files = resident_kb(), len(os.listdir("/proc/self/fd"))
    for _ in range(PREPARATIONS):
        once()
    assert resident_kb() - before < GROWTH_KB
    assert len(os.listdir("/proc/self/fd")) <= files + 4
